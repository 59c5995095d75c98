// How many packets an interface has had, as a packet socket sees them, whoever else listens: what a restart missed is
// the difference to what the workers have seen. It reads no packet and keeps room for none.
#pragma once

#include <cstdint>
#include <string>

namespace tapline {

class Arrivals {
 public:
  ~Arrivals() { Close(); }

  // Returns whether it could. Counts from now on.
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
