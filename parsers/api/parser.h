#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsers/api/connection.h"
#include "parsers/api/packet.h"
#include "parsers/api/schema.h"
#include "parsers/api/statistics.h"
#include "parsers/api/tap.h"
#include "parsers/api/text.h"
#include "parsers/api/time.h"
#include "parsers/api/trigger_totals.h"
#include "parsers/api/tuple.h"

namespace tapline {

namespace trigger {
class Program;
class SharedTriggers;
}  // namespace trigger
class RouteFeed;

// The requirements of a parser. The engine performs only the look-ups and the reassembly that some parser requires.
struct Needs {
  bool packets = true;       // process() is called
  bool connections = false;  // TCP packets come with their connection
  bool datagrams = false;    // packets of all other protocols come with their flow, as a Connection
  bool streams = false;      // the parser is a StreamParser (implies connections)
  bool proxies = false;  // the parser also sees handshakes with SOCKS proxies; other parsers' streams begin after them
  // The length of intervals in packet time, after which on_interval() is called: at least kShortestIntervalNs, or 0 for
  // none. This is the only need that set_arguments() may change.
  int64_t interval_ns = 0;
  // If false, the parser needs only some of an open connection's packets without SYN, FIN and RST: the first in each
  // interval (in each second, if there are no intervals), and a count of the others in Connection::more_packets and
  // more_bytes. The engine then need not decode the others.
  bool every_packet = true;
  // If true, process() receives only packets that have to be decoded, and absorb() all others. REQUIRES: not
  // every_packet.
  bool absorbs = false;
  // If true, and several taps show a packet, process() receives each view, in time order, with Packet::tap. Views after
  // the first have Packet::repeated_view set and no connection. The first view may precede the query. If false,
  // process() receives only the first view.
  bool all_views = false;
  // If true, process() also receives each view of each IP fragment, with Packet::fragment set, before the reassembled
  // datagram.
  bool fragments = false;
  // If true, on_loss() is called, and the losses before the end of an interval are reported before its on_interval().
  bool losses = false;
  // Size of the parser's state in each connection (or flow, or both, as requested above). The state is initially zero
  // and aligned to 8 bytes. A nonzero size also requests connections, unless `datagrams` is set.
  uint16_t connection_state_bytes = 0;
};

// Packets that were lost before they reached the parsers, at unknown times between `from_ns` and `until_ns` (both
// included), in packet time.
struct LostPackets {
  uint64_t packets = 0;
  int64_t from_ns = 0;
  int64_t until_ns = 0;
};

// A parser's output, and its view of the engine. Valid during the call that receives it.
class Emitter {
 public:
  // The engine owns `clock_ns`.
  Emitter(uint32_t parser, TupleSink* sink, int64_t* clock_ns) : sink_(sink), clock_ns_(clock_ns), parser_(parser) {}

  // Returns packet time: the maximum of the packets' times so far. It becomes the tuples' time_ns; durations are
  // computed from the packets' own times.
  int64_t now_ns() const { return *clock_ns_; }

  // Returns the header of a tuple that this packet completes, for the queries that want the packet.
  TupleHeader header_of(const Packet& packet);
  // Returns the header for a connection, at the current packet time, for all of its queries.
  TupleHeader header_of(const Connection& connection) const;

  // Emits a tuple, with strings encoded as text.h describes. Skips a tuple that no query wants. REQUIRES:
  // header.time_ns is not below that of an earlier tuple for any of its queries.
  void emit(TupleHeader header, std::span<const Value> values) {
    if (prepare(&header, &values)) sink_->emit(parser_, header, values);
  }
  // Emits a tuple that is also an event. REQUIRES: schema().events.
  void emit_event(TupleHeader header, std::span<const Value> values) {
    if (prepare(&header, &values)) sink_->event(parser_, header, values);
  }
  void emit_event(const TupleHeader& header, std::initializer_list<Value> values) {
    emit_event(header, std::span<const Value>(values.begin(), values.size()));
  }
  void emit(const TupleHeader& header, std::initializer_list<Value> values) {
    emit(header, std::span<const Value>(values.begin(), values.size()));
  }
  void emit(const Packet& packet, std::initializer_list<Value> values) { emit(header_of(packet), values); }

