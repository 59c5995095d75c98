// What the kernel dropped before net_af_packet could read it. The driver does not count that, but its sockets are in
// this process and can be asked.
#pragma once

#include <cstdint>
#include <vector>

namespace tapline {

class KernelDrops {
 public:
  // Finds the packet sockets of this process.
  void FindSockets();
  // Packets dropped on them since the first call. Asking resets the kernel's counter, so only one object may ask.
  uint64_t Read();

 private:
  std::vector<int> sockets_;
  uint64_t dropped_ = 0;
};

}  // namespace tapline
