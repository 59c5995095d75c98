#include <array>
#include <charconv>
#include <utility>

#include "parsers/api/parser.h"

namespace tapline {
namespace {

// IANA's keywords, in lower case, for the protocols that occur in practice.
constexpr std::array<std::pair<uint8_t, std::string_view>, 22> kNames = {
    {{1, "icmp"},        {2, "igmp"},   {4, "ipv4"},      {8, "egp"},         {17, "udp"},  {33, "dccp"},
     {41, "ipv6"},       {46, "rsvp"},  {47, "gre"},      {50, "esp"},        {51, "ah"},   {58, "ipv6-icmp"},
     {59, "ipv6-nonxt"}, {88, "eigrp"}, {89, "ospf"},     {97, "etherip"},    {103, "pim"}, {112, "vrrp"},
     {115, "l2tp"},      {132, "sctp"}, {136, "udplite"}, {137, "mpls-in-ip"}}};

// Emits one tuple when a flow is first seen in each second of packet time, as tcp_flow_key does for TCP.
class IpFlow final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "ip_flow",
        .description = "Endpoints and protocol of each flow other than TCP, once for every second with packets",
        .layer = Layer::kTransport,
        .fields = {{"protocol", FieldType::kString, "",
                    "udp, icmp, sctp, gre, esp, …, or its number; gre-dtls: GRE in UDP, encrypted"}},
        .main_fields = {"protocol"},
        .interval_ns = kNsPerSecond,
        .example = {"udp"},
    };
    return schema;
  }

  Needs needs() const override {
    return {.datagrams = true, .every_packet = false, .connection_state_bytes = sizeof(State)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.connection != nullptr && !packet.is_tcp()) emit(packet, out);
    }
  }

  void on_end(Connection& flow, uint64_t queries, Emitter&) override { state_of<State>(flow).reported &= ~queries; }

 private:
  struct State {
    int64_t next_interval_ns;  // start of the interval in which the flow is next reported
    uint64_t reported;         // queries to which the flow was reported in this interval
  };

  void emit(const Packet& packet, Emitter& out) {
    State& state = state_of<State>(*packet.connection);
    if (state.reported == 0 || packet.time_ns >= state.next_interval_ns) {
      state.next_interval_ns = (packet.time_ns / kNsPerSecond + 1) * kNsPerSecond;
      state.reported = 0;
    }
    TupleHeader header = out.header_of(packet);
    header.queries &= ~state.reported;
    if (header.queries == 0) return;
    state.reported |= header.queries;
    out.emit(header, {Value::string(name_of(packet))});
  }

  // Returns true for a DTLS 1.0 or 1.2 record to the port of GRE in UDP with DTLS (RFC 8086 section 4), an opaque
  // tunnel.
  static bool is_encrypted_gre(const Packet& packet) {
    constexpr uint16_t kPort = 4755;
    const std::span<const uint8_t> record = packet.payload();
    return packet.is_udp() && packet.dst_port == kPort && record.size() >= 3 && record[0] >= 20 && record[0] <= 25 &&
           record[1] == 0xfe && (record[2] == 0xff || record[2] == 0xfd);
  }

  std::string_view name_of(const Packet& packet) {
    if (is_encrypted_gre(packet)) return "gre-dtls";
    for (const auto& [number, name] : kNames) {
      if (number == packet.protocol) return name;
    }
    return {number_, std::to_chars(number_, number_ + sizeof number_, packet.protocol).ptr};
  }

  char number_[3];
};

}  // namespace

std::unique_ptr<Parser> make_ip_flow() { return std::make_unique<IpFlow>(); }

}  // namespace tapline
