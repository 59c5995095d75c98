#include "packet_io/dpdk/packet_sockets.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tapline {

std::vector<int> packet_sockets() {
  std::vector<int> sockets;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET) sockets.push_back(fd);
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

}  // namespace tapline
