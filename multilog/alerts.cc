// Implements triggers: the thread that evaluates them, the times at which they are due, and the alerts that they raise.
#include <algorithm>
#include <limits>

#include "multilog/multilog_impl.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr size_t kKeptAlerts = 1024;
constexpr int64_t kLateNs = 100000;

}  // namespace

// Returns the earliest row time that is not before `time`, or kAllTime if there is none. Zone maps show which zones may
// contain such a time. Zones whose minimum is before `time` are searched row by row; an archived zone of this kind
// counts as having a row at `time`.
uint64_t MultiLogImpl::next_time(const Snapshot& snapshot, uint64_t time) const {
  uint64_t next = kAllTime;
  for (const Snapshot::View& view : snapshot.views()) {
    const uint32_t size = view.log->segment_rows();
    for (uint64_t position = view.first; position < view.tail; position = (position / size + 1) * size) {
      const Segment* segment = view.log->segment_at(position);
      if (segment == nullptr || segment->max_time() < time || segment->min_time() >= next) continue;
      const auto end = static_cast<uint32_t>(std::min<uint64_t>(size, view.tail - segment->first()));
      for (uint32_t zone = 0; zone * kChunkRows < end; ++zone) {
        if (segment->zone_high(zone) < time || segment->zone_low(zone) >= next) continue;
        if (segment->zone_low(zone) >= time || segment->source != nullptr) {
          next = std::max(time, segment->zone_low(zone));
          continue;
        }
        for (uint32_t row = zone * kChunkRows; row < std::min(end, (zone + 1) * kChunkRows); ++row) {
          const uint64_t of_row = time_of(options_.schema, segment->row(row));
          if (of_row >= time && of_row < next) next = of_row;
        }
      }
    }
  }
  return next;
}

void MultiLogImpl::on_alert(std::function<void(const Alert&)> callback) {
  const std::lock_guard lock(alert_mutex_);
  on_alert_ = std::move(callback);
}

void MultiLogImpl::push(const Alert& alert) {
  const std::lock_guard lock(alert_mutex_);
  if (on_alert_) on_alert_(alert);
  if (alerts_.size() == kKeptAlerts) {
    alerts_.pop_front();
    lost_alerts_.fetch_add(1, std::memory_order_relaxed);
  }
  alerts_.push_back(alert);
}

std::vector<Alert> MultiLogImpl::take_alerts() {
  const std::lock_guard lock(alert_mutex_);
  std::vector<Alert> alerts(alerts_.begin(), alerts_.end());
  alerts_.clear();
  return alerts;
}

// Evaluates the triggers that are due, then sleeps until the next one is due or a trigger is added.
void MultiLogImpl::run_triggers() {
  while (!stop_.load(std::memory_order_acquire)) {
    const auto due = static_cast<int64_t>(std::min<uint64_t>(triggers_->evaluate(static_cast<uint64_t>(monotonic_ns())),
                                                             std::numeric_limits<int64_t>::max()));
    trigger_cpu_ns_.store(static_cast<uint64_t>(thread_cpu_ns()), std::memory_order_relaxed);
    if (trigger_work_.wait_until(due)) continue;
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (monotonic_ns() > due + kLateNs) late_wakeups_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace tapline::multilog
