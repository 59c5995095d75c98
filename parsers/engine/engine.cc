#include <algorithm>
#include <utility>

#include "parsers/api/bits.h"
#include "parsers/api/socks.h"
#include "parsers/engine/engine_impl.h"

namespace tapline {
namespace {

// Returns the end of the interval of this length that contains the time, or INT64_MAX if it is beyond that.
int64_t interval_end(int64_t time_ns, int64_t interval_ns) {
  int64_t start = time_ns / interval_ns * interval_ns;
  if (start > time_ns) return start;
  return start > INT64_MAX - interval_ns ? INT64_MAX : start + interval_ns;
}

int64_t interval_start(int64_t end_ns, int64_t interval_ns) {
  return end_ns < INT64_MIN + interval_ns ? INT64_MIN : end_ns - interval_ns;
}

}  // namespace

Engine::Impl::Impl(std::vector<std::unique_ptr<Parser>> parsers, TupleSink* sink, const EngineOptions& options)
    : options_(options), sink_(sink) {
  StateBytes state;
  loaded_.reserve(parsers.size());
  for (auto& parser : parsers) load(std::move(parser), &state);
  active_.reserve(loaded_.size());
  if (may_connect_) table_.emplace(options.max_connections, std::max(state.tcp, state.datagrams));
  if (stream_parsers_ > 0) {
    reassembler_.emplace(options.max_reassembly_bytes, options.max_flow_reassembly_bytes, this);
  }
  choose_active();
}

void Engine::Impl::process(std::span<Packet> burst) {
  stats_.packets += burst.size();
  timed_ = ++bursts_ % kTimedBursts == 0;
  if (connections_) look_ahead(burst);
  run_ = burst.first(0);
  for (size_t i = 0; i < burst.size(); ++i) {
    Packet& packet = burst[i];
    if (packet.time_ns >= tick_ns_) {
      deliver_run();
      tick(packet.time_ns);
    }
    if (!runs_) clock_ns_ = std::max(clock_ns_, packet.time_ns);
    if (packet.repeated_view && !views_in_runs_) [[unlikely]] {
      deliver_view(packet);
      continue;
    }
    if (packet.is_tcp()) {
      if ((packet.queries & connection_queries_) != 0) connect(packet, hashes_[i]);
    } else if ((packet.queries & datagram_queries_) != 0) {
      connect_datagram(packet, hashes_[i]);
    }
    run_ = run_.empty() ? burst.subspan(i, 1) : std::span<Packet>(run_.data(), run_.size() + 1);
    if (!runs_) deliver_run();
  }
  deliver_run();
}

void Engine::Impl::advance(int64_t now_ns) {
  if (now_ns >= tick_ns_) tick(now_ns);
  clock_ns_ = std::max(clock_ns_, now_ns);
}

void Engine::Impl::lose(const LostPackets& lost) {
  for (LoadedParser* loaded : active_) {
    if (loaded->needs.losses) loaded->parser->on_loss(lost);
  }
}

bool Engine::Impl::has_work() const {
  return std::any_of(active_.begin(), active_.end(),
                     [](const LoadedParser* loaded) { return loaded->parser->has_work(); });
}

void Engine::Impl::continue_work() {
  for (LoadedParser* loaded : active_) {
    if (loaded->parser->has_work()) loaded->parser->continue_work(loaded->emitter);
  }
}

bool Engine::Impl::on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment) {
  if (static_cast<socks::Step>(connection.proxy_step) != socks::Step::kOver) [[unlikely]] {
    return on_handshake(connection, side, bytes, segment);
  }
  return for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
    return parser.on_data(connection, side, bytes, segment, out);
  });
}

bool Engine::Impl::on_handshake(Connection& connection, Side side, std::span<const uint8_t> bytes, Segment segment) {
  auto step = static_cast<socks::Step>(connection.proxy_step);
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool from_client = step == socks::Step::kStart || side == connection.client_side;
  socks::Message message;
  while (!rest.empty() && step != socks::Step::kOver) {
    const bool begins = step == socks::Step::kStart;
    const size_t taken = socks::take_message(rest, from_client, &step, &message);
    if (taken == 0) break;
    if (begins) Parser::claim_client(connection, side);
    for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
      if (!parser.needs().proxies) return StreamVerdict::kContinue;
      return parser.on_data(connection, side, bytes.first(taken), segment, out);
    });
    rest.remove_prefix(taken);
    bytes = bytes.subspan(taken);
    segment.offset += taken;
  }
  connection.proxy_step = static_cast<uint8_t>(static_cast<uint8_t>(step) & 15u);
  return bytes.empty() ? wanted(connection) : on_data(connection, side, bytes, segment);
}

