#include "multilog/expr/row_dispatch.h"

#include <algorithm>
#include <bit>

namespace tapline::multilog {
namespace {

// Longer sets are evaluated: their tables would leave the cache.
constexpr uint64_t kMostKeys = 256;

}  // namespace

std::optional<RowDispatch::Demand> RowDispatch::DemandOf(const Leaf& leaf) {
  if (leaf.kind != Leaf::Kind::kKeys || leaf.mask != ~uint64_t{0}) return std::nullopt;
  Demand demand{leaf.column, {}};
  for (const KeyRange& range : leaf.ranges) {
    if (range.high - range.low >= kMostKeys - demand.keys.size()) return std::nullopt;
    for (uint64_t i = 0; i <= range.high - range.low; ++i) demand.keys.push_back(range.low + i);
  }
  return demand;
}

// A column of many values first, since it lets fewer rows through; then the shorter list.
bool RowDispatch::IsBetter(const Demand& a, const Demand& b) {
  if (a.column.bytes != b.column.bytes) return a.column.bytes > b.column.bytes;
  return a.keys.size() < b.keys.size();
}

// A conjunction demands what any of its parts does; a disjunction only what all of them do, of the same column.
std::optional<RowDispatch::Demand> RowDispatch::DemandOf(const Node& node, const std::vector<Leaf>& leaves) {
  if (node.kind == Node::Kind::kLeaf) return DemandOf(leaves[node.leaf]);
  if (node.kind != Node::Kind::kAnd && node.kind != Node::Kind::kOr) return std::nullopt;
  const bool is_and = node.kind == Node::Kind::kAnd;
  std::optional<Demand> result;
  for (const Node& child : node.children) {
    std::optional<Demand> demand = DemandOf(child, leaves);
    if (is_and) {
      if (demand && (!result || IsBetter(*demand, *result))) result = std::move(demand);
      continue;
    }
    if (!demand || (result && demand->column != result->column)) return std::nullopt;
    if (!result)
      result = std::move(demand);
    else
      result->keys.insert(result->keys.end(), demand->keys.begin(), demand->keys.end());
    if (result->keys.size() > kMostKeys) return std::nullopt;
  }
  return result;
}

void RowDispatch::Add(uint32_t number, const Expression& expression) {
  std::optional<Demand> demand = DemandOf(expression.root(), expression.leaves());
  if (!demand) return always_.push_back(number);
  auto table = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return t.column == demand->column; });
  if (table == tables_.end()) {
    tables_.push_back({});
    table = tables_.end() - 1;
    table->column = demand->column;
  }
  for (const uint64_t key : demand->keys) table->asked.emplace_back(key, number);
}

void RowDispatch::Fill(Table* table) {
  std::sort(table->asked.begin(), table->asked.end());
  table->asked.erase(std::unique(table->asked.begin(), table->asked.end()), table->asked.end());
  table->slots.resize(std::bit_ceil(2 * table->asked.size() + 2));
  table->shift = 64 - static_cast<uint32_t>(std::countr_zero(table->slots.size()));
  for (size_t i = 0; i < table->asked.size(); ++i) {
    const auto [key, number] = table->asked[i];
    table->numbers.push_back(number);
    size_t at = Hash(key, table->shift);
    auto slot = [&]() -> Slot& { return table->slots[at & (table->slots.size() - 1)]; };
    while (slot().end != 0 && slot().key != key) ++at;
    if (slot().end == 0) slot() = {key, static_cast<uint32_t>(i), 0};
    slot().end = static_cast<uint32_t>(i + 1);
  }
}

void RowDispatch::Finish() {
  for (Table& table : tables_) Fill(&table);
}

}  // namespace tapline::multilog
