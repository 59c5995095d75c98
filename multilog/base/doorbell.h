// Lets one thread sleep until a deadline, or until another thread has work for it.
//
// ring() never blocks, even if the sleeping thread is paused: it costs one exchange, and a system call only if a thread
// is asleep, so writers may call it. A ring while the thread is busy is not lost: the thread's next wait returns
// immediately. Everything written before ring() is visible after the wait that received it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "packet_io/base/clock.h"

namespace tapline::multilog {

class Doorbell {
 public:
  void ring() {
    if (state_.exchange(kRung, std::memory_order_acq_rel) == kAsleep) futex(FUTEX_WAKE_PRIVATE, 1, nullptr);
  }

  // Sleeps until the bell is rung or CLOCK_MONOTONIC reaches `monotonic_ns`. Returns true if the bell was rung. Must be
  // called by one thread at a time.
  bool wait_until(int64_t monotonic_ns) {
    const timespec until = to_timespec(monotonic_ns);
    uint32_t quiet = kQuiet;
    state_.compare_exchange_strong(quiet, kAsleep, std::memory_order_acq_rel);
    while (state_.load(std::memory_order_acquire) == kAsleep) {
      if (futex(FUTEX_WAIT_BITSET_PRIVATE, kAsleep, &until) != 0 && errno == ETIMEDOUT) break;
    }
    return state_.exchange(kQuiet, std::memory_order_acq_rel) == kRung;
  }

 private:
  enum State : uint32_t { kQuiet, kRung, kAsleep };

  long futex(int operation, uint32_t value, const timespec* until) {
    static_assert(sizeof(state_) == sizeof(uint32_t));
    return syscall(SYS_futex, &state_, operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
  }

  std::atomic<uint32_t> state_{kQuiet};
};

}  // namespace tapline::multilog
