// A trigger that the monitor tests on a parser's tuples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitors/plan/tuple_condition.h"
#include "parsers/trigger/condition.h"

namespace tapline {

struct TupleTrigger {
  enum class Aggregate : uint8_t { kCount, kSum, kMax, kMin, kMean, kRate, kDistinct, kPercentile };
  // Comparison of the aggregate (left) with a threshold (right).
  enum class Comparison : uint8_t { kAbove, kAtLeast, kBelow, kAtMost };

  // The index of the trigger's processor in the plan; the trigger's events report it as `trigger`.
  uint32_t processor = 0;
  std::string parser = {};
  // The fields that form the group, as indices into common_fields() followed by the parser's own; if empty, there is
  // one group.
  std::vector<uint32_t> group = {};
  // The source of the aggregated values: a numeric field of the parser's own, or `condition`, whose value is 1 for
  // tuples that meet it and 0 for others. With neither, the value of each tuple is 1.
  std::optional<uint32_t> field = {};
  std::optional<TupleCondition> condition = {};
  // The field whose values kDistinct counts instead, as an index like those in `group`.
  std::optional<uint32_t> distinct_field = {};
  double share = 0;  // kPercentile's share, above 0 and at most 1
  // The condition that a tuple must meet to have a value; nullopt: every tuple has one.
  std::optional<TupleCondition> only = {};
  Aggregate aggregate = Aggregate::kCount;
  Comparison comparison = Comparison::kAbove;
  double threshold = 0;
  double clear = 0;         // replaces the threshold while an alert is in force
  uint32_t after = 1;       // consecutive windows that must meet the condition before an alert begins
  int64_t cooldown_ns = 0;  // minimum time between the starts of two alerts of a group
  int64_t every_ns = 0;     // time between the ends of two windows, which are aligned to the epoch
  uint32_t panes = 1;       // length of a window, as a multiple of every_ns
  bool monotone = false;    // true if a window that meets the condition still meets it after more tuples

  // If the condition compares several values: the further ones, of which only the members that describe a value are
  // used, and the condition on the trigger's own value (number 0) and these (from 1), instead of `comparison`,
  // `threshold` and `clear`. `lasts` replaces `when` while an alert is in force; nullopt: `when`.
  std::vector<TupleTrigger> operands = {};
  std::optional<trigger::Condition> when = {};
  std::optional<trigger::Condition> lasts = {};

  static constexpr uint32_t kMaxPanes = 100;
  static constexpr int kMaxOperands = 3;
};

}  // namespace tapline
