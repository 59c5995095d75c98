#include "monitors/output/batch_output.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

const Schema& Letters() {
  static const Schema schema = {.name = "letters", .fields = {{"text", FieldType::kString}}};
  return schema;
}
const Schema& Numbers() {
  static const Schema schema = {.name = "numbers", .fields = {{"number", FieldType::kU64}}};
  return schema;
}

struct SentBatch {
  uint32_t query;
  v1::TupleBatch batch;
  uint64_t ticket;
};

// A sink that is full, or fails a batch, when the test says so.
class TestSink final : public BatchSink {
 public:
  explicit TestSink(std::vector<SentBatch>* sent) : sent_(sent) {}
  Status Start(DeliveryListener* listener) override {
    listener_ = listener;
    return {};
  }
  Status Prepare(uint32_t) override { return {}; }
  Sent Send(uint32_t query, std::string_view bytes, uint64_t ticket) override {
    if (full) return Sent::kFull;
    v1::TupleBatch batch;
    EXPECT_TRUE(batch.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    sent_->push_back({query, batch, ticket});
    return Sent::kTaken;
  }
  double fill() const override { return full ? 1 : 0; }
  void Poll() override {}
  void Wait() override {
    ++waits;
    full = false;
  }
  Status Flush() override { return {}; }
  Status status() const override { return {}; }
  void Tell(size_t index, bool delivered) { listener_->OnDelivery((*sent_)[index].ticket, delivered); }

  bool full = false;
  int waits = 0;

 private:
  std::vector<SentBatch>* sent_;
  DeliveryListener* listener_ = nullptr;
};

class BatchOutputTest : public testing::Test {
 protected:
  void Open(BatchOutputOptions options = {}) {
    options.monitor_id = "m";
    auto sink = std::make_unique<TestSink>(&sent_);
    sink_ = sink.get();
    output_ = std::make_unique<BatchOutput>(options, queries_, schemas_, &accounts_, std::move(sink));
    ASSERT_TRUE(output_->Start().ok());
    for (uint32_t i = 0; i < queries_.size(); ++i) {
      ASSERT_TRUE(output_->Prepare(i).ok());
      output_->AddQuery(i);
    }
  }
  void EmitLetter(int64_t time_ns, uint64_t queries, std::string_view text = "x") {
    TupleHeader header;
    header.time_ns = time_ns;
    header.queries = queries;
    const Value values[] = {Value::string(text)};
    output_->emit(0, header, values);
  }
  void EmitNumber(int64_t time_ns, uint64_t queries) {
    TupleHeader header;
    header.time_ns = time_ns;
    header.queries = queries;
    const Value values[] = {Value::u64(1)};
    output_->emit(1, header, values);
  }
  v1::Accounting Total(uint32_t query, std::map<std::string, uint64_t>* dropped) {
    v1::Accounting total;
    for (const SentBatch& sent : sent_) {
      if (sent.query != query) continue;
      const v1::Accounting& delta = sent.batch.accounting();
      total.set_packets_in(total.packets_in() + delta.packets_in());
      total.set_tuples_in(total.tuples_in() + delta.tuples_in());
      for (const auto& entry : delta.dropped()) (*dropped)[entry.reason()] += entry.count();
    }
    return total;
  }
  uint64_t Rows(uint32_t query) {
    uint64_t rows = 0;
    for (const SentBatch& sent : sent_) rows += sent.query == query ? sent.batch.rows() : 0;
    return rows;
  }