bool Engine::Impl::on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                          LossReason reason) {
  lose(reason, bytes, connection.queries & (settling_ ? ending_ : stream_queries_));
  return for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
    return parser.on_gap(connection, side, bytes, segment, out);
  });
}

void Engine::Impl::on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns) {
  for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
    parser.on_stream_end(connection, side, end, time_ns, out);
    return StreamVerdict::kContinue;
  });
}

EngineStats Engine::Impl::stats() const {
  EngineStats stats = stats_;
  if (table_) stats.live_connections = table_->size();
  if (reassembler_) stats.reassembly_bytes = reassembler_->buffered_bytes();
  for (const LoadedParser& loaded : loaded_) {
    stats.tuples += loaded.emitter.tuples_;
    for (int reason = 0; reason < kLossReasons; ++reason) stats.losses[reason] += loaded.emitter.losses_[reason];
    stats.triggers += loaded.parser->trigger_totals();
  }
  return stats;
}

std::span<const ParserStats> Engine::Impl::parser_stats() {
  parser_stats_.clear();
  for (LoadedParser& loaded : loaded_) {
    loaded.stats.tuples = loaded.emitter.tuples_;
    parser_stats_.push_back(loaded.stats);
  }
  return parser_stats_;
}

void Engine::Impl::look_ahead(std::span<const Packet> burst) {
  hashes_.resize(burst.size());
  for (size_t i = 0; i < burst.size(); ++i) {
    hashes_[i] = table_->hasher()(burst[i]);
    table_->prefetch_bucket(hashes_[i]);
  }
  if (stream_parsers_ == 0) {
    for (const uint64_t hash : hashes_) table_->prefetch_entry(hash);
    return;
  }
  expected_.clear();
  for (const uint64_t hash : hashes_) {
    const Connection* connection = table_->probable(hash);
    if (connection == nullptr) continue;
    __builtin_prefetch(connection + 1);  // the parsers' state
    expected_.push_back(connection);
  }
  for (int step = 0; step < kLookAheadSteps; ++step) {
    for (const Connection* connection : expected_) {
      if (!connection->is_tcp()) continue;
      for (const LoadedParser* loaded : active_) {
        if (loaded->stream_parser != nullptr && (connection->ignored_by & loaded->ignore_bit) == 0)
          loaded->stream_parser->look_ahead(*connection, step);
      }
    }
  }
}

void Engine::Impl::deliver_run() {
  if (run_.empty()) return;
  for (LoadedParser* loaded : active_) {
    if (!loaded->needs.packets) continue;
    Timer timer(loaded, run_.size(), timed_);
    Connection*& connection = run_.front().connection;
    if (connection != nullptr && !loaded->follows(connection->is_tcp())) [[unlikely]] {
      // Other parsers follow the connection, but this one must not see it. If there are several parsers, a run has only
      // one packet.
      Connection* const hidden = std::exchange(connection, nullptr);
      loaded->parser->process(run_, loaded->emitter);
      connection = hidden;
    } else {
      loaded->parser->process(run_, loaded->emitter);
    }
  }
  if (runs_) {
    for (const Packet& packet : run_) clock_ns_ = std::max(clock_ns_, packet.time_ns);
  }
  run_ = run_.first(0);
}

void Engine::Impl::deliver_view(Packet& packet) {
  deliver_run();
  clock_ns_ = std::max(clock_ns_, packet.time_ns);
  if (!views_ && !fragments_) return;
  for (LoadedParser* loaded : active_) {
    const bool is_needed = packet.fragment ? loaded->needs.fragments : loaded->needs.all_views;
    if (!loaded->needs.packets || !is_needed) continue;
    Timer timer(loaded, 1, timed_);
    loaded->parser->process({&packet, 1}, loaded->emitter);
  }
}

void Engine::Impl::tick(int64_t time_ns) {
  if (clock_ns_ != INT64_MIN) end_intervals(time_ns);
  clock_ns_ = std::max(clock_ns_, time_ns);
  const bool second_over = time_ns >= second_end_ns_;
  begin_intervals(time_ns);
  ++tick_number_;
  if (second_over) shown_since_ = tick_number_;
  if (!table_ || !second_over) return;
  table_->expire_until(
      clock_ns_, [this](const Connection& connection) { return deadline_ns(connection); },
      [this](Connection& connection) { retire(connection); });
}

