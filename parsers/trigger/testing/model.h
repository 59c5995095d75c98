// The reference semantics of triggers, computed from all samples at once, without the engine's data structures.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "parsers/trigger/event.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger::testing {

// A group's fields; zeros for a trigger without groups.
using ModelKey = std::tuple<IpAddress, IpAddress, uint16_t, uint16_t, uint8_t, uint32_t, uint32_t>;
ModelKey key_of(const GroupKey& key);

// Trigger ID, start of the window, group.
using Occasion = std::tuple<uint64_t, int64_t, ModelKey>;

// The value of a condition that was true.
struct Expected {
  double value = 0;
  // The values since the packet that made the condition true, with their times, if the window is long and counting more
  // packets can't make the condition false. The reported value is at least `threshold` and at most the value at the
  // report's time.
  std::vector<std::pair<int64_t, double>> risen;
  double threshold = 0;
  std::vector<size_t> samples;  // indexes of the samples that the group's window counts
};

// Returns the conditions that were true, in windows in which their alert was in force. Covers the windows that end
// after the first sample and by `until_ns`; those that begin before the first sample are partial.
std::map<Occasion, Expected> expected_events(std::span<const Trigger> triggers, std::span<const Sample> samples,
                                             std::span<const TcpFacts> tcp, int64_t until_ns);

// Fails the test unless the event has exactly the expected value. The value of an event reported before its window's
// end may lie anywhere between the threshold and the value at the report's time, since packets counted during a look
// may be missing.
void expect_value(const Event& event, const Expected& expected);

// Fails the test unless each exemplar of the event is the flow of a counted sample, and there is at least one exemplar
// if any sample was counted.
void expect_exemplars(const Event& event, const Expected& expected, std::span<const Sample> samples);

// Records events and window reports.
class Recorder : public EventSink {
 public:
  void on_event(const Event& event) override { events.push_back(event); }
  void on_window(const WindowReport& report) override { reports.push_back(report); }

  std::vector<Event> events;
  std::vector<WindowReport> reports;
};

std::string to_string(const Occasion& occasion);

}  // namespace tapline::trigger::testing
