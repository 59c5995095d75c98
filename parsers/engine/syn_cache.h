#pragma once

#include <cstdint>
#include <optional>

#include "parsers/engine/zeroed_array.h"

namespace tapline {

// Remembers the SYNs of connections that have no entry in the connection table yet, so that a flood of SYNs costs one
// small write per packet instead of an entry. The connection's next packet takes its SYN out.
//
// A direct-mapped table of fixed size: a SYN replaces an earlier one with the same index, however recent. The
// connection of a replaced SYN then begins with its next packet, as if the tap had missed the SYN. Not thread-safe.
class SynCache {
 public:
  struct Syn {
    uint16_t port;  // source port
    uint32_t seq;
    int64_t time_ns;  // up to 65 us too early
  };

  // `entries` is a power of two.
  explicit SynCache(uint32_t entries) : memory_(sizeof(Entry) * entries), mask_(entries - 1) {}

  void prefetch(uint64_t hash) const { __builtin_prefetch(&at(hash), 1); }

  // Remembers a SYN, in place of an earlier one from the same sender. `hash` identifies the connection, and is the same
  // in both directions. Returns false, and remembers nothing, if the other side has sent a SYN, too.
  bool add(uint64_t hash, const Syn& syn) {
    Entry& entry = at(hash);
    if (entry.tag == tag_of(hash) && entry.time_and_port != 0 && port_of(entry) != syn.port) return false;
    entry = {tag_of(hash), syn.seq, (static_cast<uint64_t>(syn.time_ns) & ~kPortMask) | syn.port};
    return true;
  }

  // Returns the connection's SYN and forgets it.
  std::optional<Syn> take(uint64_t hash) {
    Entry& entry = at(hash);
    if (entry.tag != tag_of(hash) || entry.time_and_port == 0) return std::nullopt;
    const Syn syn = {port_of(entry), entry.seq, static_cast<int64_t>(entry.time_and_port & ~kPortMask)};
    entry = {};
    return syn;
  }

 private:
  struct Entry {
    uint32_t tag;
    uint32_t seq;
    uint64_t time_and_port;  // the port takes the place of the time's last 16 bits; 0 = empty
  };
  static constexpr uint64_t kPortMask = 0xffff;

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  static uint16_t port_of(const Entry& entry) { return static_cast<uint16_t>(entry.time_and_port & kPortMask); }
  Entry& at(uint64_t hash) const { return reinterpret_cast<Entry*>(memory_.data())[hash & mask_]; }

  ZeroedArray memory_;
  uint64_t mask_;
};

}  // namespace tapline
