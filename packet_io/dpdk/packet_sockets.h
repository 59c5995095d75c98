// Finds the packet sockets of this process: net_af_packet does not report those that it opens.
#pragma once

#include <vector>

namespace tapline {

// Returns the descriptors in the order of their numbers, in which the driver opened them.
std::vector<int> packet_sockets();

}  // namespace tapline
