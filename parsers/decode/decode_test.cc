#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

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
using testing::tcp_frame;
using testing::tcp_segment;
using testing::with_checksum;

const FlowHasher kHasher(HashKey{1, 2});

struct DecodedPacket {
  Bytes frame;  // the bytes that the packet points into
  DecodeOutcome outcome;
  Packet packet;
};

DecodedPacket decoded(RawPacket raw) {
  DecodedPacket result;
  result.frame.assign(raw.data, raw.data + raw.captured_bytes);
  raw.data = result.frame.data();
  result.outcome = decode(raw, kHasher, &result.packet);
  return result;
}
DecodedPacket decoded(const Bytes& bytes, LinkType link = LinkType::kEthernet) {
  const Frame frame{bytes, 0, 0, link};
  return decoded(frame.raw());
}

Bytes concat(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Bytes kSegment = tcp_segment({.seq = 7, .ack = 9, .flags = tcp_flag::kAck, .payload = "hello"});
const Bytes kIpV4 = ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, kSegment);
const Bytes kIpV6 = ip_v6("2001:db8::1", "2001:db8::2", protocol::kTcp, kSegment);

void expect_hello(const DecodedPacket& result) {
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.payload_text(), "hello");
  EXPECT_EQ(result.packet.payload_bytes, 5u);
  EXPECT_EQ(result.packet.src_port, 40000);
  EXPECT_EQ(result.packet.dst_port, 80);
}

TEST(Decode, TcpOverIpV4) {
  const DecodedPacket result = decoded(ethernet(0x0800, kIpV4));
  expect_hello(result);
  EXPECT_EQ(result.packet.src_ip, address("10.0.0.1"));
  EXPECT_EQ(result.packet.dst_ip, address("10.0.0.2"));
  EXPECT_EQ(result.packet.src_ip.bytes().size(), 4u);
  EXPECT_EQ(result.packet.tcp_seq, 7u);
  EXPECT_EQ(result.packet.tcp_ack, 9u);
  EXPECT_EQ(result.packet.tcp_flags, tcp_flag::kAck);
  EXPECT_EQ(result.packet.queries, 0u);
}

TEST(Decode, EveryLinkType) {
  expect_hello(decoded(kIpV4, LinkType::kRawIp));
  expect_hello(decoded(kIpV6, LinkType::kRawIp));
  expect_hello(decoded(concat({2, 0, 0, 0}, kIpV4), LinkType::kNull));
  expect_hello(decoded(concat({0, 0, 0, 2}, kIpV4), LinkType::kNull));
  expect_hello(decoded(concat({0, 0, 0, 30}, kIpV6), LinkType::kNull));
  Bytes sll(16);
  sll[14] = 0x08;
  expect_hello(decoded(concat(sll, kIpV4), LinkType::kLinuxSll));
  Bytes sll2(20);
  sll2[0] = 0x86;
  sll2[1] = 0xdd;
  expect_hello(decoded(concat(sll2, kIpV6), LinkType::kLinuxSll2));
  EXPECT_EQ(decoded(concat({0, 0, 0, 7}, kIpV4), LinkType::kNull).outcome, DecodeOutcome::kNotIp);
  EXPECT_EQ(decoded({0x12}, LinkType::kRawIp).outcome, DecodeOutcome::kNotIp);
  EXPECT_EQ(decoded(kIpV4, static_cast<LinkType>(99)).outcome, DecodeOutcome::kUnsupportedLink);
}

std::string to_text(const std::optional<EthernetAddresses>& ethernet) {
  if (!ethernet) return "none";
  return std::to_string(ethernet->destination[5]) + "<" + std::to_string(ethernet->source[5]);
}

Bytes with_addresses(Bytes frame, uint8_t destination, uint8_t source) {
  frame[5] = destination;
  frame[11] = source;
  return frame;
}