  std::vector<QuerySpec> queries_ = {{.name = "q0", .parsers = {"letters", "numbers"}},
                                     {.name = "q1", .parsers = {"numbers"}}};
  std::vector<const Schema*> schemas_ = {&Letters(), &Numbers()};
  QueryAccounts accounts_ = QueryAccounts(2);
  std::vector<SentBatch> sent_;
  TestSink* sink_ = nullptr;
  std::unique_ptr<BatchOutput> output_;
};

TEST_F(BatchOutputTest, QueriesOfShortIntervalsAreSentMoreOften) {
  const Schema rates = {.name = "numbers", .fields = {{"number", FieldType::kU64}}, .interval_ns = int64_t{20'000'000}};
  queries_ = {{.name = "slow", .parsers = {"letters"}}, {.name = "fast", .parsers = {"numbers"}}};
  schemas_ = {&Letters(), &rates};
  Open();
  const auto sent_of = [&](uint32_t query) {
    return std::count_if(sent_.begin(), sent_.end(), [&](const SentBatch& sent) { return sent.query == query; });
  };
  const int64_t start_ns = 1'000'000'000;
  output_->Tick(start_ns, start_ns);
  sent_.clear();
  for (int64_t ms = 1; ms <= 100; ++ms) {
    const int64_t now_ns = start_ns + ms * 1'000'000;
    EmitLetter(now_ns, 1);
    if (ms <= 50) EmitNumber(now_ns, 2);
    output_->Tick(now_ns, now_ns);
  }
  EXPECT_EQ(sent_of(0), 1);
  // Two with rows and, once there are none, watermarks as often.
  EXPECT_EQ(sent_of(1), 5);
  EXPECT_EQ(Rows(1), 50u);
  EXPECT_EQ(sent_.back().batch.watermark_ns(), start_ns + 100'000'000);
}

// "number >= 2", as a filter of the numbers.
ParserFilter AtLeastTwo() {
  v1::ConditionTree tree;
  auto* comparison = tree.add_nodes()->mutable_comparison();
  comparison->add_left()->mutable_field()->set_name("number");
  comparison->set_order(v1::ConditionTree::GREATER_OR_EQUAL);
  comparison->add_right()->mutable_literal()->set_word("2");
  auto condition = TupleCondition::Make(tree, Numbers());
  EXPECT_TRUE(condition.ok());
  return {"numbers", std::move(*condition)};
}

// The consumers of the stream know the condition, too, and account for what they leave out.
TEST_F(BatchOutputTest, OnlyEventsThatMeetTheConditionLeaveAsEvents) {
  queries_[0].filters.push_back(AtLeastTwo());
  EventBell bell;
  EventRing ring(1 << 12, &bell);
  Open({.events = &ring});
  for (const uint64_t number : {1, 2, 3}) {
    TupleHeader header;
    header.queries = 0b11;
    const Value values[] = {Value::u64(number)};
    output_->event(1, header, values);
  }
  std::map<uint32_t, std::vector<uint64_t>> events;
  for (RingEvent event; ring.Front(&event); ring.Pop()) events[event.query].push_back(event.values[0].as_u64());
  EXPECT_EQ(events[0], (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(events[1], (std::vector<uint64_t>{1, 2, 3}));
  output_->Tick(2'000'000'000, 2'000'000'000);
  EXPECT_EQ(Rows(0), 3u);
  EXPECT_EQ(Rows(1), 3u);
}

// Another thread prepares a slot for another query: from its end until it is added again, nothing is sent for it.
TEST_F(BatchOutputTest, APlaceThatIsPreparedAnewIsNobodys) {
  Open({.heartbeat_after_ns = 0});
  accounts_[1].packets_in = accounts_[1].packets_out = 3;
  output_->EndQuery(1, 5);
  EXPECT_FALSE(output_->done(1)) << "its end is on the way";
  for (size_t i = 0; i < sent_.size(); ++i) sink_->Tell(i, true);
  ASSERT_TRUE(output_->done(1));
  ASSERT_TRUE(output_->Prepare(1).ok());
  sent_.clear();
  ++accounts_[1].packets_in;
  output_->Tick(int64_t{10'000'000'000}, int64_t{10'000'000'000});
  output_->Tick(int64_t{20'000'000'000}, int64_t{20'000'000'000});
  for (const SentBatch& sent : sent_) EXPECT_NE(sent.query, 1u);
}

// Reads batches as consumers do: the first of each incarnation and sequence number counts.
struct Reader {
  std::map<std::pair<uint64_t, uint64_t>, const v1::TupleBatch*> batches;
  uint64_t packets_in = 0, tuples_in = 0, rows = 0, tuples_lost = 0;

  void Read(const v1::TupleBatch& batch) {
    if (!batches.emplace(std::pair(batch.incarnation(), batch.sequence()), &batch).second) return;
    packets_in += batch.accounting().packets_in();
    tuples_in += batch.accounting().tuples_in();
    rows += batch.rows();
    for (const auto& entry : batch.accounting().dropped()) {
      if (entry.unit() == v1::Dropped::TUPLES) tuples_lost += entry.count();
    }
  }
  // Sequence numbers from 0 without a gap.
  void ExpectGapless(uint64_t incarnation) const {
    uint64_t next = 0;
    for (const auto& [key, batch] : batches) {
      if (key.first == incarnation) EXPECT_EQ(key.second, next++) << "incarnation " << incarnation;
    }
  }
};

// Processes die with batches that are acknowledged, arrived or neither, and with unsent tuples. Whatever the mix, every
// packet and tuple is reported to readers once.
TEST_F(BatchOutputTest, TheNextProcessPaysWhatADeadOneOwed) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto ledger = std::make_unique<BatchLedger>();
    std::vector<v1::TupleBatch> arrived;
    uint64_t packets = 0, tuples = 0;
    accounts_ = QueryAccounts(2);
    constexpr uint64_t kProcesses = 4;
    for (uint64_t incarnation = 1; incarnation <= kProcesses; ++incarnation) {
      sent_.clear();
      Open({.incarnation = incarnation, .flush_after_ns = 0, .ledger = ledger.get()});
      const int steps = 1 + static_cast<int>(random() % 8);
      for (int step = 1; step <= steps; ++step) {
        ++packets;
        ++accounts_[0].packets_in;
        ++accounts_[0].packets_out;
        for (auto more = random() % 3; more > 0; --more, ++tuples) EmitLetter(step, 1);
        ledger->streams[0].waiting_rows_parsed = ledger->streams[0].waiting_rows;
        if (random() % 2 == 0) output_->Tick(step * int64_t{1'000'000'000}, step);
      }
      const bool last = incarnation == kProcesses;
      if (last) output_->EndQuery(0, steps);
      // In the order in which they were sent: some acknowledged, some more arrived, the rest did not.
      const size_t come = last ? sent_.size() : random() % (sent_.size() + 1);
      const size_t acknowledged = last ? come : random() % (come + 1);
      for (size_t i = 0; i < come; ++i) {
        if (sent_[i].query == 0) arrived.push_back(sent_[i].batch);
        if (i < acknowledged) sink_->Tell(i, true);
      }
      if (last) break;
      for (uint32_t query : {0, 1}) SettleTuples(query, &accounts_[query], ledger.get());
      EXPECT_TRUE(accounts_[0].balanced());
    }
    Reader reader;
    for (const v1::TupleBatch& batch : arrived) reader.Read(batch);
    EXPECT_EQ(reader.packets_in, packets) << seed;
    EXPECT_EQ(reader.tuples_in, tuples) << seed;
    EXPECT_EQ(reader.rows + reader.tuples_lost, tuples) << seed;
    for (uint64_t incarnation = 1; incarnation <= kProcesses; ++incarnation) reader.ExpectGapless(incarnation);
  }
}

constexpr int64_t kMs = 1'000'000;

TEST_F(BatchOutputTest, AFlushSendsAllParsersOfTheQueryAndOnlyTheLastAdvancesTheWatermark) {
  Open();
  EmitLetter(100, 1);
  EmitNumber(200, 3);
  output_->Tick(200 * kMs, 300);
  ASSERT_EQ(sent_.size(), 3u);
  EXPECT_EQ(sent_[0].batch.parser(), "letters");
  EXPECT_EQ(sent_[0].batch.watermark_ns(), INT64_MIN);
  EXPECT_EQ(sent_[1].batch.parser(), "numbers");
  EXPECT_EQ(sent_[1].batch.watermark_ns(), 300);
  EXPECT_EQ(sent_[2].batch.query(), "q1");
  EXPECT_EQ(sent_[2].batch.watermark_ns(), 300);
}

// Every tuple is weighted by the rate of its own batch, whenever the rate changed.
TEST_F(BatchOutputTest, AChangeOfTheSamplingRateClosesTheBatch) {
  queries_[0].sampling_rate = 0.8;
  Open();
  std::mt19937_64 random(1);
  std::map<double, uint64_t> emitted;
  uint64_t left_out = 0;
  int64_t time_ns = 0;
  for (double rate : {0.8, 0.4, 0.1, 0.4, 0.8}) {
    output_->SetSamplingRate(0, rate, time_ns);
    for (int i = 0; i < 1000; ++i) {
      TupleHeader header;
      header.time_ns = ++time_ns;
      header.flow_hash = random();
      header.queries = 1;
      const Value values[] = {Value::u64(1)};
      output_->emit(1, header, values);
      bool kept = rate == 0.8 || sampled(header.flow_hash, sampling_threshold(rate));
      ++(kept ? emitted[rate] : left_out);
    }
  }
  output_->EndQuery(0, time_ns);
  std::map<double, uint64_t> found;
  for (const SentBatch& sent : sent_) found[sent.batch.sampling_rate()] += sent.batch.rows();
  EXPECT_EQ(found, emitted);
  EXPECT_NEAR(static_cast<double>(emitted[0.1]), 100, 50);
  std::map<std::string, uint64_t> dropped;
  EXPECT_EQ(Total(0, &dropped).tuples_in(), 5000u);
  EXPECT_EQ(dropped["rate_fell"], left_out);
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, ByPortTuplesOfFlowsThatSwitchesLeaveOutGoNoFurther) {
  queries_[0].sampled_by_port = true;
  queries_[0].match = ConnectionMatch({}, {*AddressPattern::Parse("", 80)});
  Open();
  output_->SetSamplingRate(0, 0.25, 0);
  for (uint16_t port = 1000; port < 1800; ++port) {
    TupleHeader header;
    header.time_ns = port;
    header.flow_hash = port;
    // In some connections the server's side was the one that opened them.
    const bool opened_by_server = port / 8 % 2 == 1;
    header.src_port = opened_by_server ? 80 : port;
    header.dst_port = opened_by_server ? port : 80;
    header.queries = 1;
    const Value values[] = {Value::u64(1)};
    output_->emit(1, header, values);
  }
  output_->EndQuery(0, 2000);
  EXPECT_EQ(Rows(0), 200u) << "those with two zeros above the lowest bit";
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, ALiveCaptureWaitsForRoomOnlyOnceItIsOver) {
  Open();
  sink_->full = true;
  EmitNumber(1, 1);
  output_->Tick(200 * kMs, 300);
  EXPECT_EQ(sink_->waits, 0);
  EXPECT_EQ(accounts_[0].dropped[IndexOf(Drop::kQueueFull)], 1u);
  output_->CaptureOver();
  EmitNumber(2, 1);
  output_->EndQuery(0, 300);
  EXPECT_GT(sink_->waits, 0);
  EXPECT_EQ(Rows(0), 1u);
}

TEST_F(BatchOutputTest, TellsHowFarTheSinkIsBehind) {
  Open();
  EXPECT_EQ(output_->stats().fill, 0);
  sink_->full = true;
  EmitNumber(1, 3);
  output_->Tick(200 * kMs, 300);
  EXPECT_EQ(output_->stats().fill, 1);
  EXPECT_EQ(output_->stats().refused, 2u) << "one of each query";
}

TEST_F(BatchOutputTest, AFullBuilderFlushesItsQueryUpToTheTupleThatDidNotFit) {
  BatchOutputOptions options;
  options.max_rows = 2;
  Open(options);
  EmitNumber(10, 3);
  EmitLetter(11, 1);
  EmitLetter(12, 1);
  EmitLetter(13, 1);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].batch.rows(), 2u);
  EXPECT_EQ(sent_[1].batch.parser(), "numbers");
  EXPECT_EQ(sent_[1].batch.watermark_ns(), 13);
}

TEST_F(BatchOutputTest, SequencesAreGaplessPerQueryAndTheLastBatchEndsIt) {
  Open();
  for (int i = 0; i < 5; ++i) {
    EmitLetter(i, 1);
    EmitNumber(i, 3);
    output_->Tick((i + 1) * 100 * kMs, i);
  }
  output_->EndQuery(0, 9);
  output_->EndQuery(0, 9);
  output_->EndQuery(1, 9);
  uint64_t expected[2] = {0, 0};
  for (const SentBatch& sent : sent_) EXPECT_EQ(sent.batch.sequence(), expected[sent.query]++);
  EXPECT_EQ(expected[0], 11u);
  EXPECT_EQ(expected[1], 6u);
  for (size_t i = 0; i < sent_.size(); ++i) {
    bool last = i + 2 >= sent_.size() ? sent_[i].batch.rows() == 0 : false;
    EXPECT_EQ(sent_[i].batch.end_of_stream(), last) << i;
    if (last) {
      EXPECT_EQ(sent_[i].batch.watermark_ns(), 9);
    }
  }
}

// Another process takes over q0: its stream has not ended, and everything that was seen of it here has been sent.
TEST_F(BatchOutputTest, AnAbandonedQueryIsDoneWithoutSayingThatItHasEnded) {
  const std::atomic<uint64_t> abandoned = 1;
  queries_[0].monitor = "part";
  Open({.abandoned = &abandoned});
  EmitNumber(5, 3);
  output_->EndQuery(0, 7);
  output_->EndQuery(1, 7);
  for (size_t i = 0; i < sent_.size(); ++i) sink_->Tell(i, true);
  EXPECT_TRUE(output_->done(0));
  EXPECT_TRUE(output_->done(1));
  EXPECT_EQ(Rows(0), 1u);
  for (const SentBatch& sent : sent_) {
    EXPECT_EQ(sent.batch.monitor(), sent.query == 0 ? "part" : "m");
    EXPECT_FALSE(sent.query == 0 && sent.batch.end_of_stream());
  }
  EXPECT_TRUE(sent_.back().batch.end_of_stream());
  EXPECT_EQ(sent_.back().query, 1u);
}

TEST_F(BatchOutputTest, AnIdleQuerySendsHeartbeatsAsTimePasses) {
  Open();
  output_->Tick(1000 * kMs, 50);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].batch.rows(), 0u);
  EXPECT_EQ(sent_[0].batch.watermark_ns(), 50);
  output_->Tick(1200 * kMs, 60);
  EXPECT_EQ(sent_.size(), 2u) << "too early";
  output_->Tick(2000 * kMs, 50);
  EXPECT_EQ(sent_.size(), 2u) << "nothing new";
  output_->Tick(3000 * kMs, 70);
  EXPECT_EQ(sent_.size(), 4u);
}

