#include <array>

#include "parsers/api/parser.h"

namespace tapline {
namespace {

constexpr uint64_t kExpeditedForwarding = 46;  // RFC 3246
constexpr size_t kCodePoints = 64;             // RFC 2474: six bits

// Emits a tuple and an event for each packet whose IP header has the code point that the query names.
class MarkedPacket final : public Parser {
 public:
  MarkedPacket() { queries_of_[kExpeditedForwarding] = ~uint64_t{0}; }

  const Schema& schema() const override {
    static const Schema schema = {
        .name = "marked_packet",
        .description = "Packets with one differentiated services code point",
        .layer = Layer::kNetwork,
        .fields = {{"dscp", FieldType::kU64, "", "Differentiated services code point, 0 to 63"},
                   {"ecn", FieldType::kU64, "", "Explicit congestion notification, 0 to 3; 3: congestion experienced"},
                   {"bytes", FieldType::kU64, "bytes", "Bytes on the wire, including the link header", true}},
        .main_fields = {"src_ip", "dst_ip"},
        .value_field = "bytes",
        .events = true,
        .arguments = {{"dscp", FieldType::kU64, "", "Code point of the packets to emit", "46", 0, kCodePoints - 1}},
        .example = {"46", "0", "1001"},
    };
    return schema;
  }

  void set_arguments(uint32_t query, std::span<const Value> arguments) override {
    const uint64_t bit = uint64_t{1} << query;
    for (uint64_t& queries : queries_of_) queries &= ~bit;
    queries_of_[arguments[0].as_u64()] |= bit;
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      const uint8_t traffic_class = traffic_class_of(packet);
      const uint64_t dscp = traffic_class >> 2;
      const uint64_t queries = packet.queries & queries_of_[dscp];
      if (queries == 0) continue;
      TupleHeader header = out.header_of(packet);
      header.queries = queries;
      out.emit_event(header, {Value::u64(dscp), Value::u64(traffic_class & 3u), Value::u64(packet.wire_bytes)});
    }
  }

 private:
  static uint8_t traffic_class_of(const Packet& packet) {
    const uint8_t* ip = packet.data + packet.ip_offset;
    return packet.ip_version == 4 ? ip[1] : static_cast<uint8_t>(ip[0] << 4 | ip[1] >> 4);
  }

  std::array<uint64_t, kCodePoints> queries_of_ = {};  // by code point
};

}  // namespace

std::unique_ptr<Parser> make_marked_packet() { return std::make_unique<MarkedPacket>(); }

}  // namespace tapline
