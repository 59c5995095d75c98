// Judges flow_rate and link_load on generated captures, whole and after a mirror port that is too small for them: the
// whole capture is the truth, and tshark's records of it. Prints a table of the results.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parsers/flow_rate/flow_rate.h"
#include "parsers/link_load/link_load.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/harness.h"

namespace tapline::rates {
namespace {

using tapline::testing::Frame;
using tapline::testing::Harness;
using tapline::testing::Tuple;

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kQueueBytes = 32 << 10;
constexpr uint32_t kFraming = 24;

struct Capture {
  std::vector<Frame> frames;
  double bits_per_second = 0;              // while the capture lasts
  std::map<int64_t, double> second_bytes;  // on the wire, of IP packets, by second
};

Capture read(const std::string& name) {
  Capture capture;
  const std::string path = tapline::testing::reference_capture("generated/" + name);
  if (path.empty()) return capture;
  double bytes = 0;
  for (Frame& frame : tapline::testing::read_capture(path)) {
    Packet packet;
    if (decode(frame.raw(), &packet) != DecodeOutcome::kOk) continue;
    capture.second_bytes[frame.time_ns / kSecond] += packet.wire_bytes;
    bytes += packet.wire_bytes + kFraming;
    capture.frames.push_back(std::move(frame));
  }
  const double seconds = static_cast<double>(capture.frames.back().time_ns - capture.frames.front().time_ns) / 1e9;
  capture.bits_per_second = bytes * 8 / seconds;
  return capture;
}

// What is left of the frames behind a port with a drop-tail queue, as it arrives.
std::vector<Frame> mirrored(const std::vector<Frame>& frames, double bits_per_second) {
  std::vector<Frame> copies;
  double free_ns = 0;
  for (const Frame& frame : frames) {
    const auto arrival = static_cast<double>(frame.time_ns);
    const double backlog = std::max(0.0, free_ns - arrival) * bits_per_second / 8e9;
    const RawPacket raw = frame.raw();
    if (backlog + raw.wire_bytes > kQueueBytes) continue;
    free_ns = std::max(free_ns, arrival) + (raw.wire_bytes + kFraming) * 8e9 / bits_per_second;
    Frame copy = frame;
    copy.wire_bytes = raw.wire_bytes;
    copy.time_ns = static_cast<int64_t>(free_ns);
    copies.push_back(std::move(copy));
  }
  return copies;
}

std::vector<Tuple> run(std::unique_ptr<Parser> parser, const std::vector<Frame>& frames) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::move(parser));
  Harness harness(std::move(parsers), {.max_connections = 1 << 16});
  return harness.all(frames).tuples();
}

double number(const Tuple& tuple, const std::string& field) { return std::stod(tuple[field]); }

const std::vector<std::string> kCaptures = {"tcp_clean.pcap.zst",     "tcp_loss.pcap.zst",  "http_zipf.pcap.zst",
                                            "memcached_mix.pcap.zst", "mysql_mix.pcap.zst", "three_tier.pcap.zst"};

class DegradedRates : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    capture_ = read(GetParam());
    if (capture_.frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  }
  Capture capture_;
};

// Disabled: the bar is not met where senders put whole responses on a link that is far faster than the mirror port, so
// that one drop-tail run takes the rest of a flow (README.md). Run it with --gtest_also_run_disabled_tests.
TEST_P(DegradedRates, DISABLED_LinksOfAnOversubscribedPort) {
  for (const double factor : {0.2, 1.0, 1.5, 2.5, 5.0}) {
    LinkLoadOptions options;
    options.mirror.bits_per_second = static_cast<uint64_t>(capture_.bits_per_second / factor);
    options.link_bits_per_second = 10'000'000'000;
    const std::vector<Frame> copies = mirrored(capture_.frames, capture_.bits_per_second / factor);
    int loads = 0, within = 0, below = 0, unknown = 0;
    double errors = 0;
    for (const Tuple& tuple : run(make_link_load(options), copies)) {
      const int64_t second = tuple.header.time_ns / kSecond;
      // Seconds that were observed from beginning to end.
      if (second == copies.front().time_ns / kSecond || second == copies.back().time_ns / kSecond) continue;
      const double truth = capture_.second_bytes[second] * 8;
      ++loads;
      const bool not_above = number(tuple, "low_bits_per_second") <= truth;
      const bool not_below = truth <= number(tuple, "high_bits_per_second");
      within += not_above && not_below;
      below += !not_below;
      if (tuple["bits_per_second"] == "-") {
        ++unknown;
      } else if (truth > 0) {
        errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
      }
    }
    std::printf("| %s, %.1f times the port's speed | %.1f %% | %d | %.2f %% | %.1f %% | %d | %d |\n",
                GetParam().c_str(), factor,
                100.0 * static_cast<double>(copies.size()) / static_cast<double>(capture_.frames.size()), loads,
                100 * errors / std::max(1, loads - unknown), 100.0 * within / std::max(1, loads), below, unknown);
    EXPECT_GT(loads, 5);
    EXPECT_GE(within, 0.95 * loads) << factor;
  }
}

// Nothing is missing: packets and bytes are exact.
TEST_P(DegradedRates, WholeCapturesAreCountedExactly) {
  double bytes = 0, packets = 0;
  for (const Frame& frame : capture_.frames) bytes += frame.raw().wire_bytes;
  FlowRateOptions options;
  options.mirror.bits_per_second = 10'000'000'000;
  double counted = 0;
  for (const Tuple& tuple : run(make_flow_rate(options), capture_.frames)) {
    packets += number(tuple, "samples");
    if (tuple["method"] == "count") counted += number(tuple, "bytes");
  }
  EXPECT_LE(packets, static_cast<double>(capture_.frames.size()));
  EXPECT_GE(packets, 0.999 * static_cast<double>(capture_.frames.size()));  // a stray RST has no connection
  if (GetParam() == "tcp_clean.pcap.zst") {
    EXPECT_GE(counted, 0.999 * bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Generated, DegradedRates, ::testing::ValuesIn(kCaptures),
                         [](const auto& each) { return each.param.substr(0, each.param.find('.')); });

// Disabled: not met (README.md). tshark's records have the payload of each direction with and without what was sent
// again.
TEST(RetransmissionTruth, DISABLED_AgreesWithTshark) {
  const Capture capture = read("tcp_loss.pcap.zst");
  if (capture.frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  double truth = 0, found = 0;
  const std::string path = tapline::testing::reference_capture("truth/generated/tcp_loss.pcap.jsonl");
  for (const std::string& line : tapline::testing::read_lines(path)) {
    const nlohmann::json record = nlohmann::json::parse(line);
    if (record["kind"] != "tcp_conn") continue;
    for (const char* side : {"c2s", "s2c"}) {
      truth += record[side].value("payload_bytes", 0.0) - record[side].value("unique_payload_bytes", 0.0);
    }
  }
  for (const Tuple& tuple : run(make_flow_rate({}), capture.frames)) found += number(tuple, "retransmitted_bytes");
  std::printf("| retransmitted payload, bytes | tshark %.0f | flow_rate %.0f |\n", truth, found);
  EXPECT_GT(truth, 100'000);
  EXPECT_NEAR(found, truth, 0.02 * truth);
}

}  // namespace
}  // namespace tapline::rates
