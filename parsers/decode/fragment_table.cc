#include "parsers/decode/fragment_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "parsers/api/bytes.h"
#include "parsers/decode/decoder.h"

namespace tapline {
namespace {

struct Extent {
  uint32_t begin, end;
  bool more;
};

// Returns the position of the fragment's data in the datagram. decode() has checked that the headers are complete.
Extent extent_of(const Packet& fragment) {
  const uint8_t* ip = fragment.data + fragment.ip_offset;
  uint32_t begin;
  bool has_more;
  if (fragment.ip_version == 4) {
    const uint16_t field = big_endian_16(ip + 6);
    begin = (field & 0x1fffu) * 8;
    has_more = (field & 0x2000) != 0;
  } else {
    const uint16_t field = big_endian_16(fragment.data + fragment.transport_offset - 6);
    begin = field & 0xfff8u;
    has_more = (field & 1) != 0;
  }
  return {begin, begin + fragment.payload_bytes, has_more};
}

// Returns the position of the field that names the next header, in an IPv6 header of `bytes` bytes including
// extensions.
uint32_t last_next_header(const uint8_t* ip, uint32_t bytes) {
  uint32_t field = 6;
  for (uint32_t offset = 40; offset < bytes;) {
    const uint32_t length = extension_bytes(ip[field], ip + offset);
    field = offset;
    offset += length;
  }
  return field;
}

void put_16(uint8_t* out, uint32_t value) {
  out[0] = static_cast<uint8_t>(value >> 8);
  out[1] = static_cast<uint8_t>(value);
}

}  // namespace

FragmentTable::FragmentTable(const FragmentOptions& options, HashKey key)
    : options_(options),
      hasher_(key),
      memory_(std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(options.max_datagrams) * kPlaceBytes)),
      places_(options.max_datagrams),
      buckets_(std::bit_ceil(options.max_datagrams), kNone) {
  free_.reserve(options.max_datagrams);
  completed_.reserve(options.max_datagrams);
  for (uint32_t i = options.max_datagrams; i > 0; --i) free_.push_back(i - 1);
}

bool FragmentTable::add(const Packet& fragment, Datagram* datagram) {
  expire(fragment.time_ns);
  const Key key = key_of(fragment);
  const uint32_t bucket = bucket_of(key);
  uint32_t index = find(key, bucket);
  if (index == kNone) index = open(key, bucket, fragment);
  if (index == kNone || places_[index].spoiled) {
    lose(fragment);
    return false;
  }
  Place& place = places_[index];
  ++place.datagram.frames;
  place.datagram.raw.wire_bytes += fragment.wire_bytes;
  place.datagram.raw.tap = fragment.tap;
  ++held_frames_;
  const auto [begin, end, more] = extent_of(fragment);
  if (!fits(place, begin, end, more) || (begin == 0 && !copy_header(index, fragment)) ||
      !copy(index, begin, end, fragment.data + fragment.payload_offset)) {
    spoil(&place);
    return false;
  }
  if (!more) place.end = end;
  const bool is_whole =
      place.header_bytes != 0 && place.pieces == 1 && place.piece[0].begin == 0 && place.piece[0].end == place.end;
  return is_whole && finish(index, fragment.time_ns, datagram);
}

FragmentTable::Key FragmentTable::key_of(const Packet& fragment) {
  Key key{.src_ip = fragment.src_ip,
          .dst_ip = fragment.dst_ip,
          .vlan = fragment.vlan_key(),
          .network_id = fragment.network_id,
          .ip_version = fragment.ip_version};
  if (fragment.ip_version == 4) {
    key.identification = big_endian_16(fragment.data + fragment.ip_offset + 4);
    key.protocol = fragment.protocol;
  } else {
    key.identification = big_endian_32(fragment.data + fragment.transport_offset - 4);
  }
  return key;
}

uint32_t FragmentTable::bucket_of(const Key& key) const {
  const uint64_t hash = hasher_.hash({.src_ip = key.src_ip,
                                      .dst_ip = key.dst_ip,
                                      .src_port = static_cast<uint16_t>(key.identification >> 16),
                                      .dst_port = static_cast<uint16_t>(key.identification),
                                      .protocol = key.protocol,
                                      .vlan = key.vlan,
                                      .network_id = key.network_id});
  return static_cast<uint32_t>(hash & (buckets_.size() - 1));
}

uint32_t FragmentTable::find(const Key& key, uint32_t bucket) const {
  uint32_t index = buckets_[bucket];
  while (index != kNone && !(places_[index].key == key)) index = places_[index].bucket_next;
  return index;
}

uint32_t FragmentTable::open(const Key& key, uint32_t bucket, const Packet& fragment) {
  if (free_.empty() && oldest_ != kNone) discard(oldest_);
  if (free_.empty()) return kNone;
  const uint32_t index = free_.back();
  free_.pop_back();
  Place& place = places_[index];
  place.key = key;
  place.first_ns = fragment.time_ns;
  place.datagram = {.raw = {},
                    .vlan_tags = fragment.vlan_tags,
                    .vlan = {fragment.vlan[0], fragment.vlan[1]},
                    .network_id = fragment.network_id,
                    .frames = 0};
  place.header_bytes = 0;
  place.end = kNone;
  place.pieces = 0;
  place.spoiled = false;
  place.bucket_next = buckets_[bucket];
  buckets_[bucket] = index;
  place.older = newest_;
  place.newer = kNone;
  (newest_ == kNone ? oldest_ : places_[newest_].newer) = index;
  newest_ = index;
  return index;
}