TEST(Decode, EthernetAddressesAreThoseOfTheInnermostHeader) {
  const Bytes plain_bytes = with_addresses(ethernet(0x0800, kIpV4), 1, 2);
  EXPECT_EQ(to_text(decoded(plain_bytes).packet.ethernet()), "1<2");
  EXPECT_EQ(to_text(decoded(with_addresses(ethernet(0x86dd, kIpV6, {7, 5}), 3, 4)).packet.ethernet()), "3<4");
  const Bytes vxlan = concat({8, 0, 0, 0, 0, 0, 9, 0}, plain_bytes);
  const Bytes outer = ethernet(
      0x0800, ip_v4("192.0.2.1", "192.0.2.2", protocol::kUdp,
                    testing::udp_datagram(1, 4789, {reinterpret_cast<const char*>(vxlan.data()), vxlan.size()})));
  EXPECT_EQ(to_text(decoded(with_addresses(outer, 5, 6)).packet.ethernet()), "1<2");
  const Bytes ip_in_ip = ethernet(0x0800, ip_v4("192.0.2.1", "192.0.2.2", protocol::kIpV4, kIpV4));
  EXPECT_EQ(to_text(decoded(with_addresses(ip_in_ip, 7, 8)).packet.ethernet()), "7<8");
  EXPECT_EQ(to_text(decoded(kIpV4, LinkType::kRawIp).packet.ethernet()), "none");
}

TEST(Decode, AFrameHasItsOuterAddressesAndItsTap) {
  const Frame frame{with_addresses(ethernet(0x0800, kIpV4), 1, 2), 0, 0};
  RawPacket raw = frame.raw();
  EXPECT_EQ(to_text(raw.ethernet()), "1<2");
  raw.tap = 7;
  EXPECT_EQ(decoded(raw).packet.tap, 7);
  raw.captured_bytes = 11;
  EXPECT_EQ(to_text(raw.ethernet()), "none");
  raw.captured_bytes = 60;
  raw.link = LinkType::kRawIp;
  EXPECT_EQ(to_text(raw.ethernet()), "none");
}

TEST(Decode, VlanTags) {
  const DecodedPacket one = decoded(ethernet(0x0800, kIpV4, {0xe005}));
  expect_hello(one);
  EXPECT_EQ(one.packet.vlan_tags, 1);
  EXPECT_EQ(one.packet.vlan[0], 5);
  const DecodedPacket two = decoded(ethernet(0x86dd, kIpV6, {7, 5}));
  expect_hello(two);
  EXPECT_EQ(two.packet.vlan_tags, 2);
  EXPECT_EQ(two.packet.vlan_key(), 7u << 12 | 5);
  EXPECT_EQ(decoded(ethernet(0x0800, kIpV4, {0xe007, 0xa005})).packet.vlan_key(), 7u << 12 | 5);
  expect_hello(decoded(ethernet(0x0800, kIpV4, {1, 2, 3})));
  EXPECT_EQ(decoded(ethernet(0x0800, kIpV4, std::vector<uint16_t>(9, 1))).outcome, DecodeOutcome::kTooManyHeaders);
  const DecodedPacket none = decoded(ethernet(0x0800, kIpV4));
  EXPECT_NE(none.packet.flow_hash, one.packet.flow_hash);
}

TEST(Decode, AUdpLengthBelowItsHeaderIsWrong) {
  for (uint8_t length = 0; length < 9; ++length) {
    Bytes udp = testing::udp_datagram(53, 5353, "query");
    udp[5] = length;
    const DecodedPacket result = decoded(ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, udp)));
    if (length > 0 && length < 8) {
      EXPECT_EQ(result.outcome, DecodeOutcome::kMalformed) << int{length};
      continue;
    }
    ASSERT_EQ(result.outcome, DecodeOutcome::kOk) << int{length};
    // Without a UDP length, the datagram extends to the end of IP's payload.
    EXPECT_EQ(result.packet.payload_text(), length == 0 ? "query" : "");
    EXPECT_EQ(result.packet.payload_bytes, length == 0 ? 5u : 0u);
  }
}

TEST(Decode, EthernetPaddingIsNotPayload) {
  Bytes frame = ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, tcp_segment({})));
  frame.resize(60);
  const DecodedPacket result = decoded(frame);
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.payload_bytes, 0u);
  EXPECT_EQ(result.packet.payload_captured_bytes, 0u);
}

TEST(Decode, SegmentationOffloadLeavesNoLength) {
  Bytes frame = ethernet(0x0800, kIpV4);
  frame[16] = frame[17] = 0;
  expect_hello(decoded(frame));
  frame = ethernet(0x86dd, kIpV6);
  frame[18] = frame[19] = 0;
  expect_hello(decoded(frame));
}

TEST(Decode, ASnaplenShortensOnlyTheReadableBytes) {
  Bytes frame = ethernet(0x0800, kIpV4);
  const auto wire_bytes = static_cast<uint32_t>(frame.size());
  frame.resize(frame.size() - 3);
  const DecodedPacket result = decoded(Frame{frame, 0, wire_bytes}.raw());
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.payload_text(), "he");
  EXPECT_EQ(result.packet.payload_bytes, 5u);
}

