#include "parsers/trigger/value_classes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tapline::trigger {
namespace {

constexpr uint32_t kValues = 1 << 16;
constexpr size_t kMaxProtocolClasses = 4096;

// Returns the ranges sorted and without overlaps.
std::vector<std::pair<uint32_t, uint32_t>> merged(const std::vector<PortRange>* list) {
  if (list == nullptr) return {};
  if (list->empty()) return {{0, kValues}};
  std::vector<std::pair<uint32_t, uint32_t>> sorted, result;  // from, to (exclusive)
  for (const PortRange& range : *list) sorted.emplace_back(range.first, range.last + 1u);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [first, last] : sorted) {
    if (first >= last) continue;
    if (!result.empty() && first <= result.back().second) {
      result.back().second = std::max(result.back().second, last);
    } else {
      result.emplace_back(first, last);
    }
  }
  return result;
}

using Predicate = std::tuple<int, uint8_t, uint8_t>;  // protocol or -1, mask, flags

Predicate predicate_of(const Filter& filter) {
  const uint8_t mask = filter.tcp_flags_mask;
  return {filter.protocol ? *filter.protocol : -1, mask, static_cast<uint8_t>(filter.tcp_flags & mask)};
}

bool holds(const Predicate& predicate, uint32_t value) {
  const auto [protocol, mask, flags] = predicate;
  return (protocol < 0 || static_cast<uint32_t>(protocol) == value >> 8) && (value & mask) == flags;
}

}  // namespace

TableClasses TableClasses::of_ranges(std::span<const std::vector<PortRange>* const> lists, size_t bits) {
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> ranges;
  std::map<uint32_t, std::vector<size_t>> changes = {{0, {}}};  // the triggers whose ranges begin or end at a value
  for (const auto* list : lists) {
    for (const auto& [first, last] : ranges.emplace_back(merged(list))) {
      changes[first].push_back(ranges.size() - 1);
      if (last < kValues) changes[last].push_back(ranges.size() - 1);
    }
  }
  TableClasses result;
  result.classes_ = changes.size();
  result.table_.resize(kValues);
  result.rows_ = BitRows(changes.size(), bits);
  std::vector<bool> allowed(lists.size());
  size_t row = 0;
  for (auto change = changes.begin(); change != changes.end(); ++change, ++row) {
    const auto next = std::next(change);
    std::fill(result.table_.begin() + change->first,
              next == changes.end() ? result.table_.end() : result.table_.begin() + next->first,
              static_cast<uint16_t>(row));
    if (row > 0) result.rows_.add(row, row - 1);
    for (const size_t trigger : change->second) {
      allowed[trigger] = !allowed[trigger];
      if (allowed[trigger]) {
        result.rows_.set(row, trigger);
      } else {
        result.rows_.clear(row, trigger);
      }
    }
  }
  result.rows_.seal();
  return result;
}

TableClasses TableClasses::of_protocols(std::span<const Filter* const> filters, size_t bits, bool* fits) {
  std::map<Predicate, std::vector<size_t>> triggers;
  for (size_t trigger = 0; trigger < filters.size(); ++trigger) {
    if (filters[trigger] != nullptr) triggers[predicate_of(*filters[trigger])].push_back(trigger);
  }
  TableClasses result;
  result.table_.assign(kValues, 0);
  for (const auto& [predicate, ignored] : triggers) {
    // Divides each class into the values for which the predicate is true, and the others.
    std::map<std::pair<uint16_t, bool>, uint16_t> divided;
    for (uint32_t value = 0; value < kValues; ++value) {
      const auto part = std::pair(result.table_[value], holds(predicate, value));
      result.table_[value] = divided.emplace(part, static_cast<uint16_t>(divided.size())).first->second;
    }
    result.classes_ = divided.size();
    *fits = result.classes_ <= kMaxProtocolClasses;
    if (!*fits) return result;
  }
  result.rows_ = BitRows(result.classes_, bits);
  std::vector<bool> seen(result.classes_);
  for (uint32_t value = 0; value < kValues; ++value) {
    const uint16_t row = result.table_[value];
    if (seen[row]) continue;
    seen[row] = true;
    for (const auto& [predicate, indexes] : triggers) {
      if (!holds(predicate, value)) continue;
      for (const size_t trigger : indexes) result.rows_.set(row, trigger);
    }
  }
  result.rows_.seal();
  return result;
}

ListedClasses::ListedClasses(std::span<const std::vector<uint32_t>* const> lists, size_t bits) {
  std::set<uint32_t> named;
  for (const auto* list : lists) {
    if (list != nullptr) named.insert(list->begin(), list->end());
  }
  values_.assign(named.begin(), named.end());
  rows_ = BitRows(values_.size() + 1, bits);
  for (size_t trigger = 0; trigger < lists.size(); ++trigger) {
    if (lists[trigger] != nullptr && lists[trigger]->empty()) rows_.set(0, trigger);
  }
  for (size_t row = 1; row <= values_.size(); ++row) rows_.add(row, 0);
  for (size_t trigger = 0; trigger < lists.size(); ++trigger) {
    if (lists[trigger] == nullptr) continue;
    for (const uint32_t value : *lists[trigger]) rows_.set(class_of(value), trigger);
  }
  rows_.seal();
}

uint16_t ListedClasses::class_of(uint32_t value) const {
  const auto it = std::lower_bound(values_.begin(), values_.end(), value);
  if (it == values_.end() || *it != value) return 0;
  return static_cast<uint16_t>(it - values_.begin() + 1);
}

}  // namespace tapline::trigger
