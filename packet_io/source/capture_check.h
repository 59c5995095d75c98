// Checks that files are readable captures, as far as can be determined from their beginning.
#pragma once

#include <span>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

// Opens each regular file and reads up to its first packet. Returns the first fault. Rejects files for which a
// FileSource would fail without returning a packet. Accepts a truncated file if its first packet is complete, since its
// packets are useful. Does not open pipes and devices, since reading would consume their bytes.
Status check_captures(std::span<const std::string> paths);

}  // namespace tapline
