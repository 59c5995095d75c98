// Whose process is at the other end of a TCP connection within this host, by the kernel's tables of sockets: on
// loopback an address proves nothing, the user does. control-plane has the same for REST (LocalPeer.java).
#pragma once

#include <cstdint>
#include <string>

namespace tapline::multilog {

// True for this process's user, root, and whoever started this process by sudo. A socket that was closed meanwhile is
// nobody's. `peer` is the other end as gRPC names it ("ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000"), `port` this
// end's.
bool IsOwnUser(const std::string& peer, uint16_t port);

}  // namespace tapline::multilog