// Ends the intervals that are over, each at its end and the earliest first, so that tuple times never decrease. An
// interval that ends at INT64_MAX never ends.
void Engine::Impl::end_intervals(int64_t time_ns) {
  const auto is_over = [time_ns](const LoadedParser* loaded) {
    return loaded->needs.interval_ns != 0 && loaded->interval_end_ns <= time_ns && loaded->interval_end_ns != INT64_MAX;
  };
  while (true) {
    int64_t end_ns = INT64_MAX;
    for (const LoadedParser* loaded : active_) {
      if (is_over(loaded)) end_ns = std::min(end_ns, loaded->interval_end_ns);
    }
    if (end_ns == INT64_MAX) return;
    clock_ns_ = end_ns - 1;
    for (LoadedParser* loaded : active_) {
      if (!is_over(loaded) || loaded->interval_end_ns != end_ns) continue;
      loaded->parser->on_interval(end_ns, loaded->emitter);
      while (!options_.postpones_work && loaded->parser->has_work()) loaded->parser->continue_work(loaded->emitter);
      const int64_t interval_ns = loaded->needs.interval_ns;
      const int64_t due_ns = std::max(loaded->parser->due_ns(), interval_end(end_ns, interval_ns));
      loaded->interval_end_ns = std::min(due_ns, interval_end(time_ns, interval_ns));
    }
  }
}

void Engine::Impl::begin_intervals(int64_t time_ns) {
  if (second_end_ns_ <= time_ns) second_end_ns_ = interval_end(time_ns, kNsPerSecond);
  tick_ns_ = second_end_ns_;
  tick_start_ns_ = interval_start(second_end_ns_, kNsPerSecond);
  for (LoadedParser* loaded : active_) {
    const int64_t interval_ns = loaded->needs.interval_ns;
    if (interval_ns == 0) continue;
    if (loaded->interval_end_ns <= time_ns) loaded->interval_end_ns = interval_end(time_ns, interval_ns);
    tick_ns_ = std::min(tick_ns_, loaded->interval_end_ns);
    tick_start_ns_ = std::max(tick_start_ns_, interval_start(loaded->interval_end_ns, interval_ns));
  }
}

int64_t Engine::Impl::deadline_ns(const Connection& connection) const {
  if (!connection.is_tcp()) return connection.last_seen_ns + options_.datagram_timeout_ns;
  if (connection.ended()) return connection.last_seen_ns + options_.closed_timeout_ns;
  const bool unfinished = connection.tcp_state <= TcpState::kSynAnswered;
  return connection.last_seen_ns + (unfinished ? options_.handshake_timeout_ns : options_.idle_timeout_ns);
}

Connection* Engine::Impl::find(const Packet& packet, uint64_t hash, Side* side) {
  Connection* connection = table_->find(packet, hash, side);
  if (ending_ != 0 && connection != nullptr) [[unlikely]]
    if (!settle(*connection)) connection = nullptr;
  return connection;
}

void Engine::Impl::connect(Packet& packet, uint64_t hash) {
  Side side = 0;
  Connection* connection = find(packet, hash, &side);
  if (connection == nullptr && syns_) connection = recall(packet, hash, &side);
  if (connection != nullptr && starts_new_incarnation(*connection, packet, side)) {
    give_way(*connection, packet);
    connection = nullptr;
  }
  if (connection == nullptr) {
    // A RST for a connection that is unknown, or ended long ago, starts no connection.
    if (packet.has_tcp_flag(tcp_flag::kRst)) {
      packet.tcp_events = tcp_event::kStrayRst;
      return;
    }
    connection = &start(packet, hash);
    side = 0;
  }
  follow(*connection, packet.queries & connection_queries_);
  // A late packet from an earlier interval does not count as the first one of this interval. A packet that only some of
  // the connection's queries want (because a sampling rate has fallen) does not show which queries want the
  // connection's other packets.
  const bool in_time = packet.time_ns >= tick_start_ns_;
  const bool for_all = (packet.queries & connection_queries_) == connection->queries;
  if (in_time) connection->shown_tick = for_all ? tick_number_ : 0;
  packet.connection = connection;
  packet.tcp_events = track_handshake(*connection, packet, side);
  if ((packet.tcp_events & tcp_event::kRstIgnored) != 0) [[unlikely]]
    forget_streams(*connection);
  if (all_ignore_ != 0) reassemble(*connection, packet, side);
  packet.tcp_events |= track_progress(*connection, packet, side);
  packet.direction = connection->direction_of(side);
  if ((packet.tcp_events & ~tcp_event::kSyn) != 0) [[unlikely]]
    state_changed(*connection, packet);
}

void Engine::Impl::connect_datagram(Packet& packet, uint64_t hash) {
  Side side = 0;
  Connection* connection = find(packet, hash, &side);
  // Connections expire only when a second ends, so this one may be overdue.
  if (connection != nullptr && deadline_ns(*connection) < packet.time_ns) {
    give_way(*connection, packet);
    connection = nullptr;
  }
  if (connection == nullptr) {
    connection = &start(packet, hash);
    side = 0;
  }
  follow(*connection, packet.queries & datagram_queries_);
  track_datagram(*connection, packet.time_ns, side);
  packet.connection = connection;
  packet.direction = connection->direction_of(side);
}

