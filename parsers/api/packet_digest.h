#pragma once

#include <cstdint>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {

// Returns a keyed digest of every part of a packet that switches, routers and tunnels on the path leave unchanged:
// addresses, protocol, identification, fragment offset, flow label, lengths, transport header and data of the innermost
// datagram. Ignores the link header, VLAN, outer headers, traffic class, hop limit, and the IP, TCP and UDP checksums.
// Different packets have equal digests only by chance, with probability 2^-64. If the capture truncated the packet, the
// digest covers only the data that every view with at most two VLAN tags contains; views must have the same snap
// length. REQUIRES: decode() returned kOk or kFragment for the packet.
uint64_t digest_of(const Packet& packet, HashKey key);

}  // namespace tapline
