#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {

// Bounds of a FragmentTable, which reserves about 65 KiB of memory for each of max_datagrams datagrams. Memory is
// touched only as fragments arrive.
struct FragmentOptions {
  uint32_t max_datagrams = 256;         // concurrent datagrams, including completed ones until recycle()
  int64_t timeout_ns = 30'000'000'000;  // in packet time, from the first fragment seen to the last
};

// Reassembles IPv4 and IPv6 datagrams from their fragments (RFC 791, 8200). One per lane; not thread-safe.
//
// A datagram is identified by its addresses, identification, protocol (IPv4 only), VLAN and VNI. If IPv4 fragments
// overlap, the bytes that arrived first are kept. IPv6 datagrams with overlaps are dropped (RFC 5722), except for exact
// repetitions; so are datagrams whose fragments disagree about their end. When all slots are taken, the datagram that
// began first is evicted.
//
//   frames added = frames of completed datagrams + losses().frames + held_frames()
class FragmentTable {
 public:
  struct Losses {
    uint64_t frames = 0;
    uint64_t bytes = 0;  // bytes on the wire
  };

  FragmentTable(const FragmentOptions& options, HashKey key);
  FragmentTable(const FragmentTable&) = delete;
  FragmentTable& operator=(const FragmentTable&) = delete;

  // Copies the fragment's data. Returns true if the fragment completes its datagram; *datagram is then valid until
  // recycle() and has this fragment's time. Otherwise the fragment is kept, or counted as lost. REQUIRES: decode()
  // returned kFragment.
  bool add(const Packet& fragment, Datagram* datagram);

  // Evicts datagrams that have timed out by `now_ns`. add() also evicts, by the fragments' times.
  void expire(int64_t now_ns);
  // Evicts all datagrams, at the end of a capture.
  void clear();
  // Releases the completed datagrams.
  void recycle();

  // Returns the frames lost since the start: those that became part of no datagram.
  const Losses& losses() const { return losses_; }
  uint64_t held_frames() const { return held_frames_; }

 private:
  // Room in a slot before the datagram's data, for its IP header and, in IPv6, everything before the fragment header.
  static constexpr uint32_t kHeaderRoom = 512;
  static constexpr uint32_t kPlaceBytes = kHeaderRoom + 65536;
  static constexpr uint32_t kMaxPieces = 64;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Key {
    IpAddress src_ip, dst_ip;
    uint32_t identification = 0;
    uint32_t vlan = 0;
    uint32_t network_id = 0;
    uint8_t ip_version = 0;
    uint8_t protocol = 0;  // 0 in IPv6, whose key does not include it
    bool operator==(const Key&) const = default;
  };
  struct Piece {
    uint32_t begin, end;
  };
  // A slot that is free, completed, or waiting for fragments. Waiting slots are in the age list and in a bucket.
  struct Place {
    Key key;
    int64_t first_ns = 0;
    Datagram datagram;  // all but raw.data, captured_bytes and time, which finish() sets
    uint32_t header_bytes = 0;
    uint32_t end = kNone;  // end of the data, once the last fragment has arrived
    uint32_t pieces = 0;
    bool spoiled = false;  // true if the datagram is lost and kept only to absorb its remaining fragments
    uint32_t bucket_next = kNone;
    uint32_t older = kNone, newer = kNone;
    Piece piece[kMaxPieces];  // disjoint, not adjacent, ascending
  };

  static Key key_of(const Packet& fragment);
  uint32_t bucket_of(const Key& key) const;
  uint32_t find(const Key& key, uint32_t bucket) const;
  uint32_t open(const Key& key, uint32_t bucket, const Packet& fragment);
  void close(uint32_t index);  // removes the slot from the age list and from its bucket
  void discard(uint32_t index);
  void spoil(Place* place);
  void lose(const Packet& fragment);
  uint8_t* data_of(uint32_t index) { return memory_.get() + static_cast<size_t>(index) * kPlaceBytes + kHeaderRoom; }

  bool fits(const Place& place, uint32_t begin, uint32_t end, bool has_more) const;
  bool copy(uint32_t index, uint32_t begin, uint32_t end, const uint8_t* bytes);
  bool cover(Place* place, uint32_t begin, uint32_t end);
  bool copy_header(uint32_t index, const Packet& fragment);
  bool finish(uint32_t index, int64_t time_ns, Datagram* datagram);

  FragmentOptions options_;
  FlowHasher hasher_;
  std::unique_ptr<uint8_t[]> memory_;
  std::vector<Place> places_;
  std::vector<uint32_t> buckets_;  // as many as slots, rounded up to a power of two
  std::vector<uint32_t> free_, completed_;
  uint32_t oldest_ = kNone, newest_ = kNone;
  uint64_t held_frames_ = 0;
  Losses losses_;
};

}  // namespace tapline
