#include <algorithm>
#include <bit>

#include "parsers/engine/engine_impl.h"

namespace tapline {

Engine::AbsorbResult Engine::Impl::absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints,
                                          int64_t end_ns) {
  AbsorbResult result;
  if (!absorbs_ || (endpoints & ~connection_queries_) != 0) return result;
  burst = burst.first(std::min(burst.size(), kMaxAbsorbed));
  const size_t plain = read_plain(burst, std::min(end_ns, tick_ns_));
  const uint64_t always = unconditional & connection_queries_;
  uint64_t held_back = 0;
  size_t shares = 0, i = 0;
  for (; i < burst.size(); ++i) {
    const uint64_t held_bit = uint64_t{1} << (plain_hashes_[i] >> 58);
    uint64_t wanted_by = 0;
    if (i < plain && (held_back & held_bit) == 0 && absorb_one(i, burst[i], always, &wanted_by)) {
      wanted_by = unconditional | (wanted_by & endpoints);
      if (shares == 0 || shares_[shares - 1].queries != wanted_by) shares_[shares++] = {wanted_by, 0, 0};
      ++shares_[shares - 1].packets;
      shares_[shares - 1].bytes += burst[i].wire_bytes;
      result.bytes += burst[i].wire_bytes;
      result.latest_ns = std::max(result.latest_ns, burst[i].time_ns);
      continue;
    }
    // Tuples that process() emits for this packet must not carry the time of a later one.
    if (burst[i].time_ns < result.latest_ns) break;
    held_back |= held_bit;
    result.left |= uint64_t{1} << i;
  }
  result.shares = {shares_.data(), shares};
  result.scanned = static_cast<uint32_t>(i);
  result.packets = result.scanned - static_cast<uint32_t>(std::popcount(result.left));
  stats_.packets += result.packets;
  return result;
}

size_t Engine::Impl::read_plain(std::span<const RawPacket> burst, int64_t end_ns) {
  size_t plain = 0;
  for (; plain < burst.size(); ++plain) {
    if (burst[plain].time_ns >= end_ns || !PlainSegment::read(burst[plain], &plain_[plain])) break;
    plain_hashes_[plain] = table_->hasher()(plain_[plain]);
    table_->prefetch_bucket(plain_hashes_[plain]);
  }
  for (size_t i = 0; i < plain; ++i) probable_[i] = table_->probable(plain_hashes_[i]);
  return plain;
}

bool Engine::Impl::absorb_one(size_t i, const RawPacket& raw, uint64_t always, uint64_t* queries) {
  const PlainSegment& segment = plain_[i];
  if (segment.is_control) return false;
  Side side;
  Connection* connection = table_->find(segment, plain_hashes_[i], probable_[i], &side);
  if (connection == nullptr || connection->shown_tick != tick_number_) return false;
  const bool is_followed = connection->tcp_state >= TcpState::kOpen && connection->tcp_state <= TcpState::kClosed;
  const bool has_settled = is_followed && connection->seq_known == 3;
  *queries = connection->queries;
  if (!has_settled || *queries == 0 || (*queries & always) != always || wanted(*connection)) return false;
  if (!track_segment(*connection, segment.seq_end, raw.time_ns, side)) return false;
  ++connection->more_packets;
  connection->more_bytes += raw.wire_bytes;
  return true;
}

}  // namespace tapline
