// Checks that files are captures that can be read, as far as their beginning shows it.
#pragma once

#include <span>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

// Opens each regular file and reads up to its first packet. Refuses the files that a FileSource would fail on without
// giving a packet; a file that only ends too early is left to it, for its packets are of use. Pipes and devices are not
// opened, since reading would take their bytes away. The first fault is returned.
Status CheckCaptures(std::span<const std::string> paths);

}  // namespace tapline
