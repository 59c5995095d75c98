// A queue of events for the agent's loop, from any thread. The loop polls `fd`, which becomes readable when an event is
// pushed, and stays so until pop() returns nullopt.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace tapline {

template <typename Event>
class Inbox {
 public:
  Inbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Inbox() { close(fd_); }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  int fd() const { return fd_; }

  void push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    eventfd_write(fd_, 1);
  }

  // Returns the oldest event, or nullopt if there is none. Must be called by one thread only.
  std::optional<Event> pop() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
      eventfd_t count = 0;
      eventfd_read(fd_, &count);
      return std::nullopt;
    }
    std::optional<Event> event(std::move(events_.front()));
    events_.pop_front();
    return event;
  }

 private:
  int fd_;
  std::mutex mutex_;
  std::deque<Event> events_;
};

}  // namespace tapline
