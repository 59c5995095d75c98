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
  const bool caches_syns = caches_syns_ && endpoints == 0 && always != 0;
  uint64_t held_back = 0;
  size_t shares = 0, absorbed = 0, i = 0;
  for (; i < burst.size(); ++i) {
    const uint64_t held_bit = uint64_t{1} << (plain_hashes_[i] >> 58);
    PlainPacket& packet = absorbed_[absorbed];
    if (i < plain && (held_back & held_bit) == 0 &&
        (caches_syns && plain_[i].is_syn ? absorb_syn(i, burst[i], always, &packet)
                                         : absorb_one(i, burst[i], always, &packet))) {
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
    if (caches_syns_ && plain_[plain].is_syn) syns_->prefetch(plain_hashes_[plain]);
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

bool Engine::Impl::absorb_syn(size_t i, const RawPacket& raw, uint64_t always, PlainPacket* absorbed) {
  const PlainSegment& segment = plain_[i];
  // Equal ports would not tell the sides apart.
  if (!segment.is_whole || segment.src_port == segment.dst_port || raw.time_ns <= 0) return false;
  Side side;
  if (table_->find(segment, plain_hashes_[i], probable_[i], &side) != nullptr) return false;
  if (!syns_->add(plain_hashes_[i], {segment.src_port, segment.seq_end, raw.time_ns})) return false;
  *absorbed = {&raw, always, Direction::kFromClient};
  return true;
}

Connection* Engine::Impl::recall(const Packet& packet, uint64_t hash, Side* side) {
  const std::optional<SynCache::Syn> known = syns_->take(hash);
  if (!known || packet.time_ns - known->time_ns > options_.handshake_timeout_ns) return nullptr;
  Packet syn;
  syn.time_ns = known->time_ns;
  syn.protocol = packet.protocol;
  syn.ip_version = packet.ip_version;
  const bool is_client = packet.src_port == known->port;
  syn.src_ip = is_client ? packet.src_ip : packet.dst_ip;
  syn.dst_ip = is_client ? packet.dst_ip : packet.src_ip;
  syn.src_port = known->port;
  syn.dst_port = is_client ? packet.dst_port : packet.src_port;
  syn.flow_hash = packet.flow_hash;
  syn.tcp_flags = tcp_flag::kSyn;
  syn.tcp_seq = known->seq;
  Connection& connection = start(syn, hash);
  follow(connection, packet.queries & connection_queries_);
  track_handshake(connection, syn, 0);
  track_progress(connection, syn, 0);
  *side = is_client ? 0 : 1;
  return &connection;
}

}  // namespace tapline
