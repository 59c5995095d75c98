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
  uint32_t max_connections = 1 << 20;           // memory is touched as they appear; the least useful is evicted beyond
  uint64_t max_reassembly_bytes = 64ull << 20;  // out-of-order data of all flows
  uint32_t max_flow_reassembly_bytes = 512 << 10;  // out-of-order data of one flow
  int64_t handshake_timeout_ns =
      75'000'000'000;  // longer than the gap between two SYN retransmissions (RFC 6298: 64 s)
  int64_t idle_timeout_ns = 300'000'000'000;
  int64_t datagram_timeout_ns = 60'000'000'000;  // UDP and ICMP flows, which tell nobody that they are over
  int64_t closed_timeout_ns = 10'000'000'000;    // how long an ended connection still absorbs stray packets
  uint64_t* live_flows = nullptr;  // 64 counters: connections now followed for each query; null: not counted
};

// Counters since the start.
struct EngineStats {
  uint64_t packets = 0;
  uint64_t tuples = 0;
  uint64_t connections = 0;       // started
  uint64_t live_connections = 0;  // in the table now
  uint64_t reassembly_bytes = 0;  // out-of-order data held now
  uint64_t losses[kLossReasons] = {};

  EngineStats& operator+=(const EngineStats& other);
};

// What one parser did, and what it cost.
struct ParserStats {
  std::string_view name;
  uint64_t packets = 0;  // packets and pieces of streams that it was handed
  uint64_t tuples = 0;
  // One burst in so many is timed.
  uint64_t sampled_packets = 0;
  uint64_t sampled_cycles = 0;  // of the time stamp counter

  ParserStats& operator+=(const ParserStats& other);
};

// Runs parsers over the packets of one lane: keeps the one connection table, reassembles streams if a parser asks for
// them, ticks time. One engine per polling core; not thread-safe. Bounded in everything, no allocation per packet once
// warm.
//
// A burst goes through packet by packet; what each parser emits for a packet comes before anything of the next one, so
// time_ns never decreases in what the sink sees.
class Engine {
 public:
  // `sink` outlives the engine. Tuples carry the index of their parser in `parsers`.
  Engine(std::vector<std::unique_ptr<Parser>> parsers, TupleSink* sink, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Parser& parser(uint32_t index) const;
  uint32_t parser_count() const;

  // Which queries want this parser's tuples: others are left out of the tuples' masks. All bits at first. A parser that
  // none wants is not run. Between bursts, these may come and go: a parser sees connections that were there before it
  // as joined in mid-stream. REQUIRES, for bits taken away: their end_queries(), or continue_end(), is done.
  void set_parser_queries(uint32_t parser, uint64_t queries);

  // Decoded packets in capture order, each with queries != 0; 1 to 64 of them is best. Sets connection, direction,
  // tcp_events. The bytes are not needed after the call.
  void process(std::span<Packet> burst);

  // What absorb() did with the packets that it looked at: the first `scanned` of the burst.
  struct Absorbed {
    uint32_t scanned = 0;
    uint64_t left = 0;     // bits of those among them that process() is to see; the others are dealt with
    uint32_t packets = 0;  // that are dealt with
    uint64_t bytes = 0;    // theirs, on the wire
    int64_t latest_ns = INT64_MIN;
    // The same by the queries that want them; good until the next call.
    struct Share {
      uint64_t queries;
      uint64_t packets;
      uint64_t bytes;
    };
    std::span<const Share> shares = {};
  };

  // Deals with packets that can matter to no parser: see Needs::every_packet. Most packets are so where parsers look at
  // connections rather than at what they carry, and need then not be decoded, matched or shown.
  //
  // `unconditional` queries want each packet of the burst, whatever it is; of the `endpoints` queries each wants all
  // packets of a connection or none, which process() has been shown since they came. All other queries have no part in
  // the burst. Nothing at `end_ns` or later is dealt with.
  // After the call, process() has to see the packets left, in order, and then advance(latest_ns) is due if there were
  // any, before the rest of the burst is looked at. So the order of one connection's packets is kept, and that of
  // packet times. Scans nothing if some parser is interested in every packet.
  Absorbed absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints, int64_t end_ns);

  // Packet time is at least now_ns although no packet says so: for idle interfaces. Never call it with wall clock on
  // capture files.
  void advance(int64_t now_ns);

  // These queries end here (LIMIT, stop): emits what is pending for them alone, then forgets them. The bits may be used
  // again.
  void end_queries(uint64_t queries);

  // The same in steps, for lanes that can't wait while a million connections are looked at: their end is now, and
  // continue_end() looks at up to so many more entries of the table. True when all is done. Tuples of the ending
  // queries keep the time of begin_end(), others go on. REQUIRES: from now on no packet is theirs; a second begin_end()
  // only when the first is done, or at the same packet time.
  void begin_end(uint64_t queries);
  bool continue_end(uint32_t connections);

  // The end of the capture: end_queries() for all, and an empty table. The engine may then be used afresh.
  void end();

  // Running maximum of packet time: no later tuple has a smaller time_ns. INT64_MIN before the first packet.
  int64_t now_ns() const;
  EngineStats stats() const;
  // In the order of the parsers.
  std::span<const ParserStats> parser_stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
