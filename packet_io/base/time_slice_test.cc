#include "packet_io/base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace tapline {
namespace {

bool kernel_has_slices() {
  utsname system = {};
  int major = 0, minor = 0;
  uname(&system);
  return std::sscanf(system.release, "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 12));
}

TEST(TimeSlice, ShortensTheSliceOfTheCallingThreadAndKeepsItsPriority) {
  if (!kernel_has_slices()) GTEST_SKIP() << "threads can choose their slice since Linux 6.12";
  const uint64_t before_ns = scheduler_attributes().value().runtime_ns;
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3), 0);
    request_short_slice();
    const SchedulerAttributes later_attributes = scheduler_attributes().value();
    EXPECT_EQ(later_attributes.runtime_ns, 100'000U);
    EXPECT_EQ(later_attributes.nice, 3);
    EXPECT_EQ(later_attributes.policy, uint32_t{SCHED_OTHER});
  }).join();
  EXPECT_EQ(scheduler_attributes().value().runtime_ns, before_ns);
}

}  // namespace
}  // namespace tapline
