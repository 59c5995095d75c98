// Checks that files are readable captures, as far as their beginning shows.
#pragma once

#include <span>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

// Opens each regular file and reads up to its first packet. Refuses files for which a FileSource would fail without
// returning a packet. Accepts a file that only ends too early, since its packets are useful. Does not open pipes and
// devices, since reading would consume their bytes. Returns the first fault.
Status check_captures(std::span<const std::string> paths);

}  // namespace tapline
