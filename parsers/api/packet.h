#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "parsers/api/address.h"

namespace tapline {

struct Connection;
class FlowHasher;

enum class LinkType : uint8_t {
  kEthernet,  // DLT_EN10MB
  kNull,      // DLT_NULL and DLT_LOOP: a 4-byte address family, in either byte order
  kRawIp,     // DLT_RAW, DLT_IPV4, DLT_IPV6: the version is in the first nibble
  kLinuxSll,  // DLT_LINUX_SLL, 16 bytes
  kLinuxSll2  // DLT_LINUX_SLL2, 20 bytes
};

// The maximum packet time, in the year 2116. Adding a duration or a timeout to it can't overflow.
inline constexpr int64_t kLatestTimeNs = INT64_MAX / 2;

// Position of an absent header.
inline constexpr uint32_t kNoOffset = UINT32_MAX;

// The addresses of an Ethernet header, each in network byte order.
struct EthernetAddresses {
  std::span<const uint8_t, 6> destination, source;

  // REQUIRES: 12 readable bytes at `header`.
  static EthernetAddresses at(const uint8_t* header) {
    return {std::span<const uint8_t, 6>(header, 6), std::span<const uint8_t, 6>(header + 6, 6)};
  }
};

// A frame as captured. The bytes belong to the caller and stay valid until Engine::process() returns.
struct RawPacket {
  const uint8_t* data = nullptr;
  uint32_t captured_bytes = 0;
  uint32_t wire_bytes = 0;  // length on the wire, >= captured_bytes
  int64_t time_ns = 0;      // time since the epoch, 0 to kLatestTimeNs
  LinkType link = LinkType::kEthernet;
  uint8_t tap = 0;  // index among the source's taps
  // True if the time is that of the poll, because the port provides no arrival times.
  bool polled_time = false;
  void* buffer = nullptr;  // handle of the bytes' storage, private to the source

  // Returns the addresses of the outermost header; nullopt if the link or a short capture has none.
  std::optional<EthernetAddresses> ethernet() const {
    if (link != LinkType::kEthernet || captured_bytes < 12) return std::nullopt;
    return EthernetAddresses::at(data);
  }
};
// Sources and rings move packets in bursts, so the size affects throughput: measure before enlarging it.
static_assert(sizeof(RawPacket) == 40);

namespace protocol {
inline constexpr uint8_t kIcmp = 1, kIpV4 = 4, kTcp = 6, kUdp = 17, kIpV6 = 41, kFragment = 44, kGre = 47, kEsp = 50,
                         kAh = 51, kIcmpV6 = 58, kEtherIp = 97, kSctp = 132, kMpls = 137;
}
namespace tcp_flag {
inline constexpr uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kPsh = 0x08, kAck = 0x10, kUrg = 0x20;
}

// The endpoint of a packet that is the query's TO, if all queries that want the packet agree: a hint about the client
// side.
enum class ToSide : uint8_t { kUnknown, kSource, kDestination };

enum class Direction : uint8_t { kFromClient = 0, kFromServer = 1 };

// The effect of the packet on its TCP connection: a set of bits, filled in by the engine.
namespace tcp_event {
inline constexpr uint8_t kSyn = 0x01;          // first SYN of this incarnation
inline constexpr uint8_t kEstablished = 0x02;  // handshake complete
inline constexpr uint8_t kClosed = 0x04;       // the second FIN
inline constexpr uint8_t kReset = 0x08;        // a RST that its receiver must accept
// A RST that its receiver must ignore, or a packet that shows that both sides ignored a RST that looked acceptable.
inline constexpr uint8_t kRstIgnored = 0x10;
inline constexpr uint8_t kStrayRst = 0x20;        // a RST of an unknown connection; Packet::connection is null
inline constexpr uint8_t kSynAckConflict = 0x40;  // a SYN/ACK whose sequence number differs from an earlier one's
}  // namespace tcp_event

// A decoded frame: offsets into the raw bytes, and the fields that more than one component needs. Filled by decode(),
// then by the monitor (queries, to_side), then by the engine (connection, direction, tcp_events). If a tunnel was
// followed, addresses, ports and offsets are those of the innermost packet.
struct Packet {
  const uint8_t* data = nullptr;
  int64_t time_ns = 0;
  uint64_t flow_hash = 0;
  // Bit q is set if query q wants this packet (match, sampling, LIMIT). decode() clears all bits; the monitor sets
  // them.
  uint64_t queries = 0;
  Connection* connection = nullptr;  // set by the engine; null if the packet has no connection
  void* buffer = nullptr;  // as in RawPacket; decode() leaves it null, and it stays null for a reassembled datagram,
                           // whose bytes are invalid once the burst is processed

  IpAddress src_ip;
  IpAddress dst_ip;
  uint16_t src_port = 0;  // host order; 0 if the protocol has no ports
  uint16_t dst_port = 0;
  uint8_t protocol = 0;    // the transport protocol, after IPv6 extension headers and AH
  uint8_t ip_version = 0;  // 4 or 6
  uint8_t vlan_tags = 0;   // number of tags in the innermost Ethernet header
  uint8_t tcp_flags = 0;
  uint16_t vlan[2] = {0, 0};  // VLAN IDs, outermost first; tags beyond the second are only counted
  uint16_t tcp_window = 0;    // as sent, unscaled
  uint8_t tap = 0;            // as in RawPacket; for a reassembled datagram, the tap of the fragment that completed it
  // True if the packet is counted elsewhere: another tap has already shown it (only parsers with Needs::all_views
  // receive it), or it is a fragment (only parsers with Needs::fragments receive it). Set by the monitor.
  bool repeated_view : 1 = false;
  bool fragment : 1 = false;     // an IP fragment: its ports are unknown (0), its payload is the fragment's data
  bool polled_time : 1 = false;  // as in RawPacket
  uint32_t network_id = 0;       // VNI of the innermost VXLAN or Geneve around the packet; 0 if there is none
  uint32_t tcp_seq = 0;
  uint32_t tcp_ack = 0;

