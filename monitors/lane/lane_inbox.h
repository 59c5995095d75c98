// Requests from other threads to a running lane: add a query, end one, limit its sampling rate, count packets that
// never arrived, or treat its packets as complete from now on.
//
//   any thread   post(): links the command in front of the others (release)
//   the lane     take(): takes all at once (acquire), executes each and marks it as done (release)
//   the poster   waits until it is done (acquire), then owns the command again
//
// The lane reads one pointer per poll and never waits.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapline {

struct LaneCommand {
  enum class Kind : uint8_t { kAdd, kEnd, kLimit, kLose, kMirrored };

  LaneCommand(Kind command_kind, uint32_t command_query, double command_rate = 1)
      : kind(command_kind), query(command_query), rate(command_rate) {}

  const Kind kind;
  const uint32_t query;
  const double rate;     // kLimit: the share of flows that the pipeline can sustain
  uint64_t packets = 0;  // kLose: number of additional packets that were lost in transit

  bool answered() const { return answered_.load(std::memory_order_acquire); }
  void answer() { answered_.store(true, std::memory_order_release); }

 private:
  friend class LaneInbox;
  std::atomic<bool> answered_{false};
  LaneCommand* next_ = nullptr;
};

class LaneInbox {
 public:
  // Adds a command, which must not be moved or freed until it is done.
  void post(LaneCommand* command) {
    command->next_ = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(command->next_, command, std::memory_order_release)) {
    }
  }

  // Lane only: calls handle(command) for each command, in the order of posting.
  template <typename Handle>
  void take(Handle handle) {
    if (first_.load(std::memory_order_relaxed) == nullptr) return;
    LaneCommand* latest_first = first_.exchange(nullptr, std::memory_order_acquire);
    LaneCommand* command = nullptr;
    while (latest_first != nullptr) {
      LaneCommand* next = latest_first->next_;
      latest_first->next_ = command;
      command = latest_first;
      latest_first = next;
    }
    while (command != nullptr) {
      // A command that is done belongs to its poster again, so `next_` is read first.
      LaneCommand* next = command->next_;
      handle(*command);
      command = next;
    }
  }

 private:
  std::atomic<LaneCommand*> first_{nullptr};
};

}  // namespace tapline
