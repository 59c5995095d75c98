// Evaluates flow_rate and link_load on generated captures, both whole and as copied by a mirror port that is too slow
// for them. The whole capture and tshark's records of it are the truth. Prints a table of the results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
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
constexpr uint32_t kFlows = 1 << 16;
constexpr uint64_t kLink = 10'000'000'000;
constexpr int64_t kDeepQueueNs = 10'000'000;

struct Capture {
  std::vector<Frame> frames;   // frames with IP packets
  double bits_per_second = 0;  // mean over the capture
};

Capture read(const std::string& name) {
  Capture capture;
  const std::string path = tapline::testing::reference_capture("generated/" + name);
  if (path.empty()) return capture;
  double bytes = 0;
  for (Frame& frame : tapline::testing::read_capture(path)) {
    Packet packet;
    if (decode(frame.raw(), &packet) != DecodeOutcome::kOk) continue;
    bytes += packet.wire_bytes + kFraming;
    capture.frames.push_back(std::move(frame));
  }
  const double seconds = static_cast<double>(capture.frames.back().time_ns - capture.frames.front().time_ns) / 1e9;
  capture.bits_per_second = bytes * 8 / seconds;
  return capture;
}

struct Mirrored {
  std::vector<Frame> copies;         // the frames that were not dropped, as they arrive
  std::vector<int64_t> arrivals_ns;  // at the port's queue, by copy

  // Returns the time from which an interval that begins at `time_ns` covers arrivals: the arrival of the first copy
  // that leaves the port at or after `time_ns`, if that is earlier.
  int64_t begin_ns(int64_t time_ns) const {
    const auto next = std::lower_bound(copies.begin(), copies.end(), time_ns,
                                       [](const Frame& copy, int64_t time) { return copy.time_ns < time; });
    return next == copies.end() ? time_ns : std::min(time_ns, arrivals_ns[static_cast<size_t>(next - copies.begin())]);
  }
};

// Returns the frames that leave a port with a drop-tail queue.
Mirrored mirrored(const std::vector<Frame>& frames, double bits_per_second) {
  Mirrored mirrored;
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
    mirrored.copies.push_back(std::move(copy));
    mirrored.arrivals_ns.push_back(frame.time_ns);
  }
  return mirrored;
}

// Returns the parser with these speeds as arguments of query 0.
std::unique_ptr<Parser> parser(std::unique_ptr<Parser> parser, uint64_t link, uint64_t mirror, int64_t queue_ns = 0) {
  parser->set_arguments(
      0, std::vector<Value>{Value::u64(link), Value::u64(mirror), Value::i64(queue_ns), Value::i64(kNsPerSecond)});
  return parser;
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

struct Judged {
  int loads = 0, within = 0, unknown = 0, unbounded = 0;
  double errors = 0;
  std::vector<double> widths;  // widths of the bounds, relative to the truth

  void add(const Tuple& tuple, double truth) {
    const bool bounded = tuple["high_bits_per_second"] != "-", known = tuple["bits_per_second"] != "-";
    const double low = number(tuple, "low_bits_per_second");
    const double high = bounded ? number(tuple, "high_bits_per_second") : INFINITY;
    ++loads;
    within += low <= truth && truth <= high;
    unknown += !known;
    unbounded += !bounded;
    if (truth == 0) return;
    widths.push_back((high - low) / truth);
    if (known) errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
  }
  void print(const std::string& name, double copies) const {
    std::vector<double> sorted = widths;
    std::sort(sorted.begin(), sorted.end());
    std::printf("| %s | %.1f %% | %d | %.2f %% | %.1f %% | %.1f %% | %d | %d |\n", name.c_str(), 100 * copies, loads,
                100 * errors / std::max(1, loads - unknown), 100.0 * within / std::max(1, loads),
                sorted.empty() ? 0 : 100 * sorted[sorted.size() / 2], unknown, unbounded);
  }
};

class DegradedRates : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    capture_ = read(GetParam());
    if (capture_.frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  }
  // Returns the capture's mean rate in [from_ns, to_ns), in bits/s.
  double rate_between(int64_t from_ns, int64_t to_ns) const {
    double bits = 0;
    for (const Frame& frame : capture_.frames) {
      if (frame.time_ns >= from_ns && frame.time_ns < to_ns) bits += 8.0 * frame.raw().wire_bytes;
    }
    return bits * 1e9 / static_cast<double>(to_ns - from_ns);
  }

  // Judges the estimates for the seconds that were observed completely.
  Judged judge(std::unique_ptr<Parser> parser, const Mirrored& port) const {
    Judged judged;
    for (const Tuple& tuple : run(std::move(parser), port.copies)) {
      const int64_t second = tuple.header.time_ns / kSecond;
      if (second == port.copies.front().time_ns / kSecond || second == port.copies.back().time_ns / kSecond) continue;
      judged.add(tuple, rate_between(port.begin_ns(second * kSecond), port.begin_ns((second + 1) * kSecond)));
    }
    return judged;
  }

  Capture capture_;
};

