// Requests a thread's time slice from the scheduler.
#pragma once

#include <cstdint>
#include <optional>

namespace tapline {

// The first version of the kernel's sched_attr. The kernel's header conflicts with the C library's <sched.h>.
struct SchedulerAttributes {
  uint32_t size = sizeof(SchedulerAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // the slice of a thread with the ordinary policy
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// Returns the calling thread's attributes, or nullopt if the kernel does not report them.
std::optional<SchedulerAttributes> scheduler_attributes();

// Requests the shortest slice (Linux 6.12 and later; ignored by earlier versions), so that the calling thread runs soon
// after it wakes. Needs no privilege, and does not increase the thread's share of the CPU. Intended for threads that
// drain a kernel buffer. With the default slice of a few milliseconds, such a thread can wait behind each of the other
// threads on a busy machine.
void request_short_slice();

}  // namespace tapline
