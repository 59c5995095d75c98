#include "bench/triggers/truth.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace tapline::bench {
namespace {

Sample sample_at(const Workload& workload, uint64_t packet) {
  Sample sample;
  TcpNumbers numbers;
  if (!read_plain(workload.packet(packet), &sample, &numbers)) std::abort();
  return sample;
}

std::vector<uint32_t> matching(const std::vector<trigger::Trigger>& triggers, const Sample& sample) {
  std::vector<uint32_t> matches;
  for (uint32_t i = 0; i < triggers.size(); ++i) {
    if (triggers[i].filter.matches(sample)) matches.push_back(i);
  }
  return matches;
}

}  // namespace

FrameTriggers::FrameTriggers(const Workload& workload, const std::vector<trigger::Trigger>& triggers)
    : workload_(workload) {
  using Flow = std::tuple<IpAddress, IpAddress, uint16_t, uint16_t, uint8_t>;
  std::map<Flow, uint32_t> known;
  list_of_frame_.reserve(workload.options().frames);
  for (uint32_t frame = 0; frame < workload.options().frames; ++frame) {
    const Sample sample = sample_at(workload, frame);
    const Flow flow = {sample.src_ip, sample.dst_ip, sample.src_port, sample.dst_port, sample.tcp_flags};
    const auto [place, added] = known.emplace(flow, static_cast<uint32_t>(lists_.size()));
    if (added) lists_.push_back(matching(triggers, sample));
    list_of_frame_.push_back(place->second);
  }
}

Truth::Truth(const std::vector<trigger::Trigger>& triggers) : counters_(triggers.size()) {
  std::string error;
  for (const trigger::Trigger& trigger : triggers) {
    conditions_.push_back(trigger::Condition::make(trigger.when, &error).value());
  }
}

void Truth::count(const FrameTriggers& frames, uint64_t first, uint64_t end) {
  for (uint64_t packet = first; packet < end; ++packet) {
    const Sample sample = sample_at(frames.workload(), packet);
    for (const uint32_t trigger : frames.of(packet)) trigger::count_packet(counters_[trigger].data(), sample);
  }
}

std::vector<bool> Truth::finish() {
  std::vector<bool> is_true(counters_.size());
  for (size_t i = 0; i < counters_.size(); ++i) {
    trigger::Counts counts;
    std::copy(counters_[i].begin(), counters_[i].end(), counts.low.begin());
    std::copy(counters_[i].begin(), counters_[i].end(), counts.high.begin());
    trigger::Interval value;
    is_true[i] = conditions_[i].test(counts, &value) == trigger::Verdict::kTrue;
    counters_[i].fill(0);
  }
  return is_true;
}

}  // namespace tapline::bench
