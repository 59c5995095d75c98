#include "parsers/engine/engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "parsers/engine/connection_table.h"
#include "parsers/engine/reassembler.h"
#include "parsers/engine/tcp_tracker.h"

namespace tapline {
namespace {

constexpr int kMaxStreamParsers = 16;  // bits of Connection::ignored_by
constexpr size_t kMostAbsorbed = 64;   // bits of Engine::Absorbed::left

// Saturates at both ends of time: captures may hold any.
int64_t interval_end(int64_t time_ns) {
  int64_t start = time_ns / kIntervalNs * kIntervalNs;
  if (start > time_ns) return start;
  return start > INT64_MAX - kIntervalNs ? INT64_MAX : start + kIntervalNs;
}

}  // namespace

// Every parser that may ever be asked for is loaded from the start, so that each has its place in a connection's entry;
// those that no query wants cost nothing. A burst is worked through packet by packet; with a single parser that sees
// only packets, those between two events that could outdate a connection are handed to it together (`run`).
class Engine::Impl final : public StreamReceiver {
 public:
  Impl(std::vector<std::unique_ptr<Parser>> parsers, TupleSink* sink, const EngineOptions& options)
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

  void process(std::span<Packet> burst) {
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
      if (packet.is_tcp()) {
        if ((packet.queries & connection_queries_) != 0) connect(packet, hashes_[i]);
      } else if ((packet.queries & datagram_queries_) != 0 && (packet.is_udp() || packet.is_icmp())) {
        connect_datagram(packet, hashes_[i]);
      }
      run_ = run_.empty() ? burst.subspan(i, 1) : std::span<Packet>(run_.data(), run_.size() + 1);
      if (!runs_) deliver_run();
    }
    deliver_run();
  }

