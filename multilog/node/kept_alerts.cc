#include "multilog/node/kept_alerts.h"

#include <algorithm>
#include <utility>

namespace tapline::multilog {

void KeptAlerts::add(v1::NodeAlert alert) {
  OfTrigger& own = triggers_[alert.trigger()];
  if (own.numbers.size() == max_per_trigger_) {
    if (own.numbers.front() > taken_) ++lost_;
    alerts_.erase(own.numbers.front());
    own.numbers.pop_front();
  }
  alert.set_number(++last_);
  alert.set_trigger_number(++own.raised);
  own.numbers.push_back(last_);
  alerts_.emplace_hint(alerts_.end(), last_, std::move(alert));
}

const v1::NodeAlert* KeptAlerts::next(uint64_t last_number) const {
  const auto alert = alerts_.upper_bound(last_number);
  return alert == alerts_.end() ? nullptr : &alert->second;
}

void KeptAlerts::taken(uint64_t number) { taken_ = std::max(taken_, number); }

void KeptAlerts::forget(const std::string& trigger) {
  const auto it = triggers_.find(trigger);
  if (it == triggers_.end()) return;
  for (const uint64_t number : it->second.numbers) alerts_.erase(number);
  triggers_.erase(it);
}

}  // namespace tapline::multilog
