// Finds the user of the process at the other end of a TCP connection within this host, from the kernel's socket tables.
// On loopback, an address proves nothing, but the user does. The control plane does the same for REST (LocalPeer.java).
#pragma once

#include <cstdint>
#include <string>

namespace tapline::multilog {

// Returns true if the other end belongs to this process's user, to root, or to the user who started this process with
// sudo; false if its socket has been closed in the meantime. `peer` is the other end in gRPC's notation
// ("ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000"), and `port` is this end's port.
bool is_own_user(const std::string& peer, uint16_t port);

}  // namespace tapline::multilog
