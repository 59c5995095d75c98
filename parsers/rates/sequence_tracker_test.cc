#include "parsers/rates/sequence_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "parsers/rates/coverage.h"

namespace tapline::rates {
namespace {

constexpr uint32_t kPayload = 1448;
constexpr int64_t kUs = 1'000, kMs = 1'000'000, kSecond = 1'000'000'000;

class Tracked {
 public:
  Progress add(uint32_t seq, uint32_t payload = kPayload, int64_t after_ns = 10 * kUs, bool syn = false,
               bool fin = false) {
    now_ns_ += after_ns;
    TcpSample sample;
    sample.time_ns = now_ns_;
    sample.seq = seq;
    sample.payload_bytes = payload;
    sample.wire_bytes = payload + 66;
    sample.syn = syn;
    sample.fin = fin;
    const Progress progress = tracker_.add(sample, SequenceTracker::Limits());
    coverage_.add(sample, progress);
    return progress;
  }
  Progress acknowledge(uint32_t ack, int64_t after_ns = 10 * kUs) {
    now_ns_ += after_ns;
    const Progress progress = tracker_.acknowledge(ack, now_ns_, SequenceTracker::Limits());
    if (progress.step == Step::kHole) coverage_.add_hole(progress);
    return progress;
  }
  const SequenceTracker& tracker() const { return tracker_; }
  const Coverage& coverage() const { return coverage_; }