TEST_F(BatchOutputTest, EveryBatchSaysSinceWhenItsQueryIsWatched) {
  Open({.flush_after_ns = 0});
  output_->SetWatchedSince(1, 40);
  EmitNumber(50, 0b11);
  output_->Tick(1000 * kMs, 60);
  output_->SetWatchedSince(0, 65);
  output_->Tick(2000 * kMs, 70);
  output_->EndQuery(0, 80);
  output_->EndQuery(1, 80);
  std::map<uint32_t, std::vector<int64_t>> since;
  for (const SentBatch& sent : sent_) since[sent.query].push_back(sent.batch.watched_since_ns());
  EXPECT_EQ(since[0], (std::vector<int64_t>{TupleOutput::kNotWatched, 65, 65}));
  EXPECT_EQ(since[1], (std::vector<int64_t>{40, 40, 40}));
}

// Readers take the values that such a batch lacks from the dead process's own batches.
TEST_F(BatchOutputTest, WhoPaysADeadProcesssDebtsDoesNotSayWhatThatWatched) {
  const auto ledger = std::make_unique<BatchLedger>();
  Open({.incarnation = 1, .flush_after_ns = 0, .ledger = ledger.get()});
  output_->SetWatchedSince(0, 40);
  EmitLetter(50, 1);
  output_->Tick(1000 * kMs, 60);
  for (uint32_t query : {0, 1}) SettleTuples(query, &accounts_[query], ledger.get());
  sent_.clear();
  Open({.incarnation = 2, .flush_after_ns = 0, .ledger = ledger.get()});
  ASSERT_FALSE(sent_.empty());
  for (const SentBatch& sent : sent_) {
    EXPECT_EQ(sent.batch.incarnation(), 1u);
    EXPECT_EQ(sent.batch.watched_since_ns(), 0);
  }
}

