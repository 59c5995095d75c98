#include <gtest/gtest.h>

#include <functional>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"
#include "parsers/testing/frames.h"

namespace tapline {
namespace {

using testing::address;
using testing::Bytes;
using testing::ethernet;
using testing::Frame;
using testing::ip_v4;
using testing::ip_v6;
using testing::tcp_segment;

const FlowHasher kHasher(HashKey{1, 2});

Bytes operator+(Bytes first, const Bytes& second) {
  for (const uint8_t byte : second) first.push_back(byte);
  return first;
}

Bytes udp(uint16_t src_port, uint16_t dst_port, const Bytes& payload) {
  return testing::udp_datagram(src_port, dst_port, {reinterpret_cast<const char*>(payload.data()), payload.size()});
}
Bytes outer_v4(uint8_t protocol, const Bytes& payload) { return ip_v4("192.0.2.1", "192.0.2.2", protocol, payload); }
Bytes outer_v6(uint8_t protocol, const Bytes& payload) {
  return ip_v6("2001:db8::1", "2001:db8::2", protocol, payload);
}
Bytes over_udp(uint16_t dst_port, const Bytes& payload) {
  return ethernet(0x0800, outer_v4(protocol::kUdp, udp(50000, dst_port, payload)));
}
Bytes over_gre(const Bytes& payload) { return ethernet(0x0800, outer_v4(protocol::kGre, payload)); }
Bytes over_gre(const Bytes& header, const Bytes& payload) { return over_gre(header + payload); }

const Bytes kSegment = tcp_segment({.seq = 7, .ack = 9, .flags = tcp_flag::kAck, .payload = "hello"});
const Bytes kV4 = ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, kSegment);
const Bytes kV6 = ip_v6("fd00::1", "fd00::2", protocol::kTcp, kSegment);
const Bytes kFrame = ethernet(0x0800, kV4);
const Bytes kTagged = ethernet(0x0800, kV4, {7});
const Bytes kVxlan = {0x08, 0, 0, 0, 0, 0x12, 0x34, 0};
constexpr uint32_t kVni = 0x1234;

Bytes with_length(Bytes header, size_t offset, size_t length) {
  header.at(offset) = static_cast<uint8_t>(length >> 8);
  header.at(offset + 1) = static_cast<uint8_t>(length);
  return header;
}
Bytes pppoe(const Bytes& ppp) { return with_length({0x11, 0, 0, 9, 0, 0}, 4, ppp.size()) + ppp; }
// Returns a GTP-U message: flags, message type, length and TEID, then the content.
Bytes gtp(uint8_t flags, const Bytes& content) {
  return with_length({flags, 255, 0, 0, 0xde, 0xad, 0xbe, 0xef}, 2, content.size()) + content;
}

struct Case {
  std::string name;
  Bytes frame;
  uint32_t network_id = 0;
  uint32_t vlan_key = 0;
  bool v6 = false;
};

std::vector<Case> cases() {
  const Bytes label = {0, 1, 0x20, 64}, bottom = {0, 2, 0x21, 64};
  const Bytes erspan_2 = {0x10, 5, 0, 42, 0, 0, 0, 1};
  const Bytes erspan_3 = {0x20, 5, 0, 42, 0, 0, 0, 0, 0, 0, 0, 0};
  Bytes erspan_3_long = erspan_3 + Bytes(8);
  erspan_3_long[11] = 1;
  Bytes ft_ip = erspan_3;
  ft_ip[10] = 2 << 2;
  const Bytes geneve = {0, 0, 0x65, 0x58, 0, 0x12, 0x34, 0};
  const Bytes teredo_auth = {0, 1, 2, 1, 'i', 'd', 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return {
      {"pppoe", ethernet(0x8864, pppoe(Bytes{0, 0x21} + kV4))},
      {"pppoe_v6", ethernet(0x8864, pppoe(Bytes{0, 0x57} + kV6)), 0, 0, true},
      {"pppoe_short_protocol", ethernet(0x8864, pppoe(Bytes{0x21} + kV4))},
      {"pppoe_qinq", ethernet(0x8864, pppoe(Bytes{0, 0x21} + kV4), {7, 5}), 0, 7 << 12 | 5},
      {"vn_tag", ethernet(0x8926, Bytes{0, 1, 0, 2, 0x81, 0, 0, 5, 0x08, 0} + kV4), 0, 5},
      {"e_tag", ethernet(0x893f, Bytes{0, 1, 0, 2, 0, 3, 0x08, 0} + kV4)},
      {"mpls", ethernet(0x8847, label + bottom + kV4)},
      {"mpls_v6", ethernet(0x8848, bottom + kV6), 0, 0, true},
      {"mpls_pseudowire", ethernet(0x8847, label + bottom + kTagged, {9}), 0, 7},
      {"mpls_control_word", ethernet(0x8847, bottom + Bytes{0, 0, 0, 3} + kTagged), 0, 7},
      {"mpls_in_ip", ethernet(0x0800, outer_v4(protocol::kMpls, bottom + kV4))},
      {"mpls_over_udp", over_udp(6635, bottom + kV4)},
      {"nsh", ethernet(0x894f, Bytes{0, 2, 2, 3, 0, 0, 1, 255} + kFrame)},
      {"4in4", ethernet(0x0800, outer_v4(protocol::kIpV4, kV4), {3}), 0, 3},
      {"6in4", ethernet(0x0800, outer_v4(protocol::kIpV6, kV6)), 0, 0, true},
      {"4in6", ethernet(0x86dd, outer_v6(protocol::kIpV4, kV4))},
      {"6in6", ethernet(0x86dd, outer_v6(protocol::kIpV6, kV6)), 0, 0, true},
      {"ether_ip", ethernet(0x0800, outer_v4(protocol::kEtherIp, Bytes{0x30, 0} + kTagged)), 0, 7},
      {"gre", over_gre({0, 0, 0x08, 0}, kV4)},
      {"gre_v6_in_v6", ethernet(0x86dd, outer_v6(protocol::kGre, Bytes{0, 0, 0x86, 0xdd} + kV6)), 0, 0, true},
      {"gre_checksum_key_sequence", over_gre({0xb0, 0, 0x08, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 0, 7}, kV4)},
      {"gre_in_udp", over_udp(4754, Bytes{0, 0, 0x08, 0} + kV4)},
      {"gre_in_udp_key_v6",
       ethernet(0x86dd, outer_v6(protocol::kUdp, udp(50000, 4754, Bytes{0x20, 0, 0x86, 0xdd, 0, 0, 0, 9} + kV6))), 0, 0,
       true},
      {"gre_in_udp_ethernet", over_udp(4754, Bytes{0, 0, 0x65, 0x58} + kTagged), 0, 7},
      {"gre_mpls", over_gre({0, 0, 0x88, 0x47}, bottom + kV4)},
      {"nvgre", over_gre({0x20, 0, 0x65, 0x58, 0, 0x12, 0x34, 0x99}, kTagged), 0, 7},
      {"pptp", over_gre({0x30, 0x81, 0x88, 0x0b, 0, 50, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2}, Bytes{0xff, 3, 0, 0x21} + kV4)},
      {"wccp", over_gre({0, 0, 0x88, 0x3e}, Bytes{0, 0, 0, 1} + kV4)},
      {"erspan_1", over_gre({0, 0, 0x88, 0xbe}, kTagged), 0, 7},
      {"erspan_2", over_gre({0x10, 0, 0x88, 0xbe, 0, 0, 0, 1}, erspan_2 + kTagged), 0, 7},
      {"erspan_2_tag_removed",
       over_gre({0x10, 0, 0x88, 0xbe, 0, 0, 0, 1}, Bytes{0x10, 5, 0x10, 42, 0, 0, 0, 1} + kFrame), 0, 5},
      {"erspan_3", over_gre({0x10, 0, 0x22, 0xeb, 0, 0, 0, 1}, erspan_3 + kTagged), 0, 7},
      {"erspan_3_long", over_gre({0x10, 0, 0x22, 0xeb, 0, 0, 0, 1}, erspan_3_long + kTagged), 0, 7},
      {"erspan_3_ip", over_gre({0x10, 0, 0x22, 0xeb, 0, 0, 0, 1}, ft_ip + kV4)},
      {"vxlan", over_udp(4789, kVxlan + kTagged), kVni, 7},
      {"vxlan_old_port", over_udp(8472, kVxlan + kFrame), kVni},
      {"vxlan_over_v6", ethernet(0x86dd, outer_v6(protocol::kUdp, udp(1, 4789, kVxlan + ethernet(0x86dd, kV6)))), kVni,
       0, true},
      {"vxlan_gpe", over_udp(4790, Bytes{0x0c, 0, 0, 1, 0, 0x12, 0x34, 0} + kV4), kVni},
      {"geneve", over_udp(6081, geneve + kTagged), kVni, 7},
      {"geneve_options_v6", over_udp(6081, Bytes{2, 0, 0x86, 0xdd, 0, 0x12, 0x34, 0} + Bytes(8) + kV6), kVni, 0, true},
      {"gtp", over_udp(2152, gtp(0x30, kV4))},
      {"gtp_sequence", over_udp(2152, gtp(0x32, Bytes{0, 1, 0, 0} + kV6)), 0, 0, true},
      {"gtp_extensions",
       over_udp(2152, gtp(0x34, Bytes{0, 0, 0, 0x85, 1, 0x10, 9, 0x40, 2, 0, 0, 0, 0, 0, 0, 0} + kV4))},
      {"teredo", over_udp(3544, kV6), 0, 0, true},
      {"teredo_headers", over_udp(3544, teredo_auth + Bytes{0, 0, 1, 2, 3, 4, 5, 6} + kV6), 0, 0, true},
      {"teredo_any_port", over_udp(1234, ip_v6("2001::1", "fd00::2", protocol::kTcp, kSegment)), 0, 0, true},
      {"gre_in_gre", over_gre({0, 0, 0x08, 0}, outer_v4(protocol::kGre, Bytes{0, 0, 0x08, 0} + kV4))},
      {"vxlan_in_erspan", over_gre({0x10, 0, 0x88, 0xbe, 0, 0, 0, 1}, erspan_2 + over_udp(4789, kVxlan + kFrame)),
       kVni},
      {"gtp_in_vlan_mpls", ethernet(0x8847, bottom + outer_v4(protocol::kUdp, udp(2152, 2152, gtp(0x30, kV4))), {4}), 0,
       4},
  };
}

// Decodes a copy that ends where the frame does, so that a sanitiser detects every read beyond it.
DecodeOutcome outcome_of(const Bytes& frame, size_t wire_bytes, Packet* packet) {
  const Frame copy{frame, 0, static_cast<uint32_t>(wire_bytes)};
  const DecodeOutcome outcome = decode(copy.raw(), kHasher, packet);
  packet->data = nullptr;
  return outcome;
}

TEST(Tunnel, EachLeadsToTheInnermostPacket) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Frame frame{c.frame};
    Packet packet;
    ASSERT_EQ(decode(frame.raw(), kHasher, &packet), DecodeOutcome::kOk);
    EXPECT_EQ(packet.payload_text(), "hello");
    EXPECT_EQ(packet.payload_bytes, 5u);
    EXPECT_EQ(packet.ip_version, c.v6 ? 6 : 4);
    EXPECT_EQ(packet.protocol, protocol::kTcp);
    EXPECT_EQ(packet.src_port, 40000);
    EXPECT_EQ(packet.dst_port, 80);
    EXPECT_EQ(packet.tcp_seq, 7u);
    EXPECT_EQ(packet.network_id, c.network_id);
    EXPECT_EQ(packet.vlan_key(), c.vlan_key);
    EXPECT_EQ(packet.vlan[0], c.vlan_key > 0xfff ? c.vlan_key >> 12 : c.vlan_key) << "the outer frame's tags are gone";
    EXPECT_EQ(packet.wire_bytes, c.frame.size());
    EXPECT_EQ(packet.dst_ip, address(c.v6 ? "fd00::2" : "10.0.0.2"));
  }
}

