#include "parsers/trigger/running_program.h"

#include <algorithm>
#include <numeric>

namespace tapline::trigger {

RunningProgram::RunningProgram(std::shared_ptr<const Program> program, uint32_t lanes, const GroupHasher& hasher,
                               const GatherOptions& gather, const SweepOptions& sweep, EventSink* sink)
    : program_(std::move(program)) {
  std::vector<Gather*> counting;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    gathers_.push_back(std::make_unique<Gather>(*program_, hasher, gather));
    counting.push_back(gathers_.back().get());
  }
  const auto& channels = program_->channels();
  sweeps_.reserve(channels.size());
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    sweeps_.emplace_back(*program_, hasher, channel, counting, sweep, sink);
    shortest_pane_ns_ = std::min(shortest_pane_ns_, channels[channel].every_ns);
  }
  for (uint32_t bit = 0; bit < program_->bits(); ++bit) {
    if (program_->has_trigger(bit)) bits_.emplace(program_->compiled(bit).id, bit);
  }
}

bool RunningProgram::ends(int64_t time_ns) const {
  for (uint32_t channel = 0; channel < sweeps_.size(); ++channel) {
    if (!gather().ends(channel, time_ns)) return false;
  }
  return true;
}

uint32_t RunningProgram::sweep(uint32_t steps) {
  for (Sweep& channel_sweep : sweeps_) steps = channel_sweep.run(steps);
  return steps;
}

void RunningProgram::look(int64_t time_ns) {
  for (uint32_t channel = 0; channel < sweeps_.size(); ++channel) {
    sweeps_[channel].look(gather().open_window(channel), time_ns);
  }
}

uint32_t RunningProgram::hand_over(uint32_t steps, RunningProgram* next) {
  const auto next_sweep = [&](uint32_t* bit) { return next->sweep_of(program_->compiled(*bit).id, bit); };
  for (Sweep& old_sweep : sweeps_) {
    const bool alerts_done = old_sweep.alerts().hand_over(&steps, [&](AlertStates::Key* key) {
      Sweep* sweep = next_sweep(&key->bit);
      return sweep == nullptr ? nullptr : &sweep->alerts();
    });
    if (!alerts_done) return 0;
    const bool groups_done = old_sweep.silent_groups().hand_over(&steps, [&](SilentGroups::Key* key) {
      Sweep* sweep = next_sweep(&key->bit);
      return sweep == nullptr ? nullptr : &sweep->silent_groups();
    });
    if (!groups_done) return 0;
  }
  return steps;
}

// Returns the sweep that tests the trigger, and sets *bit to the trigger's bit. Returns null if the program lacks the
// trigger.
Sweep* RunningProgram::sweep_of(uint64_t trigger, uint32_t* bit) {
  const auto found = bits_.find(trigger);
  if (found == bits_.end()) return nullptr;
  *bit = found->second;
  const auto& channels = program_->channels();
  const auto channel = std::find_if(channels.begin(), channels.end(), [bit](const Channel& candidate) {
    return *bit >= candidate.first_bit() && *bit < candidate.first_bit() + candidate.bits();
  });
  return &sweeps_[static_cast<size_t>(channel - channels.begin())];
}

int64_t common_pane_ns(const Program& a, const Program& b) {
  int64_t common = 1;
  for (const Program* program : {&a, &b}) {
    for (const Channel& channel : program->channels()) {
      common = std::lcm(common, channel.every_ns);
      if (common > Program::kMaxWindowNs) return 0;
    }
  }
  return common;
}

}  // namespace tapline::trigger
