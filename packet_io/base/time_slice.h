// Requests a thread's time slice from the scheduler.
#pragma once

#include <cstdint>
#include <optional>

namespace tapline {

// The first version of the kernel's sched_attr. Its header clashes with the C library's <sched.h>.
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

// Returns the attributes of the calling thread, or nothing if the kernel does not report them.
std::optional<SchedulerAttributes> scheduler_attributes();

// Requests the shortest slice (Linux 6.12 and later; ignored by earlier versions): the calling thread then runs soon
// after it wakes, without a larger share of the processor and without a privilege. This is for threads that empty a
// buffer of the kernel. With the default slice of a few milliseconds, they can wait behind each of the other threads
// of a busy machine.
void request_short_slice();

}  // namespace tapline
