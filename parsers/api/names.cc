#include <array>

#include "parsers/api/packet.h"
#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"

namespace tapline {

std::string_view drop_reason(DecodeOutcome outcome) {
  static constexpr std::array<std::string_view, kDecodeOutcomes> kNames = {
      "", "truncated", "not_ip", "malformed", "fragment", "unsupported_link", "too_many_headers"};
  return kNames[static_cast<size_t>(outcome)];
}

std::string_view name_of(FieldType type) {
  static constexpr std::array<std::string_view, 6> kNames = {"u64", "i64", "f64", "bool", "string", "address"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view name_of(Layer layer) {
  static constexpr std::array<std::string_view, 3> kNames = {"network", "transport", "application"};
  return kNames[static_cast<size_t>(layer)];
}

std::string_view name_of(ClientKnownBy known_by) {
  static constexpr std::array<std::string_view, 4> kNames = {"handshake", "query", "protocol", "port"};
  return kNames[static_cast<size_t>(known_by)];
}

std::string_view name_of(LossReason reason) {
  static constexpr std::array<std::string_view, kLossReasons> kNames = {
      "connection_table_full", "stream_gap",         "reassembly_flow_full", "reassembly_total_full",
      "head_too_long",         "too_many_pending",   "parser_memory_full",   "invalid_tuple",
      "plugin_left_out",       "telemetry_unusable", "route_unknown",        "route_ambiguous",
      "route_changing",        "switch_unknown"};
  return kNames[static_cast<size_t>(reason)];
}

LossUnit unit_of(LossReason reason) {
  switch (reason) {
    case LossReason::kGap:
    case LossReason::kReassemblyFlowFull:
    case LossReason::kReassemblyTotalFull:
      return LossUnit::kStreamBytes;
    case LossReason::kConnectionTableFull:
    case LossReason::kHeadTooLong:
    case LossReason::kTooManyPending:
    case LossReason::kParserMemoryFull:
    case LossReason::kPluginLeftOut:
    case LossReason::kTelemetryUnusable:
    case LossReason::kRouteUnknown:
    case LossReason::kRouteAmbiguous:
    case LossReason::kRouteChanging:
    case LossReason::kSwitchUnknown:
      return LossUnit::kFlows;
    case LossReason::kInvalidTuple:
      return LossUnit::kTuples;
  }
  return LossUnit::kFlows;
}

std::span<const Field> common_fields() {
  static const std::array<Field, 8> kFields = {{
      {"time_ns", FieldType::kI64, "ns", "Packet time since the epoch at which the tuple became certain"},
      {"flow_hash", FieldType::kU64, "", "Keyed hash of the flow, the same in both directions"},
      {"flow_incarnation", FieldType::kU64, "", "The client's initial sequence number; 0 = unknown"},
      {"client_known_by", FieldType::kString, "", "How the client was identified: handshake, query, protocol or port"},
      {"src_ip", FieldType::kAddress, "", "The client's address"},
      {"src_port", FieldType::kU64, "", "The client's port"},
      {"dst_ip", FieldType::kAddress, "", "The server's address"},
      {"dst_port", FieldType::kU64, "", "The server's port"},
  }};
  return kFields;
}

std::string_view name_of(TextKind kind) {
  switch (kind) {
    case TextKind::kUrl:
      return "url";
    case TextKind::kSql:
      return "sql";
    case TextKind::kKey:
      return "key";
    default:
      return "plain";
  }
}

TextKind text_kind_of(const Field& field) {
  if (field.type != FieldType::kString || field.text != TextKind::kPlain) return field.text;
  if (field.name == "url") return TextKind::kUrl;
  if (field.name == "statement" || field.name == "query") return TextKind::kSql;
  return field.name == "key" || field.name == "keys" ? TextKind::kKey : TextKind::kPlain;
}

}  // namespace tapline
