#include "monitors/events/event_forwarder.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

const Schema& numbers() {
  static const Schema schema = {
      .name = "numbers", .fields = {{"number", FieldType::kU64}, {"text", FieldType::kString}}, .events = true};
  return schema;
}

v1::EventList list_of(const v1::EventBatch& batch) {
  v1::EventList list;
  EXPECT_TRUE(list.ParseFromString(batch.events()));
  EXPECT_EQ(static_cast<uint32_t>(list.events_size()), batch.count());
  return list;
}

class EventForwarderTest : public testing::Test {
 protected:
  void push(EventRing* ring, uint32_t query, uint64_t number) {
    TupleHeader header;
    header.time_ns = 5;
    const uint8_t ten[4] = {10, 0, 0, 1};
    header.src_ip = IpAddress::v4(ten);
    const Value values[] = {Value::u64(number), Value::absent(FieldType::kString)};
    ring->push(query, 0, header, values);
  }
  // Returns the field `number` of each of the query's events, in the order of the batches.
  std::vector<uint64_t> numbers_of(const std::string& query) const {
    std::vector<uint64_t> numbers;
    for (const v1::EventBatch& batch : batches_) {
      if (batch.query() != query) continue;
      const v1::EventList list = list_of(batch);
      for (const v1::Event& event : list.events()) numbers.push_back(event.values(0).number());
    }
    return numbers;
  }
  uint64_t missing_of(const std::string& query) const {
    uint64_t next = 0, missing = 0;
    for (const v1::EventBatch& batch : batches_) {
      if (batch.query() != query) continue;
      EXPECT_GE(batch.first(), next);
      missing += batch.first() - next;
      next = batch.first() + batch.count();
    }
    return missing;
  }

  EventBell bell_;
  EventRing one_{1 << 12, &bell_}, other_{1 << 12, &bell_};
  std::vector<QuerySpec> queries_ = {{.name = "q0", .monitor = "part-0"}, {.name = "q1"}};
  std::vector<v1::EventBatch> batches_;
  bool full_ = false;
  EventForwarder forwarder_{
      {{&one_, {&numbers()}}, {&other_, {&numbers()}}}, queries_, "m", 77, [this](const v1::EventBatch& batch) {
        if (!full_) batches_.push_back(batch);
        return !full_;
      }};
};

TEST_F(EventForwarderTest, EventsAreNumberedByQuery) {
  push(&one_, 0, 10);
  push(&one_, 1, 20);
  push(&other_, 0, 11);
  EXPECT_FALSE(forwarder_.forward());
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(numbers_of("q0"), (std::vector<uint64_t>{10, 11}));
  EXPECT_EQ(numbers_of("q1"), (std::vector<uint64_t>{20}));
  EXPECT_EQ(batches_[0].monitor(), "part-0");
  EXPECT_EQ(batches_[1].monitor(), "m");
  EXPECT_EQ(batches_[0].incarnation(), 77u);
  const v1::EventList list = list_of(batches_[0]);
  const v1::Event& event = list.events(0);
  EXPECT_EQ(event.schema(), 0u);
  EXPECT_EQ(list.schemas(0).parser(), "numbers");
  EXPECT_EQ(list.schemas(0).fields(1), "text");
  EXPECT_EQ(event.time_ns(), 5);
  EXPECT_EQ(event.src_ip(), std::string("\x0a\x00\x00\x01", 4));
  EXPECT_EQ(event.values(1).value_case(), v1::EventValue::VALUE_NOT_SET);
  push(&one_, 0, 12);
  forwarder_.forward();
  EXPECT_EQ(batches_.back().first(), 2u);
}

TEST_F(EventForwarderTest, SentEqualsReceivedPlusMissing) {
  constexpr uint64_t kSent = 1000;
  for (uint64_t i = 0; i < kSent; ++i) {
    push(i % 3 == 0 ? &one_ : &other_, 0, i);
    full_ = i % 100 == 0;
    if (i % 20 == 0) forwarder_.forward();
  }
  full_ = false;
  forwarder_.end_query(0);
  const uint64_t received = numbers_of("q0").size();
  EXPECT_GT(received, 100u);
  EXPECT_GT(missing_of("q0"), 0u);
  EXPECT_EQ(received + missing_of("q0"), kSent);
  EXPECT_TRUE(batches_.back().last());
}

TEST_F(EventForwarderTest, LossesAreReportedWithoutAnotherEvent) {
  push(&one_, 0, 1);
  full_ = true;
  forwarder_.forward();
  forwarder_.forward();
  full_ = false;
  forwarder_.forward();
  ASSERT_EQ(batches_.size(), 1u);
  EXPECT_EQ(batches_[0].count(), 0u);
  EXPECT_FALSE(batches_[0].last());
  EXPECT_EQ(missing_of("q0"), 1u);
  forwarder_.forward();
  EXPECT_EQ(batches_.size(), 1u) << "a loss is reported once";
}

TEST_F(EventForwarderTest, AReusedSlotStartsAtZero) {
  push(&one_, 0, 1);
  forwarder_.end_query(0);
  ASSERT_TRUE(batches_.back().last());
  queries_[0].name = "q2";
  push(&one_, 0, 2);
  forwarder_.forward();
  EXPECT_EQ(batches_.back().query(), "q2");
  EXPECT_EQ(batches_.back().first(), 0u);
}

TEST_F(EventForwarderTest, AQueryWithoutEventsSendsNothing) {
  forwarder_.end_query(1);
  EXPECT_TRUE(batches_.empty());
}

TEST_F(EventForwarderTest, BatchesFitIntoAMessage) {
  EventRing large(1 << 20, &bell_);
  EventForwarder forwarder({{&large, {&numbers()}}}, queries_, "m", 77, [this](const v1::EventBatch& batch) {
    batches_.push_back(batch);
    return true;
  });
  for (uint64_t i = 0; i < 3000; ++i) push(&large, 0, i);
  while (forwarder.forward()) {
  }
  EXPECT_GT(batches_.size(), 1u);
  for (const v1::EventBatch& batch : batches_) EXPECT_LT(batch.ByteSizeLong(), size_t{192} << 10);
  EXPECT_EQ(numbers_of("q0").size(), 3000u);
  EXPECT_EQ(missing_of("q0"), 0u);
}

}  // namespace
}  // namespace tapline