 private:
  SequenceTracker tracker_;
  Coverage coverage_;
  int64_t now_ns_ = kSecond;
};

TEST(SequenceTracker, CountsMissingBytes) {
  Tracked flow;
  EXPECT_EQ(flow.add(1000).step, Step::kStarted);
  EXPECT_EQ(flow.add(1000 + kPayload).step, Step::kNext);
  const Progress hole = flow.add(1000 + 6 * kPayload);
  EXPECT_EQ(hole.step, Step::kHole);
  EXPECT_EQ(hole.hole_bytes, 4 * kPayload);
  EXPECT_EQ(hole.new_bytes, 5 * kPayload);
  EXPECT_EQ(hole.missed_packets, 4u);
  EXPECT_EQ(hole.min_missed_packets, 4u);
  EXPECT_EQ(hole.previous_ns, kSecond + 20 * kUs);
  EXPECT_EQ(flow.coverage().sequence_bytes, 7 * kPayload);
  EXPECT_EQ(flow.coverage().wire_bytes().value, 7 * (kPayload + 66));
}

TEST(SequenceTracker, NumbersWrapAround) {
  Tracked flow;
  flow.add(UINT32_MAX - 700);
  EXPECT_EQ(flow.add(kPayload - 701).step, Step::kNext);
  EXPECT_EQ(flow.add(3 * kPayload - 701).hole_bytes, kPayload);
  EXPECT_EQ(flow.coverage().sequence_bytes, 4 * kPayload);
}

// A 100 Gb/s link passes half of the sequence space in 172 ms.
TEST(SequenceTracker, ALongSilenceIsABreakUnlessTheNumbersContinue) {
  Tracked flow;
  flow.add(1000);
  EXPECT_EQ(flow.add(1000 + kPayload, kPayload, 10 * kSecond).step, Step::kNext);
  EXPECT_EQ(flow.add(1000 + 3 * kPayload, kPayload, kSecond).step, Step::kHole);
  EXPECT_EQ(flow.add(1000 + kPayload, kPayload, kSecond).step, Step::kRepeated);  // after a time-out
  EXPECT_EQ(flow.add(500'000'000, kPayload, 171 * kMs).step, Step::kHole);
  EXPECT_EQ(flow.add(1'000'000'000, kPayload, 172 * kMs).step, Step::kStarted);
}

TEST(SequenceTracker, RetransmissionsAreNotProgress) {
  Tracked flow;
  for (uint32_t i = 0; i < 50; ++i) flow.add(1000 + i * kPayload);
  const uint64_t before = flow.coverage().sequence_bytes;
  const Progress repeated_progress = flow.add(1000 + 20 * kPayload);
  EXPECT_EQ(repeated_progress.step, Step::kRepeated);
  EXPECT_EQ(repeated_progress.repeated_bytes, kPayload);
  EXPECT_EQ(repeated_progress.new_bytes, 0u);
  EXPECT_EQ(flow.coverage().sequence_bytes, before);
  EXPECT_EQ(flow.coverage().repeated_bytes, kPayload);
  EXPECT_EQ(flow.add(1000 + 50 * kPayload).step, Step::kNext);
}

TEST(SequenceTracker, AnOvertakenSegmentIsReordered) {
  Tracked flow;
  flow.add(1000);
  EXPECT_EQ(flow.add(1000 + 2 * kPayload).missed_packets, 1u);
  EXPECT_EQ(flow.add(1000 + kPayload, kPayload, kUs).step, Step::kReordered);
  EXPECT_EQ(flow.coverage().missed_packets, 0u);
  EXPECT_EQ(flow.coverage().sampling_share(), 1.0);
  EXPECT_EQ(flow.add(1000 + 3 * kPayload).step, Step::kNext);
}

// Such a segment was lost before the tap and then retransmitted, regardless of its delay.
TEST(SequenceTracker, ASegmentThatFillsAHoleIsNotRepeated) {
  Tracked flow;
  flow.add(1000);
  flow.add(1000 + 4 * kPayload);  // three are missing
  EXPECT_EQ(flow.add(1000 + kPayload, kPayload, kSecond).step, Step::kReordered);
  EXPECT_EQ(flow.add(1000 + kPayload).step, Step::kRepeated);
  EXPECT_EQ(flow.add(1000 + 3 * kPayload).step, Step::kReordered);
  EXPECT_EQ(flow.add(1000 + 2 * kPayload).step, Step::kReordered);
  EXPECT_EQ(flow.add(1000 + 2 * kPayload).step, Step::kRepeated);
  EXPECT_EQ(flow.coverage().seen_bytes, flow.coverage().sequence_bytes);
}

// A fast retransmission in a data centre arrives within microseconds.
TEST(SequenceTracker, ARepeatedSegmentIsRecognizedAtOnce) {
  Tracked flow;
  flow.add(1000);
  flow.add(1000 + kPayload, kPayload, kUs);
  EXPECT_EQ(flow.add(1000, kPayload, kUs).step, Step::kRepeated);
}

TEST(SequenceTracker, AcknowledgementsRevealUnseenSegments) {
  Tracked flow;
  EXPECT_EQ(flow.acknowledge(5000).step, Step::kControl);  // the direction may take another path
  flow.add(1000);
  EXPECT_EQ(flow.acknowledge(1000 + kPayload).step, Step::kControl);
  const Progress hole = flow.acknowledge(1000 + 3 * kPayload);
  EXPECT_EQ(hole.step, Step::kHole);
  EXPECT_EQ(hole.hole_bytes, 2 * kPayload);
  EXPECT_EQ(hole.missed_packets, 2u);
  EXPECT_EQ(flow.acknowledge(1000 + 3 * kPayload).step, Step::kControl);  // again
  EXPECT_EQ(flow.acknowledge(1000).step, Step::kControl);                 // late
  EXPECT_EQ(flow.acknowledge(2'000'000'000).step, Step::kControl);        // belongs to another flow
  EXPECT_EQ(flow.add(1000 + 3 * kPayload).step, Step::kNext);
  EXPECT_EQ(flow.coverage().sequence_bytes, 4 * kPayload);
  EXPECT_EQ(flow.coverage().seen_bytes, 2 * kPayload);
}

// The sequence numbers of a hole are reused after 4 GiB. A retransmission with these numbers then repeats captured
// bytes.
TEST(SequenceTracker, AHoleIsDroppedBeforeItsNumbersReturn) {
  constexpr uint32_t kStep = 1 << 20;
  Tracked flow;
  flow.add(0, kStep);
  EXPECT_EQ(flow.add(3 * kStep, kStep, kMs).step, Step::kHole);
  for (uint32_t i = 4; i < 4096 + 8; ++i) ASSERT_EQ(flow.add(i * kStep, kStep, 100 * kUs).step, Step::kNext) << i;
  EXPECT_EQ(flow.add(kStep, kStep).step, Step::kRepeated);
}

// Only the acknowledgements of a direction's data are captured.
TEST(SequenceTracker, AHoleMayGrowBeyondTheSequenceSpace) {
  constexpr uint32_t kStep = 1 << 28;
  Tracked flow;
  flow.add(0);
  for (uint32_t i = 1; i <= 17; ++i) ASSERT_EQ(flow.acknowledge(i * kStep, 30 * kMs).step, Step::kHole) << i;
  EXPECT_EQ(flow.add(15u * kStep).step, Step::kReordered);
}

TEST(SequenceTracker, AFinThatIsAddedToARetransmissionIsProgress) {
  Tracked flow;
  flow.add(1000);
  const Progress last = flow.add(1000, kPayload, kMs, false, true);
  EXPECT_EQ(last.repeated_bytes, kPayload);
  EXPECT_EQ(last.new_bytes, 0u);
  EXPECT_EQ(flow.tracker().next_seq(), 1000 + kPayload + 1);
  EXPECT_EQ(flow.acknowledge(1000 + kPayload + 1).step, Step::kControl);
  EXPECT_EQ(flow.coverage().missed_packets, 0u);
}

// If each input port has a separate queue, an acknowledgement may overtake the data it acknowledges.
TEST(SequenceTracker, ASegmentAfterItsAcknowledgementFillsTheHole) {
  Tracked flow;
  flow.add(1000);
  flow.acknowledge(1000 + 2 * kPayload);
  flow.acknowledge(1000 + 3 * kPayload);
  EXPECT_EQ(flow.add(1000 + kPayload).step, Step::kReordered);
  EXPECT_EQ(flow.add(1000 + 2 * kPayload).step, Step::kReordered);
  EXPECT_EQ(flow.coverage().sampling_share(), 1.0);
}

TEST(SequenceTracker, PartlyRepeatedSegmentsCountOnlyOnce) {
  Tracked flow;
  flow.add(1000);
  const Progress partly = flow.add(1000 + kPayload / 2, kPayload);
  EXPECT_EQ(partly.step, Step::kNext);
  EXPECT_EQ(partly.new_bytes, kPayload / 2);
  EXPECT_EQ(partly.repeated_bytes, kPayload / 2);
  EXPECT_EQ(flow.tracker().next_seq(), 1000 + kPayload + kPayload / 2);
  EXPECT_EQ(flow.coverage().seen_bytes, kPayload + kPayload / 2);
}

// RFC 9293 section 3.8.4; probes of a closed window (3.8.6.1) repeat a byte, or send the next one.
TEST(SequenceTracker, KeepAlivesAndWindowProbesAreNotTraffic) {
  Tracked flow;
  flow.add(1000, 1000);
  EXPECT_EQ(flow.add(1999, 0, kSecond).step, Step::kControl);
  EXPECT_EQ(flow.add(1999, 1, kSecond).step, Step::kControl);
  EXPECT_EQ(flow.add(2000, 1, kSecond).step, Step::kNext);     // a probe with a byte
  EXPECT_EQ(flow.add(2000, 1, kSecond).step, Step::kControl);  // again
  EXPECT_EQ(flow.add(2001, 0).step, Step::kNext);              // an acknowledgement
  EXPECT_EQ(flow.add(1500, 0).step, Step::kControl);           // a late one
  EXPECT_EQ(flow.coverage().sequence_bytes, 1001u);
  EXPECT_EQ(flow.coverage().repeated_bytes, 0u);
}

TEST(SequenceTracker, SynAndFinAreNotBytes) {
  Tracked flow;
  EXPECT_EQ(flow.add(999, 0, 10 * kUs, true).step, Step::kStarted);
  EXPECT_EQ(flow.add(999, 0, kSecond, true).step, Step::kNext);  // again
  EXPECT_EQ(flow.add(1000, 100).step, Step::kNext);
  EXPECT_EQ(flow.add(1100, 0, 10 * kUs, false, true).step, Step::kNext);
  EXPECT_EQ(flow.add(1101, 0).step, Step::kNext);
  EXPECT_EQ(flow.coverage().sequence_bytes, 100u);
  EXPECT_EQ(flow.add(500'000'000, 0, 10 * kUs, true).step, Step::kStarted);  // the ports are reused
}

TEST(SequenceTracker, UnrelatedNumbersAreIgnored) {
  Tracked flow;
  flow.add(1000);
  EXPECT_EQ(flow.add(900'000'000).step, Step::kImplausible);
  EXPECT_EQ(flow.add(1000 + kPayload).step, Step::kNext);
  EXPECT_EQ(flow.add(2'000'000'000).step, Step::kImplausible);
  EXPECT_EQ(flow.add(2'000'000'000 + 3 * kPayload).step, Step::kStarted);  // it continues there
  EXPECT_EQ(flow.add(2'000'000'000 + 4 * kPayload).step, Step::kNext);
}

// The model stores each segment of a flow whose numbers wrap around. The tracker stores only the latest hole, so a
// segment that fills an earlier one counts as repeated.
TEST(SequenceTracker, AgreesWithAModelOfAllSegments) {
  std::mt19937 random(1414);
  int reordered = 0, forgotten = 0;
  for (int round = 0; round < 50; ++round) {
    const auto start = static_cast<uint32_t>(UINT32_MAX - random() % (1000 * kPayload));
    Tracked flow;
    std::set<uint32_t> seen;
    uint32_t next = 0;
    for (int i = 0; i < 2000; ++i) {
      const bool is_repeated = next > 0 && random() % 4 == 0;
      const uint32_t segment =
          is_repeated ? next - 1 - random() % std::min(next, 20u) : next + random() % 6 / 4 * (random() % 5);
      const Progress progress = flow.add(start + segment * kPayload, kPayload, 100 * kUs);
      const bool is_new = seen.insert(segment).second;
      if (segment >= next) {
        const Step ahead = segment == next ? Step::kNext : Step::kHole;
        ASSERT_EQ(progress.step, i == 0 ? Step::kStarted : ahead) << i;
        ASSERT_EQ(progress.hole_bytes, i == 0 ? 0 : (segment - next) * kPayload);
        next = segment + 1;
      } else if (progress.step == Step::kReordered) {
        ASSERT_TRUE(is_new) << i;
        ++reordered;
      } else {
        ASSERT_EQ(progress.step, Step::kRepeated) << i;
        forgotten += is_new ? 1 : 0;
      }
      ASSERT_EQ(flow.tracker().next_seq(), start + next * kPayload);
    }
  }
  EXPECT_GT(reordered, 1000);
  EXPECT_GT(forgotten, 1000);
}

TEST(SequenceTracker, MissingPacketsHaveTheSizeOfTheSample) {
  Tracked small, unknown;
  for (uint32_t i = 0; i < 20; ++i) small.add(1000 + i * 100, 100);
  EXPECT_EQ(small.add(1000 + 30 * 100, 100).missed_packets, 10u);
  // Before any payload has been seen, standard frames are assumed for the estimate, and jumbo frames for its minimum.
  unknown.add(1000, 0);
  const Progress hole = unknown.add(1000 + 10 * 8948, 0);
  EXPECT_EQ(hole.min_missed_packets, 10u);
  EXPECT_GT(hole.missed_packets, 10u);
}

TEST(SequenceTracker, DecreasingTimesAreHarmless) {
  Tracked flow;
  flow.add(1000, kPayload, kSecond);
  EXPECT_EQ(flow.add(1000 + 2 * kPayload, kPayload, -kSecond / 2).step, Step::kHole);
  EXPECT_EQ(flow.add(1000 + 3 * kPayload, kPayload, kSecond).step, Step::kNext);
}

}  // namespace
}  // namespace tapline::rates
