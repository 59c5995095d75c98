#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "parsers/trigger/bit_rows.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Divides addresses into classes: all addresses of a class are in the same prefixes of every trigger. Prefixes nest, so
// the class of an address is the longest prefix that contains it; class 0 is the prefix that contains all addresses.
//
// IPv4 uses a tree with steps of 16, 8 and 8 bits (at most three loads for any prefix length), IPv6 a binary search
// among the boundaries of classes.
class PrefixClasses {
 public:
  PrefixClasses() = default;
  // Creates the classes for these prefix lists. Bit t of a class's row is set if an address of the class matches
  // lists[t]; an empty list matches any address, null matches none. `bits` is the length of the rows.
  PrefixClasses(std::span<const std::vector<Prefix>* const> lists, size_t bits);

  bool trivial() const { return rows_count_ == 1; }
  const BitRows& rows() const { return rows_; }

  uint16_t class_of(const IpAddress& address, bool v4) const {
    if (!v4) return class_of_v6(address);
    uint32_t word;
    std::memcpy(&word, address.mapped().data() + 12, sizeof word);
    word = __builtin_bswap32(word);
    uint32_t node = top_[word >> 16];
    if ((node & kIsChunk) != 0) node = chunk(node)[word >> 8 & 0xff];
    if ((node & kIsChunk) != 0) node = chunk(node)[word & 0xff];
    return static_cast<uint16_t>(node);
  }

 private:
  static constexpr uint32_t kIsChunk = 1u << 31;
  static constexpr size_t kChunk = 256;

  struct Address {
    uint64_t high, low;  // host order
    friend auto operator<=>(const Address&, const Address&) = default;
  };
  struct Node {
    Address first, last;
    uint8_t bits;
    uint32_t parent;
    friend bool operator==(const Node& a, const Node& b) { return a.first == b.first && a.bits == b.bits; }
  };
  static Address to_host(const IpAddress& address);
  static Node node_of(const Prefix& prefix);
  static bool comes_before(const Node& a, const Node& b);

  uint16_t class_of_v6(const IpAddress& address) const;
  const uint32_t* chunk(uint32_t node) const { return chunks_.data() + (node & ~kIsChunk) * kChunk; }
  void make_nodes(std::span<const std::vector<Prefix>* const> lists);
  void make_rows(std::span<const std::vector<Prefix>* const> lists, size_t bits);
  void make_boundaries();
  void make_tree();
  void fill_v4(uint32_t first, int bits, uint32_t class_number);
  // Returns the chunk that refines the entry, and creates it if there is none.
  uint32_t refine(std::vector<uint32_t>* entries, size_t index);

  std::vector<Node> nodes_;  // by address, then by length: parents precede the prefixes they contain
  size_t rows_count_ = 1;
  BitRows rows_;
  std::vector<uint32_t> top_, chunks_;
  std::vector<Address> boundaries_;  // the first address of each run of one class
  std::vector<uint16_t> boundary_classes_;
};

}  // namespace tapline::trigger