// A frame that is truncated by a snap length yields kTruncated until the inner headers are complete.
TEST(Tunnel, EveryPrefixIsTruncatedOrTheSame) {
  for (const Case& c : cases()) {
    if (c.name == "teredo_any_port") continue;  // its inner header identifies it
    const size_t headers = c.frame.size() - 5;
    for (size_t length = 0; length < c.frame.size(); ++length) {
      Packet packet;
      const DecodeOutcome outcome =
          outcome_of(Bytes(c.frame.begin(), c.frame.begin() + length), c.frame.size(), &packet);
      EXPECT_EQ(outcome, length < headers ? DecodeOutcome::kTruncated : DecodeOutcome::kOk) << c.name << " " << length;
      EXPECT_TRUE(outcome != DecodeOutcome::kOk || packet.dst_port == 80) << c.name << " " << length;
    }
  }
}

// The sender cut the inner packet short, and all outer lengths agree, so the outcome is kTruncated only if a complete
// inner IP header announces more.
TEST(Tunnel, EveryShorterInnerPacket) {
  const auto shortened = [](const Bytes& inside, const std::function<Bytes(const Bytes&)>& around) {
    for (size_t length = 0; length < inside.size() - 5; ++length) {
      const Bytes frame = around(Bytes(inside.begin(), inside.begin() + length));
      Packet packet;
      const DecodeOutcome outcome = outcome_of(frame, frame.size(), &packet);
      const bool is_outer = outcome == DecodeOutcome::kOk && packet.src_ip == address("192.0.2.1");
      // A complete inner IP header gives the expected length.
      const bool inner_ip_known = length >= inside.size() - kSegment.size();
      EXPECT_TRUE(is_outer || outcome == DecodeOutcome::kMalformed ||
                  (inner_ip_known && outcome == DecodeOutcome::kTruncated))
          << length << " " << static_cast<int>(outcome);
    }
  };
  shortened(kVxlan + kTagged, [](const Bytes& b) { return over_udp(4789, b); });
  shortened(Bytes{0, 0, 0x65, 0x58, 0, 0, 1, 0} + kFrame, [](const Bytes& b) { return over_udp(6081, b); });
  shortened(gtp(0x32, Bytes{0, 1, 0, 0} + kV4), [](const Bytes& b) { return over_udp(2152, b); });
  shortened(kV6, [](const Bytes& b) { return over_udp(3544, b); });
  shortened(Bytes{0xb0, 0, 0x08, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 0, 7} + kV4,
            [](const Bytes& b) { return over_gre(b); });
  shortened(kV4, [](const Bytes& b) { return ethernet(0x0800, outer_v4(protocol::kIpV4, b)); });
}

