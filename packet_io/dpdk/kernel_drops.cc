#include "packet_io/dpdk/kernel_drops.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>

namespace tapline {

void KernelDrops::FindSockets() {
  sockets_.clear();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    int fd = std::atoi(entry.path().filename().c_str());
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET) sockets_.push_back(fd);
  }
}

uint64_t KernelDrops::Read() {
  for (int fd : sockets_) {
    tpacket_stats stats = {};
    socklen_t size = sizeof stats;
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) dropped_ += stats.tp_drops;
  }
  return dropped_;
}

}  // namespace tapline
