#include "parsers/trigger/shared_triggers.h"

#include <algorithm>
#include <utility>

namespace tapline::trigger {
namespace {

// Time for which a lane can be behind the others before they run out of windows to count in.
constexpr int64_t kSlackNs = 16'000'000;
constexpr int64_t kFewestWindows = 4;
// About 5 µs. A lane takes more steps than a TriggerEngine, because the windows contain the counts of all lanes.
constexpr uint32_t kStepsBetweenBursts = 192;

GatherOptions options_for(const Program& program) {
  int64_t windows = kFewestWindows;
  for (const Channel& channel : program.channels()) windows = std::max(windows, kSlackNs / channel.every_ns + 2);
  return {.max_groups = program.max_groups(), .windows = static_cast<uint32_t>(windows)};
}

// Returns the program's value for SharedTriggers::tcp_window_ns().
int64_t tcp_needs(const Program& program) {
  return program.needs_tcp() ? program.in_flight_window_ns() : SharedTriggers::kNoTcp;
}

}  // namespace

SharedTriggers::SharedTriggers(std::shared_ptr<const Program> program, uint32_t lanes)
    : lanes_(lanes),
      max_groups_(program->max_groups()),
      last_(std::move(program)),
      reported_(last_.get()),
      tcp_(tcp_needs(*last_)),
      supplying_(lanes) {
  EventSink* sink = this;
  if (lanes == 1) {
    TriggerOptions options = {.gather = {.max_groups = last_->max_groups()}, .sweeps_bursts = false};
    // The bound on groups also limits the number of their values.
    if (last_->partial()) options.sweep.max_events = UINT32_MAX;
    engine_ = std::make_unique<TriggerEngine>(last_, options, sink);
  } else {
    host_ = std::make_unique<HostTriggers>(last_, lanes, options_for(*last_), SweepOptions(), sink);
  }
}

std::string SharedTriggers::replace(std::shared_ptr<const Program> program) {
  if (program->partial() || last_->partial()) return "Partial triggers can't be replaced.";
  if (common_pane_ns(*last_, *program) == 0) {
    return "The windows of the new and the current triggers have no common end within a day, so the triggers can't be "
           "replaced.";
  }
  const int64_t before = tcp_needs(*last_), after = tcp_needs(*program);
  if (before > 0 && after > 0 && before != after) {
    return "Triggers on bytes in flight can't replace triggers with windows of a different length.";
  }
  replacing_.store(true, std::memory_order_relaxed);
  waiting_ = std::move(program);
  if (const int64_t both = std::max(before, after); both != tcp_.load(std::memory_order_relaxed)) {
    supplying_.store(0, std::memory_order_relaxed);
    tcp_.store(both, std::memory_order_release);
  }
  continue_replacing();
  return "";
}

void SharedTriggers::continue_replacing() {
  if (waiting_ == nullptr || supplying_.load(std::memory_order_acquire) < lanes_) return;
  if (engine_ != nullptr) {
    engine_->offer(engine_->prepare(waiting_));
  } else {
    host_->offer(host_->prepare(waiting_, options_for(*waiting_)));
  }
  last_ = std::move(waiting_);
}

void SharedTriggers::on_program(const Program& program, int64_t since_ns) {
  reported_ = &program;
  since_ns_.store(since_ns, std::memory_order_relaxed);
  replacing_.store(false, std::memory_order_release);
}

void SharedTriggers::process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp,
                             EventSink* sink) {
  if (engine_ == nullptr) return host_->process(lane, samples, tcp);
  sink_ = sink;
  engine_->process(samples, tcp);
}

void SharedTriggers::lose(uint32_t lane, const LostPackets& lost) {
  if (engine_ != nullptr) return engine_->lose(lost);
  host_->lose(lane, lost);
}

void SharedTriggers::close(uint32_t lane, int64_t time_ns, EventSink* sink) {
  if (engine_ != nullptr) {
    sink_ = sink;
    return engine_->close(time_ns);
  }
  host_->advance(lane, time_ns);
  unswept_ = true;
}

void SharedTriggers::continue_sweep(uint32_t lane, EventSink* sink) {
  if (engine_ != nullptr) {
    sink_ = sink;
    return engine_->sweep_between_bursts();
  }
  // Without room, the lane would soon count nothing.
  sweep(host_->has_room(lane) ? kStepsBetweenBursts : UINT32_MAX, sink);
}

void SharedTriggers::advance(uint32_t lane, int64_t time_ns, EventSink* sink) {
  close(lane, time_ns, sink);
  if (engine_ != nullptr) return engine_->advance(time_ns);
  while (sweep(UINT32_MAX, sink)) {
  }
}

// Sweeps the windows that all lanes have passed. Returns false if there was nothing to do, or another lane sweeps.
bool SharedTriggers::sweep(uint32_t steps, EventSink* sink) {
  // Both flags are sequentially consistent: either this lane sees a window that another one has just passed, or that
  // lane sees that no lane sweeps.
  if (!unswept_ || sweeper_.exchange(true)) return false;
  sink_ = sink;
  // An exchange, so that the windows of lanes that have set it are visible.
  unswept_.exchange(false);
  if (host_->sweep(steps)) unswept_ = true;
  sweeper_ = false;
  return true;
}

void SharedTriggers::end(int64_t time_ns) {
  int64_t earliest_ns = ended_ns_.load(std::memory_order_relaxed);
  while (time_ns < earliest_ns && !ended_ns_.compare_exchange_weak(earliest_ns, time_ns, std::memory_order_relaxed)) {
  }
}

}  // namespace tapline::trigger
