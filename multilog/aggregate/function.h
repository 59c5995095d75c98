// Aggregate functions: each one folds rows into a state of 64-bit words, and states of the same function can be merged.
//
//   state 0 (all words 0) ── add(rows) ──▶ state ── merge ──▶ state ── outputs ──▶ numbers
//
// Each writer and each time bucket folds separate rows, and readers merge their states in any order (Confluo §3.2).
// Words are read and written only through Cells, since readers copy them while a writer writes (aggregate/buckets.h
// explains how readers detect this). schema/sketches.md defines the layout of the sketches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conditions/expr/expression.h"
#include "multilog/base/conditions.h"
#include "packet_io/base/status.h"

namespace tapline::multilog {

// Words shared with readers. Accesses are atomic: loads acquire and stores release, which costs nothing on x86.
class Cells {
 public:
  explicit Cells(uint64_t* words) : words_(words) {}
  uint64_t get(size_t i) const { return __atomic_load_n(words_ + i, __ATOMIC_ACQUIRE); }
  void set(size_t i, uint64_t value) const { __atomic_store_n(words_ + i, value, __ATOMIC_RELEASE); }
  Cells from(size_t i) const { return Cells(words_ + i); }

 private:
  uint64_t* words_;
};

using RowPointers = std::span<const uint8_t* const>;

class AggregateFunction {
 public:
  virtual ~AggregateFunction() = default;
  virtual size_t words() const = 0;
  // Returns the names of the outputs, in order. The first one is the aggregate's value where a single value is needed.
  virtual std::vector<std::string> output_names() const = 0;
  virtual void add(Cells state, RowPointers rows) const = 0;
  virtual void merge(Cells target, Cells source) const = 0;
  // Returns the outputs. A number is missing if it is undefined, such as the average of no rows.
  virtual std::vector<Number> outputs(Cells state) const = 0;
};

// A user-defined function. `add` and `merge` must change only their first argument. A state of zeros must mean that
// there are no rows.
struct UserFunction {
  size_t words = 1;
  std::vector<std::string> outputs;
  std::function<void(Cells state, const Schema& schema, const uint8_t* row)> add;
  std::function<void(Cells target, Cells source)> merge;
  std::function<std::vector<Number>(Cells state)> values;
};

// All members have default initializers, so that a designated initializer may name only those that differ.
struct FunctionSpec {
  // COUNT, SUM, AVG, MIN, MAX, STDEV, DISTINCT, QUANTILE (in any case), or a user-defined function.
  std::string function = "COUNT";
  // The field to aggregate, with [i] for an element of a list. COUNT needs none.
  std::string field = {};
  // For QUANTILE: the quantiles, between 0 and 1; each of them has an output.
  std::vector<double> quantiles = {0.5, 0.9, 0.99};
  // Up to 4 fields; there is one state per combination of their values.
  std::vector<std::string> group_by = {};
  // The number of combinations kept per writer and time bucket; rows of further combinations share one state, "the
  // rest".
  uint32_t max_groups = 1024;
};

using UserFunctions = std::vector<std::pair<std::string, UserFunction>>;

// Creates a function. Returns kInvalid if the specification is invalid, for example if the field's type doesn't support
// the function.
Result<std::shared_ptr<const AggregateFunction>> make_function(const FunctionSpec& spec, const Schema& schema,
                                                               const UserFunctions& users);

// One group of a grouped state.
struct Group {
  // One key per field; a field wider than 8 bytes has one key for each part of 8 bytes (record/schema.h).
  std::vector<uint64_t> keys;
  bool is_rest = false;
  std::vector<Number> outputs;
  // The group's state, if it was requested.
  std::vector<uint64_t> state = {};
};

// Formats a group's keys like the values of its fields. REQUIRES: make_function() accepted `group_by`.
std::vector<std::string> format_keys(const Schema& schema, const std::vector<std::string>& group_by,
                                     const std::vector<uint64_t>& keys);

// A table of groups, which is itself a function: its outputs cover all groups together.
//
//   | groups used | total rows | state of the rest | entry 0 | entry 1 | …        entry: | 1 if used | keys | state |
class GroupedFunction final : public AggregateFunction {
 public:
  GroupedFunction(std::shared_ptr<const AggregateFunction> inner, const Schema& schema, std::vector<Column> keys,
                  uint32_t max_groups);
  size_t words() const override;
  std::vector<std::string> output_names() const override { return inner_->output_names(); }
  void add(Cells state, RowPointers rows) const override;
  void merge(Cells target, Cells source) const override;
  std::vector<Number> outputs(Cells state) const override;

  std::vector<Group> groups(Cells state, bool with_states = false) const;
  // Returns the outputs of the row's group, or missing numbers if the table has no entry for it.
  std::vector<Number> outputs_for(Cells state, const uint8_t* row) const;

 private:
  size_t entry_words() const { return 1 + columns_.size() + inner_->words(); }
  size_t entry_at(size_t slot) const { return 2 + inner_->words() + slot * entry_words(); }
  // Maximum number of 64-bit keys of a group: enough for four fields of the maximum width.
  static constexpr size_t kMaxKeys = 32;
  bool keys_of(const uint8_t* row, uint64_t* keys) const;
  // Returns the state of the group with these keys, which is added if it is new, or that of the rest if the table is
  // full.
  Cells state_for(Cells state, const uint64_t* keys) const;
  bool find(Cells state, const uint64_t* keys, size_t* slot) const;

  std::shared_ptr<const AggregateFunction> inner_;
  const Schema schema_;
  std::vector<Column> columns_;  // the parts of all fields
  uint32_t max_groups_;
  size_t slots_;
};

}  // namespace tapline::multilog
