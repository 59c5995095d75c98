#include "parsers/trigger/host_triggers.h"

#include <algorithm>
#include <utility>

namespace tapline::trigger {
namespace {

constexpr uint64_t kLanesMask = 0xff;
constexpr int kBoundaryShift = 8;

}  // namespace

HostTriggers::HostTriggers(std::shared_ptr<const Program> program, uint32_t lanes, const GatherOptions& gather,
                           const SweepOptions& sweep, EventSink* sink)
    : sweep_options_(sweep), sink_(sink), lanes_(lanes) {
  current_ = prepare(std::move(program), gather);
  for (Lane& lane : lanes_) lane.counting = current_.get();
}

std::unique_ptr<RunningProgram> HostTriggers::prepare(std::shared_ptr<const Program> program,
                                                      const GatherOptions& gather) const {
  return std::make_unique<RunningProgram>(std::move(program), static_cast<uint32_t>(lanes_.size()), hasher_, gather,
                                          sweep_options_, sink_);
}

void HostTriggers::offer(std::unique_ptr<RunningProgram> next) {
  retired_.reset();
  // If neither program has triggers, no window sets a boundary.
  common_pane_ns_ = std::max(common_pane_ns(current_->program(), next->program()), Program::kMinWindowNs);
  proposals_.store(0, std::memory_order_relaxed);
  switched_.store(0, std::memory_order_relaxed);
  next_ = std::move(next);
  offered_.store(next_.get(), std::memory_order_release);
}

void HostTriggers::process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  if (!samples.empty() && offered_to(lane) != nullptr) propose(lane, samples[0].time_ns);
  while (!samples.empty()) {
    if (counts_nothing(lane)) pass(lane, samples[0].time_ns);
    const size_t counted = counts_nothing(lane) ? 1 : lanes_[lane].counting->gather(lane).count(samples, tcp);
    if (counted == 0) pass(lane, samples[0].time_ns);
    samples = samples.subspan(counted);
    if (!tcp.empty()) tcp = tcp.subspan(counted);
  }
}

void HostTriggers::advance(uint32_t lane, int64_t time_ns) {
  if (time_ns >= lanes_[lane].counting->gather(lane).boundary_ns() || counts_nothing(lane)) {
    pass(lane, time_ns);
  } else if (offered_to(lane) != nullptr) {
    propose(lane, time_ns);
  }
}

// Opens the windows that contain this time, and before them, those that contain only losses.
void HostTriggers::pass(uint32_t lane, int64_t time_ns) {
  const Lane& own = lanes_[lane];
  for (int64_t loss_ns; (loss_ns = own.counting->gather(lane).next_loss_ns(time_ns)) < time_ns;) {
    pass_window(lane, loss_ns);
  }
  pass_window(lane, time_ns);
}

// Advances the lane to this time. REQUIRES: all earlier samples of the lane have been counted.
void HostTriggers::pass_window(uint32_t lane, int64_t time_ns) {
  Lane& own = lanes_[lane];
  if (RunningProgram* next = offered_to(lane); next != nullptr) {
    const int64_t boundary_ns = propose(lane, time_ns);
    if (boundary_ns <= time_ns) {
      own.counting->gather(lane).advance(boundary_ns);
      next->gather(lane).advance(boundary_ns);
      next->gather(lane).take_over_losses(own.counting->gather(lane));
      own.counting = next;
      own.has_proposed = false;
      switched_.fetch_add(1, std::memory_order_release);
    }
  }
  own.counting->gather(lane).advance(time_ns);
  own.passed_ns = std::max(own.passed_ns, time_ns);
}

// Returns the program to which the lane has to switch, or null if it counts in the latest one.
RunningProgram* HostTriggers::offered_to(uint32_t lane) const {
  RunningProgram* offered = offered_.load(std::memory_order_acquire);
  return offered == lanes_[lane].counting ? nullptr : offered;
}

// Returns the boundary that the lanes have agreed on. Until they have, proposes the first boundary after `time_ns` and
// after all samples that this lane has counted, and returns kNotAgreed unless this was the last proposal missing. The
// lane counts nothing beyond its proposal without proposing again.
int64_t HostTriggers::propose(uint32_t lane, int64_t time_ns) {
  Lane& own = lanes_[lane];
  const int64_t latest_ns = std::max({time_ns, own.passed_ns, own.counting->gather(lane).clock_ns()});
  const auto next = static_cast<uint64_t>(latest_ns / common_pane_ns_) + 1;
  uint64_t known = proposals_.load(std::memory_order_acquire);
  while (true) {
    const uint64_t proposed = known & kLanesMask, boundary = known >> kBoundaryShift;
    if (proposed == lanes_.size()) return static_cast<int64_t>(boundary) * common_pane_ns_;
    const uint64_t changed = std::max(boundary, next) << kBoundaryShift | (proposed + (own.has_proposed ? 0 : 1));
    if (!proposals_.compare_exchange_weak(known, changed, std::memory_order_acq_rel)) continue;
    own.has_proposed = true;
    if ((changed & kLanesMask) < lanes_.size()) return kNotAgreed;
    known = changed;
  }
}

// Sweeps the program that all lanes have left. Returns the number of unused steps, which is above 0 once the program
// has been replaced.
uint32_t HostTriggers::leave(uint32_t steps) {
  steps = current_->sweep(steps);
  if (steps > 0) steps = current_->hand_over(steps, next_.get());
  if (steps == 0) return 0;
  const auto boundary = static_cast<int64_t>(proposals_.load(std::memory_order_relaxed) >> kBoundaryShift);
  const int64_t since_ns = boundary * common_pane_ns_;
  retired_ = std::exchange(current_, std::move(next_));
  offered_.store(nullptr, std::memory_order_release);
  sink_->on_program(current_->program(), since_ns);
  return steps;
}

bool HostTriggers::sweep(uint32_t steps) {
  if (replacing() && switched_.load(std::memory_order_acquire) == lanes_.size()) steps = leave(steps);
  if (steps > 0) steps = current_->sweep(steps);
  return steps == 0;
}

}  // namespace tapline::trigger
