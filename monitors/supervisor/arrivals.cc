#include "monitors/supervisor/arrivals.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tapline {

bool Arrivals::Open(const std::string& interface) {
  // Binds in two steps: a socket made with a protocol would count all interfaces until it is bound to one.
  socket_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  int smallest = 0;
  sockaddr_ll address = {};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  bool opened = socket_ >= 0 && address.sll_ifindex != 0 &&
                setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest) == 0 &&
                bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!opened) Close();
  return opened;
}

uint64_t Arrivals::Read() {
  tpacket_stats stats = {};
  socklen_t size = sizeof stats;
  // Reading resets the kernel's counters; tp_packets includes packets that were dropped for lack of room.
  if (open() && getsockopt(socket_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) packets_ += stats.tp_packets;
  return packets_;
}

void Arrivals::Close() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

}  // namespace tapline
