#include "monitors/output/batch_output.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

const Schema& letters() {
  static const Schema schema = {.name = "letters", .fields = {{"text", FieldType::kString}}};
  return schema;
}
const Schema& numbers() {
  static const Schema schema = {.name = "numbers", .fields = {{"number", FieldType::kU64}}};
  return schema;
}

struct SentBatch {
  uint32_t query;
  v1::TupleBatch batch;
  uint64_t ticket;
};

// A sink that is full, or fails a batch, on request of the test.
class TestSink final : public BatchSink {
 public:
  explicit TestSink(std::vector<SentBatch>* sent) : sent_(sent) {}
  Status start(DeliveryListener* listener) override {
    listener_ = listener;
    return {};
  }
  Status prepare(uint32_t) override { return {}; }
  Sent send(uint32_t query, std::string_view bytes, uint64_t ticket) override {
    if (full) return Sent::kFull;
    v1::TupleBatch batch;
    EXPECT_TRUE(batch.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    sent_->push_back({query, batch, ticket});
    return Sent::kTaken;
  }
  double fill() const override { return full ? 1 : 0; }
  void poll() override {}
  void wait() override {
    ++waits;
    full = false;
  }
  Status flush() override { return {}; }
  Status status() const override { return {}; }
  void tell(size_t index, bool delivered) { listener_->on_delivery((*sent_)[index].ticket, delivered); }

  bool full = false;
  int waits = 0;

 private:
  std::vector<SentBatch>* sent_;
  DeliveryListener* listener_ = nullptr;
};

class BatchOutputTest : public testing::Test {
 protected:
  void open(BatchOutputOptions options = {}) {
    options.monitor_id = "m";
    auto sink = std::make_unique<TestSink>(&sent_);
    sink_ = sink.get();
    output_ = std::make_unique<BatchOutput>(options, queries_, schemas_, &accounts_, std::move(sink));
    ASSERT_TRUE(output_->start().ok());
    for (uint32_t i = 0; i < queries_.size(); ++i) {
      ASSERT_TRUE(output_->prepare(i).ok());
      output_->add_query(i);
    }
  }
  void emit_letter(int64_t time_ns, uint64_t queries, std::string_view text = "x") {
    TupleHeader header;
    header.time_ns = time_ns;
    header.queries = queries;
    const Value values[] = {Value::string(text)};
    output_->emit(0, header, values);
  }
  void emit_number(int64_t time_ns, uint64_t queries) {
    TupleHeader header;
    header.time_ns = time_ns;
    header.queries = queries;
    const Value values[] = {Value::u64(1)};
    output_->emit(1, header, values);
  }
  v1::Accounting total_of(uint32_t query, std::map<std::string, uint64_t>* dropped) {
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
  uint64_t rows(uint32_t query) {
    uint64_t rows = 0;
    for (const SentBatch& sent : sent_) rows += sent.query == query ? sent.batch.rows() : 0;
    return rows;
  }

  std::vector<QuerySpec> queries_ = {{.name = "q0", .parsers = {"letters", "numbers"}},
                                     {.name = "q1", .parsers = {"numbers"}}};
  std::vector<const Schema*> schemas_ = {&letters(), &numbers()};
  QueryAccounts accounts_ = QueryAccounts(2);
  std::vector<SentBatch> sent_;
  TestSink* sink_ = nullptr;
  std::unique_ptr<BatchOutput> output_;
};

TEST_F(BatchOutputTest, QueriesWithShortIntervalsAreSentMoreOften) {
  const Schema rates = {.name = "numbers", .fields = {{"number", FieldType::kU64}}, .interval_ns = int64_t{20'000'000}};
  queries_ = {{.name = "slow", .parsers = {"letters"}}, {.name = "fast", .parsers = {"numbers"}}};
  schemas_ = {&letters(), &rates};
  open();
  const auto sent_of = [&](uint32_t query) {
    return std::count_if(sent_.begin(), sent_.end(), [&](const SentBatch& sent) { return sent.query == query; });
  };
  const int64_t start_ns = 1'000'000'000;
  output_->tick(start_ns, start_ns);
  sent_.clear();
  for (int64_t ms = 1; ms <= 100; ++ms) {
    const int64_t now_ns = start_ns + ms * 1'000'000;
    emit_letter(now_ns, 1);
    if (ms <= 50) emit_number(now_ns, 2);
    output_->tick(now_ns, now_ns);
  }
  EXPECT_EQ(sent_of(0), 1);
  // Two batches with rows and, once there are no rows, watermarks at the same interval.
  EXPECT_EQ(sent_of(1), 5);
  EXPECT_EQ(rows(1), 50u);
  EXPECT_EQ(sent_.back().batch.watermark_ns(), start_ns + 100'000'000);
}

// Parsers of queues measure all flows. Tuples without addresses describe whole queues.
TEST_F(BatchOutputTest, AQueryGetsTheFlowsThatItReports) {
  queries_[0].reported = ConnectionMatch({}, {*AddressPattern::parse("10.0.0.2", 80)});
  open();
  const uint8_t client[4] = {10, 0, 0, 1}, server[4] = {10, 0, 0, 2};
  TupleHeader header;
  header.time_ns = 1;
  header.queries = 3;
  const Value values[] = {Value::u64(1)};
  output_->emit(1, header, values);
  header.src_ip = IpAddress::v4(client);
  header.dst_ip = IpAddress::v4(server);
  header.dst_port = 80;
  output_->emit(1, header, values);
  header.dst_port = 81;
  output_->emit(1, header, values);
  for (uint32_t query : {0u, 1u}) output_->end_query(query, 2);
  EXPECT_EQ(rows(0), 2u);
  EXPECT_EQ(rows(1), 3u);
}

TEST_F(BatchOutputTest, AnArgumentSetsTheSendingInterval) {
  const Schema chosen = {.name = "numbers",
                         .fields = {{"number", FieldType::kU64}},
                         .interval_ns = int64_t{1'000'000'000},
                         .interval_argument = "every",
                         .arguments = {{"every", FieldType::kI64, "ns", "", "1000000000", 100'000, 1e10, {}, 1000}}};
  queries_ = {{.name = "slow", .parsers = {"numbers"}, .arguments = {{"numbers", {"1000000000"}}}},
              {.name = "fast", .parsers = {"numbers"}, .arguments = {{"numbers", {"20000000"}}}}};
  schemas_ = {&letters(), &chosen};
  open();
  const int64_t start_ns = 1'000'000'000;
  output_->tick(start_ns, start_ns);
  sent_.clear();
  for (int64_t ms = 1; ms <= 100; ++ms) {
    emit_number(start_ns + ms * 1'000'000, 3);
    output_->tick(start_ns + ms * 1'000'000, start_ns + ms * 1'000'000);
  }
  std::map<uint32_t, int> sent;
  for (const SentBatch& each : sent_) ++sent[each.query];
  EXPECT_EQ(sent[1], 5);
  EXPECT_EQ(sent[0], 1);
}

// "number >= 2", as a filter of the numbers.
ParserFilter at_least_two() {
  v1::ConditionTree tree;
  auto* comparison = tree.add_nodes()->mutable_comparison();
  comparison->add_left()->mutable_field()->set_name("number");
  comparison->set_order(v1::ConditionTree::GREATER_OR_EQUAL);
  comparison->add_right()->mutable_literal()->set_word("2");
  auto condition = TupleCondition::make(tree, numbers());
  EXPECT_TRUE(condition.ok());
  return {"numbers", std::move(*condition)};
}

// Consumers of the stream also know the condition, and account for the tuples that they filter out.
TEST_F(BatchOutputTest, OnlyEventsThatMeetTheConditionAreEmitted) {
  queries_[0].filters.push_back(at_least_two());
  EventBell bell;
  EventRing ring(1 << 12, &bell);
  open({.events = &ring});
  for (const uint64_t number : {1, 2, 3}) {
    TupleHeader header;
    header.queries = 0b11;
    const Value values[] = {Value::u64(number)};
    output_->event(1, header, values);
  }
  std::map<uint32_t, std::vector<uint64_t>> events;
  for (RingEvent event; ring.front(&event); ring.pop()) events[event.query].push_back(event.values[0].as_u64());
  EXPECT_EQ(events[0], (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(events[1], (std::vector<uint64_t>{1, 2, 3}));
  output_->tick(2'000'000'000, 2'000'000'000);
  EXPECT_EQ(rows(0), 3u);
  EXPECT_EQ(rows(1), 3u);
}

// Another thread prepares a slot for another query: from its end until it is added again, nothing is sent for it.
TEST_F(BatchOutputTest, APreparedSlotSendsNothingUntilItIsAdded) {
  open({.heartbeat_after_ns = 0});
  accounts_[1].packets_in = accounts_[1].packets_out = 3;
  output_->end_query(1, 5);
  EXPECT_FALSE(output_->done(1)) << "its end is not acknowledged yet";
  for (size_t i = 0; i < sent_.size(); ++i) sink_->tell(i, true);
  ASSERT_TRUE(output_->done(1));
  ASSERT_TRUE(output_->prepare(1).ok());
  sent_.clear();
  ++accounts_[1].packets_in;
  output_->tick(int64_t{10'000'000'000}, int64_t{10'000'000'000});
  output_->tick(int64_t{20'000'000'000}, int64_t{20'000'000'000});
  for (const SentBatch& sent : sent_) EXPECT_NE(sent.query, 1u);
}

// Reads batches as consumers do: the first of each incarnation and sequence number counts.
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
  // Sequence numbers from 0 without a gap.
  void expect_gapless(uint64_t incarnation) const {
    uint64_t next = 0;
    for (const auto& [key, batch] : batches) {
      if (key.first == incarnation) EXPECT_EQ(key.second, next++) << "incarnation " << incarnation;
    }
  }
};

// Processes die with batches that are acknowledged, arrived or neither, and with unsent tuples. Whatever the mix, every
// packet and tuple is reported to readers once.
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
      const bool last = incarnation == kProcesses;
      if (last) output_->end_query(0, steps);
      // In the order in which they were sent: some acknowledged, some more arrived, the rest did not.
      const size_t come = last ? sent_.size() : random() % (sent_.size() + 1);
      const size_t acknowledged = last ? come : random() % (come + 1);
      for (size_t i = 0; i < come; ++i) {
        if (sent_[i].query == 0) arrived.push_back(sent_[i].batch);
        if (i < acknowledged) sink_->tell(i, true);
      }
      if (last) break;
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

constexpr int64_t kMs = 1'000'000;

TEST_F(BatchOutputTest, AFlushSendsAllParsersOfTheQueryAndOnlyTheLastAdvancesTheWatermark) {
  open();
  emit_letter(100, 1);
  emit_number(200, 3);
  output_->tick(200 * kMs, 300);
  ASSERT_EQ(sent_.size(), 3u);
  EXPECT_EQ(sent_[0].batch.parser(), "letters");
  EXPECT_EQ(sent_[0].batch.watermark_ns(), INT64_MIN);
  EXPECT_EQ(sent_[1].batch.parser(), "numbers");
  EXPECT_EQ(sent_[1].batch.watermark_ns(), 300);
  EXPECT_EQ(sent_[2].batch.query(), "q1");
  EXPECT_EQ(sent_[2].batch.watermark_ns(), 300);
}

// Every tuple is weighted by the rate of its batch, whenever the rate changed.
TEST_F(BatchOutputTest, AChangeOfTheSamplingRateClosesTheBatch) {
  queries_[0].sampling_rate = 0.8;
  open();
  std::mt19937_64 random(1);
  std::map<double, uint64_t> emitted;
  uint64_t left_out = 0;
  int64_t time_ns = 0;
  for (double rate : {0.8, 0.4, 0.1, 0.4, 0.8}) {
    output_->set_sampling_rate(0, rate, time_ns);
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
  output_->end_query(0, time_ns);
  std::map<double, uint64_t> found;
  for (const SentBatch& sent : sent_) found[sent.batch.sampling_rate()] += sent.batch.rows();
  EXPECT_EQ(found, emitted);
  EXPECT_NEAR(static_cast<double>(emitted[0.1]), 100, 50);
  std::map<std::string, uint64_t> dropped;
  EXPECT_EQ(total_of(0, &dropped).tuples_in(), 5000u);
  EXPECT_EQ(dropped["rate_fell"], left_out);
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, ByPortTuplesOfFlowsThatSwitchesLeaveOutAreDropped) {
  queries_[0].sampled_by_port = true;
  queries_[0].match = ConnectionMatch({}, {*AddressPattern::parse("", 80)});
  open();
  output_->set_sampling_rate(0, 0.25, 0);
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
  output_->end_query(0, 2000);
  EXPECT_EQ(rows(0), 200u) << "those with two zeros above the lowest bit";
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, ALiveCaptureWaitsForRoomOnlyAtItsEnd) {
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

TEST_F(BatchOutputTest, AFullBuilderFlushesItsQueryUpToTheRejectedTuple) {
  BatchOutputOptions options;
  options.max_rows = 2;
  open(options);
  emit_number(10, 3);
  emit_letter(11, 1);
  emit_letter(12, 1);
  emit_letter(13, 1);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].batch.rows(), 2u);
  EXPECT_EQ(sent_[1].batch.parser(), "numbers");
  EXPECT_EQ(sent_[1].batch.watermark_ns(), 13);
}

TEST_F(BatchOutputTest, SequencesAreGaplessPerQueryAndTheLastBatchEndsIt) {
  open();
  for (int i = 0; i < 5; ++i) {
    emit_letter(i, 1);
    emit_number(i, 3);
    output_->tick((i + 1) * 100 * kMs, i);
  }
  output_->end_query(0, 9);
  output_->end_query(0, 9);
  output_->end_query(1, 9);
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
TEST_F(BatchOutputTest, AnAbandonedQueryIsDoneWithoutAnEnd) {
  const std::atomic<uint64_t> abandoned = 1;
  queries_[0].monitor = "part";
  open({.abandoned = &abandoned});
  emit_number(5, 3);
  output_->end_query(0, 7);
  output_->end_query(1, 7);
  for (size_t i = 0; i < sent_.size(); ++i) sink_->tell(i, true);
  EXPECT_TRUE(output_->done(0));
  EXPECT_TRUE(output_->done(1));
  EXPECT_EQ(rows(0), 1u);
  for (const SentBatch& sent : sent_) {
    EXPECT_EQ(sent.batch.monitor(), sent.query == 0 ? "part" : "m");
    EXPECT_FALSE(sent.query == 0 && sent.batch.end_of_stream());
  }
  EXPECT_TRUE(sent_.back().batch.end_of_stream());
  EXPECT_EQ(sent_.back().query, 1u);
}

TEST_F(BatchOutputTest, AnIdleQuerySendsHeartbeatsAsTimePasses) {
  open();
  output_->tick(1000 * kMs, 50);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].batch.rows(), 0u);
  EXPECT_EQ(sent_[0].batch.watermark_ns(), 50);
  output_->tick(1200 * kMs, 60);
  EXPECT_EQ(sent_.size(), 2u) << "too early";
  output_->tick(2000 * kMs, 50);
  EXPECT_EQ(sent_.size(), 2u) << "nothing new";
  output_->tick(3000 * kMs, 70);
  EXPECT_EQ(sent_.size(), 4u);
}

TEST_F(BatchOutputTest, EveryBatchHasTheStartOfTheWatch) {
  open({.flush_after_ns = 0});
  output_->set_watched_since(1, 40);
  emit_number(50, 0b11);
  output_->tick(1000 * kMs, 60);
  output_->set_watched_since(0, 65);
  output_->tick(2000 * kMs, 70);
  output_->end_query(0, 80);
  output_->end_query(1, 80);
  std::map<uint32_t, std::vector<int64_t>> since;
  for (const SentBatch& sent : sent_) since[sent.query].push_back(sent.batch.watched_since_ns());
  EXPECT_EQ(since[0], (std::vector<int64_t>{TupleOutput::kNotWatched, 65, 65}));
  EXPECT_EQ(since[1], (std::vector<int64_t>{40, 40, 40}));
}

// Readers take the values that such a batch lacks from the dead process's own batches.
TEST_F(BatchOutputTest, ReportingLossesOfADeadProcessDoesNotExtendItsWatch) {
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

TEST_F(BatchOutputTest, NothingIsSentBeforeTimeIsKnown) {
  open();
  output_->tick(1000 * kMs, INT64_MIN);
  EXPECT_TRUE(sent_.empty());
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

TEST_F(BatchOutputTest, TheEndOfAQueryIsNeverDropped) {
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
  sink_->tell(0, false);
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
  sink_->tell(0, false);
  EXPECT_EQ(output_->finish().code(), Code::kResources);
}

// Whatever happens to batches: the tuples that arrived and those reported lost add up to the emitted ones.
TEST_F(BatchOutputTest, AccountsBalanceUnderRandomFailures) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    sent_.clear();
    accounts_.assign(2, {});
    open();
    std::mt19937 random(seed);
    std::vector<bool> told;
    uint64_t emitted[2] = {0, 0}, failed_rows[2] = {0, 0};
    for (int64_t now = 1; now < 300; ++now) {
      sink_->full = random() % 4 == 0;
      uint64_t queries = 1 + random() % 3;
      for (int i = 0; i < 2; ++i) emitted[i] += queries >> i & 1;
      emit_number(now, queries);
      if (random() % 5 == 0) output_->lose(LossReason::kTooManyPending, 1, 1);
      output_->tick(now * 50 * kMs, now);
      told.resize(sent_.size());
      size_t pick = sent_.empty() ? 0 : random() % sent_.size();
      if (sent_.empty() || told[pick]) continue;
      told[pick] = true;
      bool delivered = random() % 3 != 0;
      sink_->tell(pick, delivered);
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
