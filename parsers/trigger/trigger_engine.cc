#include "parsers/trigger/trigger_engine.h"

#include <algorithm>

namespace tapline::trigger {
namespace {

// Conditions are tested before a window's end at each multiple of this time.
constexpr int64_t kLookNs = 1'000'000;

TriggerOptions with_watch(TriggerOptions options) {
  options.gather.watch = true;
  return options;
}

}  // namespace

TriggerEngine::TriggerEngine(std::shared_ptr<const Program> program, const TriggerOptions& options, EventSink* sink)
    : options_(with_watch(options)),
      sink_(sink),
      current_(std::make_unique<RunningProgram>(std::move(program), 1, hasher_, options_.gather, options.sweep, sink)),
      steps_per_burst_(std::min(options.steps_per_burst, UINT32_MAX / 4)) {}

TriggerEngine::~TriggerEngine() {
  delete inbox_.load(std::memory_order_acquire);
  delete outbox_.load(std::memory_order_acquire);
}

std::unique_ptr<RunningProgram> TriggerEngine::prepare(std::shared_ptr<const Program> program) const {
  auto prepared =
      std::make_unique<RunningProgram>(std::move(program), 1, hasher_, options_.gather, options_.sweep, sink_);
  prepared->gather().populate(options_.populated_bytes);
  return prepared;
}

void TriggerEngine::offer(std::unique_ptr<RunningProgram> next) {
  delete outbox_.exchange(nullptr, std::memory_order_acq_rel);
  delete inbox_.exchange(next.release(), std::memory_order_acq_rel);
}

void TriggerEngine::process(std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  packets_ += samples.size();
  // A program without triggers has no windows.
  if (current_->sweeps().empty() && !samples.empty()) pass(samples[0].time_ns);
  while (!samples.empty()) {
    const size_t counted = current_->gather().count(samples, tcp);
    if (counted == 0) {
      pass(samples[0].time_ns);
      continue;
    }
    if (samples[counted - 1].time_ns >= next_look_ns_) look(samples[counted - 1].time_ns);
    if (options_.sweeps_bursts) sweep(steps_at(samples[0].time_ns));
    samples = samples.subspan(counted);
    if (!tcp.empty()) tcp = tcp.subspan(counted);
  }
}

void TriggerEngine::close(int64_t time_ns) {
  // A program without triggers has no windows.
  if (time_ns >= current_->gather().boundary_ns() || current_->sweeps().empty()) pass(time_ns);
  if (time_ns >= next_look_ns_) look(time_ns);
}

void TriggerEngine::advance(int64_t time_ns) {
  close(time_ns);
  while (sweep(UINT32_MAX)) {
  }
}

// Opens the windows that contain this time, and before them, those that contain only losses.
void TriggerEngine::pass(int64_t time_ns) {
  for (int64_t loss_ns; (loss_ns = current_->gather().next_loss_ns(time_ns)) < time_ns;) pass_window(loss_ns);
  pass_window(time_ns);
}

void TriggerEngine::pass_window(int64_t time_ns) {
  has_work_ = true;
  swap_at(time_ns);
  finish_ended(time_ns);
  current_->gather().advance(time_ns);
  const int64_t shortest_ns = current_->shortest_pane_ns();
  hurry_ns_ = time_ns - time_ns % shortest_ns + shortest_ns / 2;
}

// Finishes the sweeps of ended windows, since the next ones need their room.
void TriggerEngine::finish_ended(int64_t time_ns) {
  auto& sweeps = current_->sweeps();
  for (uint32_t channel = 0; channel < sweeps.size(); ++channel) {
    if (!current_->gather().ends(channel, time_ns) || !sweeps[channel].has_work()) continue;
    ++late_sweeps_;
    while (leaving_ != nullptr && leave(UINT32_MAX) == 0) {
    }
    while (sweeps[channel].run(UINT32_MAX) == 0) {
    }
  }
}

// Switches to the offered program if all counted samples precede the latest common boundary of both programs' windows;
// the new program then counts from that boundary. If no sample has been counted, it begins at this time, within its
// first window. REQUIRES: all samples before this time have been counted.
void TriggerEngine::swap_at(int64_t time_ns) {
  if (leaving_ != nullptr) return;
  if (inbox_.load(std::memory_order_relaxed) != nullptr) {
    next_.reset(inbox_.exchange(nullptr, std::memory_order_acquire));
  }
  if (next_ == nullptr) return;
  swapped_ns_ = std::max(time_ns, current_->gather().clock_ns());
  if (current_->has_begun()) {
    swapped_ns_ = time_ns - time_ns % common_pane_ns(current_->program(), next_->program());
    if (!current_->ends(swapped_ns_)) return;
    finish_ended(swapped_ns_);
    current_->gather().advance(swapped_ns_);
  }
  leaving_ = std::move(current_);
  current_ = std::move(next_);
  current_->gather().advance(swapped_ns_);
  current_->gather().take_over_losses(leaving_->gather());
}

// Sweeps the program that was replaced. Returns the number of unused steps, which is above 0 once that program is done.
uint32_t TriggerEngine::leave(uint32_t steps) {
  steps = leaving_->sweep(steps);
  if (steps > 0) steps = leaving_->hand_over(steps, current_.get());
  if (steps == 0) return 0;
  add(*leaving_, &past_);
  ++past_.swaps;
  sink_->on_program(current_->program(), swapped_ns_);
  // Only the lane fills the outbox.
  leaving_->keep(std::unique_ptr<RunningProgram>(outbox_.exchange(nullptr, std::memory_order_acquire)));
  outbox_.store(leaving_.release(), std::memory_order_release);
  return steps;
}

void TriggerEngine::look(int64_t time_ns) {
  next_look_ns_ = time_ns - time_ns % kLookNs + kLookNs;
  current_->look(time_ns);
  has_work_ = true;
}

bool TriggerEngine::sweep(uint32_t steps) {
  if (leaving_ != nullptr) steps = leave(steps);
  if (leaving_ == nullptr) steps = current_->sweep(steps);
  has_work_ = steps == 0;
  return has_work_;
}

void TriggerEngine::add(const RunningProgram& program, TriggerStats* stats) {
  stats->renewals += program.gather().renewals();
  stats->cache_misses += program.gather().cache_misses();
  stats->counted_singly += program.gather().counted_singly();
  for (const Sweep& sweep : program.sweeps()) stats->unwatched_windows += sweep.unwatched_windows();
}

TriggerStats TriggerEngine::stats() const {
  TriggerStats stats = past_;
  stats.packets = packets_;
  stats.match_sets = current_->gather().sets().size();
  stats.late_sweeps = late_sweeps_;
  add(*current_, &stats);
  if (leaving_ != nullptr) add(*leaving_, &stats);
  return stats;
}

}  // namespace tapline::trigger
