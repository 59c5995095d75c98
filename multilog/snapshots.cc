// Implements snapshots, which are readers' views, and freezing (the host's side of Confluo's Algorithm 1).
#include "multilog/multilog_impl.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {

std::vector<uint64_t> MultiLogImpl::read_tails() const {
  std::vector<uint64_t> tails(writers());
  for (size_t i = 0; i < tails.size(); ++i) tails[i] = logs_[i]->tail();
  return tails;
}

// Returns a freeze's tails. The first readers after its announcement read the tails; all readers use those that are
// stored first.
const std::vector<uint64_t>* MultiLogImpl::frozen_tails(FreezeRecord* record) const {
  const std::vector<uint64_t>* tails = record->tails.load(std::memory_order_acquire);
  if (tails != nullptr) return tails;
  auto mine = std::make_unique<const std::vector<uint64_t>>(read_tails());
  if (record->tails.compare_exchange_strong(tails, mine.get(), std::memory_order_acq_rel)) return mine.release();
  return tails;
}

// Ends a freeze. Returns false if another thread has already ended it.
bool MultiLogImpl::end_freeze(FreezeRecord* record, int64_t now_ns) const {
  FreezeRecord* expected = record;
  if (!freeze_.compare_exchange_strong(expected, nullptr, std::memory_order_seq_cst)) return false;
  frozen_ns_.fetch_add(static_cast<uint64_t>(std::min(now_ns, record->expires_ns) - record->begin_ns),
                       std::memory_order_relaxed);
  epochs_.retire([record] { delete record; });
  return true;
}

// Takes a snapshot. The order of the reads matters. If a reader finds no freeze before and after it reads the tails, it
// has read them before any freeze was announced, so they are at most the frozen ones. A reader that finds a freeze uses
// the freeze's tails. Readers never wait for the thread that freezes.
Snapshot MultiLogImpl::take_snapshot() const {
  Snapshot snapshot;
  snapshot.pin_ = epochs_.enter();
  while (true) {
    FreezeRecord* record = freeze_.load(std::memory_order_seq_cst);
    if (record != nullptr) {
      const int64_t now_ns = monotonic_ns();
      if (now_ns >= record->expires_ns) {
        (void)end_freeze(record, now_ns);
        continue;
      }
    }
    // The first positions are read before the tails, so that no removed row is mistaken for an existing one.
    snapshot.views_.clear();
    const uint32_t count = writers();
    for (uint32_t i = 0; i < count; ++i) snapshot.views_.push_back({logs_[i].get(), logs_[i]->first(), 0});
    const std::vector<uint64_t> now = record == nullptr ? read_tails() : *frozen_tails(record);
    if (record == nullptr && freeze_.load(std::memory_order_seq_cst) != nullptr) continue;
    snapshot.frozen_ = record != nullptr;
    snapshot.views_.resize(std::min(snapshot.views_.size(), now.size()));
    for (size_t i = 0; i < snapshot.views_.size(); ++i) {
      snapshot.views_[i].tail = now[i];
      snapshot.views_[i].first = std::min(snapshot.views_[i].first, now[i]);
    }
    return snapshot;
  }
}

bool MultiLogImpl::is_frozen() const {
  const auto pin = epochs_.enter();
  const FreezeRecord* present = freeze_.load(std::memory_order_seq_cst);
  return present != nullptr && monotonic_ns() < present->expires_ns;
}

Result<FreezeToken> MultiLogImpl::freeze(uint64_t expiry_ns) {
  const auto pin = epochs_.enter();
  auto record = std::make_unique<FreezeRecord>();
  record->id = freezes_.fetch_add(1) + 1;
  record->begin_ns = monotonic_ns();
  record->expires_ns =
      record->begin_ns + static_cast<int64_t>(std::min<uint64_t>(expiry_ns, uint64_t{3600} * kNsPerSecond));
  FreezeRecord* present = nullptr;
  while (!freeze_.compare_exchange_strong(present, record.get(), std::memory_order_seq_cst)) {
    if (present == nullptr) continue;
    const int64_t now_ns = monotonic_ns(), rest = present->expires_ns - now_ns;
    if (rest > 0)
      return Status(Code::kFrozen, "frozen by another coordinator for " + std::to_string(rest) + " more ns");
    (void)end_freeze(present, now_ns);
    present = nullptr;
  }
  FreezeRecord* own_record = record.release();
  return FreezeToken{own_record->id, *frozen_tails(own_record)};
}

Result<bool> MultiLogImpl::unfreeze(uint64_t token) {
  const auto pin = epochs_.enter();
  if (token == 0 || token > freezes_.load()) return Status(Code::kNotFound, "unknown freeze");
  FreezeRecord* present = freeze_.load(std::memory_order_seq_cst);
  if (present == nullptr || present->id != token) return false;
  const int64_t now_ns = monotonic_ns();
  return end_freeze(present, now_ns) && now_ns < present->expires_ns;
}

}  // namespace tapline::multilog