TEST_F(BatchOutputTest, NothingIsSaidBeforeTimeIsKnown) {
  Open();
  output_->Tick(1000 * kMs, INT64_MIN);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(BatchOutputTest, WhatAFullQueueCostsIsCarriedByTheNextBatch) {
  Open();
  accounts_[0].packets_in = accounts_[0].packets_out = 7;
  sink_->full = true;
  EmitLetter(1, 1);
  EmitNumber(1, 1);
  output_->Tick(100 * kMs, 1);
  EXPECT_TRUE(sent_.empty());
  sink_->full = false;
  EmitLetter(2, 1);
  output_->Tick(200 * kMs, 2);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].batch.sequence(), 0u);
  std::map<std::string, uint64_t> dropped;
  v1::Accounting total = Total(0, &dropped);
  EXPECT_EQ(total.packets_in(), 7u);
  EXPECT_EQ(total.tuples_in(), 3u);
  EXPECT_EQ(dropped["queue_full"], 2u);
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, FilesWaitForRoom) {
  BatchOutputOptions options;
  options.wait_for_room = true;
  Open(options);
  sink_->full = true;
  EmitLetter(1, 1);
  output_->Tick(100 * kMs, 1);
  EXPECT_EQ(sink_->waits, 1);
  EXPECT_EQ(Rows(0), 1u);
}

