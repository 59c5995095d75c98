#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "parsers/api/connection.h"
#include "parsers/api/time.h"
#include "parsers/engine/plain_segment.h"
#include "parsers/engine/table_hash.h"
#include "parsers/engine/zeroed_array.h"

namespace tapline {

// The one connection table that all parsers share.
//
// A separate hash (table_hash.h) finds buckets: it costs less than the flow hash that tuples carry, which is computed
// once per connection.
//
//   buckets (open addressing, linear probing, at most half full)       slab, entries of one stride
//   ┌──────────┬───────┐                                               ┌────────────┬───────────────┐
//   │ tag (32) │ index │ ────────────────────────────────────────────▶ │ Connection │ parsers' state│
//   └──────────┴───────┘                                               └────────────┴───────────────┘
//
// A timer wheel of one-second slots finds idle entries. Deadlines are lazy: packets only set last_seen_ns, and an entry
// whose slot is due before its deadline moves to a later slot. Capacity is fixed; a full table offers the least useful
// of a few entries as the victim. Entries never move during their lifetime. Not thread-safe.
class ConnectionTable {
 public:
  // Reserves `state_bytes` of parsers' state for each connection.
  ConnectionTable(uint32_t max_connections, uint32_t state_bytes);

  const TableHasher& hasher() const { return hasher_; }
  void prefetch_bucket(uint64_t hash) const { __builtin_prefetch(bucket_at(hash)); }
  // Prefetches a packet's entry. Must be called for each packet of a burst, after prefetch_bucket() for all of them.
  void prefetch_entry(uint64_t hash) const;

  // Finds the packet's connection, and the side that sent the packet. Returns null if there is none. `hash` comes from
  // hasher().
  Connection* find(const Packet& packet, uint64_t hash, Side* side) const;
  Connection* find(const PlainSegment& segment, uint64_t hash, Side* side) const;

  // Returns the entry that find() probably returns, and prefetches it, so that the loads of one burst overlap. Returns
  // null if the tag of the first bucket differs; another bucket may still match.
  Connection* probable(uint64_t hash) const {
    const Bucket bucket = *bucket_at(hash);
    if (bucket.tag != tag_of(hash) || bucket.index == 0) return nullptr;
    Connection* connection = &at(bucket.index);
    __builtin_prefetch(connection);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(connection) + 64, 1);
    return connection;
  }
  Connection* find(const PlainSegment& segment, uint64_t hash, Connection* probable, Side* side) const {
    return probable != nullptr && is_same(*probable, segment, side) ? probable : find(segment, hash, side);
  }

  // Adds an entry whose side 0 is the packet's source. Except for its identity, the entry is zero. REQUIRES: !full(),
  // and find() returned null.
  Connection& insert(const Packet& packet, uint64_t hash);
  // Allows the entry to be reused.
  void erase(Connection& connection);

  bool full() const { return free_head_ == 0 && used_ == max_connections_; }
  uint32_t size() const { return size_; }
  // Returns the connection to evict, chosen among a few entries and the newest ones: one that has ended, otherwise one
  // without a response, otherwise one whose handshake is incomplete, otherwise the one that has been idle the longest.
  // REQUIRES: full().
  Connection& victim();

  // Puts the entry into the wheel slot of its deadline. Needed once after insert(), then only when the deadline moves
  // closer.
  void schedule(Connection& connection, int64_t deadline_ns);

  // Calls expire(connection), which must erase the connection, for each one whose deadline_of(connection) is at or
  // before now_ns. A deadline within the current second may be handled only after that second.
  template <typename DeadlineOf, typename Expire>
  void expire_until(int64_t now_ns, DeadlineOf deadline_of, Expire expire) {
    const int64_t now_s = now_ns / kSlotNs;
    if (wheel_s_ == 0 || now_s - wheel_s_ > kSlots) wheel_s_ = now_s - kSlots;
    for (; wheel_s_ < now_s; ++wheel_s_) {
      for (uint32_t index = take_slot(slot_of(wheel_s_)); index != 0;) {
        Connection& connection = at(index);
        index = connection.wheel_next;
        const int64_t deadline_ns = deadline_of(connection);
        connection.wheel_slot = kNoSlot;
        if (deadline_ns <= now_ns) {
          expire(connection);
        } else {
          schedule(connection, deadline_ns);
        }
      }
    }
  }

