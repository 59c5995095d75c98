// Tests sinks that are full or fail: every tuple must be delivered or reported as lost.
#include <map>
#include <random>

#include "monitors/output/batch_output_fixture.h"

namespace tapline {
namespace {

TEST_F(BatchOutputTest, ALiveCaptureWaitsForRoomOnlyOnceItIsOver) {
  open();
  sink_->full = true;
  emit_number(1, 1);
  output_->tick(200 * kMs, 300);
  EXPECT_EQ(sink_->waits, 0);
  EXPECT_EQ(accounts_[0].dropped[index_of(Drop::kQueueFull)], 1u);
  output_->capture_over();
  emit_number(2, 1);
  output_->end_query(0, 300);
  EXPECT_GT(sink_->waits, 0);
  EXPECT_EQ(rows(0), 1u);
}

TEST_F(BatchOutputTest, ReportsTheLagOfTheSink) {
  open();
  EXPECT_EQ(output_->stats().fill, 0);
  sink_->full = true;
  emit_number(1, 3);
  output_->tick(200 * kMs, 300);
  EXPECT_EQ(output_->stats().fill, 1);
  EXPECT_EQ(output_->stats().refused, 2u) << "one of each query";
}

TEST_F(BatchOutputTest, TheNextBatchReportsTheLossesOfAFullQueue) {
  open();
  accounts_[0].packets_in = accounts_[0].packets_out = 7;
  sink_->full = true;
  emit_letter(1, 1);
  emit_number(1, 1);
  output_->tick(100 * kMs, 1);
  EXPECT_TRUE(sent_.empty());
  sink_->full = false;
  emit_letter(2, 1);
  output_->tick(200 * kMs, 2);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].batch.sequence(), 0u);
  std::map<std::string, uint64_t> dropped;
  v1::Accounting total = total_of(0, &dropped);
  EXPECT_EQ(total.packets_in(), 7u);
  EXPECT_EQ(total.tuples_in(), 3u);
  EXPECT_EQ(dropped["queue_full"], 2u);
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, FilesWaitForRoom) {
  BatchOutputOptions options;
  options.wait_for_room = true;
  open(options);
  sink_->full = true;
  emit_letter(1, 1);
  output_->tick(100 * kMs, 1);
  EXPECT_EQ(sink_->waits, 1);
  EXPECT_EQ(rows(0), 1u);
}

TEST_F(BatchOutputTest, TheEndOfAQueryWaitsForRoomInsteadOfBeingDropped) {
  open();
  sink_->full = true;
  output_->end_query(0, 5);
  EXPECT_TRUE(sent_.empty());
  sink_->full = false;
  output_->tick(100 * kMs, 9);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(sent_[0].batch.end_of_stream());
  EXPECT_EQ(sent_[0].batch.watermark_ns(), 5);
  EXPECT_TRUE(output_->finish().ok());
}

TEST_F(BatchOutputTest, AnUndeliveredBatchIsReportedAgainAsLost) {
  open();
  accounts_[0].packets_in = accounts_[0].packets_out = 4;
  emit_letter(1, 1);
  output_->tick(100 * kMs, 1);
  ASSERT_EQ(sent_.size(), 1u);
  sink_->acknowledge(0, false);
  EXPECT_TRUE(accounts_[0].balanced());
  sent_.clear();
  emit_letter(2, 1);
  output_->tick(200 * kMs, 2);
  std::map<std::string, uint64_t> dropped;
  v1::Accounting total = total_of(0, &dropped);
  EXPECT_EQ(total.packets_in(), 4u);
  EXPECT_EQ(total.tuples_in(), 2u);
  EXPECT_EQ(dropped["delivery_failed"], 1u);
}

TEST_F(BatchOutputTest, AnUndeliveredEndIsAnError) {
  open();
  output_->end_query(0, 5);
  ASSERT_EQ(sent_.size(), 1u);
  sink_->acknowledge(0, false);
  EXPECT_EQ(output_->finish().code(), Code::kResources);
}

// Regardless of the batches' outcomes, the delivered tuples and those reported as lost add up to the emitted ones.
TEST_F(BatchOutputTest, TheAccountsBalanceUnderRandomFailures) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    sent_.clear();
    accounts_.assign(2, {});
    open();
    std::mt19937 random(seed);
    std::vector<bool> reported;
    uint64_t emitted[2] = {0, 0}, failed_rows[2] = {0, 0};
    for (int64_t now = 1; now < 300; ++now) {
      sink_->full = random() % 4 == 0;
      uint64_t queries = 1 + random() % 3;
      for (int i = 0; i < 2; ++i) emitted[i] += queries >> i & 1;
      emit_number(now, queries);
      if (random() % 5 == 0) output_->lose(LossReason::kTooManyPending, 1, 1);
      output_->tick(now * 50 * kMs, now);
      reported.resize(sent_.size());
      size_t pick = sent_.empty() ? 0 : random() % sent_.size();
      if (sent_.empty() || reported[pick]) continue;
      reported[pick] = true;
      bool delivered = random() % 3 != 0;
      sink_->acknowledge(pick, delivered);
      if (delivered) continue;
      failed_rows[sent_[pick].query] += sent_[pick].batch.rows();
      sent_[pick].batch.Clear();
    }
    sink_->full = false;
    for (uint32_t query : {0, 1}) output_->end_query(query, 300);
    for (uint32_t query : {0u, 1u}) {
      std::map<std::string, uint64_t> dropped;
      uint64_t tuples = total_of(query, &dropped).tuples_in();
      ASSERT_TRUE(accounts_[query].balanced());
      ASSERT_EQ(dropped["delivery_failed"], failed_rows[query]);
      bool lost_are_tuples = unit_of(LossReason::kTooManyPending) == LossUnit::kTuples;
      ASSERT_EQ(tuples, emitted[query] + (lost_are_tuples ? dropped["too_many_pending"] : 0)) << seed;
      ASSERT_EQ(rows(query) + dropped["delivery_failed"] + dropped["queue_full"], emitted[query]) << seed;
    }
  }
}

}  // namespace
}  // namespace tapline