TEST(Decode, ALengthBeyondTheFrameIsWrong) {
  for (const bool options : {false, true}) {
    Bytes whole_bytes = kIpV4;
    if (options) {
      whole_bytes[0] = 0x46;
      whole_bytes.insert(whole_bytes.begin() + 20, 4, 1);
      whole_bytes[3] = static_cast<uint8_t>(whole_bytes.size());
    }
    whole_bytes = with_checksum(whole_bytes);
    for (const std::vector<uint16_t>& vlans : {std::vector<uint16_t>{}, {7}, {7, 5}}) {
      expect_hello(decoded(ethernet(0x0800, whole_bytes, vlans)));
      for (const size_t length_byte : {2, 3}) {
        Bytes changed_bytes = whole_bytes;
        changed_bytes[length_byte] ^= 0x80;
        EXPECT_EQ(decoded(ethernet(0x0800, changed_bytes, vlans)).outcome, DecodeOutcome::kMalformed);
      }
    }
  }
}

// A datagram that a mirror or a driver truncated has a correct header, including the length.
TEST(Decode, ALengthBeyondTheFrameIsValidIfTheHeaderIs) {
  Bytes cut_bytes = ethernet(0x0800, with_checksum(kIpV4));
  cut_bytes.resize(cut_bytes.size() - 3);
  const DecodedPacket result = decoded(cut_bytes);
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.payload_text(), "he");
  EXPECT_EQ(result.packet.payload_bytes, 5u);
}

// IPv6 headers have no checksum, so the frame determines the end.
TEST(Decode, AnIpV6LengthBeyondTheFrameEndsWithIt) {
  Bytes changed_bytes = ethernet(0x86dd, kIpV6);
  changed_bytes[18] = 0xf0;
  expect_hello(decoded(changed_bytes));
  const auto wire_bytes = static_cast<uint32_t>(changed_bytes.size());
  changed_bytes.resize(changed_bytes.size() - 2);
  const DecodedPacket result = decoded(Frame{changed_bytes, 0, wire_bytes}.raw());
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.payload_text(), "hel");
  EXPECT_EQ(result.packet.payload_bytes, 5u);
}

TEST(Decode, WithASnaplenTheWireLengthCounts) {
  Bytes frame = ethernet(0x0800, kIpV4);  // its checksum is 0
  const auto wire_bytes = static_cast<uint32_t>(frame.size());
  frame.resize(frame.size() - 5);
  EXPECT_EQ(decoded(Frame{frame, 0, wire_bytes}.raw()).packet.payload_bytes, 5u);
  EXPECT_EQ(decoded(Frame{frame, 0, wire_bytes - 1}.raw()).outcome, DecodeOutcome::kMalformed);
}

// Every prefix of a frame either is too short to decode or decodes to the same endpoints.
TEST(Decode, EveryPrefixIsTruncatedOrTheSame) {
  for (const Bytes& whole_bytes : {ethernet(0x0800, kIpV4, {1, 2}), ethernet(0x86dd, kIpV6)}) {
    const size_t headers = whole_bytes.size() - 5;
    for (size_t length = 0; length < whole_bytes.size(); ++length) {
      const Bytes prefix(whole_bytes.begin(), whole_bytes.begin() + static_cast<ptrdiff_t>(length));
      const DecodedPacket result = decoded(Frame{prefix, 0, static_cast<uint32_t>(whole_bytes.size())}.raw());
      EXPECT_EQ(result.outcome, length < headers ? DecodeOutcome::kTruncated : DecodeOutcome::kOk) << length;
    }
  }
}

TEST(Decode, IpV4OptionsAndFragments) {
  Bytes options = kIpV4;
  options[0] = 0x46;
  options.insert(options.begin() + 20, 4, 1);
  options[3] = static_cast<uint8_t>(options.size());
  expect_hello(decoded(ethernet(0x0800, options)));
  const Bytes even = ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, Bytes(24));
  for (const auto& [high, low] : {std::pair{0x20, 0}, {0x20, 1}, {0x00, 1}}) {
    Bytes fragment = even;
    fragment[6] = static_cast<uint8_t>(high);
    fragment[7] = static_cast<uint8_t>(low);
    const DecodedPacket result = decoded(ethernet(0x0800, fragment));
    EXPECT_EQ(result.outcome, DecodeOutcome::kFragment);
    EXPECT_TRUE(result.packet.fragment);
    EXPECT_EQ(result.packet.src_port, 0);
    EXPECT_EQ(result.packet.payload_bytes, 24u);
    const Frame frame{ethernet(0x0800, fragment), 0, 0, LinkType::kEthernet};
    RawPacket raw = frame.raw();
    raw.captured_bytes -= 10;
    const DecodedPacket truncated = decoded(raw);
    EXPECT_EQ(truncated.outcome, DecodeOutcome::kTruncated);
    EXPECT_TRUE(truncated.packet.fragment);
    EXPECT_EQ(truncated.packet.payload_bytes, 24u);
    EXPECT_EQ(truncated.packet.payload_captured_bytes, 14u);
    EXPECT_EQ(result.packet.src_ip, address("10.0.0.1"));
  }
}

