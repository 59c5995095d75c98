// Implements the storage thread, which writes rows to disk, keeps memory free for writers and applies retention.
#include <algorithm>

#include "multilog/multilog_impl.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {

// Keeps memory free and, at intervals, writes rows to disk. Sleeps until a writer takes memory or rows are due to be
// written; while memory is short (for example, because readers still use it), runs every 5 ms.
void MultiLogImpl::run_storage() {
  constexpr int64_t kRestNs = 5 * kNsPerMs, kIdleNs = kNsPerSecond;
  const bool journal = storage_ != nullptr && options_.storage.durability != Durability::kMemory;
  const int64_t interval = journal ? static_cast<int64_t>(options_.storage.interval_ns) : kIdleNs;
  int64_t flushed = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    const int64_t now = monotonic_ns();
    if (journal && now - flushed >= interval) {
      flushed = now;
      (void)maintain().ok();
    } else {
      const std::lock_guard lock(maintain_);
      (void)free_memory().ok();
    }
    // This pause keeps writers that fill segments quickly from waking this thread for every segment.
    sleep_until(now + kRestNs);
    if (free_arenas() >= wanted_arenas()) (void)storage_work_.wait_until(journal ? flushed + interval : now + interval);
  }
}

Status MultiLogImpl::maintain() {
  const std::lock_guard lock(maintain_);
  Status status;
  if (storage_ != nullptr && options_.storage.durability != Durability::kMemory) {
    for (uint32_t i = 0; i < writers() && status.ok(); ++i) status = storage_->flush(*logs_[i]);
  }
  const Status memory = free_memory();
  {
    const std::lock_guard control(alert_mutex_);
    storage_status_ = status.ok() ? memory : status;
  }
  return status.ok() ? memory : status;
}

Status MultiLogImpl::storage_status() const {
  const std::lock_guard lock(alert_mutex_);
  return storage_status_;
}

// Returns the number of arenas still available for segments. Heap memory counts as arenas in use.
size_t MultiLogImpl::free_arenas() const {
  const size_t max = arenas_->max_arenas(), bytes = arenas_->arena_bytes();
  const size_t used = arenas_->taken() + (heap_bytes_.load(std::memory_order_relaxed) + bytes - 1) / bytes;
  return used < max ? max - used : 0;
}

// Keeps some memory free for writers: archives the oldest complete segments, or drops them if they can't be archived
// and the policy allows it. Also applies retention.
Status MultiLogImpl::free_memory() {
  epochs_.collect();
  const size_t wanted_free = wanted_arenas();
  Status status;
  // Memory that readers still hold is freed later, so releasing more now would not help.
  while (free_arenas() < wanted_free && epochs_.collect() == 0) {
    WriterLog* oldest = nullptr;
    Segment* segment = nullptr;
    for (uint32_t i = 0; i < writers(); ++i) {
      Segment* candidate = nullptr;
      for (uint64_t row = logs_[i]->first(); row < logs_[i]->tail() && candidate == nullptr;
           row = (row / options_.segment_rows + 1) * options_.segment_rows) {
        Segment* present = logs_[i]->segment_at(row);
        if (present != nullptr && present->source == nullptr) candidate = present;
      }
      if (candidate == nullptr || !candidate->complete.load(std::memory_order_acquire)) continue;
      if (segment == nullptr || candidate->min_time() < segment->min_time())
        segment = candidate, oldest = logs_[i].get();
    }
    if (segment == nullptr) break;
    Status archived(Code::kStopped, "no directory");
    if (storage_ != nullptr) {
      archived = storage_->archive(oldest, segment, indexes_copy());
      if (!archived.ok()) status = archived;
    }
    if (!archived.ok()) {
      if (options_.when_full == Options::OverflowPolicy::kRefuse) break;
      const uint64_t end = segment->first() + segment->capacity();
      removed_.fetch_add(end - oldest->first(), std::memory_order_relaxed);
      oldest->remove_before(end);
    }
    epochs_.collect();
  }
  // Arenas are provisioned ahead of need, a few at a time.
  if (options_.background_threads && !loading_) arenas_->provision(std::min<size_t>(wanted_free, 4));
  if (storage_ != nullptr && status.ok() && !loading_) status = retain();
  return status;
}

std::vector<Index> MultiLogImpl::indexes_copy() const {
  if (loading_) return indexes_;
  const std::lock_guard lock(control_);
  return indexes_;
}

Status MultiLogImpl::retain() {
  uint64_t newest = 0;
  for (uint32_t i = 0; i < writers(); ++i) newest = std::max(newest, logs_[i]->newest_time());
  const StorageOptions& options = storage_->options();
  for (uint32_t i = 0; i < writers(); ++i) {
    const uint64_t over = options.retain_bytes != 0 && storage_->archived_bytes() > options.retain_bytes
                              ? storage_->archived_bytes() - options.retain_bytes
                              : 0;
    const auto removed = storage_->retain(logs_[i].get(), newest, over);
    if (!removed.ok()) return removed.status();
    removed_.fetch_add(*removed, std::memory_order_relaxed);
  }
  return {};
}

}  // namespace tapline::multilog
