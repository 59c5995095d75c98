// Finds this process's packet sockets, since net_af_packet does not report those that it opens.
#pragma once

#include <vector>

namespace tapline {

// Returns the descriptors in ascending order, which is the order in which the driver opened them.
std::vector<int> packet_sockets();

}  // namespace tapline