TEST_F(BatchOutputTest, TheEndOfAQueryWaitsForRoomInsteadOfBeingDropped) {
  Open();
  sink_->full = true;
  output_->EndQuery(0, 5);
  EXPECT_TRUE(sent_.empty());
  sink_->full = false;
  output_->Tick(100 * kMs, 9);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(sent_[0].batch.end_of_stream());
  EXPECT_EQ(sent_[0].batch.watermark_ns(), 5);
  EXPECT_TRUE(output_->Finish().ok());
}

TEST_F(BatchOutputTest, AnUndeliveredBatchIsReportedAgainAsLost) {
  Open();
  accounts_[0].packets_in = accounts_[0].packets_out = 4;
  EmitLetter(1, 1);
  output_->Tick(100 * kMs, 1);
  ASSERT_EQ(sent_.size(), 1u);
  sink_->Tell(0, false);
  EXPECT_TRUE(accounts_[0].balanced());
  sent_.clear();
  EmitLetter(2, 1);
  output_->Tick(200 * kMs, 2);
  std::map<std::string, uint64_t> dropped;
  v1::Accounting total = Total(0, &dropped);
  EXPECT_EQ(total.packets_in(), 4u);
  EXPECT_EQ(total.tuples_in(), 2u);
  EXPECT_EQ(dropped["delivery_failed"], 1u);
}

