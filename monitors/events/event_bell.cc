#include "monitors/events/event_bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace tapline {

EventBell::EventBell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

EventBell::~EventBell() { close(fd_); }

void EventBell::ring() {
  // Orders the event's publication before the read of armed_: either the control thread sees the event before it
  // sleeps, or this thread sees that the bell is armed.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!armed_.load(std::memory_order_relaxed) || !armed_.exchange(false, std::memory_order_acq_rel)) return;
  const uint64_t one = 1;
  // If this fails, the descriptor is already readable.
  [[maybe_unused]] const ssize_t bytes_written = write(fd_, &one, sizeof one);
}

void EventBell::arm() {
  armed_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that in ring()
}

void EventBell::disarm() {
  armed_.store(false, std::memory_order_relaxed);
  uint64_t rings;
  [[maybe_unused]] const ssize_t drained = read(fd_, &rings, sizeof rings);
}

}  // namespace tapline
