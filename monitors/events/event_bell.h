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

  // May be called from any thread; never blocks. Costs a memory fence and, if the bell is armed, an atomic exchange and
  // a system call.
  void ring();

  // Returns the descriptor to poll, which becomes readable once the bell is rung after arm(). The control thread must
  // look for work between arm() and poll(), and call disarm() after poll().
  int fd() const { return fd_; }
  void arm();
  void disarm();

 private:
  const int fd_;
  std::atomic<bool> armed_{false};
};

}  // namespace tapline
