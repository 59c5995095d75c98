#include "monitors/output/batch_output.h"

#include <algorithm>
#include <map>
#include <random>

#include "monitors/output/batch_output_fixture.h"
#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

TEST_F(BatchOutputTest, QueriesOfShortIntervalsAreSentMoreOften) {
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
  // Two batches have rows; then batches without rows carry watermarks at the same interval.
  EXPECT_EQ(sent_of(1), 5);
  EXPECT_EQ(rows(1), 50u);
  EXPECT_EQ(sent_.back().batch.watermark_ns(), start_ns + 100'000'000);
}

// Queue parsers measure all flows. A query must receive only the flows that it reports, and tuples without addresses,
// which describe whole queues.
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
  const Schema chosen_schema = {
      .name = "numbers",
      .fields = {{"number", FieldType::kU64}},
      .interval_ns = int64_t{1'000'000'000},
      .interval_argument = "every",
      .arguments = {{"every", FieldType::kI64, "ns", "", "1000000000", 100'000, 1e10, {}, 1000}}};
  queries_ = {{.name = "slow", .parsers = {"numbers"}, .arguments = {{"numbers", {"1000000000"}}}},
              {.name = "fast", .parsers = {"numbers"}, .arguments = {{"numbers", {"20000000"}}}}};
  schemas_ = {&letters(), &chosen_schema};
  open();
  const int64_t start_ns = 1'000'000'000;
  output_->tick(start_ns, start_ns);
  sent_.clear();
  for (int64_t ms = 1; ms <= 100; ++ms) {
    emit_number(start_ns + ms * 1'000'000, 3);
    output_->tick(start_ns + ms * 1'000'000, start_ns + ms * 1'000'000);
  }
  std::map<uint32_t, int> sent;
  for (const SentBatch& batch : sent_) ++sent[batch.query];
  EXPECT_EQ(sent[1], 5);
  EXPECT_EQ(sent[0], 1);
}

// Returns the filter "number >= 2" for the parser `numbers`.
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

// Consumers of the stream apply the condition to the tuples themselves, and account for those that they filter out.
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

// Another thread prepares a slot for another query. Between the old query's end and the new one's start, nothing may be
// sent for the slot.
TEST_F(BatchOutputTest, APreparedSlotSendsNothingUntilItIsAdded) {
  open({.heartbeat_after_ns = 0});
  accounts_[1].packets_in = accounts_[1].packets_out = 3;
  output_->end_query(1, 5);
  EXPECT_FALSE(output_->done(1)) << "its end has not been acknowledged yet";
  for (size_t i = 0; i < sent_.size(); ++i) sink_->acknowledge(i, true);
  ASSERT_TRUE(output_->done(1));
  ASSERT_TRUE(output_->prepare(1).ok());
  sent_.clear();
  ++accounts_[1].packets_in;
  output_->tick(int64_t{10'000'000'000}, int64_t{10'000'000'000});
  output_->tick(int64_t{20'000'000'000}, int64_t{20'000'000'000});
  for (const SentBatch& sent : sent_) EXPECT_NE(sent.query, 1u);
}

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

// Every tuple must be weighted by its batch's rate, regardless of when the rate changed.
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
      bool is_kept = rate == 0.8 || sampled(header.flow_hash, sampling_threshold(rate));
      ++(is_kept ? emitted[rate] : left_out);
    }
  }
  output_->end_query(0, time_ns);
  std::map<double, uint64_t> counts;
  for (const SentBatch& sent : sent_) counts[sent.batch.sampling_rate()] += sent.batch.rows();
  EXPECT_EQ(counts, emitted);
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
    // Some connections were opened from the server's side.
    const bool opened_by_server = port / 8 % 2 == 1;
    header.src_port = opened_by_server ? 80 : port;
    header.dst_port = opened_by_server ? port : 80;
    header.queries = 1;
    const Value values[] = {Value::u64(1)};
    output_->emit(1, header, values);
  }
  output_->end_query(0, 2000);
  EXPECT_EQ(rows(0), 200u) << "the flows with two zeros above the port's lowest bit";
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(BatchOutputTest, AFullBuilderFlushesItsQueryUpToTheTupleThatDidNotFit) {
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
    bool is_last = i + 2 >= sent_.size() ? sent_[i].batch.rows() == 0 : false;
    EXPECT_EQ(sent_[i].batch.end_of_stream(), is_last) << i;
    if (is_last) {
      EXPECT_EQ(sent_[i].batch.watermark_ns(), 9);
    }
  }
}

// Another process takes over q0, so q0's stream does not end, but this process has sent everything that it had.
TEST_F(BatchOutputTest, AnAbandonedQueryIsDoneWithoutAnEnd) {
  const std::atomic<uint64_t> abandoned = 1;
  queries_[0].monitor = "part";
  open({.abandoned = &abandoned});
  emit_number(5, 3);
  output_->end_query(0, 7);
  output_->end_query(1, 7);
  for (size_t i = 0; i < sent_.size(); ++i) sink_->acknowledge(i, true);
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

TEST_F(BatchOutputTest, NothingIsSentBeforeTimeIsKnown) {
  open();
  output_->tick(1000 * kMs, INT64_MIN);
  EXPECT_TRUE(sent_.empty());
}

}  // namespace
}  // namespace tapline
