#include "parsers/api/parser.h"

namespace tapline {
namespace {

// Declares the fields of packets that triggers can use. The parser `trigger` counts the packets.
class PacketsParser final : public Parser {
 public:
  const Schema& schema() const override;
  Needs needs() const override { return {.packets = false, .every_packet = false}; }
  void process(std::span<const Packet> /*burst*/, Emitter& /*out*/) override {}
};

const Schema& PacketsParser::schema() const {
  static const Schema schema = {
      .name = "packets",
      .description = "Single packets, counted only by triggers; emits no tuples",
      .layer = Layer::kTransport,
      .fields = {{"bytes", FieldType::kU64, "bytes", "Bytes on the wire, including the link header", true},
                 {"payload_bytes", FieldType::kU64, "bytes", "Payload of TCP or UDP, or of IP", true},
                 {"syn", FieldType::kBool, "", "TCP with SYN and without ACK"},
                 {"syn_ack", FieldType::kBool, "", "TCP with SYN and ACK"},
                 {"fin", FieldType::kBool, "", "TCP with FIN"},
                 {"rst", FieldType::kBool, "", "TCP with RST"},
                 {"retransmitted", FieldType::kBool, "", "The packet repeats TCP payload"},
                 {"out_of_order", FieldType::kBool, "", "The packet's payload fills a hole that is at most 3 ms old"},
                 {"retransmitted_bytes", FieldType::kU64, "bytes", "TCP payload that was sent before", true},
                 {"missing_bytes", FieldType::kU64, "bytes", "TCP payload missing immediately before the segment",
                  true},
                 optional({"rtt_ns", FieldType::kU64, "ns",
                           "Time from a TCP segment, as captured here, to the ACK that covers it"}),
                 {"in_flight_bytes", FieldType::kU64, "bytes",
                  "TCP payload in flight at the end of the previous window", true},
                 {"unacked_bytes", FieldType::kU64, "bytes",
                  "Part of in_flight_bytes that was not acknowledged in this window", true}},
      .main_fields = {"src_ip"},
      .value_field = "bytes",
      .counted = true,
      .example = {"1514", "1448", "false", "false", "false", "false", "false", "false", "0", "0", "", "0", "0"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_packets() { return std::make_unique<PacketsParser>(); }

}  // namespace tapline
