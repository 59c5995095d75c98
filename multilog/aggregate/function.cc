#include "multilog/aggregate/function.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "multilog/aggregate/sketches.h"

namespace tapline::multilog {
namespace {

// Returns a 128-bit integer from two words.
__int128 get_whole(Cells state, size_t i) {
  return static_cast<__int128>(static_cast<unsigned __int128>(state.get(i + 1)) << 64 | state.get(i));
}
void set_whole(Cells state, size_t i, __int128 value) {
  state.set(i, static_cast<uint64_t>(value));
  state.set(i + 1, static_cast<uint64_t>(static_cast<unsigned __int128>(value) >> 64));
}
double get_real(Cells state, size_t i) { return std::bit_cast<double>(state.get(i)); }
void set_real(Cells state, size_t i, double value) { state.set(i, std::bit_cast<uint64_t>(value)); }

// A function of a single column. for_each_key() skips rows that have no value in this column, or NaN.
class ColumnFunction : public AggregateFunction {
 public:
  ColumnFunction(const Schema& schema, const Column& column)
      : column_(column), presence_offset_(schema.presence_offset()) {}

 protected:
  template <typename Visit>
  void for_each_key(RowPointers rows, Visit&& visit) const {
    // The common case needs no branches in the loop.
    if (column_.presence_bit < 0 && column_.bytes == 2 && !column_.is_signed() && column_.type == FieldType::kU16) {
      for (const uint8_t* row : rows) visit(uint64_t{load_as<uint16_t>(row + column_.offset)});
      return;
    }
    for (const uint8_t* row : rows) {
      if (!is_present(column_, row, presence_offset_)) continue;
      const uint64_t key = column_.keyed() ? key_of(column_, row) : hash_of_parts(row);
      if (column_.is_float() && number_of_key(column_, key) != number_of_key(column_, key)) continue;
      visit(key);
    }
  }
  Number number_of(uint64_t key) const {
    return column_.is_float() ? Number::of_real(number_of_key(column_, key))
                              : Number::of_whole(integer_of_key(column_, key));
  }
  const Column column_;
  const uint32_t presence_offset_;

