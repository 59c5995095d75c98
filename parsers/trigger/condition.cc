#include "parsers/trigger/condition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "parsers/trigger/sketch_sums.h"

namespace tapline::trigger {
namespace {

bool is_push(Op op) { return op == Op::kMeasure || op == Op::kOperand || op == Op::kConstant; }
bool is_arithmetic(Op op) { return op >= Op::kAdd && op <= Op::kDivide; }
bool is_comparison(Op op) { return op >= Op::kGreater && op <= Op::kLessEqual; }
bool is_logic(Op op) { return op == Op::kAnd || op == Op::kOr; }

enum class Type : uint8_t { kNumber, kTruth };

Verdict verdict(bool always, bool ever) {
  return always ? Verdict::kTrue : ever ? Verdict::kPossible : Verdict::kFalse;
}

Interval hull(std::initializer_list<double> ends) { return {std::min(ends), std::max(ends)}; }

Interval quotient(const Interval& a, const Interval& b) {
  if (b.low == 0 && b.high == 0) return Interval::absent();
  // If the divisor may be zero, the quotient is unbounded.
  if (b.low <= 0 && b.high >= 0) return {-INFINITY, INFINITY, Presence::kUnknown};
  return hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}

Interval calculate(Op op, const Interval& a, const Interval& b) {
  switch (op) {
    case Op::kAdd:
      return {a.low + b.low, a.high + b.high};
    case Op::kSubtract:
      return {a.low - b.high, a.high - b.low};
    case Op::kMultiply:
      return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    default:
      return quotient(a, b);
  }
}

Verdict compare(Op op, const Interval& a, const Interval& b) {
  switch (op) {
    case Op::kGreater:
      return verdict(a.low > b.high, a.high > b.low);
    case Op::kGreaterEqual:
      return verdict(a.low >= b.high, a.high >= b.low);
    case Op::kLess:
      return verdict(a.high < b.low, a.low < b.high);
    default:
      return verdict(a.high <= b.low, a.low <= b.high);
  }
}

// Applies the instruction to the stack of types. Returns false if it is not applicable.
bool apply_types(Op op, std::vector<Type>* stack) {
  if (is_push(op)) {
    stack->push_back(Type::kNumber);
    return stack->size() <= Condition::kMaxDepth;
  }
  const Type wanted_type = is_logic(op) ? Type::kTruth : Type::kNumber;
  if (stack->size() < 2 || stack->back() != wanted_type || stack->end()[-2] != wanted_type) return false;
  stack->pop_back();
  stack->back() = is_arithmetic(op) ? Type::kNumber : Type::kTruth;
  return true;
}

// Evaluates an expression. value_of(instruction) returns the value of a measure or an operand. Sets *value to the left
// side of the first comparison.
template <typename ValueOf>
Verdict evaluate(const Expression& expression, const ValueOf& value_of, Interval* value) {
  // One stack stores numbers and truth values: a truth value is in `low`.
  Interval stack[Condition::kMaxDepth];
  size_t depth = 0;
  bool is_compared = false;
  for (const Instruction& instruction : expression) {
    if (instruction.op == Op::kMeasure || instruction.op == Op::kOperand) {
      stack[depth++] = value_of(instruction);
      continue;
    }
    if (instruction.op == Op::kConstant) {
      stack[depth++] = {instruction.constant, instruction.constant};
      continue;
    }
    Interval& a = stack[depth - 2];
    const Interval& b = stack[depth - 1];
    --depth;
    const Presence presence = std::min(a.presence, b.presence);
    if (is_arithmetic(instruction.op)) {
      a = presence == Presence::kAbsent ? Interval::absent() : calculate(instruction.op, a, b);
      a.presence = std::min(a.presence, presence);
    } else if (is_comparison(instruction.op)) {
      if (!is_compared) *value = a;
      is_compared = true;
      // Comparisons with an absent value are false; those with a value that may be absent are kPossible at most.
      a.low = std::min(static_cast<double>(compare(instruction.op, a, b)), static_cast<double>(presence));
    } else {
      a.low = instruction.op == Op::kAnd ? std::min(a.low, b.low) : std::max(a.low, b.low);
    }
  }
  return static_cast<Verdict>(stack[0].low);
}

}  // namespace

Expression value_of(Measure measure) { return {{Op::kMeasure, measure, 0}}; }
Expression quantile_of(Measure measure, double share) { return {{Op::kMeasure, measure, share}}; }
Expression number(double constant) { return {{Op::kConstant, Measure::kPackets, constant}}; }

Expression apply(Op op, Expression left, const Expression& right) {
  left.insert(left.end(), right.begin(), right.end());
  left.push_back({op, Measure::kPackets, 0});
  return left;
}

Interval Counts::of(Measure measure, double share) const {
  if (is_sketch(measure)) {
    if (sketches != nullptr) return sketches->of(measure, share);
    return measure == Measure::kFlows ? Interval{} : Interval::absent();
  }
  const auto word = static_cast<size_t>(word_of(measure));
  const auto min = static_cast<double>(low[word]), max = static_cast<double>(high[word]);
  if (measure == Measure::kBurst) return {min, static_cast<double>(high[kBurstHigh])};
  if (measure == Measure::kUnackedBytes) {
    // A bound is negative only if data were sent before the window began and acknowledged within it.
    const auto bytes = [](uint64_t bound) {
      return static_cast<double>(std::max<int64_t>(0, static_cast<int64_t>(bound)));
    };
    return {bytes(low[word]), bytes(high[word])};
  }
  if (is_sum(measure)) return {min, max};
  if (high[word] == 0) return Interval::absent();
  const Presence presence = low[word] == 0 ? Presence::kUnknown : Presence::kPresent;
  if (measure != Measure::kMinRttNs) return {min, max, presence};
  return {static_cast<double>(~high[word]), low[word] == 0 ? INFINITY : static_cast<double>(~low[word]), presence};
}

std::optional<Condition> Condition::make(Expression expression, std::string* error) {
  std::vector<Type> stack;
  if (expression.size() > kMaxInstructions) {
    *error = "A condition can have at most " + std::to_string(kMaxInstructions) + " terms and operators.";
    return std::nullopt;
  }
  for (const Instruction& instruction : expression) {
    if (!apply_types(instruction.op, &stack)) {
      *error = "The condition is nested too deeply, or an operator has operands of the wrong type.";
      return std::nullopt;
    }
  }
  if (stack.size() != 1 || stack[0] != Type::kTruth) {
    *error = "The condition must be a comparison, or comparisons joined by `and` and `or`.";
    return std::nullopt;
  }
  Condition condition;
  condition.expression_ = std::move(expression);
  size_t operands = 0;
  for (const Instruction& instruction : condition.expression_) {
    if (instruction.op == Op::kOperand) operands = std::max<size_t>(operands, instruction.operand + 1);
    if (instruction.op != Op::kMeasure) continue;
    if (!is_sketch(instruction.measure)) {
      condition.lines_ = std::max(condition.lines_, line_of(instruction.measure) + 1);
      continue;
    }
    const SketchTerm term = {instruction.measure, instruction.constant};
    auto& terms = condition.sketch_terms_;
    if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(term);
    if (is_quantile(instruction.measure) && !(instruction.constant > 0 && instruction.constant < 1)) {
      *error = "A quantile must be above 0 and below 1.";
      return std::nullopt;
    }
  }
  condition.find_threshold();
  Interval ignored;
  const std::vector<Interval> absent(operands, Interval::absent());
  condition.holds_when_empty_ =
      (operands == 0 ? condition.test(Counts{}, &ignored) : condition.test(absent, &ignored)) == Verdict::kTrue;
  return condition;
}

Verdict Condition::test(const Counts& counts, Interval* value) const {
  return evaluate(
      expression_, [&](const Instruction& instruction) { return counts.of(instruction.measure, instruction.constant); },
      value);
}

Verdict Condition::test(std::span<const Interval> values, Interval* value) const {
  return evaluate(
      expression_, [&](const Instruction& instruction) { return values[instruction.operand]; }, value);
}

bool Condition::wants_all() const {
  // How a number may change with further tuples. A value, even a mean, is taken to grow.
  struct Trend {
    bool grows, shrinks;
  };
  std::vector<Trend> trends;
  bool wants_all = false;
  for (const Instruction& instruction : expression_) {
    if (is_push(instruction.op)) {
      trends.push_back({instruction.op != Op::kConstant, false});
      continue;
    }
    const Trend right = trends.back();
    trends.pop_back();
    Trend& left = trends.back();
    const Trend difference = {left.grows || right.shrinks, left.shrinks || right.grows};
    const Op op = instruction.op;
    if (op == Op::kGreater || op == Op::kGreaterEqual) wants_all |= difference.shrinks;
    if (op == Op::kLess || op == Op::kLessEqual) wants_all |= difference.grows;
    const bool is_opposed = op == Op::kSubtract || op == Op::kDivide;
    left = is_opposed ? difference : Trend{left.grows || right.grows, left.shrinks || right.shrinks};
  }
  return wants_all;
}

bool Condition::uses(Measure measure) const {
  return std::any_of(expression_.begin(), expression_.end(), [&](const Instruction& instruction) {
    return instruction.op == Op::kMeasure && instruction.measure == measure;
  });
}

void Condition::find_threshold() {
  if (expression_.size() != 3 || expression_[0].op != Op::kMeasure || expression_[1].op != Op::kConstant) return;
  const Op op = expression_[2].op;
  const Measure measure = expression_[0].measure;
  const bool falls = measure == Measure::kMinRttNs || measure == Measure::kUnackedBytes;
  if ((op != Op::kGreater && op != Op::kGreaterEqual) || falls) return;
  const double constant = expression_[1].constant;
  const double min = op == Op::kGreater ? std::floor(constant) + 1 : std::ceil(constant);
  // At 2^53 and above, doubles can't represent every whole number.
  if (min < 1 || min >= 9e15 || is_quantile(measure)) return;
  // No group has more flows, or distinct values, than packets.
  threshold_ = {is_sketch(measure) ? Measure::kPackets : measure, min, !is_sketch(measure)};
}

}  // namespace tapline::trigger
