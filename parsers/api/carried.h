#pragma once

#include "parsers/api/packet.h"

namespace tapline {

// Whether what the packet carries may be another packet, with addresses of its own, that decode() did not follow: a
// fragment of a tunnel, or a tunnel with something else than IP in it, or with nonsense.
bool may_carry_packet(const Packet& packet);

}  // namespace tapline
