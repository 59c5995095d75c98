// A condition on a schema's rows, compiled from a tree (conditions/tree) or from text (parser.h has the grammar) into a
// tree in negation normal form (negations are pushed into the leaves).
//
//   comparison    sum (== = != < <= > >=) sum    a sum: fields, list elements, aggregates and literals joined by + -
//   membership    field in 10.1.3.0/24 | 80..90 | [80, 90] | {80, 443, 8000..8080}    also `not in`, = and != (80, 443)
//   wildcard      dstIP like 192.*.*.1                                                also `not like`
//   list          path contains 7
//   presence      has(queue_depth)
//
// Numbers may have a unit (B KB MB GB TB KiB MiB GiB ns us ms s m h) or be hexadecimal (0x1f); TCP, UDP, ICMP, true and
// false are numbers, too.
//
// Logic is three-valued: a comparison with a missing field is unknown, and so is its negation. A condition that is
// unknown selects no row. Immutable once compiled: any thread may evaluate it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conditions/record/schema.h"
#include "conditions/tree/tree.h"
#include "packet_io/base/status.h"

namespace tapline::conditions {

// A constant or an aggregate's value: an integer if possible, since nanoseconds since the epoch don't fit into a
// double.
struct Number {
  bool present = false;
  bool is_float = false;
  __int128 whole = 0;
  double real = 0;

  static Number of_whole(__int128 value) { return {true, false, value, 0}; }
  static Number of_real(double value) { return {true, true, 0, value}; }
  double as_double() const { return is_float ? real : static_cast<double>(whole); }
};

struct KeyRange {
  uint64_t low, high;  // both inclusive
  bool operator==(const KeyRange&) const = default;
};
// Sorted and disjoint, with gaps between the ranges.
using KeyRanges = std::vector<KeyRange>;

KeyRanges union_of(KeyRanges ranges);
KeyRanges intersect(const KeyRanges& a, const KeyRanges& b);
KeyRanges complement(const KeyRanges& ranges, uint64_t max_key);
bool contains(const KeyRanges& ranges, uint64_t key);

// An output of an aggregate. The resolver assigns both numbers.
struct AggregateRef {
  uint32_t aggregate = 0;
  uint32_t output = 0;
  bool operator==(const AggregateRef&) const = default;
};

enum class Compare : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

// Returns true if the comparison is true for two values; `order` is the sign of the first minus the second.
bool is_true(Compare compare, int order);

struct Term {
  int sign = 1;
  std::optional<AggregateRef> aggregate;
  Column column;  // not used for an aggregate
  bool operator==(const Term&) const = default;
};

struct Leaf {
  enum class Kind : uint8_t {
    kKeys,     // (key of column & mask) is in one of ranges
    kWide,     // low <= (bytes of column & wide_mask) <= high
    kPresent,  // column is present
    kLinear,   // sum of terms + constant, compared with 0
    kPair,     // bytes or text of column compared with those of other
    kText,     // text of column is one of texts
  };
  Kind kind = Kind::kKeys;
  Compare compare = Compare::kEqual;  // kLinear, kPair
  bool negated = false;               // for all kinds except kKeys
  Column column;
  Column other;
  uint64_t mask = ~uint64_t{0};
  KeyRanges ranges;
  std::string low, high, wide_mask;
  std::vector<std::string> texts;
  std::vector<Term> terms;
  Number constant;
  std::string text;  // canonical text, for messages

  // Returns true if both leaves select the same rows, regardless of how they were written.
  bool same_as(const Leaf& other_leaf) const;
  bool depends_on_aggregate() const;
};

struct Node {
  enum class Kind : uint8_t { kTrue, kFalse, kLeaf, kAnd, kOr };
  Kind kind = Kind::kTrue;
  uint32_t leaf = 0;           // kLeaf: index in Expression::leaves
  std::vector<Node> children;  // kAnd, kOr
};

// A conjunction of a disjunctive normal form: all its leaves must be true.
using Clause = std::vector<Leaf>;

class Expression {
 public:
  using Resolver = std::function<std::optional<AggregateRef>(std::string_view name)>;
  // Limits on the number of bytes, on nested parentheses and negations, and on the number of leaves.
  static constexpr size_t kMaxBytes = 64 * 1024;
  static constexpr int kMaxDepth = 100;
  static constexpr size_t kMaxLeaves = 4096;

  // Compiles an expression; an empty one selects every row. Errors are kInvalid and give the byte position of the
  // mistake.
  static Result<Expression> compile(std::string_view text, const Schema& schema, const Resolver& resolve = {});
  // Checks a tree, which may come from an untrusted source, and compiles it.
  static Result<Expression> compile(Tree tree, const Schema& schema, const Resolver& resolve = {});

  const Node& root() const { return root_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  // Returns the text as written, or the tree's canonical text.
  const std::string& text() const { return text_; }
  const Tree& tree() const { return tree_; }
  bool depends_on_aggregate() const;
  std::vector<AggregateRef> aggregates() const;

  // Evaluates one row, without vector instructions or allocations. `value` provides the aggregates; if it is null, they
  // are unknown.
  using Values = std::function<Number(const AggregateRef&)>;
  bool matches(const uint8_t* row, const Schema& schema, const Values& value = {}) const;

  // Returns the canonical disjunctive normal form, in which leaves on one column are merged, and contradictions and
  // duplicates are omitted. Returns nullopt if it would have more than `max_clauses`. A clause without leaves selects
  // every row; an empty form selects none.
  std::optional<std::vector<Clause>> dnf(size_t max_clauses = 64) const;

 private:
  friend class Binder;
  // One step of the tree as a flat program: evaluates a leaf, then continues at the step for the outcome. In negation
  // normal form, "unknown" counts as false, since no node above a leaf negates it.
  struct Step {
    uint32_t leaf, if_true, if_false;
  };
  static constexpr uint32_t kAccept = ~uint32_t{0}, kReject = kAccept - 1;
  void make_steps();
  uint32_t add_steps(const Node& node, uint32_t if_true, uint32_t if_false);

  Node root_;
  std::vector<Leaf> leaves_;
  // The steps in reverse order of evaluation, which begins with entry_.
  std::vector<Step> steps_;
  uint32_t entry_ = kAccept;
  std::string text_;
  Tree tree_;
};

enum class Truth : uint8_t { kFalse, kUnknown, kTrue };
Truth evaluate(const Leaf& leaf, const uint8_t* row, const Schema& schema, const Expression::Values& value);
// Returns the leaf as text, such as "dstPort in {80, 8000..8080}".
std::string describe(const Leaf& leaf, const Schema& schema);

}  // namespace tapline::conditions
