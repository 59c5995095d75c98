#include "parsers/decode/view_filter.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "parsers/api/packet_digest.h"

namespace tapline {
namespace {

// Allocates zeroed memory. Pages that are not touched cost nothing.
void* Allocate(size_t count, size_t bytes) {
  void* memory = std::calloc(count, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

ViewFilter::ViewFilter(const ViewOptions& options, HashKey key)
    : options_(options),
      key_(key),
      mask_(std::bit_ceil(uint64_t{std::max(options.max_packets, 2u)}) - 1),
      entries_(static_cast<Entry*>(Allocate(mask_ + 1, sizeof(Entry)))),
      buckets_(static_cast<uint64_t*>(Allocate(mask_ + 1, sizeof(uint64_t)))) {}

bool ViewFilter::is_repeated(const Packet& packet) {
  const uint64_t digest = digest_of(packet, key_);
  if (Entry* entry = find(digest, packet); entry != nullptr) {
    entry->taps |= uint64_t{1} << packet.tap;
    return true;
  }
  remember(digest, packet);
  return false;
}

bool ViewFilter::is_recent(const Entry& entry, int64_t time_ns) const {
  return std::abs(time_ns - entry.time_ns) <= options_.horizon_ns;
}

// Returns the oldest remembered packet that this packet may be a view of, or null.
ViewFilter::Entry* ViewFilter::find(uint64_t digest, const Packet& packet) {
  Entry* match = nullptr;
  int steps = 0;
  uint64_t number = buckets_[digest & mask_];
  for (; remembers(number) && steps < kLongestWalk; ++steps) {
    Entry& entry = at(number);
    const bool shown_here = (entry.taps >> packet.tap & 1) != 0;
    if (entry.digest == digest && !shown_here && is_recent(entry, packet.time_ns)) match = &entry;
    number = entry.previous;
  }
  if (match == nullptr && steps == kLongestWalk && remembers(number) && is_recent(at(number), packet.time_ns))
    ++forgotten_early_;
  return match;
}

void ViewFilter::remember(uint64_t digest, const Packet& packet) {
  Entry& entry = at(next_);
  const bool needed = next_ > mask_ + 1 && static_cast<uint32_t>(std::popcount(entry.taps)) < options_.taps;
  if (needed && is_recent(entry, packet.time_ns)) ++forgotten_early_;
  uint64_t& latest = buckets_[digest & mask_];
  entry = {digest, packet.time_ns, uint64_t{1} << packet.tap, latest};
  latest = next_++;
}

}  // namespace tapline
