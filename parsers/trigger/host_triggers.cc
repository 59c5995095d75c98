#include "parsers/trigger/host_triggers.h"

namespace tapline::trigger {

HostTriggers::HostTriggers(std::shared_ptr<const Program> program, uint32_t lanes, const GatherOptions& gather,
                           const SweepOptions& sweep, EventSink* sink)
    : program_(std::move(program)) {
  std::vector<Gather*> pointers;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    lanes_.push_back(std::make_unique<Gather>(*program_, hasher_, gather));
    pointers.push_back(lanes_.back().get());
  }
  sweeps_.reserve(program_->channels().size());
  for (uint32_t channel = 0; channel < program_->channels().size(); ++channel) {
    sweeps_.emplace_back(*program_, hasher_, channel, pointers, sweep, sink);
  }
}

void HostTriggers::process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  Gather& gather = *lanes_[lane];
  while (!samples.empty()) {
    const size_t counted = gather.count(samples, tcp);
    if (counted == 0) gather.advance(samples[0].time_ns);
    samples = samples.subspan(counted);
    if (!tcp.empty()) tcp = tcp.subspan(counted);
  }
}

void HostTriggers::advance(uint32_t lane, int64_t time_ns) {
  if (time_ns >= lanes_[lane]->border_ns()) lanes_[lane]->advance(time_ns);
}

bool HostTriggers::sweep(uint32_t steps) {
  for (Sweep& each : sweeps_) steps = each.run(steps);
  return steps == 0;
}

}  // namespace tapline::trigger