 private:
  // Returns a hash that replaces a key of several parts for DISTINCT, which only needs to tell keys apart.
  uint64_t hash_of_parts(const uint8_t* row) const {
    uint64_t hash = 0;
    for (uint32_t part = 0; part < column_.parts(); ++part) hash = sketch_hash(hash ^ key_of(column_.part(part), row));
    return hash;
  }
};

class Count final : public AggregateFunction {
 public:
  size_t words() const override { return 1; }
  std::vector<std::string> output_names() const override { return {"COUNT"}; }
  void add(Cells state, RowPointers rows) const override { state.set(0, state.get(0) + rows.size()); }
  void merge(Cells target, Cells source) const override { target.set(0, target.get(0) + source.get(0)); }
  std::vector<Number> outputs(Cells state) const override { return {Number::of_whole(state.get(0))}; }
};

// COUNT of a field: the number of rows that have it.
class CountField final : public ColumnFunction {
 public:
  using ColumnFunction::ColumnFunction;
  size_t words() const override { return 1; }
  std::vector<std::string> output_names() const override { return {"COUNT"}; }
  void add(Cells state, RowPointers rows) const override {
    uint64_t count = 0;
    for (const uint8_t* row : rows) count += is_present(column_, row, presence_offset_);
    state.set(0, state.get(0) + count);
  }
  void merge(Cells target, Cells source) const override { target.set(0, target.get(0) + source.get(0)); }
  std::vector<Number> outputs(Cells state) const override { return {Number::of_whole(state.get(0))}; }
};

// The state is | count | sum, 128 bits |, or | count | sum as a double | unused |.
class Sum : public ColumnFunction {
 public:
  using ColumnFunction::ColumnFunction;
  size_t words() const override { return 3; }
  std::vector<std::string> output_names() const override { return {"SUM"}; }
  void add(Cells state, RowPointers rows) const override {
    uint64_t count = 0;
    if (column_.is_float()) {
      double sum = get_real(state, 1);
      for_each_key(rows, [&](uint64_t key) { sum += number_of_key(column_, key), ++count; });
      set_real(state, 1, sum);
    } else {
      __int128 sum = 0;
      for_each_key(rows, [&](uint64_t key) { sum += integer_of_key(column_, key), ++count; });
      set_whole(state, 1, get_whole(state, 1) + sum);
    }
    state.set(0, state.get(0) + count);
  }
  void merge(Cells target, Cells source) const override {
    target.set(0, target.get(0) + source.get(0));
    if (column_.is_float())
      set_real(target, 1, get_real(target, 1) + get_real(source, 1));
    else
      set_whole(target, 1, get_whole(target, 1) + get_whole(source, 1));
  }
  std::vector<Number> outputs(Cells state) const override {
    return {column_.is_float() ? Number::of_real(get_real(state, 1)) : Number::of_whole(get_whole(state, 1))};
  }
};

class Average final : public Sum {
 public:
  using Sum::Sum;
  std::vector<std::string> output_names() const override { return {"AVG"}; }
  std::vector<Number> outputs(Cells state) const override {
    const uint64_t count = state.get(0);
    if (count == 0) return {Number()};
    return {Number::of_real(Sum::outputs(state)[0].as_double() / static_cast<double>(count))};
  }
};

// The state is | count | smallest or greatest key |.
class Extreme final : public ColumnFunction {
 public:
  Extreme(const Schema& schema, const Column& column, bool is_min) : ColumnFunction(schema, column), is_min_(is_min) {}
  size_t words() const override { return 2; }
  std::vector<std::string> output_names() const override { return {is_min_ ? "MIN" : "MAX"}; }
  void add(Cells state, RowPointers rows) const override {
    uint64_t count = state.get(0), best = state.get(1);
    for_each_key(rows, [&](uint64_t key) {
      if (count++ == 0 || (is_min_ ? key < best : key > best)) best = key;
    });
    state.set(0, count);
    state.set(1, best);
  }
  void merge(Cells target, Cells source) const override {
    if (source.get(0) == 0) return;
    const uint64_t a = target.get(1), b = source.get(1);
    target.set(1, target.get(0) == 0 ? b : is_min_ ? std::min(a, b) : std::max(a, b));
    target.set(0, target.get(0) + source.get(0));
  }
  std::vector<Number> outputs(Cells state) const override {
    return {state.get(0) == 0 ? Number() : number_of(state.get(1))};
  }

 private:
  const bool is_min_;
};

// The state is | count | mean | sum of squared distances from the mean |, updated by Welford's algorithm and merged by
// Chan's. The output is the population standard deviation.
class StandardDeviation final : public ColumnFunction {
 public:
  using ColumnFunction::ColumnFunction;
  size_t words() const override { return 3; }
  std::vector<std::string> output_names() const override { return {"STDEV"}; }
  void add(Cells state, RowPointers rows) const override {
    uint64_t count = state.get(0);
    double mean = get_real(state, 1), squares = get_real(state, 2);
    for_each_key(rows, [&](uint64_t key) {
      const double value = number_of_key(column_, key), delta = value - mean;
      mean += delta / static_cast<double>(++count);
      squares += delta * (value - mean);
    });
    write(state, count, mean, squares);
  }
  void merge(Cells target, Cells source) const override {
    const uint64_t a = target.get(0), b = source.get(0);
    if (b == 0) return;
    const double count = static_cast<double>(a) + static_cast<double>(b),
                 delta = get_real(source, 1) - get_real(target, 1);
    const double mean = get_real(target, 1) + delta * static_cast<double>(b) / count;
    const double squares = get_real(target, 2) + get_real(source, 2) +
                           delta * delta * static_cast<double>(a) * static_cast<double>(b) / count;
    write(target, a + b, mean, squares);
  }
  std::vector<Number> outputs(Cells state) const override {
    const uint64_t count = state.get(0);
    if (count == 0) return {Number()};
    return {Number::of_real(std::sqrt(std::max(0.0, get_real(state, 2) / static_cast<double>(count))))};
  }

