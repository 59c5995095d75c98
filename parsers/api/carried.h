#pragma once

#include "parsers/api/packet.h"

namespace tapline {

// Returns true if the payload may be another packet, with its own addresses, that decode() did not decode: a
// fragment of a tunnel, or a tunnel whose content is not IP or is malformed.
bool may_carry_packet(const Packet& packet);

}  // namespace tapline
