#include "packet_io/dpdk/kernel_drops.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

namespace tapline {

uint64_t KernelDrops::read() {
  for (int fd : sockets_) {
    tpacket_stats stats = {};
    socklen_t size = sizeof stats;
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) dropped_ += stats.tp_drops;
  }
  return dropped_;
}

}  // namespace tapline