 private:
  static void write(Cells state, uint64_t count, double mean, double squares) {
    state.set(0, count);
    set_real(state, 1, mean);
    set_real(state, 2, squares);
  }
};

class Distinct final : public ColumnFunction {
 public:
  using ColumnFunction::ColumnFunction;
  size_t words() const override { return DistinctSketch::kWords; }
  std::vector<std::string> output_names() const override { return {"DISTINCT"}; }
  void add(Cells state, RowPointers rows) const override {
    for_each_key(rows, [&](uint64_t key) { DistinctSketch::add(state, key); });
  }
  void merge(Cells target, Cells source) const override { DistinctSketch::merge(target, source); }
  std::vector<Number> outputs(Cells state) const override { return {Number::of_real(DistinctSketch::estimate(state))}; }
};

class Quantiles final : public ColumnFunction {
 public:
  Quantiles(const Schema& schema, const Column& column, std::vector<double> quantiles)
      : ColumnFunction(schema, column), quantiles_(std::move(quantiles)) {}
  size_t words() const override { return QuantileSketch::kWords; }
  std::vector<std::string> output_names() const override {
    std::vector<std::string> names;
    for (const double quantile : quantiles_) {
      std::string digits = std::to_string(quantile * 100);
      digits.erase(digits.find_last_not_of('0') + 1);
      if (digits.back() == '.') digits.pop_back();
      names.push_back("P" + digits);
    }
    return names;
  }
  void add(Cells state, RowPointers rows) const override {
    for_each_key(rows, [&](uint64_t key) { QuantileSketch::add(state, key); });
  }
  void merge(Cells target, Cells source) const override { QuantileSketch::merge(target, source); }
  std::vector<Number> outputs(Cells state) const override {
    std::vector<Number> values;
    for (const double quantile : quantiles_) values.push_back(QuantileSketch::quantile(state, quantile));
    return values;
  }

 private:
  const std::vector<double> quantiles_;
};

class User final : public AggregateFunction {
 public:
  User(const Schema& schema, UserFunction function) : schema_(schema), function_(std::move(function)) {}
  size_t words() const override { return function_.words; }
  std::vector<std::string> output_names() const override { return function_.outputs; }
  void add(Cells state, RowPointers rows) const override {
    for (const uint8_t* row : rows) function_.add(state, schema_, row);
  }
  void merge(Cells target, Cells source) const override { function_.merge(target, source); }
  std::vector<Number> outputs(Cells state) const override { return function_.values(state); }

