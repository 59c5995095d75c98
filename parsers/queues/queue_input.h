#pragma once

#include <cstdint>
#include <optional>

#include "parsers/queues/departure_times.h"
#include "parsers/queues/hop_sequencer.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {

// The origin of a queue's passages.
enum class QueueSource : uint8_t { kTaps, kTelemetry };

struct InputOptions {
  MatchOptions match;
  DepartureTimesOptions times;  // departure times are corrected if the link's speed is not 0
};

// The passages of one queue in order of departure: matched from the views of its two taps, or reported by its switch in
// the packets themselves. Not thread-safe.
class QueueInput {
 public:
  QueueInput(QueueSource source, const InputOptions& options, MatchSink* sink) {
    if (source == QueueSource::kTelemetry) {
      sequencer_.emplace(SequencerOptions(), sink);
      return;
    }
    if (options.times.link_bits_per_second != 0) sink = &times_.emplace(options.times, sink);
    matcher_.emplace(options.match, sink);
  }
  QueueInput(const QueueInput&) = delete;
  QueueInput& operator=(const QueueInput&) = delete;

  // REQUIRES: the source is kTaps.
  void arrive(const View& view) { matcher_->arrive(view); }
  void depart(const View& view) { matcher_->depart(view); }
  // REQUIRES: the source is kTelemetry.
  void hop(const View& view, int64_t arrival_ns, int64_t captured_ns) {
    sequencer_->add(view, arrival_ns, captured_ns);
  }

  void advance(int64_t now_ns) { matcher_ ? matcher_->advance(now_ns) : sequencer_->advance(now_ns); }
  void finish() { matcher_ ? matcher_->finish() : sequencer_->finish(); }
  bool idle() const { return matcher_ ? matcher_->idle() : sequencer_->idle(); }
  bool quiet() const { return matcher_ ? matcher_->quiet() : sequencer_->quiet(); }

  // Return the statistics, which are all zero for the other source.
  MatchStatistics matches() const { return matcher_ ? matcher_->statistics() : MatchStatistics(); }
  SequencerStatistics hops() const { return sequencer_ ? sequencer_->statistics() : SequencerStatistics(); }
  int64_t offset_ns() const { return matcher_ ? matcher_->offset_ns() : 0; }

 private:
  std::optional<DepartureTimes> times_;  // the matcher's sink
  std::optional<TapMatcher> matcher_;
  std::optional<HopSequencer> sequencer_;
};

}  // namespace tapline::queues
