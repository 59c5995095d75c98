#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapline::queues {

// A flow of a queue: its entry in the FlowTable, its traffic in the QueueWindow, its account in the WaitLedger, and its
// place in the current interval of FlowIntervals. One cache line, since each packet needs most of it.
struct alignas(64) QueueFlow {
  uint64_t key = 0;
  uint32_t references = 0;
  uint32_t next_free = 0;
  uint64_t window_bytes = 0;
  uint32_t window_packets = 0;
  uint32_t interval_place = 0;  // 0: no packet in this interval
  uint64_t waited_ns = 0;
  uint64_t settled_ns = 0;
  uint64_t service_ns = 0;
  uint32_t lost = 0;  // packets that never left, since the flow's last tuple
};

// Gives each flow a small number, an index for the arrays of per-flow counts. A number stays with its flow while
// references to it exist, and may be reused afterwards. Not thread-safe.
//
// A flow that finds no room is counted under kOthers, which represents all such flows together.
//
// Flows often come back soon after they have left the queue, and creating and removing them each time would add
// branches that are hard to predict. So up to kUnused flows without references keep their numbers.
class FlowTable {
 public:
  static constexpr uint32_t kOthers = 0;

  explicit FlowTable(uint32_t max_flows)
      : max_flows_(max_flows), max_entries_(2 * std::bit_ceil(uint64_t{max_flows} + kUnused)), entries_(kFirstEntries) {
    flows_.emplace_back();
  }

  // Adds a reference to the flow, which is created if necessary. Returns its number, or kOthers if there is no room.
  // `key` is a keyed hash: its low bits select the entry.
  [[gnu::always_inline]] uint32_t hold(uint64_t key) {
    const uint32_t number = entry_of(key).flow;
    if (number == kOthers) return create(key);
    QueueFlow& flow = flows_[number];
    const bool unused = flow.references == 0;
    if (unused & (room() == 0)) return refuse();
    ++flow.references;
    size_ += unused;
    // Clears the sums of a flow that comes back, without a branch.
    const uint64_t kept = uint64_t{unused} - 1;
    flow.waited_ns &= kept;
    flow.settled_ns &= kept;
    flow.lost &= static_cast<uint32_t>(kept);
    return number;
  }

  // REQUIRES: the flow has a reference.
  void add_reference(uint32_t flow) { flows_[flow].references += flow != kOthers; }

  [[gnu::always_inline]] void release(uint32_t flow) {
    if (flow == kOthers) return;
    const bool unused = --flows_[flow].references == 0;
    size_ -= unused;
    if (unused & (numbered_ - size_ > kUnused)) forget(flow);
  }

  // Checks the next number, and frees it if its flow has no references. Call this regularly: otherwise, flows that
  // never come back keep up to kUnused numbers.
  void age() {
    next_aged_ = next_aged_ + 1 < flows_.size() ? next_aged_ + 1 : kOthers;
    const QueueFlow& flow = flows_[next_aged_];
    if (next_aged_ != kOthers && flow.references == 0 && entry_of(flow.key).flow == next_aged_) forget(next_aged_);
  }

  // Returns the flow's number, or kOthers if it has no references.
  uint32_t find(uint64_t key) const {
    const uint32_t flow = entry_of(key).flow;
    return flows_[flow].references == 0 ? kOthers : flow;
  }

  void prefetch(uint64_t key) const { __builtin_prefetch(&entries_[key & mask()]); }

  QueueFlow& operator[](uint32_t flow) { return flows_[flow]; }
  const QueueFlow& operator[](uint32_t flow) const { return flows_[flow]; }
  uint32_t size() const { return size_; }
  uint32_t room() const { return max_flows_ - size_; }
  uint64_t without_room() const { return without_room_; }  // references for which kOthers was returned

 private:
  // An entry repeats a part of its flow's key, so that a search seldom reads other flows.
  struct Entry {
    uint32_t key_low = 0;
    uint32_t flow = kOthers;
  };
  // The table has 16 entries for each flow while there are few flows, and at least two for each of max_flows. So a
  // search or removal seldom reads a second entry, a branch that is hard to predict.
  static constexpr uint64_t kEntriesPerFlow = 16;
  static constexpr uint64_t kFirstEntries = 1024;
  static constexpr uint32_t kUnused = 512;

  uint64_t mask() const { return entries_.size() - 1; }
  bool is(const Entry& entry, uint64_t key) const {
    return entry.key_low == static_cast<uint32_t>(key) && flows_[entry.flow].key == key;
  }

  const Entry& entry_of(uint64_t key) const {
    uint64_t i = key & mask();
    while (entries_[i].flow != kOthers && !is(entries_[i], key)) i = (i + 1) & mask();
    return entries_[i];
  }

  [[gnu::always_inline]] uint32_t create(uint64_t key) {
    if (room() == 0) return refuse();
    uint32_t flow = free_;
    if (flow != kOthers) {
      free_ = flows_[flow].next_free;
    } else {
      flow = static_cast<uint32_t>(flows_.size());
      flows_.emplace_back();
      if (flows_.size() * kEntriesPerFlow > entries_.size() && entries_.size() < max_entries_) grow();
    }
    flows_[flow] = {.key = key, .references = 1};
    insert({static_cast<uint32_t>(key), flow});
    ++numbered_;
    ++size_;
    return flow;
  }

  uint32_t refuse() {
    ++without_room_;
    return kOthers;
  }

  // Frees the number of a flow without references.
  [[gnu::always_inline]] void forget(uint32_t flow) {
    uint64_t i = flows_[flow].key & mask();
    while (entries_[i].flow != flow) i = (i + 1) & mask();
    remove(i);
    flows_[flow].next_free = free_;
    free_ = flow;
    --numbered_;
  }

  void insert(Entry entry) {
    uint64_t i = entry.key_low & mask();
    while (entries_[i].flow != kOthers) i = (i + 1) & mask();
    entries_[i] = entry;
  }

  // Removes the entry at index `empty`. Moves later ones back so that no empty entry lies between an entry and its home
  // index.
  void remove(uint64_t empty) {
    for (uint64_t i = (empty + 1) & mask(); entries_[i].flow != kOthers; i = (i + 1) & mask()) {
      const uint64_t distance = (i - entries_[i].key_low) & mask();
      if (distance < ((i - empty) & mask())) continue;
      entries_[empty] = entries_[i];
      empty = i;
    }
    entries_[empty] = {};
  }

  void grow() {
    const std::vector<Entry> previous_entries = std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    for (const Entry& entry : previous_entries) {
      if (entry.flow != kOthers) insert(entry);
    }
  }

  uint32_t max_flows_;
  uint64_t max_entries_;
  std::vector<Entry> entries_;    // open addressing; the size is a power of two
  std::vector<QueueFlow> flows_;  // by number; the first one is kOthers
  uint32_t free_ = kOthers;
  uint32_t numbered_ = 0;  // flows that have a number
  uint32_t size_ = 0;      // flows that have references
  uint32_t next_aged_ = kOthers;
  uint64_t without_room_ = 0;
};

}  // namespace tapline::queues