 private:
  const Schema schema_;
  const UserFunction function_;
};

// Returns the column of a field or of an element of a list: "path" or "path[2]".
Result<Column> column_named(const std::string& text, const Schema& schema) {
  const size_t bracket = text.find('[');
  const Field* field = schema.find(text.substr(0, bracket));
  if (field == nullptr) return Status(Code::kInvalid, "unknown field '" + text + "'");
  if (bracket == std::string::npos) {
    if (field->spec.elements > 1)
      return Status(Code::kInvalid, text + " is a list; name an element, such as " + text + "[0]");
    return field->column;
  }
  const std::string digits = text.substr(bracket + 1, text.size() - bracket - 2);
  if (text.back() != ']' || digits.empty() || digits.size() > 2 ||
      digits.find_first_not_of("0123456789") != std::string::npos || std::stoul(digits) >= field->spec.elements)
    return Status(Code::kInvalid, "no element '" + text + "'");
  return field->element(static_cast<uint32_t>(std::stoul(digits)));
}

using Made = Result<std::shared_ptr<const AggregateFunction>>;

Made make_of_column(const std::string& name, const FunctionSpec& spec, const Schema& schema, const Column& column) {
  const std::string type(name_of(column.type));
  if (name == "COUNT") return {std::make_shared<CountField>(schema, column)};
  if (name == "DISTINCT") return {std::make_shared<Distinct>(schema, column)};
  if (!column.is_number()) return Status(Code::kInvalid, name + " can't be computed for a field of type " + type);
  if (name == "SUM") return {std::make_shared<Sum>(schema, column)};
  if (name == "AVG") return {std::make_shared<Average>(schema, column)};
  if (name == "MIN") return {std::make_shared<Extreme>(schema, column, true)};
  if (name == "MAX") return {std::make_shared<Extreme>(schema, column, false)};
  if (name == "STDEV") return {std::make_shared<StandardDeviation>(schema, column)};
  if (column.is_float() || column.is_signed()) return Status(Code::kInvalid, "quantiles require unsigned fields");
  if (spec.quantiles.empty() || spec.quantiles.size() > 16 ||
      std::any_of(spec.quantiles.begin(), spec.quantiles.end(), [](double q) { return !(q >= 0 && q <= 1); }))
    return Status(Code::kInvalid, "give 1 to 16 quantiles between 0 and 1");
  return {std::make_shared<Quantiles>(schema, column, spec.quantiles)};
}

Made make_ungrouped(const FunctionSpec& spec, const Schema& schema, const UserFunctions& users) {
  for (const auto& [name, function] : users) {
    if (name == spec.function) return {std::make_shared<User>(schema, function)};
  }
  std::string name = spec.function;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  constexpr std::string_view kNames[] = {"COUNT", "SUM", "AVG", "MIN", "MAX", "STDEV", "DISTINCT", "QUANTILE"};
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return Status(Code::kInvalid, "unknown function '" + spec.function + "'");
  if (spec.field.empty()) {
    if (name != "COUNT") return Status(Code::kInvalid, name + " needs a field");
    return {std::make_shared<Count>()};
  }
  Result<Column> column = column_named(spec.field, schema);
  if (!column.ok()) return column.status();
  return make_of_column(name, spec, schema, *column);
}

}  // namespace

Made make_function(const FunctionSpec& spec, const Schema& schema, const UserFunctions& users) {
  Made inner = make_ungrouped(spec, schema, users);
  if (!inner.ok() || spec.group_by.empty()) return inner;
  if (spec.group_by.size() > 4) return Status(Code::kInvalid, "there can be at most 4 fields to group by");
  if (spec.max_groups < 1 || spec.max_groups > (1u << 20))
    return Status(Code::kInvalid, "the number of groups must be 1 to 1048576");
  std::vector<Column> columns;
  for (const std::string& name : spec.group_by) {
    Result<Column> column = column_named(name, schema);
    if (!column.ok()) return column.status();
    for (uint32_t part = 0; part < column->parts(); ++part) columns.push_back(column->part(part));
  }
  return {std::make_shared<GroupedFunction>(*inner, schema, std::move(columns), spec.max_groups)};
}

static void set_keys(const Field& field, const uint64_t* keys, RowBuilder* row) {
  const Column& column = field.column;
  if (column.is_float()) {
    row->set_float(field.spec.name, number_of_key(column, *keys));
  } else if (column.keyed()) {
    row->set(field.spec.name, static_cast<uint64_t>(integer_of_key(column, *keys)));
  } else {
    std::string bytes;
    for (uint32_t part = 0; part < column.parts(); ++part) {
      for (uint32_t i = column.part(part).bytes; i-- > 0;) bytes.push_back(static_cast<char>(keys[part] >> 8 * i));
    }
    row->set_bytes(field.spec.name, bytes);
  }
}

std::vector<std::string> format_keys(const Schema& schema, const std::vector<std::string>& group_by,
                                     const std::vector<uint64_t>& keys) {
  std::vector<std::string> texts;
  size_t next = 0;
  for (const std::string& name : group_by) {
    const Field* field = schema.find(std::string_view(name).substr(0, name.find('[')));
    if (field == nullptr || next + field->column.parts() > keys.size()) break;
    RowBuilder row(schema);
    set_keys(*field, keys.data() + next, &row);
    next += field->column.parts();
    texts.push_back(format_field(schema, *field, row.row().data()));
  }
  return texts;
}

GroupedFunction::GroupedFunction(std::shared_ptr<const AggregateFunction> inner, const Schema& schema,
                                 std::vector<Column> keys, uint32_t max_groups)
    : inner_(std::move(inner)),
      schema_(schema),
      columns_(std::move(keys)),
      max_groups_(max_groups),
      slots_(std::bit_ceil(size_t{max_groups} + max_groups / 3 + 1)) {}

size_t GroupedFunction::words() const { return entry_at(slots_); }

bool GroupedFunction::keys_of(const uint8_t* row, uint64_t* keys) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!is_present(columns_[i], row, schema_.presence_offset())) return false;
    keys[i] = key_of(columns_[i], row);
  }
  return true;
}