TEST(Tunnel, BothDirectionsAreOneFlow) {
  const Bytes back = ip_v4("10.0.0.2", "10.0.0.1", protocol::kTcp, tcp_segment({.src_port = 80, .dst_port = 40000}));
  const auto hash = [](const Bytes& frame) {
    Packet packet;
    EXPECT_EQ(outcome_of(frame, frame.size(), &packet), DecodeOutcome::kOk);
    return packet.flow_hash;
  };
  const uint64_t plain = hash(kFrame);
  Bytes other_teid = gtp(0x30, back);
  other_teid[7] = 1;
  EXPECT_EQ(hash(over_udp(2152, gtp(0x30, kV4))), plain);
  EXPECT_EQ(hash(over_udp(2152, other_teid)), plain);
  EXPECT_EQ(hash(ethernet(0x8847, Bytes{0, 7, 0x71, 1} + back)), plain);
  EXPECT_EQ(hash(over_gre({0x20, 0, 0x08, 0, 0, 0, 0, 9}, back)), plain);
  EXPECT_EQ(hash(over_udp(4789, kVxlan + ethernet(0x0800, back))), hash(over_udp(4789, kVxlan + kFrame)));
  const Bytes other_vni = {0x08, 0, 0, 0, 0, 0x12, 0x35, 0};
  EXPECT_NE(hash(over_udp(4789, other_vni + kFrame)), hash(over_udp(4789, kVxlan + kFrame)));
  EXPECT_NE(hash(over_udp(4789, kVxlan + kFrame)), plain);
}

