#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/queues/departure_headers.h"
#include "parsers/queues/flow_intervals.h"
#include "parsers/queues/queue_input.h"
#include "parsers/queues/queue_settings.h"

namespace tapline {

// Measures one queue: sums up each interval by flow, and emits the flows that filled the queue. Not thread-safe.
class FlowMeter final : private queues::MatchSink {
 public:
  struct Settings : queues::QueueSettings {
    int64_t delay_ns = 0;  // emits only flows whose longest wait is at least this
    double share = 0;      // and whose share of the queue, as that packet found it, is at least this

    bool operator==(const Settings&) const = default;
    static Settings of(std::span<const Value> arguments) {
      Settings settings = {queues::QueueSettings::of(arguments), static_cast<int64_t>(arguments[0].as_u64()),
                           arguments[1].as_f64()};
      settings.every_ns = static_cast<int64_t>(arguments[2].as_u64());
      return settings;
    }
  };

  FlowMeter(const Settings& settings, queues::QueueSource source)
      : settings_(settings), flows_(settings.contents(source)), input_(source, settings.input(), this) {}

  void arrive(const queues::View& view) { input_.arrive(view); }
  void depart(queues::View view, const Packet& packet, Emitter& out);
  void hop(queues::View view, int64_t arrival_ns, const Packet& packet, Emitter& out);
  void finish() { input_.finish(); }
  void close_interval(const std::string& queue, uint64_t queries, Emitter& out);
  bool pending() const { return !input_.idle(); }

 private:
  void pass(const queues::Passage& passage) override {
    if (!flows_.add(passage)) headers_.free(passage.tag);
  }
  // Counts a lost packet of the arrival's flow. If no packet of the flow is in the queue or left recently, only
  // queue_depth reports the loss.
  void never_left(const queues::View& arrival) override { flows_.lose(arrival.flow_key); }
  void drop(uint32_t tag) override { headers_.free(tag); }
  void emit(const std::string& queue, uint64_t queries, const queues::FlowIntervals::Flow& flow,
            const queues::FlowIntervals::Sums& sums, Emitter& out) const;

  Settings settings_;
  queues::FlowIntervals flows_;
  queues::QueueInput input_;
  queues::DepartureHeaders headers_;
};

}  // namespace tapline
