#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/api/parser.h"
#include "parsers/api/tuple.h"

namespace tapline {

// Bounds of one lane's engine. All times are packet time.
struct EngineOptions {
  uint32_t max_connections = 1 << 20;              // memory is touched on use; a full table evicts the least useful
  uint64_t max_reassembly_bytes = 64ull << 20;     // out-of-order data of all flows
  uint32_t max_flow_reassembly_bytes = 512 << 10;  // out-of-order data of one flow
  int64_t handshake_timeout_ns =
      75'000'000'000;  // longer than the gap between two SYN retransmissions (RFC 6298: 64 s)
  int64_t idle_timeout_ns = 300'000'000'000;
  int64_t datagram_timeout_ns = 60'000'000'000;  // UDP and ICMP flows, which do not signal their end
  int64_t closed_timeout_ns = 10'000'000'000;    // time for which an ended connection absorbs stray packets
  // True if the caller calls continue_work() between bursts. Otherwise, parsers finish their work at once, when an
  // interval ends.
  bool postpones_work = false;
  uint64_t* live_flows = nullptr;  // 64 counters: live connections of each query; null: not counted
};

// Counters since the start.
struct EngineStats {
  uint64_t packets = 0;
  uint64_t tuples = 0;
  uint64_t connections = 0;       // started
  uint64_t live_connections = 0;  // connections in the table now
  uint64_t reassembly_bytes = 0;  // out-of-order data in memory now
  uint64_t losses[kLossReasons] = {};
  TriggerTotals triggers;

  EngineStats& operator+=(const EngineStats& other);
};

// One parser's work, and its cost.
struct ParserStats {
  std::string_view name;
  uint64_t packets = 0;  // packets and stream pieces that it received
  uint64_t tuples = 0;
  // Only a sample of the bursts is timed.
  uint64_t sampled_packets = 0;
  uint64_t sampled_cycles = 0;  // cycles of the time stamp counter

  ParserStats& operator+=(const ParserStats& other);
};

// Runs parsers over the packets of one lane: keeps the shared connection table, reassembles streams for the parsers
// that need them, and advances time. One engine per polling core; not thread-safe. All memory is bounded, and a warm
// engine allocates nothing per packet.
//
// A burst is processed packet by packet; all tuples for a packet are emitted before any for the next one, so time_ns
// never decreases in the sink.
class Engine {
 public:
  // Tuples carry the index of their parser in `parsers`. REQUIRES: `sink` outlives the engine.
  Engine(std::vector<std::unique_ptr<Parser>> parsers, TupleSink* sink, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Parser& parser(uint32_t index) const;
  uint32_t parser_count() const;

  // Sets the queries that want this parser's tuples; other queries are removed from the tuples' masks. Initially all
  // bits are set. A parser that no query wants does not run. Queries may be added and removed between bursts; a parser
  // then sees older connections as joined in mid-stream. REQUIRES, for removed bits: end_queries() or continue_end()
  // has finished for them.
  void set_parser_queries(uint32_t parser, uint64_t queries);

  // Passes a query's arguments to a parser: one value for each argument that its schema declares. REQUIRES: called
  // between bursts, before the query's first packet.
  void set_arguments(uint32_t parser, uint32_t query, std::span<const Value> arguments);
  // Sets a query's triggers; null if there are none.
  void set_triggers(uint32_t parser, uint32_t query, std::shared_ptr<const trigger::Program> triggers,
                    std::shared_ptr<trigger::SharedTriggers> shared = nullptr);

  // Returns true if a parser that some query wants needs repeated views.
  bool wants_all_views() const;
  // Returns true if a parser that some query wants needs fragments.
  bool wants_fragments() const;

  // Processes a burst of decoded packets, ideally 1 to 64, in capture order. Sets connection, direction and tcp_events.
  // Repeated views reach only the parsers that need them, and have no other effect. The packets' bytes may be freed
  // after the call. REQUIRES: each packet has queries != 0.
  void process(std::span<Packet> burst);

  // The result of absorb() for the packets that it examined: the first `scanned` of the burst.
  struct AbsorbResult {
    uint32_t scanned = 0;
    uint64_t left = 0;     // bits of the scanned packets that need process(); the others are absorbed
    uint32_t packets = 0;  // number of packets absorbed
    uint64_t bytes = 0;    // bytes of these packets on the wire
    int64_t latest_ns = INT64_MIN;
    // Counts consecutive absorbed packets that the same queries want. Valid until the next call.
    struct Share {
      uint64_t queries;
      uint64_t packets;
      uint64_t bytes;
    };
    std::span<const Share> shares = {};
  };

  // Absorbs packets that no parser has to see decoded (Needs::every_packet), and passes them to the parsers that count
  // them nevertheless (Needs::absorbs). Most packets are of this kind if parsers look at connections rather than at
  // payload. Absorbed packets need no decoding and no matching.
  //
  // Packets at `end_ns` or later are not absorbed. After the call, pass the packets in `left` to process() in order,
  // and then, if packets were absorbed, call advance(latest_ns) before examining the rest of the burst. This keeps the
  // order of each connection's packets, and of packet times. Examines nothing if some parser needs every packet.
  // REQUIRES: the `unconditional` queries want every packet of the burst; each of the `endpoints` queries wants all
  // packets of a connection or none, and process() or absorb() has received those packets since the query was added; no
  // other query wants any packet of the burst.
  AbsorbResult absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints, int64_t end_ns);

  // Returns true if a parser that some query wants needs losses. Then report losses before the packets or times that
  // end an interval, each millisecond of packet time.
  bool wants_losses() const;
  // Passes a report of lost packets to the parsers that need it.
  void lose(const LostPackets& lost);

  // Returns true if a parser has work that may be done between bursts. Each continue_work() does a part of it.
  bool has_work() const;
  void continue_work();

  // Advances packet time to at least now_ns without a packet, on idle interfaces. Never pass wall-clock time with
  // capture files.
  void advance(int64_t now_ns);

  // Ends these queries (LIMIT, stop): emits their pending tuples, without affecting other queries, then removes them.
  // Their bits may be reused.
  void end_queries(uint64_t queries);

  // Ends queries in steps, for lanes that can't pause while a million connections are visited: begin_end() sets the
  // time of the end, and continue_end() visits up to `connections` more table entries and returns true once done.
  // Tuples of the ending queries keep the time of begin_end(); other queries continue. REQUIRES: no later packet
  // belongs to these queries; begin_end() is called again only after the first end is complete, or at the same packet
  // time.
  void begin_end(uint64_t queries);
  bool continue_end(uint32_t connections);

  // Ends the capture: ends all queries, and clears the table. The engine may then be reused.
  void end();

  // Returns the running maximum of packet time: no later tuple has a smaller time_ns, except for queries that are
  // ending. INT64_MIN before the first packet.
  int64_t now_ns() const;
  EngineStats stats() const;
  // Returns the statistics in the order of the parsers.
  std::span<const ParserStats> parser_stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