void FragmentTable::close(uint32_t index) {
  const Place& place = places_[index];
  (place.older == kNone ? oldest_ : places_[place.older].newer) = place.newer;
  (place.newer == kNone ? newest_ : places_[place.newer].older) = place.older;
  uint32_t* link = &buckets_[bucket_of(place.key)];
  while (*link != index) link = &places_[*link].bucket_next;
  *link = place.bucket_next;
}

void FragmentTable::discard(uint32_t index) {
  spoil(&places_[index]);
  close(index);
  free_.push_back(index);
}

void FragmentTable::spoil(Place* place) {
  losses_.frames += place->datagram.frames;
  losses_.bytes += place->datagram.raw.wire_bytes;
  held_frames_ -= place->datagram.frames;
  place->datagram.frames = 0;
  place->datagram.raw.wire_bytes = 0;
  place->spoiled = true;
}

void FragmentTable::lose(const Packet& fragment) {
  ++losses_.frames;
  losses_.bytes += fragment.wire_bytes;
}

void FragmentTable::expire(int64_t now_ns) {
  while (oldest_ != kNone && now_ns - places_[oldest_].first_ns >= options_.timeout_ns) discard(oldest_);
}

void FragmentTable::clear() {
  while (oldest_ != kNone) discard(oldest_);
}

void FragmentTable::recycle() {
  free_.insert(free_.end(), completed_.begin(), completed_.end());
  completed_.clear();
}

// Returns true if the fragment agrees with the earlier ones on the end of the data.
bool FragmentTable::fits(const Place& place, uint32_t begin, uint32_t end, bool has_more) const {
  const uint32_t seen_end = place.pieces == 0 ? 0 : place.piece[place.pieces - 1].end;
  if (place.end != kNone) return has_more ? end <= place.end : end == place.end;
  return has_more ? begin < end : seen_end <= end;
}

// Copies the bytes that no earlier piece covers. Returns false if the piece has an overlap that IPv6 forbids, or the
// data are in too many pieces.
bool FragmentTable::copy(uint32_t index, uint32_t begin, uint32_t end, const uint8_t* bytes) {
  Place& place = places_[index];
  uint8_t* data = data_of(index);
  uint32_t next = begin;  // first byte not copied yet
  for (uint32_t i = 0; i < place.pieces && next < end; ++i) {
    const Piece piece = place.piece[i];
    if (piece.end <= next) continue;
    if (piece.begin >= end) break;
    const bool is_repeated =
        piece.begin <= begin && end <= piece.end && std::memcmp(data + begin, bytes, end - begin) == 0;
    if (place.key.ip_version == 6 && !is_repeated) return false;
    if (piece.begin > next) std::memcpy(data + next, bytes + (next - begin), piece.begin - next);
    next = piece.end;
  }
  if (next < end) std::memcpy(data + next, bytes + (next - begin), end - next);
  return cover(&place, begin, end);
}

// Merges [begin, end) with the pieces that it overlaps or touches. Returns false if there are too many pieces.
bool FragmentTable::cover(Place* place, uint32_t begin, uint32_t end) {
  Piece* const pieces = place->piece;
  uint32_t first = 0;
  while (first < place->pieces && pieces[first].end < begin) ++first;
  uint32_t after = first;
  while (after < place->pieces && pieces[after].begin <= end) {
    begin = std::min(begin, pieces[after].begin);
    end = std::max(end, pieces[after].end);
    ++after;
  }
  if (after == first && place->pieces == kMaxPieces) return false;
  std::memmove(pieces + first + 1, pieces + after, (place->pieces - after) * sizeof(Piece));
  pieces[first] = {begin, end};
  place->pieces += 1 - (after - first);
  return true;
}

// Copies the headers of the first fragment, without the fragment header, unless an earlier copy has arrived. Returns
// false if they exceed kHeaderRoom.
bool FragmentTable::copy_header(uint32_t index, const Packet& fragment) {
  Place& place = places_[index];
  const bool is_v6 = fragment.ip_version == 6;
  const uint32_t bytes = fragment.transport_offset - fragment.ip_offset - (is_v6 ? 8 : 0);
  if (place.header_bytes != 0) return true;
  if (bytes > kHeaderRoom) return false;
  uint8_t* ip = data_of(index) - bytes;
  std::memcpy(ip, fragment.data + fragment.ip_offset, bytes);
  if (is_v6) ip[last_next_header(ip, bytes)] = fragment.protocol;
  place.header_bytes = bytes;
  return true;
}

// Completes the datagram, and rewrites its header as that of an unfragmented one. Returns false if it is too long.
bool FragmentTable::finish(uint32_t index, int64_t time_ns, Datagram* datagram) {
  Place& place = places_[index];
  const uint32_t bytes = place.header_bytes + place.end;
  const bool is_v4 = place.key.ip_version == 4;
  const uint32_t length = is_v4 ? bytes : bytes - 40;
  if (length > 65535) {
    spoil(&place);
    return false;
  }
  uint8_t* ip = data_of(index) - place.header_bytes;
  put_16(ip + (is_v4 ? 2 : 4), length);
  if (is_v4) put_16(ip + 6, 0);
  *datagram = place.datagram;
  datagram->raw.data = ip;
  datagram->raw.captured_bytes = bytes;
  datagram->raw.wire_bytes = std::max(datagram->raw.wire_bytes, bytes);
  datagram->raw.time_ns = time_ns;
  datagram->raw.link = LinkType::kRawIp;
  held_frames_ -= place.datagram.frames;
  close(index);
  completed_.push_back(index);
  return true;
}

}  // namespace tapline