  // One that is not plain could be of any connection, so nothing after it is dealt with before it; nor is one after a
  // packet that is left of the same connection (or of one that shares a few bits of its hash).
  Absorbed absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints, int64_t end_ns) {
    Absorbed result;
    if (!absorbs_ || (endpoints & ~connection_queries_) != 0) return result;
    burst = burst.first(std::min(burst.size(), kMostAbsorbed));
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
      // What process() makes of this one must not be told at the time of a later one.
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

  void advance(int64_t now_ns) {
    if (now_ns >= tick_ns_) tick(now_ns);
    clock_ns_ = std::max(clock_ns_, now_ns);
  }

  void set_parser_queries(uint32_t parser, uint64_t queries) {
    loaded_.at(parser).emitter.queries_ = queries;
    choose_active();
  }

  void begin_end(uint64_t queries) {
    if (ending_ == 0) ending_clock_ns_ = clock_ns_;
    ending_ |= queries;
    cursor_ = 1;
    choose_active();
  }

  bool continue_end(uint32_t connections) {
    if (ending_ == 0) return true;
    if (table_) {
      cursor_ = table_->for_each_from(cursor_, connections, [this](Connection& connection) { settle(connection); });
      if (cursor_ != 0) return false;
    }
    ending_ = 0;
    choose_active();
    return true;
  }

  void end_queries(uint64_t queries) {
    begin_end(queries);
    continue_end(UINT32_MAX);
  }

  void end() { end_queries(~0ull); }

  bool on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment) override {
    return for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
      return parser.on_data(connection, side, bytes, segment, out);
    });
  }

  bool on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment, LossReason reason) override {
    lose(reason, bytes, connection.queries & (settling_ ? ending_ : stream_queries_));
    return for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
      return parser.on_gap(connection, side, bytes, segment, out);
    });
  }

  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns) override {
    for_each_stream_parser(connection, [&](StreamParser& parser, Emitter& out) {
      parser.on_stream_end(connection, side, end, time_ns, out);
      return StreamVerdict::kContinue;
    });
  }

  EngineStats stats() const {
    EngineStats stats = stats_;
    if (table_) stats.live_connections = table_->size();
    if (reassembler_) stats.reassembly_bytes = reassembler_->buffered_bytes();
    for (const Loaded& each : loaded_) {
      stats.tuples += each.emitter.tuples_;
      for (int reason = 0; reason < kLossReasons; ++reason) stats.losses[reason] += each.emitter.losses_[reason];
    }
    return stats;
  }

  std::span<const ParserStats> parser_stats() {
    parser_stats_.clear();
    for (Loaded& each : loaded_) {
      each.stats.tuples = each.emitter.tuples_;
      parser_stats_.push_back(each.stats);
    }
    return parser_stats_;
  }

  int64_t now_ns() const { return clock_ns_; }
  const Parser& parser(uint32_t index) const { return *loaded_.at(index).parser; }
  uint32_t parser_count() const { return static_cast<uint32_t>(loaded_.size()); }

 private:
  struct Loaded {
    std::unique_ptr<Parser> parser;
    StreamParser* stream_parser;  // the same object, or null
    Needs needs;
    Emitter emitter;
    uint16_t ignore_bit;
    ParserStats stats;

    bool follows(bool tcp) const { return tcp ? needs_connections(needs) : needs.datagrams; }
  };
  // How much of an entry the parsers' state takes. An entry is of TCP or of datagrams: parsers of the one and of the
  // other share the room.
  struct StateBytes {
    uint32_t tcp = 0;
    uint32_t datagrams = 0;
  };

  // Adds what a call took to a parser's cost, in the bursts that are timed: two reads of the counter, some 50 cycles,
  // are too much for every packet.
  class Timer {
   public:
    Timer(Loaded* loaded, size_t packets, bool timed) : stats_(timed ? &loaded->stats : nullptr) {
      loaded->stats.packets += packets;
      if (!timed) return;
      stats_->sampled_packets += packets;
      begin_ = __builtin_ia32_rdtsc();
    }
    ~Timer() {
      if (stats_ != nullptr) stats_->sampled_cycles += __builtin_ia32_rdtsc() - begin_;
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    ParserStats* stats_;
    uint64_t begin_ = 0;
  };
  static constexpr uint32_t kTimedBursts = 64;

  void load(std::unique_ptr<Parser> parser, StateBytes* state) {
    const Needs needs = parser->needs();
    auto* stream_parser = needs.streams ? dynamic_cast<StreamParser*>(parser.get()) : nullptr;
    if (needs.streams && stream_parser == nullptr) {
      throw std::invalid_argument("parser " + parser->schema().name + " asks for streams and is no StreamParser");
    }
    uint16_t ignore_bit = 0;
    if (stream_parser != nullptr) {
      if (stream_parsers_ == kMaxStreamParsers) throw std::invalid_argument("more than 16 parsers of streams");
      ignore_bit = static_cast<uint16_t>(1u << stream_parsers_++);
    }
    may_connect_ |= needs_connections(needs) || needs.datagrams;
    parser->state_offset_ = place(needs, state);
    const auto index = static_cast<uint32_t>(loaded_.size());
    loaded_.push_back({std::move(parser), stream_parser, needs, Emitter(index, sink_, &clock_ns_), ignore_bit, {}});
    loaded_.back().stats.name = loaded_.back().parser->schema().name;
  }

  static uint32_t place(const Needs& needs, StateBytes* state) {
    const bool tcp = needs_connections(needs);
    const uint32_t offset = std::max(tcp ? state->tcp : 0, needs.datagrams ? state->datagrams : 0);
    const uint32_t end = offset + (needs.connection_state_bytes + 7u) / 8 * 8;
    if (tcp) state->tcp = end;
    if (needs.datagrams) state->datagrams = end;
    return offset;
  }

  static bool needs_connections(const Needs& needs) {
    return needs.connections || needs.streams || (needs.connection_state_bytes > 0 && !needs.datagrams);
  }

  // Only what somebody wants is run, and only what those parsers need is done.
  void choose_active() {
    active_.clear();
    all_ignore_ = 0;
    connections_ = intervals_ = false;
    connection_queries_ = stream_queries_ = datagram_queries_ = 0;
    for (Loaded& each : loaded_) {
      const uint64_t queries = each.emitter.queries_ & ~ending_;
      if (queries == 0) continue;
      active_.push_back(&each);
      intervals_ |= each.needs.intervals;
      if (each.needs.datagrams) datagram_queries_ |= queries;
      connections_ |= each.needs.datagrams;
      if (!needs_connections(each.needs)) continue;
      connections_ = true;
      connection_queries_ |= queries;
      all_ignore_ |= each.ignore_bit;
      if (each.stream_parser != nullptr) stream_queries_ |= queries;
    }
    runs_ = active_.size() == 1 && all_ignore_ == 0;
    const auto wants_every = [](const Loaded* each) { return each->needs.every_packet; };
    absorbs_ = connections_ && ending_ == 0 && std::none_of(active_.begin(), active_.end(), wants_every);
    // Whoever is new has been shown nothing yet.
    ++tick_number_;
  }

  // Loads of one burst are on their way together instead of one after the other.
  void look_ahead(std::span<const Packet> burst) {
    hashes_.resize(burst.size());
    for (size_t i = 0; i < burst.size(); ++i) {
      hashes_[i] = table_->hasher()(burst[i]);
      table_->prefetch_bucket(hashes_[i]);
    }
    for (const uint64_t hash : hashes_) table_->prefetch_entry(hash);
  }

  // How many packets at the beginning are plain and before `end_ns`; reads them, and fetches what they will need.
  size_t read_plain(std::span<const RawPacket> burst, int64_t end_ns) {
    size_t plain = 0;
    for (; plain < burst.size(); ++plain) {
      if (burst[plain].time_ns >= end_ns || !PlainSegment::read(burst[plain], &plain_[plain])) break;
      plain_hashes_[plain] = table_->hasher()(plain_[plain]);
      table_->prefetch_bucket(plain_hashes_[plain]);
    }
    for (size_t i = 0; i < plain; ++i) likely_[i] = table_->likely(plain_hashes_[i]);
    return plain;
  }

  // Does what process() would do with a packet that is of no interest to the parsers, if this is one. *queries: those
  // that want it.
  bool absorb_one(size_t i, const RawPacket& raw, uint64_t always, uint64_t* queries) {
    const PlainSegment& segment = plain_[i];
    if (segment.is_control) return false;
    Side side;
    Connection* connection = table_->find(segment, plain_hashes_[i], likely_[i], &side);
    if (connection == nullptr || connection->shown_tick != tick_number_) return false;
    const bool settled = connection->tcp_state >= TcpState::kOpen && connection->seq_known == 3;
    *queries = connection->queries;
    if (!settled || *queries == 0 || (*queries & always) != always || wanted(*connection)) return false;
    track_data(*connection, segment.seq_end, raw.time_ns, side);
    ++connection->more_packets;
    connection->more_bytes += raw.wire_bytes;
    return true;
  }

  void deliver_run() {
    if (run_.empty()) return;
    for (Loaded* each : active_) {
      if (!each->needs.packets) continue;
      Timer timer(each, run_.size(), timed_);
      Connection*& connection = run_.front().connection;
      if (connection != nullptr && !each->follows(connection->is_tcp())) [[unlikely]] {
        // Another parser's: this one sees the packet alone. A run of several packets has one parser.
        Connection* const hidden = std::exchange(connection, nullptr);
        each->parser->process(run_, each->emitter);
        connection = hidden;
      } else {
        each->parser->process(run_, each->emitter);
      }
    }
    if (runs_) {
      for (const Packet& packet : run_) clock_ns_ = std::max(clock_ns_, packet.time_ns);
    }
    run_ = run_.first(0);
  }

  // Packet time has left the current second: its interval ends, idle connections end.
  void tick(int64_t time_ns) {
    if (intervals_ && clock_ns_ != INT64_MIN) {
      clock_ns_ = tick_ns_ - 1;
      for (Loaded* each : active_) {
        if (each->needs.intervals) each->parser->on_interval(tick_ns_, each->emitter);
      }
    }
    clock_ns_ = std::max(clock_ns_, time_ns);
    tick_ns_ = interval_end(time_ns);
    ++tick_number_;
    if (!table_) return;
    table_->expire_until(
        clock_ns_, [this](const Connection& connection) { return deadline_ns(connection); },
        [this](Connection& connection) { retire(connection); });
  }

  int64_t deadline_ns(const Connection& connection) const {
    if (!connection.is_tcp()) return connection.last_seen_ns + options_.datagram_timeout_ns;
    if (connection.ended()) return connection.last_seen_ns + options_.closed_timeout_ns;
    const bool unfinished = connection.tcp_state <= TcpState::kSynAnswered;
    return connection.last_seen_ns + (unfinished ? options_.handshake_timeout_ns : options_.idle_timeout_ns);
  }

  Connection* find(const Packet& packet, uint64_t hash, Side* side) {
    Connection* connection = table_->find(packet, hash, side);
    if (ending_ != 0 && connection != nullptr) [[unlikely]]
      if (!settle(*connection)) connection = nullptr;
    return connection;
  }

  void connect(Packet& packet, uint64_t hash) {
    Side side = 0;
    Connection* connection = find(packet, hash, &side);
    if (connection != nullptr && starts_new_incarnation(*connection, packet, side)) {
      give_way(*connection, packet);
      connection = nullptr;
    }
    if (connection == nullptr) {
      // A RST of a connection that was never seen, or is long over, is no connection.
      if (packet.has_tcp_flag(tcp_flag::kRst)) return;
      connection = &start(packet, hash);
      side = 0;
    }
    follow(*connection, packet.queries & connection_queries_);
    // A packet that comes late, of a second that is over, is not the first one of this. One that not all of the
    // connection's queries want (a rate has fallen) does not tell who wants the others.
    const bool in_time = packet.time_ns >= tick_ns_ - kIntervalNs;
    const bool for_all = (packet.queries & connection_queries_) == connection->queries;
    if (in_time) connection->shown_tick = for_all ? tick_number_ : 0;
    packet.connection = connection;
    packet.tcp_events = track_handshake(*connection, packet, side);
    if (all_ignore_ != 0) reassemble(*connection, packet, side);
    packet.tcp_events |= track_progress(*connection, packet, side);
    packet.direction = connection->direction_of(side);
    if ((packet.tcp_events & ~tcp_event::kSyn) != 0) [[unlikely]]
      state_changed(*connection, packet);
  }

  void connect_datagram(Packet& packet, uint64_t hash) {
    Side side = 0;
    Connection* connection = find(packet, hash, &side);
    // A tick comes only with the next second.
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

  void follow(Connection& connection, uint64_t queries) {
    if (options_.live_flows != nullptr) count_flows(queries & ~connection.queries, 1);
    connection.queries |= queries;
  }

  void forget(Connection& connection, uint64_t queries) {
    if (options_.live_flows != nullptr) count_flows(queries, -1);
    connection.queries &= ~queries;
  }

  void count_flows(uint64_t queries, int64_t change) {
    for (; queries != 0; queries &= queries - 1) {
      options_.live_flows[std::countr_zero(queries)] += static_cast<uint64_t>(change);
    }
  }

  Connection& start(const Packet& packet, uint64_t hash) {
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

  void reassemble(Connection& connection, const Packet& packet, Side side) {
    const bool over = connection.ended() && connection.stream == 0;
    if (!over && wanted(connection)) reassembler_->add(packet, side);
  }

  // Each state has its own timeout.
  void state_changed(Connection& connection, const Packet& packet) {
    if (reassembler_ && (packet.tcp_events & tcp_event::kReset) != 0) {
      reassembler_->finish(connection, StreamEnd::kReset, packet.time_ns);
    }
    table_->schedule(connection, deadline_ns(connection));
  }

  // The packets before this one may still name the connection.
  void give_way(Connection& connection, const Packet& packet) {
    deliver_run();
    clock_ns_ = std::max(clock_ns_, packet.time_ns);
    retire(connection);
  }

  // Whether a stream parser follows the connection.
  bool wanted(const Connection& connection) const { return (all_ignore_ & ~connection.ignored_by) != 0; }

  // Ends the connection for the queries that are ending, as of the moment they ended. Returns whether it lives on for
  // others.
  bool settle(Connection& connection) {
    const uint64_t ending = connection.queries & ending_;
    const int64_t clock_ns = std::exchange(clock_ns_, ending_clock_ns_);
    const bool others = ending != connection.queries;
    if (!others) {
      settling_ = true;
      retire_now(connection);
      settling_ = false;
    } else if (ending != 0) {
      for (Loaded& each : loaded_) {
        if (each.follows(connection.is_tcp())) end_for(each, connection, ending);
      }
      forget(connection, ending);
      if (connection.stream != 0 && !wanted(connection)) reassembler_->abandon(connection);
    }
    clock_ns_ = clock_ns;
    return others;
  }

  // A parser that is left without queries forgets the connection: it may be asked again, and knows nothing then.
  void end_for(Loaded& each, Connection& connection, uint64_t ending) {
    each.parser->on_end(connection, ending, each.emitter);
    if ((each.emitter.queries_ & ~ending_) != 0) return;
    each.parser->on_release(connection);
    std::memset(connection.parser_state() + each.parser->state_offset_, 0, each.needs.connection_state_bytes);
    connection.ignored_by &= static_cast<uint16_t>(~each.ignore_bit);
  }

  void retire(Connection& connection) {
    if (ending_ != 0 && !settle(connection)) return;
    retire_now(connection);
  }

  void retire_now(Connection& connection) {
    if (reassembler_) reassembler_->finish(connection, StreamEnd::kGivenUp, connection.last_seen_ns);
    for (Loaded& each : loaded_) {
      if (!each.follows(connection.is_tcp())) continue;
      each.parser->on_end(connection, connection.queries, each.emitter);
      each.parser->on_release(connection);
    }
    forget(connection, connection.queries);
    table_->erase(connection);
  }

  template <typename Call>
  bool for_each_stream_parser(Connection& connection, Call call) {
    uint16_t going_on = 0;
    const auto tell = [&](Loaded& each) {
      if (each.stream_parser == nullptr || (connection.ignored_by & each.ignore_bit) != 0) return;
      Timer timer(&each, 1, timed_);
      const bool gives_up = call(*each.stream_parser, each.emitter) == StreamVerdict::kGiveUp;
      (gives_up ? connection.ignored_by : going_on) |= each.ignore_bit;
    };
    if (settling_) [[unlikely]] {
      // What waits at the end is of queries that are not active any more.
      for (Loaded& each : loaded_) {
        if (each.emitter.queries_ != 0) tell(each);
      }
    } else {
      for (Loaded* each : active_) tell(*each);
    }
    return going_on != 0;
  }

  void lose(LossReason reason, uint64_t count, uint64_t queries) {
    stats_.losses[static_cast<int>(reason)] += count;
    if (queries != 0) sink_->lose(reason, count, queries);
  }

  EngineOptions options_;
  TupleSink* sink_;
  std::vector<Loaded> loaded_;
  int stream_parsers_ = 0;
  uint16_t all_ignore_ = 0;
  bool may_connect_ = false;
  std::vector<Loaded*> active_;  // those with queries, in order; what follows is about them
  bool connections_ = false;
  bool intervals_ = false;
  bool runs_ = false;
  uint64_t connection_queries_ = 0;  // those that want anything parsed from connections
  uint64_t stream_queries_ = 0;
  uint64_t datagram_queries_ = 0;  // those that want anything parsed from UDP and ICMP flows
  bool absorbs_ = false;
  std::optional<ConnectionTable> table_;
  std::optional<Reassembler> reassembler_;
  std::vector<uint64_t> hashes_;  // of the burst's packets
  std::array<PlainSegment, kMostAbsorbed> plain_;
  std::array<uint64_t, kMostAbsorbed> plain_hashes_ = {};
  std::array<Connection*, kMostAbsorbed> likely_ = {};
  std::array<Absorbed::Share, kMostAbsorbed> shares_ = {};
  std::span<Packet> run_;
  int64_t clock_ns_ = INT64_MIN;
  int64_t tick_ns_ = INT64_MIN;  // end of the current interval
  uint32_t tick_number_ = 0;     // of the current interval
  uint64_t ending_ = 0;          // queries whose end is under way
  bool settling_ = false;        // for the connection at hand, it is now
  int64_t ending_clock_ns_ = INT64_MIN;
  uint32_t cursor_ = 0;  // where in the table it has got to
  EngineStats stats_;
  std::vector<ParserStats> parser_stats_;
  uint32_t bursts_ = 0;
  bool timed_ = false;
};

EngineStats& EngineStats::operator+=(const EngineStats& other) {
  packets += other.packets;
  tuples += other.tuples;
  connections += other.connections;
  live_connections += other.live_connections;
  reassembly_bytes += other.reassembly_bytes;
  for (int reason = 0; reason < kLossReasons; ++reason) losses[reason] += other.losses[reason];
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
void Engine::set_parser_queries(uint32_t parser, uint64_t queries) { impl_->set_parser_queries(parser, queries); }
void Engine::process(std::span<Packet> burst) { impl_->process(burst); }
Engine::Absorbed Engine::absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints,
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
