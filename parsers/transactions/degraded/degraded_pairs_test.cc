// What parsers of transactions make of captures as mirrors deliver them: packets lost, late, doubled, and from the
// middle on, with several random numbers, and the damaged files. Prints a table of what was measured.
#include <gtest/gtest.h>

#include "parsers/testing/capture_file.h"
#include "parsers/transactions/degraded/pair_judge.h"

namespace tapline::testing {
namespace {

using http::Degradation;
using http::degrade;

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t kSeeds = 1;
#else
constexpr uint32_t kSeeds = 5;
#endif
constexpr size_t kDamagedFrames = 12'000;  // the beginning of a capture that its damaged files were made of

struct Subject {
  std::string parser;
  std::string capture;  // generated/NAME.pcap.zst
  std::vector<std::string> fields;
  size_t skip;    // frames
  size_t frames;  // to use after these
  double right_of_lossy;
  bool has_damaged;
};

std::vector<Frame> frames_of(const Subject& subject, size_t skip, size_t count) {
  const std::string path = reference_capture("generated/" + subject.capture + ".pcap.zst");
  if (path.empty()) return {};
  std::vector<Frame> frames = read_capture(path);
  frames.erase(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(std::min(skip, frames.size())));
  frames.resize(std::min(count, frames.size()));
  return frames;
}

void print(const std::string& name, const PairScore& score) {
  std::printf("%-30s %6lu pairs %6lu right; batched %6lu pairs %6lu right; %lu wrong %lu again; halves %lu and %lu\n",
              name.c_str(), score.eligible, score.right, score.batched, score.batched_right, score.wrong, score.again,
              score.half_requests, score.half_responses);
  for (const std::string& example : score.examples) std::printf("    wrong: %s\n", example.c_str());
  for (const std::string& missed : score.missed) std::printf("    missed: %s\n", missed.c_str());
}

class DegradedPairs : public ::testing::TestWithParam<Subject> {};

TEST_P(DegradedPairs, AsMirrorsDeliverThem) {
  const Subject& subject = GetParam();
  std::vector<Frame> frames = frames_of(subject, subject.skip, subject.frames);
  if (frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  const PairJudge judge(subject.parser, subject.fields, std::move(frames));
  ASSERT_GT(judge.pairs(), 1000u);
  const auto all_seeds = [&](Degradation degradation, const std::string& name) {
    PairScore sum;
    for (uint32_t seed = 0; seed < kSeeds; ++seed) sum += judge.judge(degrade(judge.frames(), degradation, seed));
    print(subject.capture + " " + name, sum);
    EXPECT_GT(sum.eligible, 0u);
    EXPECT_EQ(sum.wrong, 0u) << name;
    return sum;
  };
  const PairScore none = all_seeds(Degradation::kNone, "whole");
  EXPECT_EQ(none.right, none.eligible);
  EXPECT_EQ(none.batched_right, none.batched);
  const PairScore lossy = all_seeds(Degradation::kLoss, "1 % lost");
  EXPECT_GE(static_cast<double>(lossy.right), subject.right_of_lossy * static_cast<double>(lossy.eligible));
  const PairScore late = all_seeds(Degradation::kLate, "2 % late");
  EXPECT_GE(static_cast<double>(late.right), 0.999 * static_cast<double>(late.eligible));
  const PairScore middle = all_seeds(Degradation::kMidStream, "from the middle");
  EXPECT_GE(static_cast<double>(middle.right), 0.999 * static_cast<double>(middle.eligible));
  const PairScore twice = all_seeds(Degradation::kTwice, "twice");
  EXPECT_EQ(twice.right, twice.eligible);
  EXPECT_EQ(twice.again, 0u);
}

TEST_P(DegradedPairs, DamagedFiles) {
  const Subject& subject = GetParam();
  if (!subject.has_damaged) GTEST_SKIP() << "no damaged files of " << subject.capture;
  std::vector<Frame> frames = frames_of(subject, 0, kDamagedFrames);
  if (frames.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  const PairJudge judge(subject.parser, subject.fields, std::move(frames));
  for (const std::string damage : {"drop", "dup", "reorder", "flip", "midstream", "cut", "snap96", "oneway"}) {
    const std::string path = reference_capture("generated/damaged/" + subject.capture + "_" + damage + ".pcap.zst");
    ASSERT_FALSE(path.empty()) << damage;
    const PairScore score = judge.judge(http::recognise(judge.frames(), read_capture(path)));
    print(subject.capture + " " + damage, score);
    EXPECT_EQ(score.wrong, 0u) << damage;
    EXPECT_GE(static_cast<double>(score.right), 0.999 * static_cast<double>(score.eligible)) << damage;
  }
}

const Subject kSubjects[] = {
    {"memcached_get", "memcached_mix", {"command", "key", "status", "value_bytes"}, 60'000, 40'000, 0.999, true},
};

INSTANTIATE_TEST_SUITE_P(Parsers, DegradedPairs, ::testing::ValuesIn(kSubjects),
                         [](const auto& subject) { return subject.param.parser; });

}  // namespace
}  // namespace tapline::testing
