#pragma once

#include <algorithm>
#include <cstdint>

namespace tapline::mirroring {

// Memory that all ports of a switch share, with dynamic thresholds (Choudhury and Hahne, "Dynamic queue length
// thresholds for shared-memory packet switches", 1998): a port's queue may be up to alpha times as long as the free
// memory. A single congested port thus takes alpha / (1 + alpha) of the memory, and n congested ports together take n
// alpha / (1 + n alpha). Not thread-safe.
class SharedBuffer {
 public:
  SharedBuffer(uint64_t bytes, double alpha) : bytes_(bytes), alpha_(alpha) {}

  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t free_bytes() const { return bytes_ - used_bytes_; }
  // Returns the current maximum length of a queue.
  uint64_t threshold_bytes() const { return static_cast<uint64_t>(alpha_ * static_cast<double>(free_bytes())); }

  // REQUIRES: bytes <= free_bytes().
  void take(uint32_t bytes) { used_bytes_ += bytes; }
  // REQUIRES: the bytes were taken.
  void release(uint32_t bytes) { used_bytes_ -= bytes; }

 private:
  uint64_t bytes_;
  double alpha_;
  uint64_t used_bytes_ = 0;
};

}  // namespace tapline::mirroring
