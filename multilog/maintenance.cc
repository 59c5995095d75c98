// What the storage thread does: rows to disk, memory kept free for writers, retention.
#include <algorithm>

#include "multilog/base/clock.h"
#include "multilog/multilog.h"

namespace tapline::multilog {

void MultiLog::RunStorage() {
  constexpr int64_t kTurnNs = 5000000;
  int64_t flushed = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    SleepUntil(ClockNs(CLOCK_MONOTONIC) + kTurnNs);
    const int64_t now = ClockNs(CLOCK_MONOTONIC);
    const bool due = storage_ != nullptr && options_.storage.durability != Durability::kMemory &&
                     now - flushed >= static_cast<int64_t>(options_.storage.interval_ns);
    if (due) {
      flushed = now;
      (void)Maintain().ok();
      continue;
    }
    const std::lock_guard lock(maintain_);
    (void)FreeMemory().ok();
  }
}

Status MultiLog::Maintain() {
  const std::lock_guard lock(maintain_);
  Status status;
  if (storage_ != nullptr && options_.storage.durability != Durability::kMemory) {
    for (uint32_t i = 0; i < writers() && status.ok(); ++i) status = storage_->Flush(*logs_[i]);
  }
  const Status memory = FreeMemory();
  {
    const std::lock_guard control(alert_mutex_);
    storage_status_ = status.ok() ? memory : status;
  }
  return status.ok() ? memory : status;
}

Status MultiLog::storage_status() const {
  const std::lock_guard lock(alert_mutex_);
  return storage_status_;
}

// Keeps some memory free for writers: archives the oldest complete segments or, where that can't be, lets them go.
Status MultiLog::FreeMemory() {
  epochs_.Collect();
  const size_t most = arenas_->max_arenas();
  const size_t wanted_free = std::max<size_t>(1, most / 8);
  auto free = [&] {
    const size_t heap =
        (heap_bytes_.load(std::memory_order_relaxed) + arenas_->arena_bytes() - 1) / arenas_->arena_bytes();
    const size_t used = arenas_->taken() + heap;
    return used < most ? most - used : 0;
  };
  Status status;
  // What readers still hold is freed later; no use in releasing more meanwhile.
  while (free() < wanted_free && epochs_.Collect() == 0) {
    WriterLog* oldest = nullptr;
    Segment* segment = nullptr;
    for (uint32_t i = 0; i < writers(); ++i) {
      Segment* candidate = nullptr;
      for (uint64_t at = logs_[i]->first(); at < logs_[i]->tail() && candidate == nullptr;
           at = (at / options_.segment_rows + 1) * options_.segment_rows) {
        Segment* present = logs_[i]->SegmentAt(at);
        if (present != nullptr && present->source == nullptr) candidate = present;
      }
      if (candidate == nullptr || !candidate->complete.load(std::memory_order_acquire)) continue;
      if (segment == nullptr || candidate->least_time() < segment->least_time())
        segment = candidate, oldest = logs_[i].get();
    }
    if (segment == nullptr) break;
    Status archived(Code::kStopped, "no directory");
    if (storage_ != nullptr) {
      archived = storage_->Archive(oldest, segment, indexes_copy());
      if (!archived.ok()) status = archived;
    }
    if (!archived.ok()) {
      if (options_.when_full == Options::WhenFull::kRefuse) break;
      const uint64_t end = segment->first() + segment->capacity();
      removed_.fetch_add(end - oldest->first(), std::memory_order_relaxed);
      oldest->RemoveBefore(end);
    }
    epochs_.Collect();
  }
  // Ahead of need, a few at a time.
  if (options_.background_threads && !loading_) arenas_->Provision(std::min<size_t>(wanted_free, 4));
  if (storage_ != nullptr && status.ok() && !loading_) status = Retain();
  return status;
}

std::vector<Index> MultiLog::indexes_copy() const {
  if (loading_) return indexes_;
  const std::lock_guard lock(control_);
  return indexes_;
}

Status MultiLog::Retain() {
  uint64_t newest = 0;
  for (uint32_t i = 0; i < writers(); ++i) newest = std::max(newest, logs_[i]->newest_time());
  const StorageOptions& options = storage_->options();
  for (uint32_t i = 0; i < writers(); ++i) {
    const uint64_t over = options.retain_bytes != 0 && storage_->archived_bytes() > options.retain_bytes
                              ? storage_->archived_bytes() - options.retain_bytes
                              : 0;
    const auto removed = storage_->Retain(logs_[i].get(), newest, over);
    if (!removed.ok()) return removed.status();
    removed_.fetch_add(*removed, std::memory_order_relaxed);
  }
  return {};
}

}  // namespace tapline::multilog