TEST(Tunnel, OtherPacketsKeepTheirOuterFlow) {
  const auto outer = [](const Bytes& frame, uint8_t protocol, uint16_t dst_port, size_t payload_bytes) {
    const Frame copy{frame};
    Packet packet;
    ASSERT_EQ(decode(copy.raw(), kHasher, &packet), DecodeOutcome::kOk);
    EXPECT_EQ(packet.src_ip, address("192.0.2.1"));
    EXPECT_EQ(packet.protocol, protocol);
    EXPECT_EQ(packet.dst_port, dst_port);
    EXPECT_EQ(packet.payload_bytes, payload_bytes);
    EXPECT_EQ(packet.network_id, 0u);
    EXPECT_EQ(packet.vlan_tags, 0);
    EXPECT_EQ(packet.payload_captured_bytes, payload_bytes);
  };
  const Bytes response = {0x08, 0x1a, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0, 3, 'w', 'w', 'w', 0, 0, 1, 0, 1};
  for (const uint16_t port : {4754, 4789, 8472, 4790, 6081, 2152, 3544, 6635}) {
    outer(over_udp(port, response), protocol::kUdp, port, response.size());
    outer(over_udp(port, Bytes(60, 0x45)), protocol::kUdp, port, 60);
    outer(over_udp(port, {}), protocol::kUdp, port, 0);
  }
  outer(over_udp(4789, kVxlan + ethernet(0x0806, Bytes(28), {5})), protocol::kUdp, 4789, 8 + 18 + 28);  // ARP
  outer(over_udp(4755, Bytes{0, 0, 0x08, 0} + kV4), protocol::kUdp, 4755, 4 + kV4.size());  // GRE under DTLS
  outer(over_udp(1234, kV6), protocol::kUdp, 1234, kV6.size());  // IPv6, but not from or to a Teredo address
  outer(over_gre({0, 0, 0x12, 0x34}, kV4), protocol::kGre, 0, 4 + kV4.size());
  outer(over_gre({0, 2, 0x08, 0}, kV4), protocol::kGre, 0, 4 + kV4.size());  // no such version
}

