// Finds the packet sockets of this process: net_af_packet does not report those that it opens.
#pragma once

#include <vector>

namespace tapline {

// Descriptors, in the order of their numbers, which is that in which the driver opened them.
std::vector<int> packet_sockets();

}  // namespace tapline
