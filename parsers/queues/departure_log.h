#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tapline::queues {

// The latest departures of a queue, numbered in order, and the one before them. A departure takes 24 bytes. The ring
// grows up to max_packets. Not thread-safe.
class DepartureLog {
 public:
  struct Departure {
    int64_t time_ns;
    uint64_t bytes_before;  // total of all earlier departures
    uint32_t flow;
    uint32_t bytes;
  };

  explicit DepartureLog(uint32_t max_packets) : max_packets_(std::max(max_packets, kFirstPackets)) {}

  uint64_t first() const { return first_; }
  uint64_t end() const { return end_; }
  bool empty() const { return first_ == end_; }
  // Returns how many departures can be pushed.
  uint64_t room() const { return max_packets_ - 1 - (end_ - first_); }
  const Departure& operator[](uint64_t number) const { return ring_[number & mask_]; }

  // Returns the time when the link became free for this packet: the departure of the previous one. For the first
  // packet, this is `first_start_ns` of push().
  int64_t start_ns(uint64_t number) const { return (*this)[number - 1].time_ns; }

  // Returns its number. REQUIRES: room() > 0; time_ns is not below the time of the previous departure.
  uint64_t push(int64_t time_ns, int64_t first_start_ns, uint32_t flow, uint32_t bytes) {
    if (end_ - first_ >= mask_) grow(first_start_ns);
    ring_[end_ & mask_] = {time_ns, bytes_, flow, bytes};
    bytes_ += bytes;
    return end_++;
  }
  void pop_front() { ++first_; }

  // Returns the number of the first departure at this time or later.
  uint64_t at_or_after(int64_t time_ns) const {
    uint64_t low = first_, high = end_;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if ((*this)[middle].time_ns < time_ns) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Returns the bytes that left in [from_ns, to_ns), as far as the log reaches back.
  uint64_t bytes_between(int64_t from_ns, int64_t to_ns) const {
    return bytes_before(at_or_after(to_ns)) - bytes_before(at_or_after(from_ns));
  }

  uint64_t memory_bytes() const { return ring_.size() * sizeof(Departure); }

 private:
  static constexpr uint32_t kFirstPackets = 1024;

  uint64_t bytes_before(uint64_t number) const { return number == end_ ? bytes_ : (*this)[number].bytes_before; }

  void grow(int64_t first_start_ns) {
    std::vector<Departure> larger(std::max<size_t>(ring_.size() * 2, kFirstPackets));
    if (ring_.empty()) {
      larger.back().time_ns = first_start_ns;
    } else {
      for (uint64_t number = first_ - 1; number != end_; ++number)
        larger[number & (larger.size() - 1)] = (*this)[number];
    }
    ring_ = std::move(larger);
    mask_ = ring_.size() - 1;
  }

  uint64_t max_packets_;
  std::vector<Departure> ring_;
  uint64_t mask_ = 0;  // ring size - 1; ring_.size() would take a division by 24
  uint64_t first_ = 0, end_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tapline::queues