TEST(Tunnel, NotIpInAFrame) {
  Packet packet;
  const Bytes discovery = ethernet(0x8863, Bytes(20));
  EXPECT_EQ(outcome_of(discovery, discovery.size(), &packet), DecodeOutcome::kNotIp);
  const Bytes lcp = ethernet(0x8864, pppoe({0xc0, 0x21, 1, 1, 0, 4}));
  EXPECT_EQ(outcome_of(lcp, lcp.size(), &packet), DecodeOutcome::kNotIp);
  const Bytes channel = ethernet(0x8847, Bytes{0, 2, 0x21, 64, 0x10, 0, 0, 7} + Bytes(40));
  EXPECT_EQ(outcome_of(channel, channel.size(), &packet), DecodeOutcome::kNotIp);
}

TEST(Tunnel, DepthIsBounded) {
  Packet packet;
  Bytes nested = kV4;
  for (int depth = 0; depth < 8; ++depth) nested = outer_v4(protocol::kIpV4, nested);
  const Bytes deep = ethernet(0x0800, nested), deeper = ethernet(0x0800, outer_v4(protocol::kIpV4, nested));
  EXPECT_EQ(outcome_of(deep, deep.size(), &packet), DecodeOutcome::kOk);
  EXPECT_EQ(packet.dst_ip, address("10.0.0.2"));
  EXPECT_EQ(outcome_of(deeper, deeper.size(), &packet), DecodeOutcome::kTooManyHeaders);
  Bytes labels;
  for (int i = 0; i < 17; ++i) labels = labels + Bytes{0, 1, 0x20, 64};
  const Bytes deep_stack = ethernet(0x8847, labels + Bytes(40));
  EXPECT_EQ(outcome_of(deep_stack, deep_stack.size(), &packet), DecodeOutcome::kTooManyHeaders);
}

// An inner datagram whose length exceeds the tunnel's, for example because a mirror cut it, ends with the tunnel.
TEST(Tunnel, NothingBeyondTheTunnelIsRead) {
  const Bytes inner = testing::with_checksum(with_length(kV4, 2, kV4.size() + 40));
  Bytes frame = over_gre({0, 0, 0x08, 0}, inner);
  frame.resize(frame.size() + 40, 'x');  // padding
  const Frame copy{frame};
  Packet packet;
  ASSERT_EQ(decode(copy.raw(), kHasher, &packet), DecodeOutcome::kOk);
  EXPECT_EQ(packet.payload_text(), "hello");
  EXPECT_EQ(packet.payload_bytes, 45u);
  Bytes changed_bytes = inner;
  changed_bytes[10] ^= 1;
  const Frame wrong_frame{over_gre({0, 0, 0x08, 0}, changed_bytes)};
  EXPECT_EQ(decode(wrong_frame.raw(), kHasher, &packet), DecodeOutcome::kMalformed);
}

}  // namespace
}  // namespace tapline