  // Counts a loss for each query in the mask.
  void lose(LossReason reason, uint64_t count, uint64_t queries) {
    losses_[static_cast<int>(reason)] += count;
    if ((queries & queries_) != 0) sink_->lose(reason, count, queries & queries_);
  }

 private:
  friend class Engine;

  // Encodes the strings, and removes queries that do not want this parser. Returns false if none is left.
  bool prepare(TupleHeader* header, std::span<const Value>* values) {
    header->queries &= queries_;
    if (header->queries == 0) return false;
    ++tuples_;
    if (must_encode(*values)) [[unlikely]]
      *values = encoded(*values);
    return true;
  }
  LineBreaks line_breaks_of(size_t value) const {
    return value < 64 && (statements_ >> value & 1) != 0 ? LineBreaks::kKeep : LineBreaks::kEncode;
  }
  bool must_encode(std::span<const Value> values) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].type() != FieldType::kString || !values[i].present()) continue;
      if (tapline::must_encode(values[i].as_string(), line_breaks_of(i))) return true;
    }
    return false;
  }
  // Returns the values with encoded strings, valid until the next call.
  std::span<const Value> encoded(std::span<const Value> values);

  TupleSink* sink_;
  int64_t* clock_ns_;
  uint64_t queries_ = ~0ull;  // queries that want this parser
  uint64_t tuples_ = 0;
  uint64_t losses_[kLossReasons] = {};
  uint32_t parser_;
  uint64_t statements_ = 0;  // bit per value that is a statement
  std::vector<Value> encoded_;
  std::string texts_;  // the strings of encoded_
};

// Processes bursts of packets and emits tuples. One instance per lane: no locks, no shared state, no allocation per
// packet.
class Parser {
 public:
  virtual ~Parser() = default;
  virtual const Schema& schema() const = 0;
  virtual Needs needs() const { return {}; }

  // Receives packets in capture order. At least one query wants each packet (queries != 0), and all lie within the
  // interval that contains now_ns().
  virtual void process(std::span<const Packet> /*burst*/, Emitter& /*out*/) {}

  // Receives undecoded packets (Needs::absorbs) of the interval that contains now_ns(). Packets of a connection arrive
  // in capture order, also in relation to process(); those of different connections may not.
  virtual void absorb(std::span<const PlainPacket> /*burst*/, Emitter& /*out*/) {}

  // Called when packet time has passed the end of an interval, but only for the latest interval that had packets.
  // `end_ns` is its last nanosecond + 1, a multiple of needs().interval_ns since the epoch.
  virtual void on_interval(int64_t /*end_ns*/, Emitter& /*out*/) {}
  // Returns the end of a later interval for which on_interval() must be called even if no packet arrives; INT64_MAX if
  // there is none. Called after each on_interval().
  virtual int64_t due_ns() const { return INT64_MAX; }

  // Reports lost packets (Needs::losses), which some query may have wanted.
  virtual void on_loss(const LostPackets& /*lost*/) {}

  // Returns true if work is left that may be done between bursts. continue_work() then does a part of it that takes a
  // few microseconds, so that packets need not wait.
  virtual bool has_work() const { return false; }
  virtual void continue_work(Emitter& /*out*/) {}

  // Called when `queries` will see no more of this connection, because it timed out, was replaced or evicted, or the
  // queries end. Emit pending tuples for these queries only, and leave the state unchanged, since other queries may
  // continue.
  virtual void on_end(Connection& /*connection*/, uint64_t /*queries*/, Emitter& /*out*/) {}

  // Sets the values of schema().arguments, in schema order, with which query `query` (a bit number) requests this
  // parser's tuples. Called before the query's first packet, and again when the number is reused for another query.
  // Strings are valid during the call. Not called if the parser has no arguments.
  virtual void set_arguments(uint32_t /*query*/, std::span<const Value> /*arguments*/) {}

  // Called when these queries end: emit pending tuples that belong to no connection. on_end() follows for each of their
  // connections.
  virtual void on_queries_end(uint64_t /*queries*/, Emitter& /*out*/) {}

  // Sets the names of the monitor's taps, by Packet::tap; valid during the call. Called at most once, before the first
  // packet. If it is not called, there is one tap without names. The entry of a tap without a switch may be filled in
  // later, before the tap's first packet, if the tap shows a queue; such entries stay valid for the parser's lifetime.
  virtual void set_taps(std::span<const TapNames> /*taps*/) {}

