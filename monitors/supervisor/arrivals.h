// Counts the packets that arrive at an interface, as a packet socket sees them, independent of other readers. The
// difference to what the workers have seen is what a restart missed. Reads no packet and keeps no room for any.
#pragma once

#include <cstdint>
#include <string>

namespace tapline {

class Arrivals {
 public:
  ~Arrivals() { Close(); }

  // Starts counting. Returns false if it can't.
  bool Open(const std::string& interface);
  bool open() const { return socket_ >= 0; }
  // Packets since Open().
  uint64_t Read();
  void Close();

 private:
  int socket_ = -1;
  uint64_t packets_ = 0;
};

}  // namespace tapline
