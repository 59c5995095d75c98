#include "monitors/plan/tuple_trigger_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "monitors/plan/plan.h"

namespace tapline {
namespace {

// Returns a plan for link_load with one trigger.
std::string plan_with(const std::string& processor, const std::string& window = R"("size":"0.010s","slide":"0.010s")",
                      const std::string& parsers = R"(["link_load","trigger"])") {
  return R"({"format":1,"query":"q","monitors":[{"id":"m"}],"parsers":)" + parsers +
         R"(,"processors":[{"name":"trigger","parser":"link_load",)" + processor +
         R"(}],"tupleTriggers":[{"processor":0,"window":{)" + window + "}}]}";
}

const std::string kShare = R"("key":["switch","port"],"value":{"field":"share"},"aggregate":"MAX",)"
                           R"("condition":{"comparison":"ABOVE","threshold":0.9},)"
                           R"("trigger":{"clear":0.8,"after":1,"cooldown":"0.003s"})";

Status read(const std::string& json, QuerySpec* spec) {
  v1::Plan plan;
  if (Status status = parse_plan(json, "test", &plan); !status.ok()) return status;
  return read_plan(plan, "m", spec);
}

void expect_refused(const std::string& json, const std::string& words) {
  QuerySpec spec;
  const Status status = read(json, &spec);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST(TupleTriggerReader, ReadsATriggerOfTheLoadOfLinks) {
  QuerySpec spec;
  const Status status = read(plan_with(kShare, R"("size":"0.004s","slide":"0.001s")"), &spec);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(spec.tuple_triggers.size(), 1u);
  const TupleTrigger& trigger = spec.tuple_triggers[0];
  EXPECT_EQ(trigger.parser, "link_load");
  EXPECT_EQ(trigger.group.size(), 2u);
  EXPECT_TRUE(trigger.field.has_value());
  EXPECT_EQ(trigger.aggregate, TupleTrigger::Aggregate::kMax);
  EXPECT_EQ(trigger.comparison, TupleTrigger::Comparison::kAbove);
  EXPECT_EQ(trigger.threshold, 0.9);
  EXPECT_EQ(trigger.clear, 0.8);
  EXPECT_EQ(trigger.cooldown_ns, 3'000'000);
  EXPECT_EQ(trigger.every_ns, 1'000'000);
  EXPECT_EQ(trigger.panes, 4u);
  EXPECT_TRUE(trigger.monotone);
  EXPECT_EQ(spec.triggers, nullptr) << "nothing is tested on packets";
}

TEST(TupleTriggerReader, ReadsDistinctValuesAndPercentiles) {
  const auto read_one = [](const std::string& processor) {
    QuerySpec spec;
    const Status status = read(plan_with(processor + R"(,"trigger":{"clear":1})"), &spec);
    EXPECT_TRUE(status.ok()) << status.message();
    return spec.tuple_triggers.at(0);
  };
  const TupleTrigger switches = read_one(R"("value":{"field":"switch"},"aggregate":"DISTINCT")");
  EXPECT_TRUE(switches.distinct_field.has_value());
  EXPECT_TRUE(switches.monotone);
  EXPECT_EQ(read_one(R"("value":{"field":"flow_hash"},"aggregate":"DISTINCT")").distinct_field, 1u);
  const TupleTrigger percentile = read_one(R"("value":{"field":"share"},"aggregate":"PERCENTILE","share":0.99)");
  EXPECT_EQ(percentile.share, 0.99);
  EXPECT_TRUE(percentile.field.has_value());
  EXPECT_FALSE(percentile.monotone);
}

const std::string kWhen = R"("when":[{"operand":0},{"operand":1},{"operator":"DIVIDE"},{"constant":2},)"
                          R"({"operator":"GREATER"}])";
const std::string kOperands = R"("value":{"field":"share"},"aggregate":"MAX","operands":[{"value":{"count":{}}}],)"
                              R"("trigger":{})";

TEST(TupleTriggerReader, ReadsAConditionOnSeveralValues) {
  QuerySpec spec;
  const std::string clear = R"(,"clear":[{"operand":1},{"constant":1},{"operator":"GREATER"}])";
  const Status status = read(plan_with(kOperands + "," + kWhen + clear), &spec);
  ASSERT_TRUE(status.ok()) << status.message();
  const TupleTrigger& trigger = spec.tuple_triggers.at(0);
  ASSERT_EQ(trigger.operands.size(), 1u);
  EXPECT_EQ(trigger.operands[0].aggregate, TupleTrigger::Aggregate::kCount);
  ASSERT_TRUE(trigger.when && trigger.lasts);
  trigger::Interval value;
  EXPECT_EQ(trigger.when->test(std::vector<trigger::Interval>{{9, 9}, {3, 3}}, &value), trigger::Verdict::kTrue);
  EXPECT_EQ(trigger.lasts->test(std::vector<trigger::Interval>{{9, 9}, {1, 1}}, &value), trigger::Verdict::kFalse);
  EXPECT_FALSE(trigger.monotone);
}

TEST(TupleTriggerReader, NamesTheErrorInAConditionOnSeveralValues) {
  const auto with = [](const std::string& steps) { return plan_with(kOperands + R"(,"when":[)" + steps + "]"); };
  const std::string above = R"({"constant":2},{"operator":"GREATER"})";
  expect_refused(with(R"({"operand":2},)" + above), "names an unknown value");
  expect_refused(with(R"({"measure":"BYTES"},)" + above), "a measure of packets");
  expect_refused(with(above), "operator has operands of the wrong type");
  expect_refused(plan_with(R"("value":{"count":{}},"operands":[{},{},{},{}],"trigger":{},)" + kWhen),
                 "more than 4 values");
  expect_refused(plan_with(R"("value":{"count":{}},"operands":[{"value":{"field":"speed"}}],"trigger":{},)" + kWhen),
                 "no field 'speed'");
}

TEST(TupleTriggerReader, NamesTheErrorInATrigger) {
  expect_refused(plan_with(R"("key":["colour"],"value":{"count":{}},"trigger":{})"), "no field 'colour' to group by");
  expect_refused(plan_with(R"("value":{"field":"switch"},"aggregate":"MAX","trigger":{})"), "'switch' is not a number");
  expect_refused(plan_with(R"("value":{"field":"speed"},"aggregate":"MAX","trigger":{})"), "no field 'speed'");
  expect_refused(plan_with(R"("value":{"field":"share"},"aggregate":"LATEST","trigger":{})"), "can't aggregate");
  expect_refused(plan_with(R"("value":{"count":{}},"aggregate":"DISTINCT","trigger":{})"), "needs a field");
  expect_refused(plan_with(R"("value":{"field":"share"},"aggregate":"PERCENTILE","trigger":{})"), "the share of a");
  expect_refused(plan_with(R"("value":{"count":{}},"aggregate":"SUM","trigger":{})"), "needs a field or a condition");
  expect_refused(plan_with(R"("value":{"count":{}})"), "not a trigger");
  expect_refused(plan_with(kShare, R"("size":"0.010s","slide":"0.003s")"), "1 to 100 times");
  expect_refused(plan_with(kShare, R"("size":"1s","slide":"0.001s")"), "1 to 100 times");
  expect_refused(plan_with(kShare, R"("slide":"0.010s")"), "1 to 100 times");
  expect_refused(plan_with(kShare, R"("size":"0.010s","slide":"0.010s")", R"(["link_load"])"), "or 'trigger', is not");
}

}  // namespace
}  // namespace tapline