TEST(Decode, FragmentsThatBelongToNoDatagram) {
  Bytes odd = kIpV4;  // 25 bytes of data, and more fragments follow
  odd[6] = 0x20;
  EXPECT_EQ(decoded(ethernet(0x0800, odd)).outcome, DecodeOutcome::kMalformed);
  Bytes too_long = kIpV4;  // ends after byte 65535
  too_long[6] = 0x1f;
  too_long[7] = 0xff;
  EXPECT_EQ(decoded(ethernet(0x0800, too_long)).outcome, DecodeOutcome::kMalformed);
  Bytes empty = ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, {});
  empty[7] = 1;
  EXPECT_EQ(decoded(ethernet(0x0800, empty)).outcome, DecodeOutcome::kMalformed);
  Bytes cut_bytes = ethernet(0x0800, kIpV4);
  cut_bytes[21] = 1;
  const auto wire_bytes = static_cast<uint32_t>(cut_bytes.size());
  cut_bytes.pop_back();
  EXPECT_EQ(decoded(Frame{cut_bytes, 0, wire_bytes}.raw()).outcome, DecodeOutcome::kTruncated);
}

TEST(Decode, IpV6ExtensionHeaders) {
  Bytes chain = {43, 0, 1, 4, 0, 0, 0, 0};  // hop-by-hop, next routing
  chain = concat(chain,
                 {60, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // routing of 16 bytes, next destination options
  chain = concat(chain, {51, 0, 1, 4, 0, 0, 0, 0});                   // destination options, next AH
  chain = concat(chain, {44, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3});  // AH of 16 bytes, next fragment
  chain = concat(chain, {6, 0, 0, 0, 0, 0, 0, 9});                           // the only fragment, next TCP
  expect_hello(decoded(ethernet(0x86dd, ip_v6("::1", "::2", 0, concat(chain, kSegment)))));
  const Bytes fragment_header = {6, 0, 0, 8, 0, 0, 0, 9};
  EXPECT_EQ(decoded(ethernet(0x86dd, ip_v6("::1", "::2", 44, concat(fragment_header, kSegment)))).outcome,
            DecodeOutcome::kFragment);
  Bytes first = {6, 0, 0, 1, 0, 0, 0, 9};
  first.resize(24);
  EXPECT_EQ(decoded(ethernet(0x86dd, ip_v6("::1", "::2", 44, first))).outcome, DecodeOutcome::kFragment);
  Bytes endless;
  for (int i = 0; i < 12; ++i) endless = concat(endless, {60, 0, 1, 4, 0, 0, 0, 0});
  EXPECT_EQ(decoded(ethernet(0x86dd, ip_v6("::1", "::2", 60, endless))).outcome, DecodeOutcome::kTooManyHeaders);
  const Bytes too_long = {6, 200, 1, 4, 0, 0, 0, 0};
  EXPECT_EQ(decoded(ethernet(0x86dd, ip_v6("::1", "::2", 60, too_long))).outcome, DecodeOutcome::kMalformed);
}

// Compares with the same packet on a link type without a fast path. The fast path's Packet initially contains garbage.
TEST(Decode, FastPathFillsAllFields) {
  const Bytes udp = ip_v4("10.0.0.3", "10.0.0.4", protocol::kUdp, testing::udp_datagram(53, 5353, "an answer"));
  Packet used;
  std::memset(static_cast<void*>(&used), 0xa5, sizeof(used));
  for (const Bytes& ip : {kIpV4, udp}) {
    for (const std::vector<uint16_t>& vlans : {std::vector<uint16_t>{}, {77}}) {
      const Bytes fast = ethernet(0x0800, ip, vlans);
      Bytes slow(16);  // Linux cooked, with 16 bytes instead of Ethernet's 14
      slow[14] = fast[12];
      slow[15] = fast[13];
      slow.insert(slow.end(), fast.begin() + 14, fast.end());
      Packet a = used, b;
      const Frame fast_frame{fast, 5}, slow_frame{slow, 5, 0, LinkType::kLinuxSll};
      ASSERT_EQ(decode(fast_frame.raw(), kHasher, &a), DecodeOutcome::kOk);
      ASSERT_EQ(decode(slow_frame.raw(), kHasher, &b), DecodeOutcome::kOk);
      EXPECT_EQ(a.data, fast_frame.bytes.data());
      EXPECT_EQ(a.ip_offset + 2, b.ip_offset);
      EXPECT_EQ(a.transport_offset + 2, b.transport_offset);
      EXPECT_EQ(a.payload_offset + 2, b.payload_offset);
      EXPECT_EQ(a.captured_bytes + 2, b.captured_bytes);
      EXPECT_EQ(a.wire_bytes + 2, b.wire_bytes);
      const auto rest = [](const Packet& p) {
        return std::tuple(p.time_ns, p.flow_hash, p.queries, p.connection, p.buffer, p.src_ip, p.dst_ip, p.src_port,
                          p.dst_port, p.protocol, p.ip_version, p.vlan_tags, p.tcp_flags, p.vlan[0], p.vlan[1],
                          p.tcp_window, p.network_id, p.tcp_seq, p.tcp_ack, p.payload_captured_bytes, p.payload_bytes,
                          p.to_side, p.direction, p.tcp_events);
      };
      EXPECT_TRUE(rest(a) == rest(b));
      EXPECT_EQ(a.payload_text(), b.payload_text());
    }
  }
}

TEST(Decode, UdpAndOthers) {
  const Bytes udp = testing::udp_datagram(53, 5353, "query");
  const DecodedPacket result = decoded(ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, udp)));
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.payload_text(), "query");
  EXPECT_EQ(result.packet.src_port, 53);
  const DecodedPacket icmp = decoded(ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kIcmp, {8, 0, 0, 0})));
  ASSERT_EQ(icmp.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(icmp.packet.src_port, 0);
  EXPECT_EQ(icmp.packet.protocol, protocol::kIcmp);
}

