#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "parsers/engine/connection_table.h"
#include "parsers/engine/engine.h"
#include "parsers/engine/reassembler.h"
#include "parsers/engine/syn_cache.h"
#include "parsers/engine/tcp_tracker.h"

namespace tapline {

inline constexpr size_t kMaxAbsorbed = 64;  // bits of Engine::AbsorbResult::left

// Every parser that a query may request is loaded at the start, so that each has its slot in a connection's entry; an
// unrequested parser costs no time. A burst is processed packet by packet. If the only requested parser reads no
// streams, it receives several packets at once (`run_`), up to the next event that could invalidate one of their
// connections.
//
//   engine.cc         bursts, connections, time
//   engine_absorb.cc  packets that no parser needs to see decoded
//   engine_end.cc     the end of queries and connections
//   engine_load.cc    parsers, and which of them run
class Engine::Impl final : public StreamReceiver {
 public:
  Impl(std::vector<std::unique_ptr<Parser>> parsers, TupleSink* sink, const EngineOptions& options);

  void process(std::span<Packet> burst);

  // A packet that is not plain could belong to any connection, so it ends absorption. A packet in `left` also ends
  // absorption for its connection (and for connections that share a few bits of its hash).
  AbsorbResult absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints, int64_t end_ns);

  void advance(int64_t now_ns);
  void lose(const LostPackets& lost);
  bool has_work() const;
  void continue_work();
  void set_parser_queries(uint32_t parser, uint64_t queries) {
    loaded_.at(parser).emitter.queries_ = queries;
    choose_active();
  }

  void set_arguments(uint32_t parser, uint32_t query, std::span<const Value> arguments);
  void set_triggers(uint32_t parser, uint32_t query, std::shared_ptr<const trigger::Program> triggers,
                    std::shared_ptr<trigger::SharedTriggers> shared) {
    loaded_.at(parser).parser->set_triggers(query, std::move(triggers), std::move(shared));
  }

  void begin_end(uint64_t queries);
  bool continue_end(uint32_t connections);
  void end_queries(uint64_t queries);
  void end() { end_queries(~0ull); }

