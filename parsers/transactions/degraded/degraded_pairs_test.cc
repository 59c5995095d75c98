// What parsers of transactions make of captures as mirrors deliver them: packets lost, late, doubled, from the middle
// on, of one direction only, each with several random numbers (DEGRADED_SEEDS), and the damaged files. Prints the table
// of README.md.
#include <gtest/gtest.h>

#include <cstdlib>

#include "parsers/testing/capture_file.h"
#include "parsers/transactions/degraded/pair_judge.h"

namespace tapline::testing {
namespace {

using http::Degradation;
using http::degrade;

uint32_t seeds() {
  const char* asked = std::getenv("DEGRADED_SEEDS");
  if (asked != nullptr) return static_cast<uint32_t>(std::atoi(asked));
#ifdef __SANITIZE_ADDRESS__
  return 1;
#else
  return 2;
#endif
}

constexpr size_t kDamagedFrames = 12'000;  // the beginning of a capture that its damaged files were made of
// Copies of a small capture take turns in blocks of so many frames: a late frame stays among its own connection's, and
// a capture that begins in the middle begins in the middle of all of them.
constexpr size_t kBlockFrames = 8;

struct Subject {
  JudgedTuple judged = {};
  std::string capture = {};  // in the repository, or of the reference captures
  http::ServerPorts servers = {};
  size_t copies = 1;         // with other addresses
  size_t skip = 0;           // frames
  size_t frames = SIZE_MAX;  // to use after these
  double right = 0.999;      // of those of captures with packets lost or late
  double told = 0.999;       // with those that are told in part
  bool has_damaged = false;
  bool tells_requests_alone = false, tells_responses_alone = false;
};

// The frames with other second octets of their IPv4 addresses.
std::vector<Frame> moved(std::vector<Frame> frames, uint8_t by) {
  for (Frame& frame : frames) {
    if (frame.bytes.size() < 34 || frame.bytes[12] != 0x08 || frame.bytes[13] != 0) continue;
    frame.bytes[27] = static_cast<uint8_t>(frame.bytes[27] + by);
    frame.bytes[31] = static_cast<uint8_t>(frame.bytes[31] + by);
  }
  return frames;
}

std::vector<Frame> repeated(const std::vector<Frame>& frames, size_t copies) {
  std::vector<std::vector<Frame>> all;
  for (size_t copy = 0; copy < copies; ++copy) all.push_back(moved(frames, static_cast<uint8_t>(copy)));
  std::vector<Frame> result;
  for (size_t begin = 0; begin < frames.size(); begin += kBlockFrames) {
    const size_t end = std::min(begin + kBlockFrames, frames.size());
    for (std::vector<Frame>& copy : all) {
      for (size_t i = begin; i < end; ++i) result.push_back(std::move(copy[i]));
    }
  }
  return result;
}

std::vector<Frame> frames_of(const Subject& subject, size_t skip, size_t count) {
  const bool committed = subject.capture.starts_with("parsers/") || subject.capture.starts_with("testbed/");
  const std::string path = committed ? TAPLINE_SOURCE_DIR "/" + subject.capture : reference_capture(subject.capture);
  if (path.empty()) return {};
  std::vector<Frame> frames = read_capture(path);
  frames.erase(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(std::min(skip, frames.size())));
  frames.resize(std::min(count, frames.size()));
  return repeated(frames, subject.copies);
}

// A row of README.md.
void print(const std::string& name, const PairScore& score) {
  const auto of = [](uint64_t part, uint64_t all) {
    char text[64] = "-";
    if (part == all && all > 0) {
      std::snprintf(text, sizeof text, "all %lu", all);
    } else if (all > 0) {
      std::snprintf(text, sizeof text, "%lu of %lu (%.2f %%)", part, all,
                    100.0 * static_cast<double>(part) / static_cast<double>(all));
    }
    return std::string(text);
  };
  std::printf("| %s | %s | %lu | %s | %lu | %lu | %lu | %lu | %lu |\n", name.c_str(),
              of(score.right, score.eligible).c_str(), score.partly, of(score.batched_right, score.batched).c_str(),
              score.wrong, score.again, score.alone, score.half_requests, score.half_responses);
  for (const std::string& example : score.examples) std::printf("    wrong: %s\n", example.c_str());
  if (std::getenv("DEGRADED_MISSED") == nullptr) return;
  for (const std::string& missed : score.missed) std::printf("    missed: %s\n", missed.c_str());
}

class DegradedPairs : public ::testing::TestWithParam<Subject> {};

TEST_P(DegradedPairs, AsMirrorsDeliverThem) {
  const Subject& subject = GetParam();
  std::vector<Frame> frames = frames_of(subject, subject.skip, subject.frames);
  if (frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  const PairJudge judge(subject.judged, std::move(frames));
  ASSERT_GT(judge.pairs(), 1000u);
  const auto all_seeds = [&](Degradation degradation, const std::string& name) {
    PairScore sum;
    for (uint32_t seed = 0; seed < seeds(); ++seed) {
      sum += judge.judge(degrade(judge.frames(), degradation, seed, subject.servers));
    }
    print(subject.judged.parser + ", " + name, sum);
    // Numbers that are used again, and answers that say nothing of their requests, leave a little to chance.
    const uint64_t allowed = degradation == Degradation::kLoss ? (sum.eligible + sum.batched) / 10'000 : 0;
    EXPECT_LE(sum.wrong, allowed) << name;
    return sum;
  };
  const auto expect_at_least = [](double share, uint64_t part, uint64_t all) {
    EXPECT_GT(all, 0u);
    EXPECT_GE(static_cast<double>(part), share * static_cast<double>(all));
  };
  const PairScore none = all_seeds(Degradation::kNone, "whole");
  EXPECT_EQ(none.right, none.eligible);
  EXPECT_EQ(none.batched_right, none.batched);
  const PairScore lossy = all_seeds(Degradation::kLoss, "1 % lost");
  expect_at_least(subject.right, lossy.right, lossy.eligible);
  expect_at_least(subject.told, lossy.right + lossy.partly, lossy.eligible);
  const PairScore late = all_seeds(Degradation::kLate, "2 % late");
  expect_at_least(subject.told, late.right + late.partly, late.eligible);
  if (!subject.judged.may_forget) expect_at_least(subject.right, late.right, late.eligible);
  const PairScore middle = all_seeds(Degradation::kMidStream, "from the middle");
  expect_at_least(0.999, middle.right + middle.partly, middle.eligible);
  if (!subject.judged.may_forget) expect_at_least(0.999, middle.right, middle.eligible);
  const PairScore twice = all_seeds(Degradation::kTwice, "twice");
  EXPECT_EQ(twice.right, twice.eligible);
  EXPECT_EQ(twice.again, 0u);
  // Of connections of which both directions are there nothing may be missing.
  const PairScore requests = all_seeds(Degradation::kRequestsOnly, "requests only");
  EXPECT_EQ(requests.right, requests.eligible);
  if (subject.tells_requests_alone) expect_at_least(0.995, requests.half_requests, requests.alone);
  const PairScore responses = all_seeds(Degradation::kResponsesOnly, "responses only");
  EXPECT_EQ(responses.right, responses.eligible);
  if (subject.tells_responses_alone) expect_at_least(0.999, responses.half_responses, responses.alone);
}

TEST_P(DegradedPairs, DamagedFiles) {
  const Subject& subject = GetParam();
  if (!subject.has_damaged) GTEST_SKIP() << "no damaged files of " << subject.capture;
  std::vector<Frame> frames = frames_of(subject, 0, kDamagedFrames);
  if (frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  const PairJudge judge(subject.judged, std::move(frames));
  const size_t name_begin = subject.capture.find('/') + 1;
  const std::string name = subject.capture.substr(name_begin, subject.capture.find('.') - name_begin);
  for (const std::string damage : {"drop", "dup", "reorder", "flip", "midstream", "cut", "snap96", "oneway"}) {
    const std::string path = reference_capture("generated/damaged/" + name + "_" + damage + ".pcap.zst");
    ASSERT_FALSE(path.empty()) << damage;
    const PairScore score = judge.judge(http::recognise(judge.frames(), read_capture(path)));
    print(subject.judged.parser + ", file " + damage, score);
    EXPECT_EQ(score.wrong, 0u) << damage;
    EXPECT_GE(static_cast<double>(score.right), 0.999 * static_cast<double>(score.eligible)) << damage;
  }
}

// Why HTTP/2 is told in part, and what each protocol can't tell of one direction alone, stands in README.md.
const Subject kSubjects[] = {
    {.judged = {"memcached_get", {"command", "key", "status", "value_bytes"}},
     .capture = "generated/memcached_mix.pcap.zst",
     .servers = {11211, 11211},
     .skip = 60'000,
     .frames = 40'000,
     .has_damaged = true},
    {.judged = {"redis_command", {"command", "key", "status", "error"}},
     .capture = "generated/redis_mix.pcap.zst",
     .servers = {6379, 6379},
     .frames = 40'000},
    {.judged = {"dns_query", {"qname", "qtype", "rcode", "answer_count", "answers"}, "answer_time_ns", false, true},
     .capture = "testbed/captures/datagrams_small.pcap.zst",
     .servers = {53, 53},
     .copies = 40,
     .tells_requests_alone = true,
     .tells_responses_alone = true},
    {.judged = {"tls_hello", {"sni", "version", "alpn_offered", "ja4", "cipher_suite"}, "answer_ns"},
     .capture = "parsers/tls_hello/captures/handshakes.pcap.zst",
     .servers = {4433, 4435},
     .copies = 200,
     .right = 0.995,
     .told = 0.995,
     .tells_requests_alone = true},
    {.judged = {"http2_request", {"method", "host", "url", "status"}, "first_byte_ns", true},
     .capture = "generated/h2c.pcap.zst",
     .servers = {8080, 8080},
     .copies = 16,
     .right = 0},
    {.judged = {"kafka_request",
                {"api", "api_version", "client_id", "correlation_id", "topic", "error"},
                "first_byte_ns",
                true},
     .capture = "parsers/kafka_request/captures/kafka_small.pcap.zst",
     .servers = {59871, 59871},
     .copies = 40,
     .right = 0.98,
     .told = 0.997,
     .tells_requests_alone = true},
};

INSTANTIATE_TEST_SUITE_P(Parsers, DegradedPairs, ::testing::ValuesIn(kSubjects),
                         [](const auto& subject) { return subject.param.judged.parser; });

}  // namespace
}  // namespace tapline::testing
