// Counts the packets that arrive at interfaces, as packet sockets see them, independently of other readers. The
// difference from the number of packets that workers have seen is the loss caused by a restart. Reads no packets and
// reserves no memory for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapline {

class Arrivals {
 public:
  ~Arrivals() { close(); }

  // Starts counting. Returns false, and counts nothing, unless all interfaces can be counted.
  bool open(std::span<const std::string> interfaces);
  bool open() const { return !sockets_.empty(); }
  // Returns the number of packets since open().
  uint64_t read();
  void close();

 private:
  std::vector<int> sockets_;  // a socket per interface
  uint64_t packets_ = 0;
};

}  // namespace tapline