  // Sets the source of the monitor's metrics, for the one parser that reports them. May be null.
  virtual void set_statistics(const StatisticsSource* /*source*/) {}

  // Sets the routes of the network, for parsers that infer ports; null if there are none. Called at most once, before
  // the first packet.
  virtual void set_routes(RouteFeed* /*routes*/) {}

  // Sets the triggers of query `query`, for the one parser that evaluates them; null if there are none. Called at the
  // same time as set_arguments(). `shared` combines their counts with those of other lanes; it is null if no other lane
  // has packets of the query and the triggers stay the same.
  virtual void set_triggers(uint32_t /*query*/, std::shared_ptr<const trigger::Program> /*triggers*/,
                            std::shared_ptr<trigger::SharedTriggers> /*shared*/) {}

  // Returns the counters of the parser that evaluates triggers; all 0 for others.
  virtual TriggerTotals trigger_totals() const { return {}; }

  // Called when the connection's entry is about to be reused: free the memory that its state owns. Always follows
  // on_end() for all its queries.
  virtual void on_release(Connection& /*connection*/) {}

 protected:
  // Returns this parser's state in the connection. REQUIRES: sizeof(State) <= needs().connection_state_bytes.
  template <typename State>
  State& state_of(const Connection& connection) const {
    auto* base = const_cast<Connection&>(connection).parser_state();
    return *reinterpret_cast<State*>(base + state_offset_);
  }

  // Declares that the payload shows that `side` is the client. Overrides only guesses by port and earlier claims.
  static void claim_client(Connection& connection, Side side) {
    if (connection.client_known_by < ClientKnownBy::kProtocol) return;
    connection.client_side = side;
    connection.client_known_by = ClientKnownBy::kProtocol;
  }

 private:
  friend class Engine;
  uint32_t state_offset_ = 0;
};

// The minimum interval of a parser. Each interval's end costs a call per parser, and ends the current burst.
inline constexpr int64_t kShortestIntervalNs = 100'000;

inline constexpr int kLookAheadSteps = 3;

// The origin of a piece of a stream: its packet's time, its offset, and the peer bytes that the packet acknowledges.
struct Segment {
  int64_t time_ns;  // capture time of the packet that carried it
  uint64_t offset;  // position of its first byte in this side's stream; 0: the first byte after the SYN, or the first
                    // one seen
  uint64_t peer_offset;    // number of bytes of the other side's stream that its packet acknowledged
  bool peer_offset_known;  // false without an ACK, or while the other side's stream position is unknown
};

enum class StreamVerdict : uint8_t { kContinue, kGiveUp };
enum class StreamEnd : uint8_t { kFin, kReset, kGivenUp };

// Receives the captured bytes of both directions of each TCP connection, in order and once each. `Side` distinguishes
// the directions; the connection records which side is the client, and a parser may correct that with claim_client().
class StreamParser : public Parser {
 public:
  // Receives bytes in order, split anywhere. The span is invalid after the call. Return kGiveUp if this parser wants no
  // more of the connection.
  virtual StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes,
                                const Segment& segment, Emitter& out) = 0;
  // Called when `bytes` bytes between the previous data and the next were never captured.
  virtual StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                               Emitter& out) = 0;
  // Called when this side's stream ends. kReset ends both sides, with one call for each.
  virtual void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns, Emitter& out) = 0;
  // Announces the connection of an upcoming packet. Each of the kLookAheadSteps steps runs over a whole burst before
  // the next step begins, and reads what the previous step prefetched, so a chain of cache misses stalls once per burst
  // instead of once per packet.
  virtual void look_ahead(const Connection& /*connection*/, int /*step*/) const {}
};

// A stateless parser: a schema and a function `void(const Packet&, Emitter&)`.
template <typename Extract>
class PacketParser final : public Parser {
 public:
  PacketParser(Schema schema, Extract extract) : schema_(std::move(schema)), extract_(std::move(extract)) {}
  const Schema& schema() const override { return schema_; }
  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) extract_(packet, out);
  }

 private:
  Schema schema_;
  Extract extract_;
};

template <typename Extract>
std::unique_ptr<Parser> packet_parser(Schema schema, Extract extract) {
  return std::make_unique<PacketParser<Extract>>(std::move(schema), std::move(extract));
}

}  // namespace tapline
