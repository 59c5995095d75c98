// Wakes the control thread, which sleeps in poll(), when a parsing thread has an event for it.
#pragma once

#include <atomic>

namespace tapline {

class EventBell {
 public:
  // Throws std::system_error if there is no descriptor left.
  EventBell();
  ~EventBell();
  EventBell(const EventBell&) = delete;
  EventBell& operator=(const EventBell&) = delete;

  // May be called from any thread; never blocks. Costs an atomic exchange, and a system call only if the other thread
  // sleeps.
  void ring();

  // Returns the sleeping thread's descriptor, which becomes readable once the bell is rung after arm(). The thread
  // looks for work between arm() and poll(), and calls disarm() afterwards.
  int fd() const { return fd_; }
  void arm() { armed_.store(true, std::memory_order_seq_cst); }
  void disarm();

 private:
  const int fd_;
  std::atomic<bool> armed_{false};
};

}  // namespace tapline
