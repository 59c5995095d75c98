#include "parsers/trigger/trigger_engine.h"

#include <algorithm>

namespace tapline::trigger {

TriggerEngine::TriggerEngine(std::shared_ptr<const Program> program, const TriggerOptions& options, EventSink* sink)
    : program_(std::move(program)),
      gather_(*program_, hasher_, options.gather),
      steps_per_burst_(std::min(options.steps_per_burst, UINT32_MAX / 4)) {
  Gather* const lanes[] = {&gather_};
  sweeps_.reserve(program_->channels().size());
  for (uint32_t channel = 0; channel < program_->channels().size(); ++channel) {
    sweeps_.emplace_back(*program_, hasher_, channel, lanes, options.sweep, sink);
    shortest_window_ns_ = std::min(shortest_window_ns_, program_->channels()[channel].window_ns);
  }
}

void TriggerEngine::process(std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  packets_ += samples.size();
  while (!samples.empty()) {
    const size_t counted = gather_.count(samples, tcp);
    if (counted == 0) {
      pass(samples[0].time_ns);
      continue;
    }
    sweep(steps_at(samples[0].time_ns));
    samples = samples.subspan(counted);
    if (!tcp.empty()) tcp = tcp.subspan(counted);
  }
}

void TriggerEngine::advance(int64_t time_ns) {
  if (time_ns >= gather_.border_ns()) pass(time_ns);
  while (sweep(UINT32_MAX)) {
  }
}

// The windows that open need room.
void TriggerEngine::pass(int64_t time_ns) {
  for (uint32_t channel = 0; channel < sweeps_.size(); ++channel) {
    if (!gather_.ends(channel, time_ns) || !sweeps_[channel].has_work()) continue;
    ++late_sweeps_;
    while (sweeps_[channel].run(UINT32_MAX) == 0) {
    }
  }
  gather_.advance(time_ns);
  hurry_ns_ = time_ns - time_ns % shortest_window_ns_ + shortest_window_ns_ / 2;
}

bool TriggerEngine::sweep(uint32_t steps) {
  for (Sweep& each : sweeps_) steps = each.run(steps);
  return steps == 0;
}

TriggerStats TriggerEngine::stats() const {
  TriggerStats stats = {.packets = packets_,
                        .match_sets = gather_.sets().size(),
                        .renewals = gather_.renewals(),
                        .cache_misses = gather_.cache_misses(),
                        .counted_singly = gather_.counted_singly(),
                        .late_sweeps = late_sweeps_};
  for (const Sweep& sweep : sweeps_) stats.unwatched_windows += sweep.unwatched_windows();
  return stats;
}

}  // namespace tapline::trigger
