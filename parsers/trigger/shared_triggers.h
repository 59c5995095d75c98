#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "parsers/trigger/event.h"
#include "parsers/trigger/host_triggers.h"
#include "parsers/trigger/program.h"

namespace tapline::trigger {

// The triggers of one query whose packets several lanes count. A window's values are the sums over all lanes. The lane
// that passes a window last sweeps it, so no lane waits and no further thread is needed:
//
//   lane 0   process() ── advance(20 ms) ─ lane 1 has not passed ──────────────────────▶
//   lane 1   process() ────────────────────── advance(20 ms) ─ sweeps, reports events ─▶
//
// A lane that finds another one sweeping leaves its windows to that lane, which looks for more before it returns.
//
// Thread safety: join() is for any thread. The other functions are for the lane, one call at a time. `sweeper_` gives
// the sweeps, and `sink_`, from one lane to the next (release, acquire).
class SharedTriggers final : private EventSink {
 public:
  // REQUIRES: exactly `lanes` lanes join.
  SharedTriggers(std::shared_ptr<const Program> program, uint32_t lanes);

  const Program& program() const { return *program_; }
  // Returns the number of a new lane.
  uint32_t join() { return joined_.fetch_add(1, std::memory_order_relaxed); }

  // Counts a lane's samples; as HostTriggers::process().
  void process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
    host_.process(lane, samples, tcp);
  }
  // Passes the windows that end by then, with or without packets. Windows that all lanes have passed are reported to
  // `sink`, or to that of a lane that sweeps at this moment.
  void advance(uint32_t lane, int64_t time_ns, EventSink* sink);
  // The lane counts no packets after this time.
  void end(int64_t time_ns);
  // The earliest end() of a lane: counts after it are incomplete. INT64_MAX: all lanes count.
  int64_t ended_ns() const { return ended_ns_.load(std::memory_order_relaxed); }

 private:
  void on_event(const Event& event) override { sink_->on_event(event); }
  void on_window(const WindowReport& report) override { sink_->on_window(report); }

  std::shared_ptr<const Program> program_;
  HostTriggers host_;
  EventSink* sink_ = nullptr;  // the sweeping lane's output
  std::atomic<uint32_t> joined_{0};
  std::atomic<bool> sweeper_{false};  // true while a lane sweeps
  std::atomic<bool> passed_{false};   // a lane has passed a window since the last sweep began
  std::atomic<int64_t> ended_ns_{INT64_MAX};
};

}  // namespace tapline::trigger
