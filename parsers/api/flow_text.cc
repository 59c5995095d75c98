#include "parsers/api/flow_text.h"

#include <arpa/inet.h>

#include "parsers/api/packet.h"

namespace tapline {
namespace {

void append_endpoint(const IpAddress& ip, uint16_t port, std::string* text) {
  char address[INET6_ADDRSTRLEN] = "";
  inet_ntop(ip.is_v4() ? AF_INET : AF_INET6, ip.bytes().data(), address, sizeof address);
  text->append(ip.is_v4() ? "" : "[").append(address).append(ip.is_v4() ? ":" : "]:").append(std::to_string(port));
}

}  // namespace

void append_flow(const IpAddress& src_ip, uint16_t src_port, const IpAddress& dst_ip, uint16_t dst_port,
                 std::string* text) {
  append_endpoint(src_ip, src_port, text);
  *text += '-';
  append_endpoint(dst_ip, dst_port, text);
}

void append_flow(const IpAddress& src_ip, uint16_t src_port, const IpAddress& dst_ip, uint16_t dst_port,
                 uint8_t protocol, std::string* text) {
  append_flow(src_ip, src_port, dst_ip, dst_port, text);
  *text += '/';
  *text += protocol == protocol::kTcp ? "tcp" : protocol == protocol::kUdp ? "udp" : std::to_string(protocol);
}

}  // namespace tapline
