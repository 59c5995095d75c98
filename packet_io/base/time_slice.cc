#include "packet_io/base/time_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tapline {
namespace {

// The shortest slice that the kernel accepts.
constexpr uint64_t kSliceNs = 100'000;

}  // namespace

std::optional<SchedulerAttributes> scheduler_attributes() {
  SchedulerAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0U) != 0) return std::nullopt;
  return attributes;
}

void request_short_slice() {
  auto attributes = scheduler_attributes();
  if (!attributes) return;
  attributes->runtime_ns = kSliceNs;
  syscall(SYS_sched_setattr, 0, &*attributes, 0U);
}

}  // namespace tapline
