#include "parsers/icmp/message.h"

#include <utility>

#include "parsers/api/bytes.h"
#include "parsers/api/packet.h"

namespace tapline::icmp {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kHeaderBytes = 8;

struct Type {
  uint8_t type;
  Kind kind;
  std::string_view name;
};
constexpr Type kTypesV4[] = {{0, Kind::kEchoReply, "echo"},
                             {3, Kind::kError, "unreachable"},
                             {4, Kind::kError, "source-quench"},
                             {5, Kind::kError, "redirect"},
                             {8, Kind::kEchoRequest, "echo"},
                             {9, Kind::kOther, "router-advertisement"},
                             {10, Kind::kOther, "router-solicitation"},
                             {11, Kind::kError, "time-exceeded"},
                             {12, Kind::kError, "parameter-problem"},
                             {13, Kind::kOther, "timestamp-request"},
                             {14, Kind::kOther, "timestamp-reply"},
                             {17, Kind::kOther, "mask-request"},
                             {18, Kind::kOther, "mask-reply"},
                             {42, Kind::kOther, "extended-echo-request"},
                             {43, Kind::kOther, "extended-echo-reply"}};
constexpr Type kTypesV6[] = {{1, Kind::kError, "unreachable"},
                             {2, Kind::kError, "too-big"},
                             {3, Kind::kError, "time-exceeded"},
                             {4, Kind::kError, "parameter-problem"},
                             {128, Kind::kEchoRequest, "echo"},
                             {129, Kind::kEchoReply, "echo"},
                             {130, Kind::kOther, "listener-query"},
                             {131, Kind::kOther, "listener-report"},
                             {132, Kind::kOther, "listener-done"},
                             {133, Kind::kOther, "router-solicitation"},
                             {134, Kind::kOther, "router-advertisement"},
                             {135, Kind::kOther, "neighbor-solicitation"},
                             {136, Kind::kOther, "neighbor-advertisement"},
                             {137, Kind::kOther, "redirect"},
                             {143, Kind::kOther, "listener-report"}};

constexpr std::string_view kUnreachableV4[] = {
    "network",      "host",           "protocol",        "port",
    "too-big",      "source-route",   "network-unknown", "host-unknown",
    "isolated",     "network-denied", "host-denied",     "network-service",
    "host-service", "denied",         "host-precedence", "precedence-cutoff"};
constexpr std::string_view kUnreachableV6[] = {"route", "denied", "scope", "address", "port", "policy", "rejected"};
constexpr std::string_view kTimeExceeded[] = {"in-transit", "reassembly"};

const Type* find(std::span<const Type> types, uint8_t number) {
  for (const Type& type : types) {
    if (type.type == number) return &type;
  }
  return nullptr;
}

std::string_view reason_of(const Message& message, bool is_v6) {
  const auto named = [&](std::span<const std::string_view> names) {
    return message.code < names.size() ? names[message.code] : std::string_view();
  };
  if (message.name == "time-exceeded") return named(kTimeExceeded);
  if (message.name != "unreachable") return "";
  return is_v6 ? named(kUnreachableV6) : named(kUnreachableV4);
}

void quote_ports(Bytes transport, Quoted* quoted) {
  if (transport.size() < 4 || (quoted->protocol != protocol::kTcp && quoted->protocol != protocol::kUdp)) return;
  quoted->src_port = big_endian_16(transport.data());
  quoted->dst_port = big_endian_16(transport.data() + 2);
}

// Reads the beginning of the packet that caused an error. IPv6 extension headers are not followed.
void quote(Bytes packet, Quoted* quoted) {
  if (packet.size() >= 20 && packet[0] >> 4 == 4) {
    const size_t header_bytes = (packet[0] & 0x0f) * 4u;
    *quoted = {true, packet[9], IpAddress::v4(packet.data() + 12), IpAddress::v4(packet.data() + 16), 0, 0};
    const bool first_fragment = (big_endian_16(packet.data() + 6) & 0x1fff) == 0;
    if (header_bytes >= 20 && packet.size() >= header_bytes && first_fragment) {
      quote_ports(packet.subspan(header_bytes), quoted);
    }
  } else if (packet.size() >= 40 && packet[0] >> 4 == 6) {
    *quoted = {true, packet[6], IpAddress::v6(packet.data() + 8), IpAddress::v6(packet.data() + 24), 0, 0};
    quote_ports(packet.subspan(40), quoted);
  }
}

}  // namespace

bool read(Bytes bytes, bool is_v6, Message* message) {
  *message = {};
  if (bytes.size() < kHeaderBytes) return false;
  message->type = bytes[0];
  message->code = bytes[1];
  const Type* type = is_v6 ? find(kTypesV6, bytes[0]) : find(kTypesV4, bytes[0]);
  if (type == nullptr) return true;
  message->kind = type->kind;
  message->name = type->name;
  message->reason = reason_of(*message, is_v6);
  if (type->kind == Kind::kEchoRequest || type->kind == Kind::kEchoReply) {
    message->id = big_endian_16(bytes.data() + 4);
    message->sequence = big_endian_16(bytes.data() + 6);
  }
  if (type->kind != Kind::kError) return true;
  if (is_v6 && type->name == "too-big") message->mtu = big_endian_32(bytes.data() + 4);
  if (!is_v6 && message->reason == "too-big") message->mtu = big_endian_16(bytes.data() + 6);
  quote(bytes.subspan(kHeaderBytes), &message->quoted);
  return true;
}

}  // namespace tapline::icmp
