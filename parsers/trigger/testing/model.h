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

// The value of each condition that was true, in windows in which its alert was in force. Windows are those of the
// samples, and all between them; the first one is partial unless the first sample is at its start. The last one counts
// only if it ends by `until_ns`.
std::map<Occasion, double> expected_events(std::span<const Trigger> triggers, std::span<const Sample> samples,
                                           std::span<const TcpFacts> tcp, int64_t until_ns);

// Records all calls.
class Recorder : public EventSink {
 public:
  void on_event(const Event& event) override { events.push_back(event); }
  void on_window(const WindowReport& report) override { reports.push_back(report); }

  std::vector<Event> events;
  std::vector<WindowReport> reports;
};

std::string to_string(const Occasion& occasion);

}  // namespace tapline::trigger::testing
