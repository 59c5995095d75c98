#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/queue_input.h"
#include "parsers/queues/queue_settings.h"

namespace tapline {

// Measures how full one queue is, and how long packets wait in it. Not thread-safe.
class DepthMeter final : private queues::MatchSink {
 public:
  struct Settings : queues::QueueSettings {
    bool operator==(const Settings&) const = default;
    static Settings of(std::span<const Value> arguments) {
      Settings settings = {queues::QueueSettings::of(arguments)};
      settings.every_ns = static_cast<int64_t>(arguments[0].as_u64());
      return settings;
    }
  };

  DepthMeter(const Settings& settings, queues::QueueSource source)
      : contents_(settings.contents(source), nullptr), input_(source, settings.input(), this) {}

  void arrive(const queues::View& view) { input_.arrive(view); }
  void depart(const queues::View& view, const Packet& /*packet*/, Emitter& /*out*/) { input_.depart(view); }
  void hop(const queues::View& view, int64_t arrival_ns, const Packet& packet, Emitter& /*out*/) {
    input_.hop(view, arrival_ns, packet.time_ns);
  }
  void finish() { input_.finish(); }
  void close_interval(const std::string& queue, uint64_t queries, Emitter& out);
  bool pending() const { return !input_.idle(); }

 private:
  // The sums of one interval.
  struct Interval {
    queues::Finding fullest;   // the contents found by the packet that found the most bytes
    uint64_t queue_bytes = 0;  // sum over packets of the bytes that they found
    int64_t min_delay_ns = INT64_MAX, longest_delay_ns = 0, delays_ns = 0;
    uint64_t measured = 0;  // packets whose arrival was seen
    uint64_t packets = 0, bytes = 0;
    uint64_t error_bytes = 0;
    bool cut = false;
  };

  void pass(const queues::Passage& passage) override;
  void never_left(const queues::View& /*arrival*/) override {}

  queues::QueueContents contents_;
  queues::QueueInput input_;
  Interval interval_;
  // The counts that earlier intervals reported.
  queues::MatchStatistics reported_;
  queues::SequencerStatistics reported_hops_;
};

}  // namespace tapline
