#include <gtest/gtest.h>

#include <string_view>

#include "monitors/output/batch_output_fixture.h"
#include "monitors/output/tuple_triggers.h"

namespace tapline {
namespace {

TEST_F(BatchOutputTest, ATriggerOnTuplesPutsItsEventsIntoTheStreamAndTheRing) {
  static const Schema events = {.name = "trigger",
                                .fields = {{"trigger", FieldType::kU64},
                                           {"scope", FieldType::kString},
                                           optional({"group", FieldType::kString}),
                                           optional({"value", FieldType::kF64}),
                                           optional({"low", FieldType::kF64}),
                                           optional({"high", FieldType::kF64}),
                                           {"window_start_ns", FieldType::kI64},
                                           {"window_end_ns", FieldType::kI64},
                                           {"certain", FieldType::kBool},
                                           {"incomplete", FieldType::kBool},
                                           optional({"lost_packets", FieldType::kU64}),
                                           {"ready_ns", FieldType::kI64},
                                           optional({"exemplars", FieldType::kString}),
                                           optional({"tuple", FieldType::kString})}};
  schemas_ = {&letters(), &numbers(), &events};
  // The trigger is true for at least three tuples within 10 ms.
  const TupleTrigger many = {.processor = 4,
                             .parser = "numbers",
                             .comparison = TupleTrigger::Comparison::kAtLeast,
                             .threshold = 3,
                             .clear = 3,
                             .every_ns = 10 * kMs,
                             .monotone = true};
  queries_ = {{.name = "q0", .parsers = {"numbers", "trigger"}, .tuple_triggers = {many}},
              {.name = "q1", .parsers = {"numbers", "trigger"}, .tuple_triggers = {many}, .lanes = 2}};
  EventBell bell;
  EventRing ring(1 << 12, &bell);
  open({.events = &ring});
  for (uint32_t query : {0u, 1u}) output_->set_watched_since(query, 0);
  for (const int64_t ms : {1001, 1002, 1003}) emit_number(ms * kMs, 0b11);
  RingEvent event;
  ASSERT_TRUE(ring.front(&event));
  EXPECT_EQ(event.query, 0u) << "a lane with only part of a query's tuples does not evaluate its triggers";
  EXPECT_EQ(event.parser, 2u);
  EXPECT_EQ(event.values[0].as_u64(), 4u);
  EXPECT_EQ(event.values[3].as_f64(), 3);
  EXPECT_EQ(event.values[4].as_f64(), 3);
  EXPECT_FALSE(event.values[5].present()) << "the count may still grow";
  EXPECT_EQ(event.values[7].as_i64(), 1010 * kMs);
  EXPECT_FALSE(event.values[9].as_bool());
  EXPECT_FALSE(event.values[10].present()) << "losses are counted in packets";
  EXPECT_EQ(event.values[11].as_i64(), 1003 * kMs) << "the time of the tuple that met the condition";
  EXPECT_FALSE(event.values[12].present());
  EXPECT_NE(event.values[13].as_string().find("\"time_ns\":1003000000,"), std::string_view::npos);
  EXPECT_NE(event.values[13].as_string().find(",\"number\":1}"), std::string_view::npos);
  ring.pop();
  output_->tick(1020 * kMs, 1020 * kMs);
  EXPECT_FALSE(ring.front(&event));
  emit_number(1024 * kMs, 0b11);
  output_->tick(1040 * kMs, 1040 * kMs);
  for (uint32_t query : {0u, 1u}) output_->end_query(query, 1040 * kMs);
  EXPECT_FALSE(ring.front(&event));
  EXPECT_EQ(rows(0), 5u) << "four numbers and the event";
  EXPECT_EQ(rows(1), 4u);
}

}  // namespace
}  // namespace tapline