  // Visits the live connections among `entries` entries starting with entry `first` (entries are numbered from 1), in
  // slab order; visit(connection) may erase its argument. Returns the entry at which to resume, or 0 at the end.
  template <typename Visit>
  uint32_t for_each_from(uint32_t first, uint32_t entries, Visit visit) {
    const uint64_t end = std::min<uint64_t>(uint64_t{first} + entries, uint64_t{used_} + 1);
    for (uint64_t index = first; index < end; ++index) {
      Connection& connection = at(static_cast<uint32_t>(index));
      if (connection.index != 0) visit(connection);
    }
    return end > used_ ? 0 : static_cast<uint32_t>(end);
  }

 private:
  struct Bucket {
    uint32_t tag;
    uint32_t index;  // 0 = empty
  };
  static constexpr int64_t kSlotNs = kNsPerSecond;
  static constexpr int64_t kSlots = 512;
  static constexpr uint16_t kNoSlot = UINT16_MAX;

  static uint16_t slot_of(int64_t second) { return static_cast<uint16_t>(second & (kSlots - 1)); }
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  Bucket* buckets() const { return reinterpret_cast<Bucket*>(bucket_memory_.data()); }
  Bucket* bucket_at(uint64_t hash) const { return buckets() + (hash & mask_); }
  Connection& at(uint32_t index) const {
    return *reinterpret_cast<Connection*>(slab_memory_.data() + static_cast<size_t>(index) * stride_);
  }
  static bool is_same(const Connection& connection, const Packet& packet, Side* side);
  static bool is_same(const Connection& connection, const PlainSegment& segment, Side* side);
  template <typename Key>
  Connection* find_same(const Key& key, uint64_t hash, Side* side) const;
  uint32_t take_slot(uint32_t slot);
  void unschedule(Connection& connection);
  void remove_bucket(const Connection& connection);

  TableHasher hasher_;
  uint32_t max_connections_;
  size_t stride_;
  uint64_t mask_;
  ZeroedArray bucket_memory_;
  ZeroedArray slab_memory_;  // entry 0 is never used
  uint32_t used_ = 0;        // entries 1..used_ have been used
  uint32_t free_head_ = 0;   // chained by wheel_next
  uint32_t size_ = 0;
  uint32_t hand_ = 0;
  static constexpr uint32_t kNewest = 64;
  uint32_t newest_[kNewest] = {};  // entries last inserted; some may have been erased since
  uint32_t inserted_ = 0;
  int64_t wheel_s_ = 0;  // the next second whose slot is due
  uint32_t wheel_[kSlots] = {};
};

// Has no branch on the direction, which is unpredictable if both directions of many flows are mixed.
inline bool ConnectionTable::is_same(const Connection& connection, const PlainSegment& segment, Side* side) {
  const auto half = [&](Side end_side, size_t offset) {
    uint64_t word;
    std::memcpy(&word, connection.ip[end_side].mapped().data() + offset, sizeof word);
    return word;
  };
  uint32_t ports;
  std::memcpy(&ports, connection.port, sizeof ports);
  constexpr uint64_t kMapped = 0xffff0000;  // the middle of an IPv4-mapped address
  const uint64_t source = uint64_t{segment.src_ip} << 32 | kMapped;
  const uint64_t destination = uint64_t{segment.dst_ip} << 32 | kMapped;
  const uint32_t forward_ports = segment.src_port | uint32_t{segment.dst_port} << 16;
  const uint32_t backward_ports = segment.dst_port | uint32_t{segment.src_port} << 16;
  const uint64_t forward = (half(0, 8) ^ source) | (half(1, 8) ^ destination) | (ports ^ forward_ports);
  const uint64_t backward = (half(0, 8) ^ destination) | (half(1, 8) ^ source) | (ports ^ backward_ports);
  const uint64_t common = half(0, 0) | half(1, 0) | connection.vlan | connection.network_id |
                          static_cast<uint64_t>(connection.protocol ^ protocol::kTcp);
  *side = forward != 0 ? 1 : 0;
  return ((forward != 0) & (backward != 0)) == 0 && common == 0;
}

}  // namespace tapline