  bool on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment) override;
  bool on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment, LossReason reason) override;
  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns) override;

  EngineStats stats() const;
  std::span<const ParserStats> parser_stats();
  int64_t now_ns() const { return clock_ns_; }
  const Parser& parser(uint32_t index) const { return *loaded_.at(index).parser; }
  bool wants_all_views() const { return views_; }
  bool wants_fragments() const { return fragments_; }
  bool wants_losses() const { return losses_; }
  uint32_t parser_count() const { return static_cast<uint32_t>(loaded_.size()); }

 private:
  struct LoadedParser {
    std::unique_ptr<Parser> parser;
    StreamParser* stream_parser;  // the same object, or null
    Needs needs;
    Emitter emitter;
    uint16_t ignore_bit;
    ParserStats stats;
    int64_t interval_end_ns = INT64_MIN;  // end of its current interval while it is active

    bool follows(bool is_tcp) const { return is_tcp ? needs_connections(needs) : needs.datagrams; }
  };
  // Space reserved for parser state in an entry. An entry is either a TCP connection or a flow of datagrams, so the
  // parsers of both kinds share the room.
  struct StateBytes {
    uint32_t tcp = 0;
    uint32_t datagrams = 0;
  };

  // Counts the packets of a parser call and, in timed bursts, its cycles: two reads of the time stamp counter take
  // about 50 cycles, which is too much for every packet.
  class Timer {
   public:
    Timer(LoadedParser* loaded, size_t packets, bool timed) : stats_(timed ? &loaded->stats : nullptr) {
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

  void load(std::unique_ptr<Parser> parser, StateBytes* state);
  static void check_interval(const Parser& parser);
  static uint32_t place(const Needs& needs, StateBytes* state);
  static bool needs_connections(const Needs& needs) {
    return needs.connections || needs.streams || (needs.connection_state_bytes > 0 && !needs.datagrams);
  }

  // Selects the parsers that queries want, and the work that these parsers need.
  void choose_active();

  // Prefetches the table entries and the parsers' state for a burst, so that its cache misses overlap.
  void look_ahead(std::span<const Packet> burst);

  // Reads the leading packets of the burst that are plain and earlier than `end_ns`, prefetches the data that they will
  // need, and returns their number.
  size_t read_plain(std::span<const RawPacket> burst, int64_t end_ns);

  // Applies the effects that process() would have on a packet that no parser has to see decoded. Sets
  // absorbed->direction, and absorbed->queries to the queries of its connection. Returns false, and changes no
  // connection, if a parser may have to see the packet.
  bool absorb_one(size_t i, const RawPacket& raw, uint64_t always, PlainPacket* absorbed);

  // Does the same for the first packet of a connection, a SYN. The connection gets its entry with the next packet:
  // recall().
  bool absorb_syn(size_t i, const RawPacket& raw, uint64_t always, PlainPacket* absorbed);

  // Passes absorbed packets to the parsers that want them.
  void pass_on(std::span<const PlainPacket> burst);

  // Returns true if no parser waits for a packet of this connection, and its queries are known to want all its packets.
  bool is_shown(const Connection& connection) const {
    if (shows_) return connection.shown_tick == tick_number_;
    return connection.shown_tick != 0 && tick_number_ - connection.shown_tick <= tick_number_ - shown_since_;
  }

  void deliver_run();
  // Delivers a packet that is counted elsewhere (Packet::repeated_view) to the parsers that want such packets.
  void deliver_view(Packet& packet);
  // Ends the intervals that are over and, if a second is over, idle connections. Called when time reaches the end of
  // the current period.
  void tick(int64_t time_ns);
  void end_intervals(int64_t time_ns);
  // Starts the next interval of each parser whose interval is over, and computes the current period.
  void begin_intervals(int64_t time_ns);
  int64_t deadline_ns(const Connection& connection) const;

  Connection* find(const Packet& packet, uint64_t hash, Side* side);
  void connect(Packet& packet, uint64_t hash);
  void connect_datagram(Packet& packet, uint64_t hash);
  void follow(Connection& connection, uint64_t queries) {
    if (options_.live_flows != nullptr) count_flows(queries & ~connection.queries, 1);
    connection.queries |= queries;
  }

  void forget(Connection& connection, uint64_t queries) {
    if (options_.live_flows != nullptr) count_flows(queries, -1);
    connection.queries &= ~queries;
  }

  void count_flows(uint64_t queries, int64_t change);
  Connection& start(const Packet& packet, uint64_t hash);

  // Starts the packet's connection with its SYN, if absorb_syn() has seen one. Otherwise returns null. Sets *side to
  // the side that sent the packet.
  Connection* recall(const Packet& packet, uint64_t hash, Side* side);
  void reassemble(Connection& connection, const Packet& packet, Side side);

  // Reschedules the connection, since each TCP state has its own timeout. Ends the streams after a reset.
  void state_changed(Connection& connection, const Packet& packet);

  // Ends a connection that is evicted or replaced. Delivers the run first, since its packets may refer to the
  // connection.
  void give_way(Connection& connection, const Packet& packet);

  // Returns true if a stream parser with queries has not given up the connection.
  bool wanted(const Connection& connection) const { return (all_ignore_ & ~connection.ignored_by) != 0; }

  // Ends the connection for the ending queries, at the time of their end. Returns true if it continues for other
  // queries.
  bool settle(Connection& connection);

  // Ends the connection for one parser. If the parser has no queries left, clears its state, so that it starts empty
  // when it is requested again.
  void end_for(LoadedParser& loaded, Connection& connection, uint64_t ending);
  void clear_state(LoadedParser& loaded, Connection& connection);

  // Clears the state of stream parsers: the connection's streams have ended at an apparent reset and now begin again.
  void forget_streams(Connection& connection);
  void retire(Connection& connection);
  void retire_now(Connection& connection);

  template <typename Call>
  bool for_each_stream_parser(Connection& connection, Call call) {
    uint16_t going_on = 0;
    const auto notify = [&](LoadedParser& loaded) {
      if (loaded.stream_parser == nullptr || (connection.ignored_by & loaded.ignore_bit) != 0) return;
      Timer timer(&loaded, 1, timed_);
      const bool gives_up = call(*loaded.stream_parser, loaded.emitter) == StreamVerdict::kGiveUp;
      (gives_up ? connection.ignored_by : going_on) |= loaded.ignore_bit;
    };
    if (settling_) [[unlikely]] {
      // Parsers whose queries are all ending are no longer in active_, but still have to emit pending tuples.
      for (LoadedParser& loaded : loaded_) {
        if (loaded.emitter.queries_ != 0) notify(loaded);
      }
    } else {
      for (LoadedParser* loaded : active_) notify(*loaded);
    }
    return going_on != 0;
  }

  // Handles bytes of a stream that may begin with a proxy handshake, which only parsers with Needs::proxies see.
  bool on_handshake(Connection& connection, Side side, std::span<const uint8_t> bytes, Segment segment);

  void lose(LossReason reason, uint64_t count, uint64_t queries);

  EngineOptions options_;
  TupleSink* sink_;
  std::vector<LoadedParser> loaded_;
  int stream_parsers_ = 0;
  uint16_t all_ignore_ = 0;
  bool may_connect_ = false;
  std::vector<LoadedParser*> active_;  // parsers with queries, in order; the fields below describe them
  bool connections_ = false;
  bool runs_ = false;
  bool views_ = false;               // true if some parser wants the repeated views of a packet
  bool fragments_ = false;           // true if some parser wants fragments
  bool losses_ = false;              // true if some parser wants losses
  bool views_in_runs_ = false;       // true if a run may include repeated views
  uint64_t connection_queries_ = 0;  // queries whose parsers need TCP connections
  uint64_t stream_queries_ = 0;
  uint64_t datagram_queries_ = 0;  // queries whose parsers need UDP and ICMP flows
  bool absorbs_ = false;
  bool passes_on_ = false;    // true if some parser wants absorbed packets (Needs::absorbs)
  bool shows_ = false;        // true if some parser wants the first packet of each connection in each interval
  bool caches_syns_ = false;  // true if no parser looks at the entry of a connection of which only a SYN was seen
  std::optional<ConnectionTable> table_;
  std::optional<SynCache> syns_;
  std::optional<Reassembler> reassembler_;
  std::vector<uint64_t> hashes_;             // hashes of the burst's packets
  std::vector<const Connection*> expected_;  // likely connections of the burst's packets
  std::array<PlainSegment, kMaxAbsorbed> plain_;
  std::array<uint64_t, kMaxAbsorbed> plain_hashes_ = {};
  std::array<Connection*, kMaxAbsorbed> probable_ = {};
  std::array<AbsorbResult::Share, kMaxAbsorbed> shares_ = {};
  std::array<PlainPacket, kMaxAbsorbed> absorbed_ = {};
  std::span<Packet> run_;
  int64_t clock_ns_ = INT64_MIN;
  int64_t second_end_ns_ = INT64_MIN;
  // The current period, within which no interval of an active parser begins or ends.
  int64_t tick_start_ns_ = INT64_MIN;
  int64_t tick_ns_ = INT64_MIN;
  uint32_t tick_number_ = 0;  // number of such periods so far
  // The period in which parsers, queries or (at the end of a second) sampling rates last changed.
  uint32_t shown_since_ = 0;
  uint64_t ending_ = 0;    // queries whose end is in progress
  bool settling_ = false;  // true while a connection whose queries are all ending is being retired
  int64_t ending_clock_ns_ = INT64_MIN;
  uint32_t cursor_ = 0;  // the next table entry to visit
  EngineStats stats_;
  std::vector<ParserStats> parser_stats_;
  uint32_t bursts_ = 0;
  bool timed_ = false;
};

}  // namespace tapline