bool GroupedFunction::find(Cells state, const uint64_t* keys, size_t* slot) const {
  uint64_t hash = 0;
  for (size_t i = 0; i < columns_.size(); ++i) hash = sketch_hash(hash ^ keys[i]);
  for (size_t probes = 0; probes < slots_; ++probes) {
    *slot = (hash + probes) & (slots_ - 1);
    const Cells entry = state.from(entry_at(*slot));
    if (entry.get(0) == 0) return false;
    bool is_same = true;
    for (size_t i = 0; i < columns_.size(); ++i) is_same = is_same && entry.get(1 + i) == keys[i];
    if (is_same) return true;
  }
  return false;
}

Cells GroupedFunction::state_for(Cells state, const uint64_t* keys) const {
  size_t slot;
  if (!find(state, keys, &slot)) {
    if (state.get(0) >= max_groups_) return state.from(2);
    const Cells entry = state.from(entry_at(slot));
    entry.set(0, 1);
    for (size_t i = 0; i < columns_.size(); ++i) entry.set(1 + i, keys[i]);
    state.set(0, state.get(0) + 1);
  }
  return state.from(entry_at(slot) + 1 + columns_.size());
}

void GroupedFunction::add(Cells state, RowPointers rows) const {
  uint64_t keys[kMaxKeys];
  size_t in_groups = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!keys_of(rows[i], keys)) continue;
    inner_->add(state_for(state, keys), rows.subspan(i, 1));
    ++in_groups;
  }
  state.set(1, state.get(1) + in_groups);
}

void GroupedFunction::merge(Cells target, Cells source) const {
  uint64_t keys[kMaxKeys];
  inner_->merge(target.from(2), source.from(2));
  for (size_t slot = 0; slot < slots_; ++slot) {
    const Cells entry = source.from(entry_at(slot));
    if (entry.get(0) == 0) continue;
    for (size_t i = 0; i < columns_.size(); ++i) keys[i] = entry.get(1 + i);
    inner_->merge(state_for(target, keys), entry.from(1 + columns_.size()));
  }
  target.set(1, target.get(1) + source.get(1));
}

std::vector<Number> GroupedFunction::outputs(Cells state) const {
  std::vector<uint64_t> all(inner_->words());
  inner_->merge(Cells(all.data()), state.from(2));
  for (size_t slot = 0; slot < slots_; ++slot) {
    const Cells entry = state.from(entry_at(slot));
    if (entry.get(0) != 0) inner_->merge(Cells(all.data()), entry.from(1 + columns_.size()));
  }
  return inner_->outputs(Cells(all.data()));
}

std::vector<Group> GroupedFunction::groups(Cells state, bool with_states) const {
  std::vector<Group> groups;
  const auto copy = [&](Cells source) {
    std::vector<uint64_t> words(with_states ? inner_->words() : 0);
    for (size_t i = 0; i < words.size(); ++i) words[i] = source.get(i);
    return words;
  };
  for (size_t slot = 0; slot < slots_; ++slot) {
    const Cells entry = state.from(entry_at(slot));
    if (entry.get(0) == 0) continue;
    Group group;
    for (size_t i = 0; i < columns_.size(); ++i) group.keys.push_back(entry.get(1 + i));
    group.outputs = inner_->outputs(entry.from(1 + columns_.size()));
    group.state = copy(entry.from(1 + columns_.size()));
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.keys < b.keys; });
  if (state.get(0) >= max_groups_) groups.push_back({{}, true, inner_->outputs(state.from(2)), copy(state.from(2))});
  return groups;
}

std::vector<Number> GroupedFunction::outputs_for(Cells state, const uint8_t* row) const {
  uint64_t keys[kMaxKeys];
  size_t slot;
  if (!keys_of(row, keys) || !find(state, keys, &slot)) return std::vector<Number>(inner_->output_names().size());
  return inner_->outputs(state.from(entry_at(slot) + 1 + columns_.size()));
}

}  // namespace tapline::multilog