TEST_F(BatchOutputTest, AnUndeliveredEndIsAnError) {
  Open();
  output_->EndQuery(0, 5);
  ASSERT_EQ(sent_.size(), 1u);
  sink_->Tell(0, false);
  EXPECT_EQ(output_->Finish().code(), Code::kResources);
}

// Whatever happens to batches: the tuples that arrived and those reported lost add up to the emitted ones.
TEST_F(BatchOutputTest, TheIdentityHoldsUnderRandomTrouble) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    sent_.clear();
    accounts_.assign(2, {});
    Open();
    std::mt19937 random(seed);
    std::vector<bool> told;
    uint64_t emitted[2] = {0, 0}, failed_rows[2] = {0, 0};
    for (int64_t now = 1; now < 300; ++now) {
      sink_->full = random() % 4 == 0;
      uint64_t queries = 1 + random() % 3;
      for (int i = 0; i < 2; ++i) emitted[i] += queries >> i & 1;
      EmitNumber(now, queries);
      if (random() % 5 == 0) output_->lose(LossReason::kTooManyPending, 1, 1);
      output_->Tick(now * 50 * kMs, now);
      told.resize(sent_.size());
      size_t pick = sent_.empty() ? 0 : random() % sent_.size();
      if (sent_.empty() || told[pick]) continue;
      told[pick] = true;
      bool delivered = random() % 3 != 0;
      sink_->Tell(pick, delivered);
      if (delivered) continue;
      failed_rows[sent_[pick].query] += sent_[pick].batch.rows();
      sent_[pick].batch.Clear();
    }
    sink_->full = false;
    for (uint32_t query : {0, 1}) output_->EndQuery(query, 300);
    for (uint32_t query : {0u, 1u}) {
      std::map<std::string, uint64_t> dropped;
      uint64_t tuples = Total(query, &dropped).tuples_in();
      ASSERT_TRUE(accounts_[query].balanced());
      ASSERT_EQ(dropped["delivery_failed"], failed_rows[query]);
      bool lost_are_tuples = unit_of(LossReason::kTooManyPending) == LossUnit::kTuples;
      ASSERT_EQ(tuples, emitted[query] + (lost_are_tuples ? dropped["too_many_pending"] : 0)) << seed;
      ASSERT_EQ(Rows(query) + dropped["delivery_failed"] + dropped["queue_full"], emitted[query]) << seed;
    }
  }
}

}  // namespace
}  // namespace tapline
