// Computes the exact events of triggers without groups or TCP facts. Each distinct flow is compared with every filter,
// without the engine's classes and sets.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/triggers/workload.h"
#include "parsers/trigger/condition.h"

namespace tapline::bench {

// The triggers that each frame of a workload matches.
class FrameTriggers {
 public:
  // REQUIRES: the workload outlives this object.
  FrameTriggers(const Workload& workload, const std::vector<trigger::Trigger>& triggers);

  const Workload& workload() const { return workload_; }
  const std::vector<uint32_t>& of(uint64_t packet) const {
    return lists_[list_of_frame_[packet & (list_of_frame_.size() - 1)]];
  }

 private:
  const Workload& workload_;
  std::vector<std::vector<uint32_t>> lists_;
  std::vector<uint32_t> list_of_frame_;
};

// Counts the packets of one window, and tests all conditions.
class Truth {
 public:
  explicit Truth(const std::vector<trigger::Trigger>& triggers);

  // Counts the packets from `first` up to, but not including, `end`.
  void count(const FrameTriggers& frames, uint64_t first, uint64_t end);
  // Returns, for each trigger, whether its condition is true, and begins the next window.
  std::vector<bool> finish();

 private:
  std::vector<trigger::Condition> conditions_;
  std::vector<std::array<uint64_t, trigger::kLineWords>> counters_;
};

}  // namespace tapline::bench
