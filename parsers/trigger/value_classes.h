#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsers/trigger/bit_rows.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Divides the values of a 16-bit field into classes, with a table. As in PrefixClasses, an empty list matches any
// value, and null matches none.
class TableClasses {
 public:
  static constexpr size_t kMaxClasses = 32'769;  // 16,384 ranges, and the gaps between them

  TableClasses() = default;
  // Makes classes of ports.
  static TableClasses of_ranges(std::span<const std::vector<PortRange>* const> lists, size_t bits);
  // Makes classes of protocol and TCP flags: a value is protocol << 8 | flags. If there are too many classes, sets
  // *fits to false, and the result is unusable.
  static TableClasses of_protocols(std::span<const Filter* const> filters, size_t bits, bool* fits);

  bool trivial() const { return classes_ == 1; }
  const BitRows& rows() const { return rows_; }
  uint16_t class_of(uint16_t value) const { return table_[value]; }

 private:
  std::vector<uint16_t> table_;
  size_t classes_ = 1;
  BitRows rows_;
};

// Divides the values of a 32-bit field into classes: one for each value that triggers name, and class 0 for all others.
class ListedClasses {
 public:
  ListedClasses() = default;
  ListedClasses(std::span<const std::vector<uint32_t>* const> lists, size_t bits);

  bool trivial() const { return values_.empty(); }
  const BitRows& rows() const { return rows_; }
  uint16_t class_of(uint32_t value) const;

 private:
  std::vector<uint32_t> values_;  // sorted: the class of values_[i] is i + 1
  BitRows rows_;
};

}  // namespace tapline::trigger
