#pragma once

#include <cstdint>

#include "parsers/trigger/condition.h"
#include "parsers/trigger/exemplars.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

class Program;

enum class EventScope : uint8_t {
  kAll,    // the trigger has no groups
  kGroup,  // Event::group is the group
  kRest,   // several groups were counted together: the value is the maximum that any of them may have
};

// A report that a trigger's condition was (or may have been) true in a window, or that its alert was still in force.
struct Event {
  uint64_t trigger = 0;
  uint32_t channel = 0;  // index in Program::channels()
  EventScope scope = EventScope::kAll;
  GroupKey group;
  Interval value;  // the left side of the first comparison of `when`
  // kPossible: the condition is true for some of the values between the bounds, or is true for the counted packets but
  // might be false if lost ones were included. Never kFalse.
  Verdict verdict = Verdict::kTrue;
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;
  // Packet time of the report: the window's end, or a time within the window if more packets can't make the condition
  // false. The value then covers the packets counted so far, perhaps without the latest ones.
  int64_t ready_ns = 0;
  bool partial = false;       // some lane did not observe the whole window
  uint64_t lost_packets = 0;  // the maximum number of packets that are missing from this window's counts, in all lanes
  ExemplarFlows exemplars;    // some of the flows that the value counts; empty for a group without packets
};

// A report on a swept window of a channel. The numbers of packets, groups and missed values cover its latest pane only:
// packets + uncounted_packets is the number of packets that lanes received since the previous window ended.
struct WindowReport {
  uint32_t channel = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool partial = false;  // as in Event
  uint64_t packets = 0;
  uint64_t uncounted_packets = 0;  // received while all of a lane's windows waited to be swept
  uint64_t lost_packets = 0;       // the maximum number of packets that were lost before they reached a lane
  uint64_t groups = 0;             // counters of groups
  uint64_t rest_packets = 0;       // counted without their group, because the table was full
  uint64_t missed_values = 0;      // distinct values and percentiles without memory; they only widen bounds
  uint64_t events = 0;
  uint64_t suppressed_events = 0;  // events beyond a trigger's limit
  uint64_t untracked_alerts = 0;   // as AlertStates::untracked()
  uint64_t untracked_groups = 0;   // as SilentGroups::untracked()
};

// Receives the results of a sweep, on the sweeping thread. The windows of a channel come in order, each window's report
// after its events.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
  virtual void on_window(const WindowReport& /*report*/) {}
  // Announces the program to which the next events and reports belong. It began counting at `since_ns`, a boundary of
  // all windows.
  virtual void on_program(const Program& /*program*/, int64_t /*since_ns*/) {}
};

}  // namespace tapline::trigger
