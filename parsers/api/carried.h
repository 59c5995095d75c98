#pragma once

#include "parsers/api/packet.h"

namespace tapline {

// Returns whether the payload may be another packet, with its own addresses, that decode() did not follow: a fragment
// of a tunnel, or a tunnel that holds something other than IP, or garbage.
bool may_carry_packet(const Packet& packet);

}  // namespace tapline
