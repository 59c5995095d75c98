#include "parsers/trigger/shared_triggers.h"

#include <algorithm>
#include <utility>

namespace tapline::trigger {
namespace {

// Time for which a lane can be behind the others before they run out of windows to count in.
constexpr int64_t kSlackNs = 16'000'000;
constexpr int64_t kFewestWindows = 4;

GatherOptions options_for(const Program& program) {
  int64_t windows = kFewestWindows;
  for (const Channel& channel : program.channels()) windows = std::max(windows, kSlackNs / channel.every_ns + 2);
  return {.windows = static_cast<uint32_t>(windows)};
}

}  // namespace

SharedTriggers::SharedTriggers(std::shared_ptr<const Program> program, uint32_t lanes)
    : program_(std::move(program)), host_(program_, lanes, options_for(*program_), {}, this) {}

void SharedTriggers::advance(uint32_t lane, int64_t time_ns, EventSink* sink) {
  host_.advance(lane, time_ns);
  passed_.store(true);
  while (passed_.load() && !sweeper_.exchange(true)) {
    sink_ = sink;
    passed_.store(false);
    while (host_.sweep(UINT32_MAX)) {
    }
    sweeper_.store(false);
  }
}

void SharedTriggers::end(int64_t time_ns) {
  int64_t earliest_ns = ended_ns_.load(std::memory_order_relaxed);
  while (time_ns < earliest_ns && !ended_ns_.compare_exchange_weak(earliest_ns, time_ns, std::memory_order_relaxed)) {
  }
}

}  // namespace tapline::trigger
