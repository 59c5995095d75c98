// Computes aggregates at a snapshot's tails: from buckets if possible, otherwise from rows.
#include <algorithm>

#include "multilog/multilog_impl.h"

namespace tapline::multilog {
namespace {

constexpr int kReadAttempts = 64;

}  // namespace

// Returns a snapshot that has the same views, or only `view` if it is not null, and may outlive `snapshot`.
Snapshot MultiLogImpl::borrow(const Snapshot& snapshot, const Snapshot::View* view) const {
  Snapshot borrowed;
  borrowed.pin_ = epochs_.enter();
  borrowed.views_ = view == nullptr ? snapshot.views_ : std::vector<Snapshot::View>{*view};
  borrowed.frozen_ = snapshot.frozen_;
  return borrowed;
}

// Folds the rows that the aggregate's filter has selected since the aggregate was added, with times in [low, high].
// Adds the number of unreadable segments to `unreadable`.
void MultiLogImpl::fold(const tapline::multilog::Aggregate& aggregate, const Snapshot& snapshot,
                        const Snapshot::View* view, uint64_t low, uint64_t high, std::vector<uint64_t>* state,
                        uint64_t* unreadable) const {
  auto expression = std::make_shared<const Expression>(aggregate.filter->expression);
  auto plan = make_plan(options_.schema, std::move(expression), low, high, {}, {});
  if (!plan.ok()) return;
  if (!aggregate.filter->everything) (*plan)->stored = aggregate.filter;
  (*plan)->from.assign(kMaxWriters, kNotYet);
  for (uint32_t i = 0; i < kMaxWriters; ++i) {
    if (const auto* mine = aggregate.per_writer[i].load(std::memory_order_acquire))
      (*plan)->from[i] = mine->covered_from.load(std::memory_order_acquire);
  }
  Cursor cursor(borrow(snapshot, view), std::move(*plan));
  for (auto rows = cursor.next(); !rows.empty(); rows = cursor.next())
    aggregate.function->add(Cells(state->data()), rows);
  *unreadable += cursor.statistics().unreadable;
}

// Reads one writer's state from its buckets, and adds the time ranges that must be computed from rows to `rest`.
// Returns false if the evicted state is needed but can't be used, or if the writer changed the buckets in the meantime.
bool MultiLogImpl::read_cached(const tapline::multilog::Aggregate& aggregate, const Snapshot& snapshot, uint64_t low,
                               uint64_t high, std::vector<uint64_t>* state,
                               std::vector<std::pair<uint64_t, uint64_t>>* rest, const Snapshot::View& view) const {
  (void)snapshot;
  const auto* mine = aggregate.per_writer[view.log->number()].load(std::memory_order_acquire);
  if (mine == nullptr || mine->covered_from.load(std::memory_order_acquire) >= view.tail) return true;
  const Buckets& buckets = *mine->buckets;
  const uint64_t width = buckets.width_ns();
  Buckets::Copy evicted, copy;
  if (!buckets.read(buckets.slots(), &evicted) || evicted.version > view.tail) return false;
  if (evicted.used) {
    if (low != 0 || high != kAllTime) return false;
    aggregate.function->merge(Cells(state->data()), Cells(evicted.state.data()));
  }
  for (uint32_t slot = 0; slot < buckets.slots(); ++slot) {
    if (!buckets.read(slot, &copy)) return false;
    if (!copy.used) continue;
    const uint64_t begin = copy.bucket * width, end = begin + (width - 1);
    if (end < low || begin > high) continue;
    if (copy.version > view.tail || begin < low || end > high)
      rest->emplace_back(std::max(begin, low), std::min(end, high));
    else
      aggregate.function->merge(Cells(state->data()), Cells(copy.state.data()));
  }
  // A bucket that left the ring in the meantime would be counted twice or not at all.
  return buckets.version(buckets.slots()) == evicted.version;
}

AggregateValue MultiLogImpl::value_of(const tapline::multilog::Aggregate& aggregate,
                                      std::vector<uint64_t>* state) const {
  AggregateValue value;
  value.names = aggregate.outputs;
  value.values = aggregate.function->outputs(Cells(state->data()));
  if (aggregate.grouped != nullptr) value.groups = aggregate.grouped->groups(Cells(state->data()));
  return value;
}

Result<AggregateValue> MultiLogImpl::read_aggregate(const std::string& name, uint64_t low, uint64_t high) const {
  return read_aggregate(name, take_snapshot(), low, high);
}

Result<AggregateValue> MultiLogImpl::read_aggregate(const std::string& name, const Snapshot& snapshot, uint64_t low,
                                                    uint64_t high) const {
  std::shared_ptr<tapline::multilog::Aggregate> aggregate;
  {
    const std::lock_guard lock(control_);
    aggregate = find_aggregate(name);
  }
  if (aggregate == nullptr) return Status(Code::kNotFound, "no aggregate " + name);
  if (low > high) return Status(Code::kInvalid, "the time range ends before it begins");
  std::vector<uint64_t> total(aggregate->function->words());
  uint64_t unreadable = 0;
  for (const Snapshot::View& view : snapshot.views()) {
    std::vector<uint64_t> state(total.size());
    std::vector<std::pair<uint64_t, uint64_t>> rest;
    bool cached = false;
    for (int attempt = 0; attempt < kReadAttempts && !cached; ++attempt) {
      state.assign(total.size(), 0);
      rest.clear();
      cached = read_cached(*aggregate, snapshot, low, high, &state, &rest, view);
      const auto* mine = aggregate->per_writer[view.log->number()].load(std::memory_order_acquire);
      // Retrying can't help if the evicted state is ahead of this snapshot, or covers more than the time range.
      if (!cached && (mine->buckets->version(mine->buckets->slots()) > view.tail || low != 0 || high != kAllTime))
        break;
    }
    if (!cached) {
      state.assign(total.size(), 0);
      rest.assign(1, {low, high});
    }
    for (const auto& [first, last] : rest) fold(*aggregate, snapshot, &view, first, last, &state, &unreadable);
    aggregate->function->merge(Cells(total.data()), Cells(state.data()));
  }
  AggregateValue value = value_of(*aggregate, &total);
  value.unreadable = unreadable;
  return value;
}

}  // namespace tapline::multilog
