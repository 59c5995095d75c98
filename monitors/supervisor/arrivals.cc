#include "monitors/supervisor/arrivals.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tapline {
namespace {

// Returns a socket that counts the interface's packets, or a negative number if it can't be opened.
int open_on(const std::string& interface) {
  // Binds in two steps: a socket created with a protocol would count packets of all interfaces until it is bound to
  // one.
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  int smallest = 0;
  sockaddr_ll address = {};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  const bool is_opened = fd >= 0 && address.sll_ifindex != 0 &&
                         setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest) == 0 &&
                         bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (is_opened) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

}  // namespace

bool Arrivals::open(std::span<const std::string> interfaces) {
  for (const std::string& interface : interfaces) {
    const int fd = open_on(interface);
    if (fd < 0) {
      close();
      return false;
    }
    sockets_.push_back(fd);
  }
  return open();
}

uint64_t Arrivals::read() {
  for (int fd : sockets_) {
    tpacket_stats stats = {};
    socklen_t size = sizeof stats;
    // Reading resets the kernel's counters. tp_packets includes packets that were dropped for lack of room.
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) packets_ += stats.tp_packets;
  }
  return packets_;
}

void Arrivals::close() {
  for (int fd : sockets_) ::close(fd);
  sockets_.clear();
}

}  // namespace tapline
