#include "parsers/trigger/prefix_classes.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tapline::trigger {
namespace {

constexpr int kMappedBits = 96;
constexpr uint64_t kMapped = uint64_t{0xffff} << 32;  // the middle of an IPv4-mapped address

uint64_t big_endian(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return __builtin_bswap64(word);
}

// Returns a mask of the bits after the first `bits` of a word.
uint64_t tail(int bits) { return bits <= 0 ? ~uint64_t{0} : bits >= 64 ? 0 : ~uint64_t{0} >> bits; }

}  // namespace

PrefixClasses::Address PrefixClasses::to_host(const IpAddress& address) {
  return {big_endian(address.mapped().data()), big_endian(address.mapped().data() + 8)};
}

PrefixClasses::Node PrefixClasses::node_of(const Prefix& prefix) {
  const Address address = to_host(prefix.address);
  const uint64_t high = tail(prefix.bits), low = tail(prefix.bits - 64);
  return {{address.high & ~high, address.low & ~low}, {address.high | high, address.low | low}, prefix.bits, 0};
}

bool PrefixClasses::comes_before(const Node& a, const Node& b) {
  return a.first != b.first ? a.first < b.first : a.bits < b.bits;
}

PrefixClasses::PrefixClasses(std::span<const std::vector<Prefix>* const> lists, size_t bits) {
  make_nodes(lists);
  rows_count_ = nodes_.size();
  make_rows(lists, bits);
  make_boundaries();
  make_tree();
}

void PrefixClasses::make_nodes(std::span<const std::vector<Prefix>* const> lists) {
  nodes_ = {node_of({})};
  for (const auto* list : lists) {
    if (list == nullptr) continue;
    for (const Prefix& prefix : *list) nodes_.push_back(node_of(prefix));
  }
  std::sort(nodes_.begin(), nodes_.end(), comes_before);
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    uint32_t parent = node - 1;
    while (nodes_[parent].last < nodes_[node].first) parent = nodes_[parent].parent;
    nodes_[node].parent = parent;
  }
}

void PrefixClasses::make_rows(std::span<const std::vector<Prefix>* const> lists, size_t bits) {
  rows_ = BitRows(nodes_.size(), bits);
  const auto row_of = [&](const Prefix& prefix) {
    return std::lower_bound(nodes_.begin(), nodes_.end(), node_of(prefix), comes_before) - nodes_.begin();
  };
  for (size_t trigger = 0; trigger < lists.size(); ++trigger) {
    if (lists[trigger] == nullptr) continue;
    if (lists[trigger]->empty()) rows_.set(0, trigger);
    for (const Prefix& prefix : *lists[trigger]) rows_.set(static_cast<size_t>(row_of(prefix)), trigger);
  }
  for (size_t node = 1; node < nodes_.size(); ++node) rows_.add(node, nodes_[node].parent);
  rows_.seal();
}

// Lists the boundaries of classes. After the end of a prefix, the class of the enclosing prefix continues, unless
// another prefix begins there.
void PrefixClasses::make_boundaries() {
  std::vector<uint32_t> open;
  const auto begin = [&](const Address& bound, uint32_t node) {
    if (!boundaries_.empty() && boundaries_.back() == bound) {
      boundary_classes_.back() = static_cast<uint16_t>(node);
    } else {
      boundaries_.push_back(bound);
      boundary_classes_.push_back(static_cast<uint16_t>(node));
    }
  };
  const auto close_before = [&](const Address* next) {
    while (!open.empty() && (next == nullptr || nodes_[open.back()].last < *next)) {
      Address after = nodes_[open.back()].last;
      open.pop_back();
      if (++after.low == 0 && ++after.high == 0) continue;  // nothing comes after the last address
      if (!open.empty() && nodes_[open.back()].last >= after) begin(after, open.back());
    }
  };
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    close_before(&nodes_[node].first);
    begin(nodes_[node].first, node);
    open.push_back(node);
  }
  close_before(nullptr);
}

void PrefixClasses::make_tree() {
  std::vector<uint32_t> by_length(nodes_.size());
  std::iota(by_length.begin(), by_length.end(), 0u);
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](uint32_t a, uint32_t b) { return nodes_[a].bits < nodes_[b].bits; });
  top_.assign(size_t{1} << 16, 0);
  const Address all_v4 = {0, kMapped};
  for (const uint32_t node : by_length) {
    const Node& prefix = nodes_[node];
    if (prefix.bits <= kMappedBits) {
      if (prefix.first <= all_v4 && all_v4 <= prefix.last) std::fill(top_.begin(), top_.end(), node);
    } else if (prefix.first.high == 0 && prefix.first.low >> 32 == kMapped >> 32) {
      fill_v4(static_cast<uint32_t>(prefix.first.low), prefix.bits - kMappedBits, node);
    }
  }
}

// Enters a prefix into the IPv4 tree. Shorter prefixes come first, so no entry to fill has been refined yet.
void PrefixClasses::fill_v4(uint32_t first, int bits, uint32_t class_number) {
  const auto fill = [&](std::vector<uint32_t>* entries, size_t index, int free_bits) {
    std::fill_n(entries->begin() + static_cast<ptrdiff_t>(index), size_t{1} << free_bits, class_number);
  };
  if (bits <= 16) return fill(&top_, first >> 16, 16 - bits);
  const size_t second = refine(&top_, first >> 16) * kChunk + (first >> 8 & 0xff);
  if (bits <= 24) return fill(&chunks_, second, 24 - bits);
  fill(&chunks_, refine(&chunks_, second) * kChunk + (first & 0xff), 32 - bits);
}

uint32_t PrefixClasses::refine(std::vector<uint32_t>* entries, size_t index) {
  const uint32_t entry = (*entries)[index];
  if ((entry & kIsChunk) != 0) return entry & ~kIsChunk;
  const auto made = static_cast<uint32_t>(chunks_.size() / kChunk);
  chunks_.insert(chunks_.end(), kChunk, entry);
  (*entries)[index] = made | kIsChunk;
  return made;
}

uint16_t PrefixClasses::class_of_v6(const IpAddress& address) const {
  const Address value = to_host(address);
  const auto after = std::upper_bound(boundaries_.begin(), boundaries_.end(), value);
  return boundary_classes_[static_cast<size_t>(after - boundaries_.begin()) - 1];
}

}  // namespace tapline::trigger
