// Tests the batches of a process that resumes from the ledger of one that died.
#include <map>
#include <random>
#include <utility>

#include "monitors/output/batch_output_fixture.h"

namespace tapline {
namespace {

// Reads batches as consumers do: the first batch with an incarnation and sequence number counts.
struct Reader {
  std::map<std::pair<uint64_t, uint64_t>, const v1::TupleBatch*> batches;
  uint64_t packets_in = 0, tuples_in = 0, rows = 0, tuples_lost = 0;

  void read(const v1::TupleBatch& batch) {
    if (!batches.emplace(std::pair(batch.incarnation(), batch.sequence()), &batch).second) return;
    packets_in += batch.accounting().packets_in();
    tuples_in += batch.accounting().tuples_in();
    rows += batch.rows();
    for (const auto& entry : batch.accounting().dropped()) {
      if (entry.unit() == v1::Dropped::TUPLES) tuples_lost += entry.count();
    }
  }
  // Expects sequence numbers from 0 without gaps.
  void expect_gapless(uint64_t incarnation) const {
    uint64_t next = 0;
    for (const auto& [key, batch] : batches) {
      if (key.first != incarnation) continue;
      EXPECT_EQ(key.second, next++) << "incarnation " << incarnation;
    }
  }
};

// Processes die with unsent tuples, and with batches that were acknowledged, that arrived without an acknowledgement,
// or that were lost. In every such case, each packet and tuple must be reported to readers exactly once.
TEST_F(BatchOutputTest, TheNextProcessReportsTheLossesOfADeadOne) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto ledger = std::make_unique<BatchLedger>();
    std::vector<v1::TupleBatch> arrived;
    uint64_t packets = 0, tuples = 0;
    accounts_ = QueryAccounts(2);
    constexpr uint64_t kProcesses = 4;
    for (uint64_t incarnation = 1; incarnation <= kProcesses; ++incarnation) {
      sent_.clear();
      open({.incarnation = incarnation, .flush_after_ns = 0, .ledger = ledger.get()});
      const int steps = 1 + static_cast<int>(random() % 8);
      for (int step = 1; step <= steps; ++step) {
        ++packets;
        ++accounts_[0].packets_in;
        ++accounts_[0].packets_out;
        for (auto more = random() % 3; more > 0; --more, ++tuples) emit_letter(step, 1);
        ledger->streams[0].waiting_rows_parsed = ledger->streams[0].waiting_rows;
        if (random() % 2 == 0) output_->tick(step * int64_t{1'000'000'000}, step);
      }
      const bool is_last = incarnation == kProcesses;
      if (is_last) output_->end_query(0, steps);
      // In sending order, the first batches were acknowledged, the next ones arrived without an acknowledgement, and
      // the rest were lost.
      const size_t delivered = is_last ? sent_.size() : random() % (sent_.size() + 1);
      const size_t acknowledged = is_last ? delivered : random() % (delivered + 1);
      for (size_t i = 0; i < delivered; ++i) {
        if (sent_[i].query == 0) arrived.push_back(sent_[i].batch);
        if (i < acknowledged) sink_->acknowledge(i, true);
      }
      if (is_last) break;
      for (uint32_t query : {0, 1}) settle_tuples(query, &accounts_[query], ledger.get());
      EXPECT_TRUE(accounts_[0].balanced());
    }
    Reader reader;
    for (const v1::TupleBatch& batch : arrived) reader.read(batch);
    EXPECT_EQ(reader.packets_in, packets) << seed;
    EXPECT_EQ(reader.tuples_in, tuples) << seed;
    EXPECT_EQ(reader.rows + reader.tuples_lost, tuples) << seed;
    for (uint64_t incarnation = 1; incarnation <= kProcesses; ++incarnation) reader.expect_gapless(incarnation);
  }
}

// Batches on behalf of a dead process omit the watch time, since readers take it from that process's own batches.
TEST_F(BatchOutputTest, LossesOfADeadProcessAreReportedWithoutItsWatchTime) {
  const auto ledger = std::make_unique<BatchLedger>();
  open({.incarnation = 1, .flush_after_ns = 0, .ledger = ledger.get()});
  output_->set_watched_since(0, 40);
  emit_letter(50, 1);
  output_->tick(1000 * kMs, 60);
  for (uint32_t query : {0, 1}) settle_tuples(query, &accounts_[query], ledger.get());
  sent_.clear();
  open({.incarnation = 2, .flush_after_ns = 0, .ledger = ledger.get()});
  ASSERT_FALSE(sent_.empty());
  for (const SentBatch& sent : sent_) {
    EXPECT_EQ(sent.batch.incarnation(), 1u);
    EXPECT_EQ(sent.batch.watched_since_ns(), 0);
  }
}

}  // namespace
}  // namespace tapline
