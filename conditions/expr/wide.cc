#include "conditions/expr/wide.h"

#include "conditions/expr/literal.h"

namespace tapline::conditions {
namespace {

// Returns true if the range does not restrict the parts after part `i`, in which its ends differ.
bool rest_is_free(const Leaf& leaf, uint32_t i) {
  for (size_t index = 8 * (i + size_t{1}); index < leaf.column.bytes; ++index) {
    if (leaf.low[index] != '\0' || leaf.high[index] != '\xff') return false;
  }
  return true;
}

}  // namespace

bool add_parts(const Leaf& leaf, Clause* clause) {
  for (uint32_t i = 0; i < leaf.column.parts(); ++i) {
    Leaf part;
    part.column = leaf.column.part(i);
    part.text = leaf.text;
    auto key = [&](const std::string& bytes) { return key_of_bytes(bytes.substr(8 * i, part.column.bytes)); };
    const uint64_t low = key(leaf.low), high = key(leaf.high), mask = key(leaf.wide_mask);
    const bool masked = leaf.wide_mask.find_first_not_of('\xff', 8 * i) < 8 * i + part.column.bytes;
    if (low != high && masked) return false;
    if (mask == 0) continue;
    if (masked) part.mask = mask;
    part.ranges = {{low, high}};
    clause->push_back(std::move(part));
    if (low != high) return rest_is_free(leaf, i);
  }
  return true;
}

}  // namespace tapline::conditions