void Engine::Impl::count_flows(uint64_t queries, int64_t change) {
  for (uint32_t query : SetBits(queries)) {
    options_.live_flows[query] += static_cast<uint64_t>(change);
  }
}

Connection& Engine::Impl::start(const Packet& packet, uint64_t hash) {
  if (table_->full()) {
    Connection& victim = table_->victim();
    if (!victim.ended()) lose(LossReason::kConnectionTableFull, 1, victim.queries);
    give_way(victim, packet);
  }
  Connection& connection = table_->insert(packet, hash);
  start_connection(connection, packet);
  table_->schedule(connection, deadline_ns(connection));
  ++stats_.connections;
  return connection;
}

void Engine::Impl::reassemble(Connection& connection, const Packet& packet, Side side) {
  const bool is_over = connection.ended() && connection.stream == 0;
  if (!is_over && wanted(connection)) reassembler_->add(packet, side);
}

void Engine::Impl::state_changed(Connection& connection, const Packet& packet) {
  if (reassembler_ && (packet.tcp_events & tcp_event::kReset) != 0) {
    reassembler_->finish(connection, StreamEnd::kReset, packet.time_ns);
  }
  table_->schedule(connection, deadline_ns(connection));
}

void Engine::Impl::give_way(Connection& connection, const Packet& packet) {
  deliver_run();
  clock_ns_ = std::max(clock_ns_, packet.time_ns);
  retire(connection);
}

void Engine::Impl::lose(LossReason reason, uint64_t count, uint64_t queries) {
  stats_.losses[static_cast<int>(reason)] += count;
  if (queries != 0) sink_->lose(reason, count, queries);
}

EngineStats& EngineStats::operator+=(const EngineStats& other) {
  packets += other.packets;
  tuples += other.tuples;
  connections += other.connections;
  live_connections += other.live_connections;
  reassembly_bytes += other.reassembly_bytes;
  for (int reason = 0; reason < kLossReasons; ++reason) losses[reason] += other.losses[reason];
  triggers += other.triggers;
  return *this;
}

ParserStats& ParserStats::operator+=(const ParserStats& other) {
  name = other.name;
  packets += other.packets;
  tuples += other.tuples;
  sampled_packets += other.sampled_packets;
  sampled_cycles += other.sampled_cycles;
  return *this;
}

Engine::Engine(std::vector<std::unique_ptr<Parser>> parsers, TupleSink* sink, const EngineOptions& options)
    : impl_(std::make_unique<Impl>(std::move(parsers), sink, options)) {}
Engine::~Engine() = default;

const Parser& Engine::parser(uint32_t index) const { return impl_->parser(index); }
uint32_t Engine::parser_count() const { return impl_->parser_count(); }
bool Engine::wants_all_views() const { return impl_->wants_all_views(); }
bool Engine::wants_fragments() const { return impl_->wants_fragments(); }
bool Engine::wants_losses() const { return impl_->wants_losses(); }
void Engine::lose(const LostPackets& lost) { impl_->lose(lost); }
bool Engine::has_work() const { return impl_->has_work(); }
void Engine::continue_work() { impl_->continue_work(); }
void Engine::set_parser_queries(uint32_t parser, uint64_t queries) { impl_->set_parser_queries(parser, queries); }
void Engine::set_arguments(uint32_t parser, uint32_t query, std::span<const Value> arguments) {
  impl_->set_arguments(parser, query, arguments);
}
void Engine::set_triggers(uint32_t parser, uint32_t query, std::shared_ptr<const trigger::Program> triggers,
                          std::shared_ptr<trigger::SharedTriggers> shared) {
  impl_->set_triggers(parser, query, std::move(triggers), std::move(shared));
}
void Engine::process(std::span<Packet> burst) { impl_->process(burst); }
Engine::AbsorbResult Engine::absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints,
                                    int64_t end_ns) {
  return impl_->absorb(burst, unconditional, endpoints, end_ns);
}
void Engine::advance(int64_t now_ns) { impl_->advance(now_ns); }
void Engine::begin_end(uint64_t queries) { impl_->begin_end(queries); }
bool Engine::continue_end(uint32_t connections) { return impl_->continue_end(connections); }
void Engine::end_queries(uint64_t queries) { impl_->end_queries(queries); }
void Engine::end() { impl_->end(); }
int64_t Engine::now_ns() const { return impl_->now_ns(); }
EngineStats Engine::stats() const { return impl_->stats(); }
std::span<const ParserStats> Engine::parser_stats() const { return impl_->parser_stats(); }

}  // namespace tapline
