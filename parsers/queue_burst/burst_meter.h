#pragma once

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

// Reports the busy periods of one queue in which packets waited too long, with the flows that caused the waits. Not
// thread-safe.
class BurstMeter final : private queues::MatchSink, private queues::BurstSink {
 public:
  struct Settings : queues::QueueSettings {
    int64_t delay_ns = 0;  // a packet that waits this long is a victim

    bool operator==(const Settings&) const = default;
    static Settings of(std::span<const Value> arguments) {
      return {queues::QueueSettings::of(arguments), static_cast<int64_t>(arguments[0].as_u64())};
    }
    queues::ContentsOptions contents(queues::QueueSource source) const {
      queues::ContentsOptions options = QueueSettings::contents(source);
      options.victim_delay_ns = delay_ns;
      return options;
    }
  };

  BurstMeter(const Settings& settings, queues::QueueSource source)
      : contents_(settings.contents(source), this), input_(source, settings.input(), this) {}

  void arrive(const queues::View& view) { input_.arrive(view); }
  void depart(queues::View view, const Packet& packet, Emitter& out);
  void hop(queues::View view, int64_t arrival_ns, const Packet& packet, Emitter& out);
  void finish() {
    input_.finish();
    contents_.finish();
  }
  // Emits the bursts that ended in the interval. A burst ends when the queue is empty, even if no packet follows.
  void close_interval(const std::string& queue, uint64_t queries, Emitter& out);
  bool pending() const { return !input_.idle() || contents_.in_burst(); }

 private:
  // A finished burst whose tuples are pending, with the headers of its flows.
  struct EndedBurst {
    queues::Burst burst;
    std::vector<queues::DepartureHeader> headers;
  };
  static constexpr size_t kMaxEnded = 256;

  void pass(const queues::Passage& passage) override;
  void never_left(const queues::View& /*arrival*/) override { contents_.lose(); }
  void drop(uint32_t tag) override { headers_.free(tag); }
  void burst(const queues::Burst& burst) override;
  static void emit(const std::string& queue, uint64_t queries, const EndedBurst& ended, size_t rank, Emitter& out);

  queues::QueueContents contents_;
  queues::QueueInput input_;
  queues::DepartureHeaders headers_;
  std::vector<queues::DepartureHeader> latest_;  // by flow
  std::vector<EndedBurst> ended_;                // bursts that ended in this interval
  uint64_t without_room_ = 0;                    // bursts beyond kMaxEnded
};

}  // namespace tapline
