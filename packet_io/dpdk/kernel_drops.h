// Counts the packets that the kernel dropped before net_af_packet could read them. The driver does not count them, but
// its sockets belong to this process and can be queried.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tapline {

class KernelDrops {
 public:
  // Sets the packet sockets on which drops are counted.
  void watch(std::vector<int> sockets) { sockets_ = std::move(sockets); }
  // Returns the number of packets that these sockets have dropped since they were opened. Reading resets the kernel's
  // counters, so only one object may read them.
  uint64_t read();

 private:
  std::vector<int> sockets_;
  uint64_t dropped_ = 0;
};

}  // namespace tapline
