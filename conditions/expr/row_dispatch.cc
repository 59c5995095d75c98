#include "conditions/expr/row_dispatch.h"

#include <algorithm>
#include <bit>

namespace tapline::conditions {
namespace {

// Expressions with longer sets, or with sets over more columns, are evaluated for every row, since their tables would
// not fit in the cache.
constexpr uint64_t kMaxKeys = 256;
constexpr size_t kMaxColumns = 16;

bool holds_nothing_else(const Node& node) {
  if (node.kind == Node::Kind::kLeaf) return true;
  return node.kind == Node::Kind::kOr && std::all_of(node.children.begin(), node.children.end(), holds_nothing_else);
}

}  // namespace

bool RowDispatch::is_set(const Expression& expression) {
  return holds_nothing_else(expression.root()) && demands_of(expression.root(), expression.leaves());
}

std::optional<RowDispatch::Demands> RowDispatch::demands_of(const Leaf& leaf) {
  if (leaf.kind != Leaf::Kind::kKeys || leaf.mask != ~uint64_t{0}) return std::nullopt;
  Demand demand{leaf.column, {}};
  for (const KeyRange& range : leaf.ranges) {
    if (range.high - range.low >= kMaxKeys - demand.keys.size()) return std::nullopt;
    for (uint64_t i = 0; i <= range.high - range.low; ++i) demand.keys.push_back(range.low + i);
  }
  return Demands{std::move(demand)};
}

// Prefers few columns, since each row needs a look-up for each of them; then a column with many possible values, since
// fewer rows match; then the shorter list.
bool RowDispatch::is_better(const Demands& a, const Demands& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  if (a[0].column.bytes != b[0].column.bytes) return a[0].column.bytes > b[0].column.bytes;
  return a[0].keys.size() < b[0].keys.size();
}

// Adds `more_demands` to the demands. Returns true if a look-up is still worthwhile.
bool RowDispatch::unite(Demands* demands, Demands more_demands) {
  for (Demand& demand : more_demands) {
    auto same =
        std::find_if(demands->begin(), demands->end(), [&](const Demand& d) { return d.column == demand.column; });
    if (same == demands->end())
      demands->push_back(std::move(demand));
    else
      same->keys.insert(same->keys.end(), demand.keys.begin(), demand.keys.end());
  }
  size_t keys = 0;
  for (const Demand& demand : *demands) keys += demand.keys.size();
  return keys <= kMaxKeys && demands->size() <= kMaxColumns;
}

// Returns the node's demands. A conjunction has those of its best part; a disjunction has the union of its parts'
// demands if all of them have any.
std::optional<RowDispatch::Demands> RowDispatch::demands_of(const Node& node, const std::vector<Leaf>& leaves) {
  if (node.kind == Node::Kind::kLeaf) return demands_of(leaves[node.leaf]);
  if (node.kind != Node::Kind::kAnd && node.kind != Node::Kind::kOr) return std::nullopt;
  const bool is_and = node.kind == Node::Kind::kAnd;
  std::optional<Demands> result;
  for (const Node& child : node.children) {
    std::optional<Demands> demands = demands_of(child, leaves);
    if (is_and) {
      if (demands && (!result || is_better(*demands, *result))) result = std::move(demands);
      continue;
    }
    if (!demands) return std::nullopt;
    if (!result) result.emplace();
    if (!unite(&*result, std::move(*demands))) return std::nullopt;
  }
  return result;
}

RowDispatch::Table* RowDispatch::table_of(const Column& column) {
  for (Table& table : tables_) {
    if (table.column == column) return &table;
  }
  tables_.push_back({});
  tables_.back().column = column;
  return &tables_.back();
}

void RowDispatch::add(uint32_t number, const Expression& expression) {
  const std::optional<Demands> demands = demands_of(expression.root(), expression.leaves());
  if (!demands) return always_.push_back(number);
  for (const Demand& demand : *demands) {
    Table* table = table_of(demand.column);
    for (const uint64_t key : demand.keys) table->asked.emplace_back(key, number);
  }
}

void RowDispatch::fill(Table* table) {
  std::sort(table->asked.begin(), table->asked.end());
  table->asked.erase(std::unique(table->asked.begin(), table->asked.end()), table->asked.end());
  table->slots.resize(std::bit_ceil(2 * table->asked.size() + 2));
  table->shift = 64 - static_cast<uint32_t>(std::countr_zero(table->slots.size()));
  for (size_t i = 0; i < table->asked.size(); ++i) {
    const auto [key, number] = table->asked[i];
    table->numbers.push_back(number);
    size_t index = hash(key, table->shift);
    auto slot = [&]() -> Slot& { return table->slots[index & (table->slots.size() - 1)]; };
    while (slot().end != 0 && slot().key != key) ++index;
    if (slot().end == 0) slot() = {key, static_cast<uint32_t>(i), 0};
    slot().end = static_cast<uint32_t>(i + 1);
  }
}

void RowDispatch::finish() {
  for (Table& table : tables_) {
    fill(&table);
    keys_ += table.asked.size();
  }
}

}  // namespace tapline::conditions
