#include "parsers/rates/sequence_tracker.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(hole.least_missed_packets, 4u);
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
  const Progress again = flow.add(1000 + 20 * kPayload);
  EXPECT_EQ(again.step, Step::kRepeated);
  EXPECT_EQ(again.repeated_bytes, kPayload);
  EXPECT_EQ(again.new_bytes, 0u);
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

// Regardless of its delay: it was lost before the tap, then retransmitted.
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
  EXPECT_EQ(flow.acknowledge(2'000'000'000).step, Step::kControl);        // of another flow
  EXPECT_EQ(flow.add(1000 + 3 * kPayload).step, Step::kNext);
  EXPECT_EQ(flow.coverage().sequence_bytes, 4 * kPayload);
  EXPECT_EQ(flow.coverage().seen_bytes, 2 * kPayload);
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

TEST(SequenceTracker, MissingPacketsHaveTheSizeOfTheSample) {
  Tracked small, unknown;
  for (uint32_t i = 0; i < 20; ++i) small.add(1000 + i * 100, 100);
  EXPECT_EQ(small.add(1000 + 30 * 100, 100).missed_packets, 10u);
  // Before any payload was seen, standard and jumbo frames are the limits.
  unknown.add(1000, 0);
  const Progress hole = unknown.add(1000 + 10 * 8948, 0);
  EXPECT_EQ(hole.least_missed_packets, 10u);
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
