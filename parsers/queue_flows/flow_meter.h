#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/queues/departure_headers.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/queue_input.h"
#include "parsers/queues/queue_settings.h"

namespace tapline {

// Measures one queue: sums up each interval by flow, and emits the flows that filled the queue. Not thread-safe.
class FlowMeter final : private queues::MatchSink {
 public:
  struct Settings : queues::QueueSettings {
    int64_t delay_ns = 0;  // a flow is emitted if one of its packets waited this long,
    double share = 0;      // and its flow then had this share of the queue's bytes

    bool operator==(const Settings&) const = default;
    static Settings of(std::span<const Value> arguments) {
      Settings settings = {queues::QueueSettings::of(arguments), static_cast<int64_t>(arguments[0].as_u64()),
                           arguments[1].as_f64()};
      settings.every_ns = static_cast<int64_t>(arguments[2].as_u64());
      return settings;
    }
  };

  FlowMeter(const Settings& settings, queues::QueueSource source)
      : settings_(settings), contents_(settings.contents(source), nullptr), input_(source, settings.match(), this) {}

  void arrive(const queues::View& view) { input_.arrive(view); }
  void depart(queues::View view, const Packet& packet, Emitter& out);
  void hop(queues::View view, int64_t arrival_ns, const Packet& packet, Emitter& out);
  void miss(int64_t time_ns) { contents_.miss(time_ns + settings_.max_delay_ns); }
  void finish() { input_.finish(); }
  void close_interval(const std::string& queue, uint64_t queries, Emitter& out);
  bool pending() const { return !input_.idle(); }

 private:
  struct Flow {
    queues::DepartureHeader latest;
    queues::Finding finding;  // the contents found by the packet that waited longest
    int64_t delay_ns = 0;
    uint64_t packets = 0, bytes = 0;
    uint64_t lost = 0;  // packets that never left
    uint64_t error_bytes = 0;
    bool cut = false;
    bool active = false;  // in this interval
    // Sums since the flow received its number: subtracts the part that earlier intervals reported.
    uint64_t waited_before_ns = 0, blamed_before_ns = 0;
  };

  void pass(const queues::Passage& passage) override;
  void never_left(const queues::View& arrival) override;
  void drop(uint32_t tag) override { headers_.take(tag); }
  Flow& active_flow(const queues::Finding& found);
  void emit(const std::string& queue, uint64_t queries, uint32_t number, Flow& flow, Emitter& out);

  Settings settings_;
  queues::QueueContents contents_;
  queues::QueueInput input_;
  queues::DepartureHeaders headers_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> active_;
  uint64_t without_room_ = 0;  // packets of flows without a separate entry
};

}  // namespace tapline
