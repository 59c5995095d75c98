#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsers/trigger/interval.h"
#include "parsers/trigger/measure.h"

namespace tapline::trigger {

class SketchSums;

// kPossible: true for some values within the bounds, and false for others.
enum class Verdict : uint8_t { kFalse, kPossible, kTrue };

enum class Op : uint8_t {
  kMeasure,   // pushes a measure of packets
  kConstant,  // pushes a number
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,  // by zero: absent
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kOperand,  // pushes a value of tuples
};

struct Instruction {
  Op op = Op::kConstant;
  Measure measure = Measure::kPackets;
  double constant = 0;   // a quantile's share of the values, above 0 and below 1
  uint32_t operand = 0;  // the number of a value
};

// Instructions in postfix order. These functions compose them in reading order: above(value_of(kBytes), number(1e6)).
using Expression = std::vector<Instruction>;
Expression value_of(Measure measure);
Expression quantile_of(Measure measure, double share);
Expression number(double constant);
Expression apply(Op op, Expression left, const Expression& right);
inline Expression above(Expression left, const Expression& right) {
  return apply(Op::kGreater, std::move(left), right);
}
inline Expression below(Expression left, const Expression& right) { return apply(Op::kLess, std::move(left), right); }

// Lower and upper bounds of a trigger's counts in a window, kWords each.
struct Counts {
  std::array<uint64_t, kWords> low = {};
  std::array<uint64_t, kWords> high = {};
  // The sums of the same packets' sketches; null if the condition compares no sketches or there are no packets.
  const SketchSums* sketches = nullptr;

  // Returns the bounds of a measure. `share` is as in Instruction::constant.
  Interval of(Measure measure, double share = 0) const;
};

// A condition on the counts of packets, or on the values of tuples, in a window. Comparisons with an absent value are
// false. Immutable.
class Condition {
 public:
  static constexpr size_t kMaxInstructions = 64;
  static constexpr size_t kMaxDepth = 8;

  // Returns nullopt, and sets *error, unless the instructions form one condition within the limits above.
  static std::optional<Condition> make(Expression expression, std::string* error);

  // Tests the condition, and sets *value to the left side of the first comparison.
  Verdict test(const Counts& counts, Interval* value) const;
  // The same for values of tuples, by number. REQUIRES: values contains every operand.
  Verdict test(std::span<const Interval> values, Interval* value) const;

  // A single comparison of a sum or maximum with a number that it must reach or exceed. Nearly all triggers have this
  // form, so it is tested without the instructions.
  struct Threshold {
    Measure measure;
    double min;  // the smallest value, a whole number, that fulfils the condition
    // False if the condition compares a number of distinct values, for which `measure` is only an upper bound.
    bool is_compared = true;
  };
  const std::optional<Threshold>& threshold() const { return threshold_; }

  // Returns true if counting more packets can only make the condition true, never false.
  bool rises() const { return threshold_.has_value(); }
  // Returns true if a window without packets fulfils the condition.
  bool holds_when_empty() const { return holds_when_empty_; }
  // Returns the number of counter lines that the condition reads.
  int lines() const { return lines_; }
  // Returns each sketch term of the condition once.
  std::span<const SketchTerm> sketch_terms() const { return sketch_terms_; }
  bool uses(Measure measure) const;
  // Returns true if the condition could be met only because tuples are missing.
  bool wants_all() const;

 private:
  void find_threshold();

  Expression expression_;
  std::optional<Threshold> threshold_;
  bool holds_when_empty_ = false;
  int lines_ = 1;
  std::vector<SketchTerm> sketch_terms_;
};

}  // namespace tapline::trigger
