#include <algorithm>

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
  size_t shares = 0, absorbed = 0, i = 0;
  for (; i < burst.size(); ++i) {
    const uint64_t held_bit = uint64_t{1} << (plain_hashes_[i] >> 58);
    PlainPacket& packet = absorbed_[absorbed];
    if (i < plain && (held_back & held_bit) == 0 && absorb_one(i, burst[i], always, &packet)) {
      const uint64_t wanted_by = packet.queries = unconditional | (packet.queries & endpoints);
      ++absorbed;
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
  result.packets = static_cast<uint32_t>(absorbed);
  if (passes_on_ && absorbed > 0) pass_on({absorbed_.data(), absorbed});
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

void Engine::Impl::pass_on(std::span<const PlainPacket> burst) {
  for (LoadedParser* loaded : active_) {
    if (!loaded->needs.absorbs) continue;
    Timer timer(loaded, burst.size(), timed_);
    loaded->parser->absorb(burst, loaded->emitter);
  }
}

bool Engine::Impl::absorb_one(size_t i, const RawPacket& raw, uint64_t always, PlainPacket* absorbed) {
  const PlainSegment& segment = plain_[i];
  if (segment.is_control || (passes_on_ && !segment.is_whole)) return false;
  Side side;
  Connection* connection = table_->find(segment, plain_hashes_[i], probable_[i], &side);
  if (connection == nullptr || !is_shown(*connection)) return false;
  const bool is_followed = connection->tcp_state >= TcpState::kOpen && connection->tcp_state <= TcpState::kClosed;
  const bool has_settled = is_followed && connection->seq_known == 3;
  const uint64_t queries = connection->queries;
  if (!has_settled || queries == 0 || (queries & always) != always || wanted(*connection)) return false;
  if (!track_segment(*connection, segment.seq_end, raw.time_ns, side)) return false;
  ++connection->more_packets;
  connection->more_bytes += raw.wire_bytes;
  *absorbed = {&raw, queries, connection->direction_of(side)};
  return true;
}

}  // namespace tapline
