#include "parsers/engine/connection_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tapline {
namespace {

constexpr uint32_t kVictimCandidates = 16;

size_t stride_for(uint32_t state_bytes) { return (sizeof(Connection) + state_bytes + 63) / 64 * 64; }

// Connections with smaller values are evicted first: ended ones, then unanswered ones, then those whose handshake the
// client did not complete.
constexpr int kEstablished = 3;
int usefulness(const Connection& connection) {
  if (connection.ended()) return 0;
  if (connection.tcp_state == TcpState::kSynSent) return 1;
  return connection.tcp_state == TcpState::kSynAnswered ? 2 : kEstablished;
}

}  // namespace

ConnectionTable::ConnectionTable(uint32_t max_connections, uint32_t state_bytes)
    : max_connections_(std::max(max_connections, 1u)),
      stride_(stride_for(state_bytes)),
      mask_(std::bit_ceil(uint64_t{max_connections_} * 2) - 1),
      bucket_memory_((mask_ + 1) * sizeof(Bucket)),
      slab_memory_((size_t{max_connections_} + 1) * stride_) {}

void ConnectionTable::prefetch_entry(uint64_t hash) const {
  const Bucket& bucket = *bucket_at(hash);
  if (bucket.index == 0) return;
  const std::byte* entry = reinterpret_cast<const std::byte*>(&at(bucket.index));
  __builtin_prefetch(entry);
  __builtin_prefetch(entry + 64);
}

// Returns true if the packet belongs to the connection, and sets *side to its sender.
bool ConnectionTable::is_same(const Connection& connection, const Packet& packet, Side* side) {
  if (connection.protocol != packet.protocol || connection.vlan != packet.vlan_key() ||
      connection.network_id != packet.network_id) {
    return false;
  }
  for (const Side source : {Side{0}, Side{1}}) {
    const Side destination = other_side(source);
    if (connection.port[source] == packet.src_port && connection.port[destination] == packet.dst_port &&
        connection.ip[source] == packet.src_ip && connection.ip[destination] == packet.dst_ip) {
      *side = source;
      return true;
    }
  }
  return false;
}

template <typename Key>
Connection* ConnectionTable::find_same(const Key& key, uint64_t hash, Side* side) const {
  const uint32_t tag = tag_of(hash);
  for (uint64_t slot = hash & mask_; buckets()[slot].index != 0; slot = (slot + 1) & mask_) {
    const Bucket& bucket = buckets()[slot];
    if (bucket.tag == tag && is_same(at(bucket.index), key, side)) return &at(bucket.index);
  }
  return nullptr;
}

Connection* ConnectionTable::find(const Packet& packet, uint64_t hash, Side* side) const {
  return find_same(packet, hash, side);
}
Connection* ConnectionTable::find(const PlainSegment& segment, uint64_t hash, Side* side) const {
  return find_same(segment, hash, side);
}

Connection& ConnectionTable::insert(const Packet& packet, uint64_t hash) {
  const uint32_t index = free_head_ != 0 ? free_head_ : ++used_;
  Connection& connection = at(index);
  if (free_head_ != 0) free_head_ = connection.wheel_next;
  std::memset(static_cast<void*>(&connection), 0, stride_);
  connection.flow_hash = packet.flow_hash;
  connection.ip[0] = packet.src_ip;
  connection.ip[1] = packet.dst_ip;
  connection.port[0] = packet.src_port;
  connection.port[1] = packet.dst_port;
  connection.vlan = packet.vlan_key();
  connection.network_id = packet.network_id;
  connection.protocol = packet.protocol;
  connection.index = index;
  connection.wheel_slot = kNoSlot;
  newest_[inserted_++ % kNewest] = index;

  connection.bucket_hash = static_cast<uint32_t>(hash);

  uint64_t slot = hash & mask_;
  while (buckets()[slot].index != 0) slot = (slot + 1) & mask_;
  buckets()[slot] = {tag_of(hash), index};
  ++size_;
  return connection;
}

void ConnectionTable::erase(Connection& connection) {
  unschedule(connection);
  remove_bucket(connection);
  connection.wheel_next = free_head_;
  free_head_ = connection.index;
  connection.index = 0;
  --size_;
}

// Closes the gap that a removal leaves by moving back entries that a look-up would no longer find (Knuth, volume 3,
// algorithm 6.4R).
void ConnectionTable::remove_bucket(const Connection& connection) {
  uint64_t hole = connection.bucket_hash & mask_;
  while (buckets()[hole].index != connection.index) hole = (hole + 1) & mask_;
  for (uint64_t slot = (hole + 1) & mask_; buckets()[slot].index != 0; slot = (slot + 1) & mask_) {
    const uint64_t home = at(buckets()[slot].index).bucket_hash & mask_;
    if (((slot - home) & mask_) < ((slot - hole) & mask_)) continue;
    buckets()[hole] = buckets()[slot];
    hole = slot;
  }
  buckets()[hole] = {0, 0};
}

Connection& ConnectionTable::victim() {
  Connection* best = nullptr;
  for (uint32_t i = 0; i < std::min(kVictimCandidates, max_connections_); ++i) {
    hand_ = hand_ % max_connections_ + 1;
    Connection& candidate = at(hand_);
    if (best == nullptr || usefulness(candidate) < usefulness(*best) ||
        (usefulness(candidate) == usefulness(*best) && candidate.last_seen_ns < best->last_seen_ns)) {
      best = &candidate;
    }
  }
  if (usefulness(*best) < kEstablished) return *best;
  // All candidates are established. If a flood of SYNs fills the table, the newest entries belong to the flood.
  for (uint32_t i = 0; i < kNewest; ++i) {
    Connection& candidate = at(newest_[(inserted_ + i) % kNewest]);
    if (candidate.index != 0 && usefulness(candidate) < kEstablished) return candidate;
  }
  return *best;
}

void ConnectionTable::schedule(Connection& connection, int64_t deadline_ns) {
  unschedule(connection);
  const int64_t second = std::clamp(deadline_ns / kSlotNs, wheel_s_, wheel_s_ + kSlots - 1);
  const uint16_t slot = slot_of(second);
  connection.wheel_slot = slot;
  connection.wheel_previous = 0;
  connection.wheel_next = wheel_[slot];
  if (wheel_[slot] != 0) at(wheel_[slot]).wheel_previous = connection.index;
  wheel_[slot] = connection.index;
}

void ConnectionTable::unschedule(Connection& connection) {
  if (connection.wheel_slot == kNoSlot) return;
  if (connection.wheel_previous != 0) {
    at(connection.wheel_previous).wheel_next = connection.wheel_next;
  } else {
    wheel_[connection.wheel_slot] = connection.wheel_next;
  }
  if (connection.wheel_next != 0) at(connection.wheel_next).wheel_previous = connection.wheel_previous;
  connection.wheel_slot = kNoSlot;
}

uint32_t ConnectionTable::take_slot(uint32_t slot) {
  const uint32_t head = wheel_[slot];
  wheel_[slot] = 0;
  return head;
}

}  // namespace tapline
