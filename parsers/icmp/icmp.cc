#include <arpa/inet.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "parsers/api/parser.h"
#include "parsers/icmp/echoes.h"

namespace tapline {
namespace {

using icmp::EchoReply;
using icmp::EchoRequest;
using icmp::Kind;
using icmp::Message;

// Formats an endpoint: "10.0.0.1:53", "[2001:db8::1]:53" or, without a port, "10.0.0.1".
class EndpointText {
 public:
  EndpointText(const IpAddress& ip, uint16_t port) {
    const bool brackets = port != 0 && !ip.is_v4();
    if (brackets) add('[');
    if (inet_ntop(ip.is_v4() ? AF_INET : AF_INET6, ip.bytes().data(), text_ + size_, INET6_ADDRSTRLEN) != nullptr) {
      size_ += std::string_view(text_ + size_).size();
    }
    if (brackets) add(']');
    if (port == 0) return;
    add(':');
    size_ = static_cast<size_t>(std::to_chars(text_ + size_, text_ + sizeof text_, port).ptr - text_);
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  void add(char c) { text_[size_++] = c; }

  char text_[INET6_ADDRSTRLEN + 8];
  size_t size_ = 0;
};

// Handles messages of both ICMP versions: pairs echoes, and reports each error together with the packet that it
// concerns.
class Icmp final : public TransactionParser<icmp::Echoes> {
 public:
  const Schema& schema() const override;
  Needs needs() const override {
    Needs needs = TransactionParser::needs();
    needs.packets = needs.datagrams = true;
    needs.streams = needs.every_packet = false;
    return needs;
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.is_icmp() && packet.connection != nullptr) message(packet, out);
    }
  }

 protected:
  void emit_transaction(const TupleHeader& header, const EchoRequest* request, const EchoReply* response, Seen seen,
                        Emitter& out) override {
    // The tuple's source is the host that sent the request, which may be either side of the flow.
    TupleHeader turned = header;
    if ((request != nullptr ? request->asker : response->asker) != turned.src_ip) turn(&turned);
    const Message& message = request != nullptr ? request->message : response->message;
    emit(turned, message, time_to_last_byte(request, response), request != nullptr ? request->bytes : response->bytes,
         seen, out);
  }

 private:
  void message(const Packet& packet, Emitter& out) {
    Message message;
    if (!icmp::read(packet.payload(), packet.protocol == protocol::kIcmpV6, &message)) return;
    if (message.kind == Kind::kEchoRequest || message.kind == Kind::kEchoReply) {
      Connection& flow = *packet.connection;
      // ICMP has no ports, so the address alone identifies the side.
      const Side side = packet.src_ip == flow.ip[0] ? Side{0} : Side{1};
      with_exchange(flow, out, [&](icmp::Echoes& echoes, icmp::Echoes::Sink& sink) {
        const IpAddress& asker = message.kind == Kind::kEchoRequest ? packet.src_ip : packet.dst_ip;
        echoes.message(side, asker, message, packet.payload_bytes, packet.time_ns, sink);
        return ExchangeVerdict::kFine;
      });
      return;
    }
    TupleHeader header = out.header_of(packet);
    if (header.src_ip != packet.src_ip) turn(&header);
    emit(header, message, Value::absent(FieldType::kI64), packet.payload_bytes, Seen::kBoth, out);
  }

  static void turn(TupleHeader* header) {
    std::swap(header->src_ip, header->dst_ip);
    std::swap(header->src_port, header->dst_port);
  }

  static void emit(const TupleHeader& header, const Message& message, const Value& rtt_ns, uint32_t bytes, Seen seen,
                   Emitter& out);
};

std::string_view name_of_protocol(uint8_t number, char (&scratch)[4]) {
  switch (number) {
    case protocol::kTcp:
      return "tcp";
    case protocol::kUdp:
      return "udp";
    case protocol::kIcmp:
    case protocol::kIcmpV6:
      return "icmp";
    default:
      return {scratch, static_cast<size_t>(std::to_chars(scratch, scratch + sizeof scratch, number).ptr - scratch)};
  }
}

void Icmp::emit(const TupleHeader& header, const Message& message, const Value& rtt_ns, uint32_t bytes, Seen seen,
                Emitter& out) {
  const icmp::Quoted& quoted = message.quoted;
  const EndpointText src(quoted.src_ip, quoted.src_port), dst(quoted.dst_ip, quoted.dst_port);
  char scratch[4];
  const auto if_quoted = [&](std::string_view text) { return text_if(quoted.present, text); };
  const bool echo = message.kind == Kind::kEchoRequest || message.kind == Kind::kEchoReply;
  out.emit(header, {Value::string(message.name), Value::string(message.reason), Value::u64(message.type),
                    Value::u64(message.code), rtt_ns, u64_if(echo, message.id), u64_if(echo, message.sequence),
                    Value::u64(bytes), u64_if(message.mtu != 0, message.mtu),
                    if_quoted(name_of_protocol(quoted.protocol, scratch)), if_quoted(src.view()), if_quoted(dst.view()),
                    Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
}

const Schema& Icmp::schema() const {
  static const Schema schema = {
      .name = "icmp",
      .description = "ICMP and ICMPv6: echoes with their replies, and errors with the packets that they concern",
      .layer = Layer::kNetwork,
      .fields =
          {{"message", FieldType::kString, "", "echo, unreachable, time-exceeded, redirect, …; empty for other types"},
           {"reason", FieldType::kString, "",
            "Reason for unreachable and time-exceeded: port, host, denied, in-transit, …"},
           {"type", FieldType::kU64, "", "Type, as in the message; for an echo, that of the request if it was seen"},
           {"code", FieldType::kU64, "", "Code, as in the message; for an echo, that of the request if it was seen"},
           optional({"rtt_ns", FieldType::kI64, "ns", "Echo request to its reply"}),
           optional({"id", FieldType::kU64, "", "Identifier of an echo"}),
           optional({"sequence", FieldType::kU64, "", "Sequence number of an echo"}),
           {"bytes", FieldType::kU64, "bytes", "The message, without IP header", true},
           optional({"mtu", FieldType::kU64, "bytes", "MTU of the link for which a packet was too big"}),
           optional({"quoted_protocol", FieldType::kString, "",
                     "Protocol of the packet that an error concerns: tcp, udp, icmp or a number"}),
           optional({"quoted_src", FieldType::kString, "", "Address and port of that packet's source"}),
           optional({"quoted_dst", FieldType::kString, "", "Address and port of that packet's destination"}),
           partial_field(),
           unanswered_field()},
      .main_fields = {"message"},
      .value_field = "rtt_ns",
      .duration = {.field = "rtt_ns"},
      .example = {"unreachable", "port", "3", "3", "-", "-", "-", "53", "-", "udp", "127.0.0.1:59262", "127.0.0.2:9",
                  "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_icmp() { return std::make_unique<Icmp>(); }

}  // namespace tapline
