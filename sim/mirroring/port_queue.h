#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "sim/mirroring/shared_buffer.h"

namespace tapline::mirroring {

// The order in which a port sends packets from different input ports.
enum class Schedule : uint8_t {
  kFifo,        // in order of arrival
  kRoundRobin,  // one full packet of each input port in turn, as Planck found in switches (section 5.3)
};

enum class Admission : uint8_t {
  kAdmitted,
  kBufferFull,  // dropped: the switch has no memory left
  kThreshold,   // dropped: the queue has reached the shared buffer's threshold
  kPortLimit,   // dropped: the queue has reached the port's own limit
};
inline constexpr size_t kAdmissions = 4;

// A port's packet counts. Every packet that arrived was sent, is queued, was dropped for one reason, or was admitted
// and later pushed out.
struct PortAccount {
  uint64_t arrived = 0, sent = 0, pushed_out = 0;
  uint64_t outcomes[kAdmissions] = {};  // indexed by Admission
  uint64_t largest_bytes = 0;           // maximum length of the queue so far

  uint64_t admitted() const { return outcomes[static_cast<size_t>(Admission::kAdmitted)]; }
  uint64_t dropped() const { return arrived - admitted() + pushed_out; }
};

// The queue of one output port, in memory that the switch's ports share. Under round robin, it consists of a queue for
// each input port. These queues are served by deficit round robin (Shreedhar and Varghese, 1995), so each input port
// gets the same number of bytes. If there is no room for a packet, the longest queue loses its last packet (Wei et al.,
// "An optimal buffer management policy for high-performance packet switching", 1991). Not thread-safe.
template <typename Packet>
class PortQueue {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  // The number of bytes credited to an input port per turn.
  static constexpr uint64_t kTurnBytes = 1518;

  // `limit_bytes` is the port's own limit, in addition to the shared buffer's threshold.
  PortQueue(SharedBuffer* buffer, Schedule schedule, size_t inputs, uint64_t limit_bytes = kNoLimit)
      : buffer_(buffer),
        limit_bytes_(limit_bytes),
        queues_(schedule == Schedule::kFifo ? 1 : inputs),
        turn_(queues_.size() - 1) {}

  Admission enqueue(size_t input, Packet packet, uint32_t bytes) {
    Queue& queue = queues_[queues_.size() == 1 ? 0 : input];
    Admission admission = judge(bytes);
    if (admission != Admission::kAdmitted && push_out(queue, bytes)) admission = Admission::kAdmitted;
    ++account_.arrived;
    ++account_.outcomes[static_cast<size_t>(admission)];
    if (admission != Admission::kAdmitted) return admission;
    buffer_->take(bytes);
    queue.packets.push_back({std::move(packet), bytes});
    queue.bytes += bytes;
    bytes_ += bytes;
    account_.largest_bytes = std::max(account_.largest_bytes, bytes_);
    return admission;
  }

  // Returns false if the queue is empty.
  bool dequeue(Packet* packet) {
    if (bytes_ == 0) return false;
    while (!may_send(queues_[turn_])) begin_turn();
    Queue& queue = queues_[turn_];
    *packet = std::move(queue.packets.front().packet);
    const uint32_t bytes = queue.packets.front().bytes;
    queue.packets.pop_front();
    queue.credit_bytes -= bytes;
    release(&queue, bytes);
    ++account_.sent;
    return true;
  }

  uint64_t bytes() const { return bytes_; }
  uint64_t packets() const { return account_.arrived - account_.sent - account_.dropped(); }
  const PortAccount& account() const { return account_; }

 private:
  struct QueuedPacket {
    Packet packet;
    uint32_t bytes;
  };
  struct Queue {
    std::deque<QueuedPacket> packets;
    uint64_t bytes = 0;
    uint64_t credit_bytes = 0;  // bytes that the input port may still send in its turn
  };

  bool may_send(const Queue& queue) const {
    if (queue.packets.empty()) return false;
    return queues_.size() == 1 || queue.packets.front().bytes <= queue.credit_bytes;
  }

  void begin_turn() {
    turn_ = (turn_ + 1) % queues_.size();
    Queue& queue = queues_[turn_];
    queue.credit_bytes = queue.packets.empty() ? 0 : queue.credit_bytes + kTurnBytes;
  }

  Admission judge(uint32_t bytes) const {
    if (bytes > buffer_->free_bytes()) return Admission::kBufferFull;
    if (bytes_ + bytes > buffer_->threshold_bytes()) return Admission::kThreshold;
    return bytes_ + bytes > limit_bytes_ ? Admission::kPortLimit : Admission::kAdmitted;
  }

  // Makes room for a packet of this queue by dropping packets from the tail of the longest queue. Returns false if,
  // with the packet, this queue would be the longest.
  bool push_out(const Queue& queue, uint32_t bytes) {
    while (judge(bytes) != Admission::kAdmitted) {
      const auto longest = std::max_element(queues_.begin(), queues_.end(),
                                            [](const Queue& a, const Queue& b) { return a.bytes < b.bytes; });
      if (longest->bytes <= queue.bytes + bytes) return false;
      const uint32_t last_bytes = longest->packets.back().bytes;
      longest->packets.pop_back();
      release(&*longest, last_bytes);
      ++account_.pushed_out;
    }
    return true;
  }

  void release(Queue* queue, uint32_t bytes) {
    queue->bytes -= bytes;
    bytes_ -= bytes;
    buffer_->release(bytes);
  }

  SharedBuffer* buffer_;
  uint64_t limit_bytes_;
  std::vector<Queue> queues_;
  size_t turn_;
  uint64_t bytes_ = 0;
  PortAccount account_;
};

}  // namespace tapline::mirroring
