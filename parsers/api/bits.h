// Iterates over the set bits of a word. Sets of queries, parsers and packets have at most 64 elements.
#pragma once

#include <bit>
#include <cstdint>

namespace tapline {

// The set bits in ascending order: for (uint32_t query : SetBits(queries)) …
class SetBits {
 public:
  class Iterator {
   public:
    explicit constexpr Iterator(uint64_t left) : left_(left) {}
    constexpr uint32_t operator*() const { return static_cast<uint32_t>(std::countr_zero(left_)); }
    constexpr Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    uint64_t left_;
  };

  explicit constexpr SetBits(uint64_t bits) : bits_(bits) {}
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  uint64_t bits_;
};

}  // namespace tapline