TEST(Decode, SctpHasPorts) {
  const Bytes sctp = {0x0b, 0x59, 0x0b, 0x5a, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 4};
  const DecodedPacket result = decoded(ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kSctp, sctp)));
  ASSERT_EQ(result.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(result.packet.protocol, protocol::kSctp);
  EXPECT_EQ(result.packet.src_port, 2905);
  EXPECT_EQ(result.packet.dst_port, 2906);
  EXPECT_EQ(result.packet.payload_bytes, 4u);
  const Bytes cut(sctp.begin(), sctp.begin() + 8);
  EXPECT_EQ(decoded(ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kSctp, cut))).outcome,
            DecodeOutcome::kMalformed);
}

TEST(Decode, ContradictionsAreMalformed) {
  const auto changed = [](Bytes bytes, size_t offset, uint8_t value) {
    bytes.at(offset) = value;
    return decoded(ethernet(0x0800, bytes)).outcome;
  };
  EXPECT_EQ(changed(kIpV4, 0, 0x44), DecodeOutcome::kMalformed);        // header of 16 bytes
  EXPECT_EQ(changed(kIpV4, 0, 0x65), DecodeOutcome::kMalformed);        // version 6 under IPv4's type
  EXPECT_EQ(changed(kIpV4, 3, 19), DecodeOutcome::kMalformed);          // total length below the header's length
  EXPECT_EQ(changed(kIpV4, 3, 30), DecodeOutcome::kMalformed);          // no room for TCP
  EXPECT_EQ(changed(kIpV4, 20 + 12, 0x40), DecodeOutcome::kMalformed);  // TCP header of 16 bytes
  EXPECT_EQ(changed(kIpV4, 20 + 12, 0xf0), DecodeOutcome::kMalformed);  // TCP header beyond the datagram
}

TEST(Decode, NotIp) {
  EXPECT_EQ(decoded(ethernet(0x0806, kIpV4)).outcome, DecodeOutcome::kNotIp);
  EXPECT_EQ(decoded(ethernet(0x0026, kIpV4)).outcome, DecodeOutcome::kNotIp);  // 802.3 with LLC
  EXPECT_EQ(drop_reason(DecodeOutcome::kNotIp), "not_ip");
  EXPECT_EQ(drop_reason(DecodeOutcome::kOk), "");
}

}  // namespace
}  // namespace tapline
