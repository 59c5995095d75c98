// Each trigger's latest alerts, numbered, for clients that attach later: the control plane may be disconnected while
// triggers are evaluated. An alert never evicts other triggers' alerts. Requires external synchronisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "schema/multilog.pb.h"

namespace tapline::multilog {

class KeptAlerts {
 public:
  explicit KeptAlerts(size_t max_per_trigger) : max_per_trigger_(max_per_trigger) {}

  // Numbers the alert and keeps it. Evicts the trigger's oldest alert if it has too many.
  void add(v1::NodeAlert alert);

  // Returns the first alert with a greater number, or nullptr. The alert is valid until the next change.
  const v1::NodeAlert* next(uint64_t last_number) const;

  // Records that a client has received the alerts up to this number, so that their eviction does not count as a loss.
  void taken(uint64_t number);

  // Drops the alerts of a trigger that no longer exists. A new trigger with the same name numbers its alerts from 1
  // again.
  void forget(const std::string& trigger);

  // Returns the number of the latest alert; 0 if there was none.
  uint64_t last() const { return last_; }

  // Returns the number of alerts that were evicted before any client had received them.
  uint64_t lost() const { return lost_; }

 private:
  struct OfTrigger {
    uint64_t raised = 0;
    std::deque<uint64_t> numbers;
  };

  const size_t max_per_trigger_;
  std::map<uint64_t, v1::NodeAlert> alerts_;  // by number
  std::map<std::string, OfTrigger> triggers_;
  uint64_t last_ = 0, taken_ = 0, lost_ = 0;
};

}  // namespace tapline::multilog
