#include "monitors/supervisor/monitor_page.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "parsers/api/bits.h"

namespace tapline {
namespace {

void lose_packets(uint64_t queries, uint64_t count, UnitPage* unit) {
  for (uint32_t query : SetBits(queries)) {
    unit->accounts[query].lose_packets(index_of(Drop::kMonitorRestarted), count);
  }
}

// Settles the packets of the current burst that the lane had not processed, and the fragments of incomplete datagrams.
// Then balances packets that were counted as received but not in an outcome, or vice versa.
void settle_lane(LanePage* lane) {
  LaneAccounting& account = lane->accounting;
  account.received += lane->all_left();
  account.lost[index_of(Drop::kMonitorRestarted)] += lane->all_left();
  account.lost[index_of(Drop::kMonitorRestarted)] += account.held;
  account.held = 0;
  const uint64_t explained = account.matched + account.unmatched + account.merged + account.repeated +
                             std::accumulate(account.undecodable.begin(), account.undecodable.end(), uint64_t{0}) +
                             std::accumulate(account.lost.begin(), account.lost.end(), uint64_t{0});
  if (account.received > explained) account.lost[index_of(Drop::kMonitorRestarted)] += account.received - explained;
  account.received = std::max(account.received, explained);
}

// Settles each tap's packets and resets burst_left, so it must be called after settle_lane().
void settle_taps(LanePage* lane) {
  for (size_t i = 0; i < kMaxTaps; ++i) {
    TapAccounting& tap = lane->taps[i];
    tap.received += std::exchange(lane->burst_left[i], 0);
    const uint64_t explained = tap.passed + tap.repeated +
                               std::accumulate(tap.undecodable.begin(), tap.undecodable.end(), uint64_t{0}) +
                               std::accumulate(tap.lost.begin(), tap.lost.end(), uint64_t{0});
    if (tap.received > explained) tap.lost[index_of(Drop::kMonitorRestarted)] += tap.received - explained;
    tap.received = std::max(tap.received, explained);
  }
}

// Settles the packets that the parsers had received but not finished, and the connections that they were following.
void settle_packets(uint32_t query, UnitPage* unit) {
  Accounting& account = unit->accounts[query];
  const uint64_t unparsed = account.packets_out - std::min(account.packets_out, unit->parsed[query]);
  account.packets_out -= unparsed;
  account.dropped[index_of(Drop::kMonitorRestarted)] += unparsed;
  const uint64_t explained = account.packets_out + account.dropped_of(DropUnit::kPackets);
  if (account.packets_in > explained) {
    account.dropped[index_of(Drop::kMonitorRestarted)] += account.packets_in - explained;
  }
  account.packets_in = std::max(account.packets_in, explained);
  account.dropped[index_of(Drop::kMonitorRestartedFlows)] += unit->live_flows[query];
  unit->parsed[query] = account.packets_out;
  unit->live_flows[query] = 0;
}

}  // namespace

void PluginPage::set_schemas(std::string_view text) {
  schema_bytes = static_cast<uint32_t>(std::min(text.size(), schemas.size()));
  std::memcpy(schemas.data(), text.data(), schema_bytes);
}

bool PlanPage::set(std::string_view plan) {
  if (plan.size() > data.size()) return false;
  std::memcpy(data.data(), plan.data(), plan.size());
  bytes = static_cast<uint32_t>(plan.size());
  return true;
}

void UnmapPage::operator()(MonitorPage* page) const { munmap(page, sizeof(MonitorPage)); }

MonitorPagePointer map_monitor_page() {
  void* memory =
      mmap(nullptr, sizeof(MonitorPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Fresh pages are zero, so only members with another initial value are set.
  auto* page = static_cast<MonitorPage*>(memory);
  page->clock_start_ns = INT64_MIN;
  return MonitorPagePointer(page);
}

void settle_after_exit(MonitorPage* page) {
  for (size_t i = 0; i < kMaxSupervisedLanes; ++i) {
    LanePage& lane = page->lanes[i];
    UnitPage& unit = page->units[i];
    if (lane.thread_id.load(std::memory_order_relaxed) == 0) continue;
    lose_packets(unit.ledger.known & ~lane.done, lane.all_left() + lane.accounting.held, &unit);
    settle_lane(&lane);
    settle_taps(&lane);
    for (uint32_t query : SetBits(unit.ledger.known)) {
      settle_packets(query, &unit);
      settle_tuples(query, &unit.accounts[query], &unit.ledger);
    }
    lane.thread_id.store(0, std::memory_order_relaxed);
    lane.call.plugin.store(0, std::memory_order_relaxed);
  }
}

}  // namespace tapline
