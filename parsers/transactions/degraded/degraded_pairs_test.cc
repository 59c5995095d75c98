// Measures the transaction parsers on captures as mirrors deliver them: with packets lost, late or duplicated, from
// mid-stream, or in one direction only, each with several random seeds (DEGRADED_SEEDS), and on damaged files. Prints
// the table of README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "parsers/testing/capture_file.h"
#include "parsers/transactions/degraded/condition.h"
#include "parsers/transactions/degraded/subject.h"

namespace tapline::testing {
namespace {

using http::Degradation;
using http::degrade;

uint32_t seeds() {
  const char* seeds_text = std::getenv("DEGRADED_SEEDS");
  if (seeds_text != nullptr) return static_cast<uint32_t>(std::atoi(seeds_text));
#ifdef __SANITIZE_ADDRESS__
  return 1;
#else
  return 2;
#endif
}

constexpr uint32_t kMinPlaces = 10;        // start positions in the middle
constexpr uint64_t kMinBatched = 1000;     // the minimum for a meaningful share
constexpr size_t kDamagedFrames = 12'000;  // the first frames of a capture, from which its damaged files were made
// Prints a row of README.md's table.
void print(const std::string& name, const PairScore& score) {
  const auto text_of = [](uint64_t part, uint64_t all) {
    char text[64] = "-";
    if (part == all && all > 0) {
      std::snprintf(text, sizeof text, "all %lu", all);
    } else if (all > 0) {
      std::snprintf(text, sizeof text, "%lu of %lu (%.2f %%)", part, all,
                    100.0 * static_cast<double>(part) / static_cast<double>(all));
    }
    return std::string(text);
  };
  std::printf("| %s | %s | %lu | %s | %lu | %lu | %lu | %lu | %lu | %lu | %lu |\n", name.c_str(),
              text_of(score.right, score.eligible).c_str(), score.partly,
              text_of(score.batched_right, score.batched).c_str(), score.batched_partly, score.wrong, score.unknowable,
              score.repeated, score.alone, score.half_requests, score.half_responses);
  for (const std::string& example : score.examples) std::printf("    wrong: %s\n", example.c_str());
  if (std::getenv("DEGRADED_MISSED") == nullptr) return;
  for (const std::string& missed_name : score.missed) std::printf("    missed: %s\n", missed_name.c_str());
}

// Returns a subject's judge, which is created once and shared by all tests.
const PairJudge* judge_of(const Subject& subject) {
  static std::map<std::string, std::unique_ptr<PairJudge>> judges;
  std::unique_ptr<PairJudge>& judge = judges[subject.name];
  if (judge != nullptr) return judge.get();
  std::vector<Frame> frames = frames_of(subject, subject.skip, subject.frames);
  if (!frames.empty()) judge = std::make_unique<PairJudge>(subject.judged, std::move(frames));
  return judge.get();
}

void expect_at_least(double share, uint64_t part, uint64_t all, const std::string& label) {
  EXPECT_GE(static_cast<double>(part), share * static_cast<double>(all)) << label << ": " << part << " of " << all;
}

class DegradedPairs : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    judge_ = judge_of(GetParam());
    if (judge_ == nullptr) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
    ASSERT_GT(judge_->pairs(), 1000u);
  }

  PairScore all_seeds(Degradation degradation, const std::string& name) const {
    PairScore sum;
    for (uint32_t seed = 0; seed < seeds(); ++seed) {
      sum += judge_->judge(degrade(judge_->frames(), degradation, seed, GetParam().servers));
    }
    print(GetParam().name + ", " + name, sum);
    EXPECT_EQ(sum.wrong, 0u) << name;
    EXPECT_LE(sum.unknowable, (sum.eligible + sum.batched) / 10'000) << name;
    return sum;
  }

  PairScore all_seeds(const Condition& condition) const {
    PairScore sum;
    // Each of kMinPlaces consecutive seeds begins in another tenth of the capture.
    const uint32_t min = condition.from_middle ? kMinPlaces : 0;
    for (uint32_t seed = 0; seed < std::max(seeds(), min); ++seed) {
      sum += judge_->judge(degraded(judge_->frames(), condition, seed), condition.capture);
    }
    print(GetParam().name + ", " + condition.name, sum);
    return sum;
  }

  const PairJudge* judge_ = nullptr;
};

TEST_P(DegradedPairs, CompleteDuplicatedAndOneWay) {
  const Subject& subject = GetParam();
  const PairScore none = all_seeds(Degradation::kNone, "whole");
  EXPECT_EQ(none.right, none.eligible);
  EXPECT_EQ(none.batched_right, none.batched);
  const PairScore twice = all_seeds(Degradation::kTwice, "twice");
  EXPECT_EQ(twice.right, twice.eligible);
  EXPECT_EQ(twice.repeated, 0u);
  // No transaction may be missing from connections with both directions captured.
  const PairScore requests = all_seeds(Degradation::kRequestsOnly, "requests only");
  EXPECT_EQ(requests.right, requests.eligible);
  if (subject.emits_requests_alone) expect_at_least(0.995, requests.half_requests, requests.alone, "requests only");
  const PairScore responses = all_seeds(Degradation::kResponsesOnly, "responses only");
  EXPECT_EQ(responses.right, responses.eligible);
  if (subject.emits_responses_alone) {
    expect_at_least(0.999, responses.half_responses, responses.alone, "responses only");
  }
}

TEST_P(DegradedPairs, UnderEachCondition) {
  const Subject& subject = GetParam();
  for (const Condition& condition : conditions()) {
    const PairScore score = all_seeds(condition);
    const auto own = subject.bars.find(condition.name);
    const Bar& bar = own == subject.bars.end() ? condition.bar : own->second;
    const uint64_t pairs = score.eligible + score.batched;
    EXPECT_LE(static_cast<double>(score.wrong), bar.wrong * static_cast<double>(pairs)) << condition.name;
    // An unknowable transaction requires two losses that coincide, which affect up to one pair in 4,000 at 5 % loss.
    EXPECT_LE(score.unknowable, pairs / 4'000) << condition.name;
    expect_at_least(bar.right, score.right + score.partly, score.eligible, condition.name);
    if (score.batched < kMinBatched) continue;
    expect_at_least(bar.batched, score.batched_right + score.batched_partly, score.batched, condition.name);
  }
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

// README.md explains why HTTP/2 is only partly reported, and which transactions a parser can't report from one
// direction alone.
INSTANTIATE_TEST_SUITE_P(Parsers, DegradedPairs, ::testing::ValuesIn(read_subjects()),
                         [](const auto& subject) { return subject.param.name; });

}  // namespace
}  // namespace tapline::testing
