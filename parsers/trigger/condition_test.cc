#include "parsers/trigger/condition.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapline::trigger {
namespace {

Condition condition_of(Expression expression) {
  std::string error;
  auto condition = Condition::make(std::move(expression), &error);
  EXPECT_TRUE(condition) << error;
  return *condition;
}

Counts counts_of(Measure measure, uint64_t low, uint64_t high) {
  Counts counts;
  counts.low[static_cast<size_t>(word_of(measure))] = low;
  counts.high[static_cast<size_t>(word_of(measure))] = high;
  return counts;
}

Verdict test(const Expression& expression, const Counts& counts) {
  Interval value;
  return condition_of(expression).test(counts, &value);
}

TEST(ConditionTest, BoundsDecideWhatIsCertain) {
  const Expression expression = above(value_of(Measure::kBytes), number(100));
  EXPECT_EQ(test(expression, counts_of(Measure::kBytes, 101, 200)), Verdict::kTrue);
  EXPECT_EQ(test(expression, counts_of(Measure::kBytes, 100, 200)), Verdict::kPossible);
  EXPECT_EQ(test(expression, counts_of(Measure::kBytes, 0, 100)), Verdict::kFalse);
  const Expression less = below(value_of(Measure::kBytes), number(100));
  EXPECT_EQ(test(less, counts_of(Measure::kBytes, 0, 99)), Verdict::kTrue);
  EXPECT_EQ(test(less, counts_of(Measure::kBytes, 0, 100)), Verdict::kPossible);
  EXPECT_EQ(test(less, counts_of(Measure::kBytes, 100, 100)), Verdict::kFalse);
  EXPECT_EQ(test(apply(Op::kAnd, expression, less), counts_of(Measure::kBytes, 0, 200)), Verdict::kPossible);
  EXPECT_EQ(test(apply(Op::kOr, expression, less), counts_of(Measure::kBytes, 101, 200)), Verdict::kTrue);
}

TEST(ConditionTest, AbsentValuesCompareFalse) {
  const Expression share = apply(Op::kDivide, value_of(Measure::kUnackedBytes), value_of(Measure::kInFlightBytes));
  EXPECT_EQ(test(above(share, number(-1)), {}), Verdict::kFalse);
  EXPECT_EQ(test(below(share, number(1)), {}), Verdict::kFalse);
  EXPECT_EQ(test(below(value_of(Measure::kMinRttNs), number(1e9)), {}), Verdict::kFalse);
  EXPECT_EQ(test(above(value_of(Measure::kMaxRttNs), number(-1)), {}), Verdict::kFalse);
  // The measured packets may belong to another group.
  EXPECT_EQ(test(below(value_of(Measure::kMaxRttNs), number(10)), counts_of(Measure::kMaxRttNs, 0, 5)),
            Verdict::kPossible);
}

Expression operand(uint32_t number) { return {{.op = Op::kOperand, .operand = number}}; }

TEST(ConditionTest, ValuesOfTuplesAreOperands) {
  const Condition condition = condition_of(
      apply(Op::kAnd, above(apply(Op::kSubtract, operand(0), operand(2)), number(3)), below(operand(1), number(5))));
  Interval value;
  EXPECT_EQ(condition.test(std::vector<Interval>{{9, 9}, {4, 4}, {5, 5}}, &value), Verdict::kTrue);
  EXPECT_EQ(value, (Interval{4, 4}));
  EXPECT_EQ(condition.test(std::vector<Interval>{{9, 9}, {4, 6}, {5, 5}}, &value), Verdict::kPossible);
  EXPECT_EQ(condition.test(std::vector<Interval>{{8, 8}, {4, 4}, {5, 5}}, &value), Verdict::kFalse);
  EXPECT_EQ(condition.test(std::vector<Interval>{{9, 9}, {4, 4}, Interval::absent()}, &value), Verdict::kFalse);
  EXPECT_FALSE(condition.rises());
  EXPECT_FALSE(condition.holds_when_empty());
}

TEST(ConditionTest, MissingTuplesCouldMeetWhatFewerTuplesMeet) {
  const auto wants_all = [](const Expression& expression) { return condition_of(expression).wants_all(); };
  EXPECT_FALSE(wants_all(above(operand(0), number(5))));
  EXPECT_TRUE(wants_all(below(operand(0), number(5))));
  EXPECT_TRUE(wants_all(above(operand(0), operand(1))));
  EXPECT_TRUE(wants_all(above(apply(Op::kDivide, operand(0), operand(1)), number(5))));
  EXPECT_TRUE(wants_all(above(apply(Op::kSubtract, number(10), operand(0)), number(5))));
  EXPECT_FALSE(wants_all(below(apply(Op::kSubtract, number(10), operand(0)), number(5))));
  EXPECT_FALSE(wants_all(above(apply(Op::kAdd, operand(0), operand(1)), number(5))));
  EXPECT_TRUE(wants_all(apply(Op::kOr, above(operand(0), number(5)), below(operand(1), number(2)))));
}

TEST(ConditionTest, StoresMinimumTimeAsItsComplement) {
  const Expression fast = below(value_of(Measure::kMinRttNs), number(10));
  EXPECT_EQ(test(fast, counts_of(Measure::kMinRttNs, ~uint64_t{9}, ~uint64_t{9})), Verdict::kTrue);
  EXPECT_EQ(test(fast, counts_of(Measure::kMinRttNs, ~uint64_t{10}, ~uint64_t{10})), Verdict::kFalse);
  EXPECT_EQ(test(fast, counts_of(Measure::kMinRttNs, ~uint64_t{10}, ~uint64_t{5})), Verdict::kPossible);
}

TEST(ConditionTest, ThresholdsAreWholeNumbers) {
  const auto min = [](Op op, double constant) {
    return condition_of(apply(op, value_of(Measure::kBytes), number(constant))).threshold();
  };
  EXPECT_EQ(min(Op::kGreater, 10)->min, 11);
  EXPECT_EQ(min(Op::kGreater, 10.5)->min, 11);
  EXPECT_EQ(min(Op::kGreaterEqual, 10)->min, 10);
  EXPECT_EQ(min(Op::kGreaterEqual, 10.5)->min, 11);
  EXPECT_FALSE(min(Op::kGreaterEqual, 0)) << "is true without packets";
  EXPECT_FALSE(min(Op::kLess, 10));
  EXPECT_FALSE(min(Op::kGreater, -1));
}

TEST(ConditionTest, EvaluatesConditionsWithoutPackets) {
  EXPECT_FALSE(condition_of(above(value_of(Measure::kBytes), number(0))).holds_when_empty());
  EXPECT_TRUE(condition_of(below(value_of(Measure::kBytes), number(1))).holds_when_empty());
}

TEST(ConditionTest, RejectsExpressionsThatAreNoCondition) {
  std::string error;
  const Expression bytes = value_of(Measure::kBytes);
  EXPECT_FALSE(Condition::make({}, &error));
  EXPECT_FALSE(Condition::make(bytes, &error));
  EXPECT_FALSE(Condition::make({{Op::kAdd}}, &error));
  EXPECT_FALSE(Condition::make(apply(Op::kAnd, bytes, bytes), &error));
  EXPECT_FALSE(Condition::make(above(above(bytes, bytes), bytes), &error));
  EXPECT_FALSE(Condition::make(Expression(9, bytes[0]), &error));
  Expression deep = bytes;
  for (int i = 0; i < 40; ++i) deep = apply(Op::kAdd, deep, bytes);
  EXPECT_FALSE(Condition::make(above(deep, number(1)), &error));
  EXPECT_EQ(error, "A condition can have at most 64 terms and operators.");
}

}  // namespace
}  // namespace tapline::trigger
