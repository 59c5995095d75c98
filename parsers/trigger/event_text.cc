#include "parsers/trigger/event_text.h"

#include <arpa/inet.h>

#include <string_view>

#include "parsers/api/flow_text.h"

namespace tapline::trigger {
namespace {

std::string text_of(const IpAddress& ip) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ip.is_v4() ? AF_INET : AF_INET6, ip.bytes().data(), text, sizeof text);
  return text;
}

std::string text_of(const IpAddress& ip, int v4_bits, int v6_bits) {
  const int bits = ip.is_v4() ? v4_bits : v6_bits;
  const bool is_whole = bits == (ip.is_v4() ? 32 : 128);
  return is_whole ? text_of(ip) : text_of(ip) + "/" + std::to_string(bits);
}

void append(std::string_view name, const std::string& value, std::string* text) {
  if (!text->empty()) *text += ' ';
  text->append(name).append("=").append(value);
}

}  // namespace

std::string text_of(const GroupBy& group_by, const GroupKey& group) {
  std::string text;
  if (group_by.src_v4_bits > 0)
    append("src_ip", text_of(group.src_ip(), group_by.src_v4_bits, group_by.src_v6_bits), &text);
  if (group_by.src_port) append("src_port", std::to_string(group.src_port()), &text);
  if (group_by.dst_v4_bits > 0)
    append("dst_ip", text_of(group.dst_ip(), group_by.dst_v4_bits, group_by.dst_v6_bits), &text);
  if (group_by.dst_port) append("dst_port", std::to_string(group.dst_port()), &text);
  return text;
}

std::string text_of(const ExemplarFlows& exemplars) {
  std::string text;
  for (const GroupKey& flow : exemplars.flows()) {
    if (!text.empty()) text += ' ';
    append_flow(flow.src_ip(), flow.src_port(), flow.dst_ip(), flow.dst_port(), flow.protocol(), &text);
  }
  return text;
}

}  // namespace tapline::trigger
