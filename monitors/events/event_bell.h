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

  // Any thread, never blocks: an atomic exchange, and a system call only if the sleeper has announced itself.
  void Ring();

  // The sleeper: becomes readable once the bell is rung after Arm(). The sleeper looks for work between Arm() and
  // poll(), and calls Disarm() afterwards.
  int fd() const { return fd_; }
  void Arm() { armed_.store(true, std::memory_order_seq_cst); }
  void Disarm();

 private:
  const int fd_;
  std::atomic<bool> armed_{false};
};

}  // namespace tapline
