// Sorts the packets of a file that is almost in time order, such as one program's capture on several interfaces. Copies
// the packets' bytes, because packets wait here across refills of the read window.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet_io/capture/record_format.h"

namespace tapline {

class ReorderBuffer {
 public:
  // A packet waits until one that is `bound_ns` later has arrived, or until the waiting packets take kMaxBytes.
  explicit ReorderBuffer(int64_t bound_ns) : bound_ns_(bound_ns) {}

  void add(std::span<const CapturedPacket> packets);
  // Makes all waiting packets ready. Must be called after the last packet.
  void end() { ended_ = true; }

  // Returns the next packets in order, as many as are ready and fit. Their bytes are valid until recycle().
  size_t take(std::span<CapturedPacket> packets);
  // Frees the bytes of the packets that take() returned.
  void recycle();

  bool empty() const { return waiting_.empty(); }

 private:
  static constexpr size_t kMaxBytes = 16 << 20;

  struct WaitingPacket {
    CapturedPacket packet;
    uint64_t number;  // position in the file: packets with equal times keep their order
    std::vector<uint8_t> bytes;
  };
  struct LaterFirst {
    bool operator()(const std::unique_ptr<WaitingPacket>& a, const std::unique_ptr<WaitingPacket>& b) const {
      return a->packet.time_ns != b->packet.time_ns ? a->packet.time_ns > b->packet.time_ns : a->number > b->number;
    }
  };

  bool is_ready() const;
  std::unique_ptr<WaitingPacket> pop();

  int64_t bound_ns_;
  bool ended_ = false;
  int64_t latest_ns_ = INT64_MIN;
  uint64_t added_ = 0;
  size_t waiting_bytes_ = 0;
  std::vector<std::unique_ptr<WaitingPacket>> waiting_;  // a heap with the earliest packet at the front
  std::vector<std::unique_ptr<WaitingPacket>> taken_, free_;
};

}  // namespace tapline