  uint32_t captured_bytes = 0;
  uint32_t wire_bytes = 0;
  uint32_t ip_offset = 0;
  uint32_t transport_offset = 0;
  uint32_t payload_offset = 0;
  uint32_t payload_captured_bytes = 0;  // readable at data + payload_offset
  // The payload length according to the IP header: exceeds the captured bytes if a snap length cut the packet, and
  // never includes Ethernet padding.
  uint32_t payload_bytes = 0;
  // The telemetry of the innermost packet, for read_telemetry(): the INT header and metadata that switches on the path
  // wrote. Captured completely; 0 bytes if there is none.
  uint32_t telemetry_offset = 0;
  uint32_t telemetry_bytes = 0;

  ToSide to_side = ToSide::kUnknown;
  Direction direction = Direction::kFromClient;  // valid while connection is set
  uint8_t tcp_events = 0;
  bool reassembled = false;  // a datagram reassembled from fragments; wire_bytes covers all its frames
  // Position of the innermost Ethernet header; kNoOffset if there is none or its bytes are no longer available.
  uint32_t ethernet_offset = kNoOffset;

  // Returns the addresses of the innermost Ethernet header, which are those at the tap's switch even if the copy
  // arrived in a tunnel.
  std::optional<EthernetAddresses> ethernet() const {
    if (ethernet_offset == kNoOffset) return std::nullopt;
    return EthernetAddresses::at(data + ethernet_offset);
  }
  std::span<const uint8_t> payload() const { return {data + payload_offset, payload_captured_bytes}; }
  std::string_view payload_text() const {
    return {reinterpret_cast<const char*>(data + payload_offset), payload_captured_bytes};
  }
  // Returns the VLAN IDs in the form of FlowKey::vlan.
  uint32_t vlan_key() const { return vlan_tags < 2 ? vlan[0] : static_cast<uint32_t>(vlan[0]) << 12 | vlan[1]; }
  bool is_tcp() const { return protocol == protocol::kTcp; }
  bool is_udp() const { return protocol == protocol::kUdp; }
  bool is_icmp() const { return protocol == protocol::kIcmp || protocol == protocol::kIcmpV6; }
  bool has_tcp_flag(uint8_t flag) const { return (tcp_flags & flag) != 0; }
};
static_assert(sizeof(Packet) == 152);

// A packet that the engine did not decode: a completely captured TCP segment over IPv4 without options, in Ethernet
// without tags. It is a segment of an open connection, without SYN, FIN and RST, or the SYN of a new connection.
struct PlainPacket {
  const RawPacket* raw = nullptr;
  uint64_t queries = 0;  // as in Packet
  Direction direction = Direction::kFromClient;
};

enum class DecodeOutcome : uint8_t {
  kOk,
  kTruncated,        // the capture ends within the headers
  kNotIp,            // ARP, 802.3 LLC, …
  kMalformed,        // contradictory lengths or versions
  kFragment,         // an IP fragment, for FragmentTable
  kUnsupportedLink,  // an unknown link type
  kTooManyHeaders,   // more VLAN tags, labels, extension headers or nested tunnels than decode() follows
};
inline constexpr int kDecodeOutcomes = 7;

// Returns the drop reason as in TupleBatch.accounting; "" for kOk.
std::string_view drop_reason(DecodeOutcome outcome);

// Decodes the frame down to the innermost TCP or UDP header, through tags and tunnels (see parsers/decode/README.md).
// Also sets ports for SCTP; other transports are kOk with ports 0. Checks every length before reading. Overwrites
// all of *packet, but does not compute flow_hash; the result is meaningless unless kOk is returned or
// `fragment` is set, which it is on kFragment, and on kTruncated if only the fragment's data was truncated. A fragment
// describes the datagram up to its IP header, with the fragment's data as payload. Does not verify checksums, since
// captures on the sending host lack them; an IPv4 header checksum only decides whether a length beyond the frame is
// corrupt.
DecodeOutcome decode(const RawPacket& raw, Packet* packet);

// Decodes a frame. Also sets flow_hash if kOk is returned.
DecodeOutcome decode(const RawPacket& raw, const FlowHasher& hasher, Packet* packet);

// An IP datagram that FragmentTable reassembled, with the flow's fields from its fragments' frames.
struct Datagram {
  RawPacket raw;  // begins with the IP header; wire_bytes covers all its frames
  uint8_t vlan_tags = 0;
  uint16_t vlan[2] = {0, 0};
  uint32_t network_id = 0;
  uint32_t frames = 0;
};
// Decodes a reassembled datagram. Returns kFragment again if it carries, in a tunnel, a fragment of another datagram.
DecodeOutcome decode(const Datagram& datagram, const FlowHasher& hasher, Packet* packet);

// REQUIRES: decode() returned kOk for the packet.
uint64_t hash_flow(const FlowHasher& hasher, const Packet& packet);

}  // namespace tapline