// Senders put whole responses on a link that is far faster than the mirror port, so one run of tail drops removes the
// rest of a flow.
TEST_P(DegradedRates, LinksOfAnOversubscribedPort) {
  for (const double factor : {0.2, 1.5, 5.0}) {
    const double bits_per_second = capture_.bits_per_second / factor;
    const Mirrored port = mirrored(capture_.frames, bits_per_second);
    const double copies = static_cast<double>(port.copies.size()) / static_cast<double>(capture_.frames.size());
    const auto compare = [&](const std::string& name, uint64_t link, uint64_t mirror) {
      const Judged judged = judge(parser(make_link_load(kFlows), link, mirror), port);
      judged.print(GetParam() + ", " + std::to_string(factor).substr(0, 3) + " times, " + name, copies);
      EXPECT_GT(judged.loads, 5);
      EXPECT_GE(judged.within, 0.95 * judged.loads) << factor << " " << name;
    };
    compare("given", kLink, static_cast<uint64_t>(bits_per_second));
    compare("learned", 0, 0);
  }
}

// Nothing is missing, so nearly all packets are counted and, in tcp_clean, nearly all bytes.
TEST_P(DegradedRates, WholeCapturesAreCountedExactly) {
  double bytes = 0, packets = 0;
  for (const Frame& frame : capture_.frames) bytes += frame.raw().wire_bytes;
  double counted = 0;
  for (const Tuple& tuple : run(parser(make_flow_rate(kFlows), kLink, kLink, kDeepQueueNs), capture_.frames)) {
    packets += number(tuple, "samples");
    if (tuple["method"] == "count") counted += number(tuple, "bytes");
  }
  EXPECT_LE(packets, static_cast<double>(capture_.frames.size()));
  EXPECT_GE(packets, 0.999 * static_cast<double>(capture_.frames.size()));  // a stray RST has no connection
  if (GetParam() == "tcp_clean.pcap.zst") {
    EXPECT_GE(counted, 0.999 * bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Generated, DegradedRates, ::testing::ValuesIn(kCaptures), [](const auto& parameter_info) {
  return parameter_info.param.substr(0, parameter_info.param.find('.'));
});

// tshark's records have the payload of each direction with and without retransmissions.
TEST(RetransmissionTruth, AgreesWithTshark) {
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
  for (const Tuple& tuple : run(make_flow_rate(kFlows), capture.frames)) found += number(tuple, "retransmitted_bytes");
  std::printf("| retransmitted payload, bytes | tshark %.0f | flow_rate %.0f |\n", truth, found);
  EXPECT_GT(truth, 100'000);
  EXPECT_NEAR(found, truth, 0.02 * truth);
}

}  // namespace
}  // namespace tapline::rates
