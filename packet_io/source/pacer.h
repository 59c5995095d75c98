// Decides how long a polling thread sleeps between polls, so that an idle or slow port costs almost no CPU and a fast
// one is polled without pause.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapline {

class Pacer {
 public:
  // A busy pacer never sleeps.
  explicit Pacer(bool busy) : busy_(busy) {}

  // Returns how many nanoseconds to sleep after a poll at `now_ns` (monotonic) that returned `packets`.
  //
  // After a large burst, more packets are probably waiting, so it returns 0. After a small burst, it returns a tenth of
  // a millisecond, which bounds how late a packet is seen (and timestamped) while there is traffic. If no packet has
  // arrived for 50 ms, it returns a millisecond.
  int64_t after_poll(size_t packets, int64_t now_ns) {
    if (packets > 0) last_packet_at_ns_ = now_ns;
    if (busy_ || packets >= kManyPackets) return 0;
    return now_ns - last_packet_at_ns_ < kIdleAfterNs ? kActiveSleepNs : kIdleSleepNs;
  }

 private:
  static constexpr size_t kManyPackets = 16;
  static constexpr int64_t kIdleAfterNs = 50'000'000;
  static constexpr int64_t kActiveSleepNs = 100'000;
  static constexpr int64_t kIdleSleepNs = 1'000'000;

  bool busy_;
  int64_t last_packet_at_ns_ = 0;
};

}  // namespace tapline
