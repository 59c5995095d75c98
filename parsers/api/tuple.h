#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/api/address.h"
#include "parsers/api/schema.h"

namespace tapline {

// The evidence for the client side of a flow, the most certain first.
enum class ClientKnownBy : uint8_t {
  kHandshake,  // sender of the SYN, or receiver of the SYN/ACK
  kQuery,      // the side that is not the query's TO
  kProtocol,   // a parser recognised a request
  kPort,       // the side with the higher port
};
std::string_view name_of(ClientKnownBy known_by);  // "handshake", "query", "protocol", "port"

// The common columns of a tuple. The source is the client.
struct TupleHeader {
  int64_t time_ns = 0;  // time of the tuple's completion; never decreases within a lane and query
  uint64_t flow_hash = 0;
  uint32_t flow_incarnation = 0;  // client's initial sequence number, 0 = unknown
  ClientKnownBy client_known_by = ClientKnownBy::kPort;
  uint16_t src_port = 0;
  uint16_t dst_port = 0;
  IpAddress src_ip;
  IpAddress dst_ip;
  uint64_t queries = 0;  // the queries that receive this tuple, never 0
};

// One value of a tuple, 16 bytes. Strings are borrowed: valid during the call that receives them.
//
// An absent value is one that the parser could not determine. Zero and "" are always measured values. Consumers that do
// not check for absence read zero or "".
class Value {
 public:
  static Value u64(uint64_t value) { return Value(FieldType::kU64, value); }
  static Value i64(int64_t value) { return Value(FieldType::kI64, static_cast<uint64_t>(value)); }
  static Value f64(double value) {
    Value result(FieldType::kF64, 0);
    result.f64_ = value;
    return result;
  }
  static Value boolean(bool value) { return Value(FieldType::kBool, value); }
  static Value string(std::string_view value) {
    Value result(FieldType::kString, 0);
    result.text_ = value.data();
    result.size_ = static_cast<uint32_t>(value.size());
    return result;
  }

  // REQUIRES: the field is optional.
  static Value absent(FieldType type) {
    Value result(type, 0);
    if (type == FieldType::kString) result.text_ = "";
    result.present_ = false;
    return result;
  }

  FieldType type() const { return type_; }
  bool present() const { return present_; }
  // REQUIRES: type() matches.
  uint64_t as_u64() const { return u64_; }
  int64_t as_i64() const { return static_cast<int64_t>(u64_); }
  double as_f64() const { return f64_; }
  bool as_bool() const { return u64_ != 0; }
  std::string_view as_string() const { return {text_, size_}; }

 private:
  Value(FieldType type, uint64_t value) : type_(type), u64_(value) {}

  FieldType type_;
  bool present_ = true;
  uint32_t size_ = 0;
  union {
    uint64_t u64_;
    double f64_;
    const char* text_;
  };
};

// The reason why a parser or the engine lost data.
enum class LossReason : uint8_t {
  kConnectionTableFull,  // flows: evicted before their end
  kGap,                  // stream bytes never captured, or captured after their hole was skipped
  kReassemblyFlowFull,   // stream bytes: a flow's out-of-order buffer overflowed
  kReassemblyTotalFull,  // stream bytes: the out-of-order buffers of all flows overflowed
  kHeadTooLong,          // flows: a message head exceeds the parser's bound
  kTooManyPending,       // flows: too many open transactions in one flow; the oldest was emitted incomplete
  kParserMemoryFull,     // flows: a parser's own state is full
  kInvalidTuple,         // tuples: a plug-in's tuples that violate its schema
  kPluginLeftOut,        // flows: not passed to a plug-in that is disabled
  kTelemetryUnusable,    // flows: hops in packets whose telemetry is incomplete or contradictory
  kRouteUnknown,         // flows: packets without an output port, since no route to their address is known
  kRouteAmbiguous,       // flows: packets without an output port, since their switch chooses it by an unknown hash
  kRouteChanging,        // flows: packets without an output port, since their switch may have used an earlier route
  kSwitchUnknown,        // flows: packets without an output port, since no route of their switch is known
};
inline constexpr int kLossReasons = 14;
enum class LossUnit : uint8_t { kTuples, kStreamBytes, kFlows };
std::string_view name_of(LossReason reason);  // as in TupleBatch.accounting: "connection_table_full", …
LossUnit unit_of(LossReason reason);

// Receives tuples and losses. The monitor implements it (an encoder per query, JSON lines). Called on the engine's
// thread.
class TupleSink {
 public:
  virtual ~TupleSink() = default;
  // `parser` is the parser's index in the engine; `values` match the parser's schema in number, order and type.
  virtual void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) = 0;
  // Receives a tuple that is also an event, which reaches people and programs within milliseconds if the output
  // supports events.
  virtual void event(uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
    emit(parser, header, values);
  }
  virtual void lose(LossReason reason, uint64_t count, uint64_t queries) = 0;
};

}  // namespace tapline
