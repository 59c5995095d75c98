#include "packet_io/dpdk/interface.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tapline {
namespace {

// A frame of this size fits into a packet buffer, which has a 16-bit length, and 64 such frames fill whole pages.
constexpr unsigned kFrameBytes = 65344;
constexpr unsigned kFramesPerBlock = 64;
// The number of blocks. Together they have 960 frames, or about 60 MiB.
constexpr unsigned kBlocks = 15;
// The size of the kernel's header in a frame (TPACKET2_HDRLEN without the sockaddr_ll).
constexpr unsigned kFrameHeaderBytes = 32;

std::string interfaces() {
  std::string names;
  struct if_nameindex* all = if_nameindex();
  for (auto* entry = all; entry != nullptr && entry->if_index != 0; ++entry) {
    names += (names.empty() ? "" : ", ") + std::string(entry->if_name);
  }
  if (all != nullptr) if_freenameindex(all);
  return names;
}

bool is_up(int socket_fd, const std::string& name) {
  ifreq request = {};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  return ioctl(socket_fd, SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP) != 0;
}

}  // namespace

Status check_interface(const std::string& name, const std::function<void(const std::string&)>& warn) {
  if (if_nametoindex(name.c_str()) == 0) {
    return Status::invalid("there is no interface '" + name + "'; this host has: " + interfaces());
  }
  int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Status::resources("no permission to capture on '" + name + "' (" + std::strerror(errno) +
                             "): run as root, or give the program the capabilities CAP_NET_RAW and CAP_NET_ADMIN");
  }
  bool up = is_up(fd, name);
  close(fd);
  if (!up && warn) warn("interface '" + name + "' is down: it receives no packets until 'ip link set " + name + " up'");
  return {};
}

std::string af_packet_device(const std::string& interface, unsigned queues, unsigned number) {
  return "net_af_packet" + std::to_string(number) + ",iface=" + interface + ",framesz=" + std::to_string(kFrameBytes) +
         ",blocksz=" + std::to_string(kFramesPerBlock * kFrameBytes) +
         ",framecnt=" + std::to_string(kFramesPerBlock * kBlocks) + ",qpairs=" + std::to_string(queues);
}

std::optional<ArrivalTimes> af_packet_times(std::span<const int> sockets, uint16_t queue) {
  return ArrivalTimes::find(sockets, queue, kFrameBytes, size_t{kFramesPerBlock} * kBlocks);
}

std::optional<uint64_t> packets_on(const std::string& interface) {
  std::ifstream devices("/proc/self/net/dev");
  for (std::string line; std::getline(devices, line);) {
    const size_t colon = line.find(':');
    const size_t name = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.substr(name, colon - name) != interface) continue;
    std::istringstream numbers(line.substr(colon + 1));
    uint64_t bytes = 0, packets = 0;
    if (numbers >> bytes >> packets) return packets;
  }
  return std::nullopt;
}

unsigned af_packet_data_bytes() { return kFrameBytes - kFrameHeaderBytes; }

}  // namespace tapline
