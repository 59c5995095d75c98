#pragma once

#include <cstdint>

namespace tapline {

// Counters of the triggers on packets, over all queries since the start.
struct TriggerTotals {
  uint64_t windows = 0;            // windows that were tested
  uint64_t late_windows = 0;       // windows whose test was rushed because the next window had already ended
  uint64_t lossy_windows = 0;      // windows in which packets were lost, or may have been
  uint64_t groups = 0;             // sum over all windows
  uint64_t rest_packets = 0;       // packets counted without their group, because the table was full
  uint64_t suppressed_events = 0;  // events beyond a trigger's limit
  uint64_t replacements = 0;       // replaced programs

  TriggerTotals& operator+=(const TriggerTotals& other) {
    windows += other.windows;
    late_windows += other.late_windows;
    lossy_windows += other.lossy_windows;
    groups += other.groups;
    rest_packets += other.rest_packets;
    suppressed_events += other.suppressed_events;
    replacements += other.replacements;
    return *this;
  }
};

}  // namespace tapline
