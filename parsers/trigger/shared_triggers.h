#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "parsers/trigger/event.h"
#include "parsers/trigger/host_triggers.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::trigger {

// The triggers of one query, which can be replaced while lanes count its packets. A single lane has a TriggerEngine. If
// there are several lanes, a window's values are the sums over all lanes. Lanes sweep between their bursts, each time a
// small part, so no lane waits and no further thread is needed:
//
//   lane 0   process() ── close(20 ms) ── process() ─ continue_sweep(), reports events ────▶
//   lane 1   process() ───── close(20 ms) ─ continue_sweep(), reports events ─ process() ──▶
//
// One lane sweeps at a time, while the others continue to count.
//
// A program that needs TcpFacts, and follows one that doesn't, waits until all lanes supply them.
//
// Thread safety: join() is for any thread; replace(), continue_replacing(), replacing() and counting_since_ns() are for
// one thread, which controls the query. The other functions are for the lanes, each of which makes one call at a time.
// `sweeper_` passes the sweeps and `sink_` from one lane to the next (release, acquire). `replacing_` publishes
// `since_ns_` when it becomes false, and `supplying_` publishes that a lane has read `tcp_`.
class SharedTriggers final : private EventSink {
 public:
  // REQUIRES: exactly `lanes` lanes join; at most HostTriggers::kMaxLanes. `lanes` is 1 if the program is partial.
  SharedTriggers(std::shared_ptr<const Program> program, uint32_t lanes);

  static constexpr int64_t kNoTcp = -1;

  // Prepares a program, which takes milliseconds. The lanes replace theirs at the next boundary that the windows of
  // both programs have in common. Triggers that both programs contain continue. Returns an empty string, or the reason
  // why the program can't replace the last one. REQUIRES: replacing() is false; an ID names the same trigger in both
  // programs, which have the same max_groups().
  std::string replace(std::shared_ptr<const Program> program);
  // Continues a replacement that waits for lanes. Call it repeatedly while replacing() is true.
  void continue_replacing();
  // Returns true while the last replacement is incomplete: its program does not count on all lanes yet, or the previous
  // one is still being swept.
  bool replacing() const { return replacing_.load(std::memory_order_acquire); }
  // Returns the packet time from which the last replacement counts on all lanes. REQUIRES: replacing() is false, and a
  // program was replaced.
  int64_t counting_since_ns() const { return since_ns_.load(std::memory_order_relaxed); }

  // Returns the bound on groups of all programs, as in Program::make().
  uint32_t max_groups() const { return max_groups_; }
  bool has_one_lane() const { return engine_ != nullptr; }
  // Adds a lane, and returns its number.
  uint32_t join() { return joined_.fetch_add(1, std::memory_order_relaxed); }
  // Returns the program in which the lane counts.
  const Program& program(uint32_t lane) const { return engine_ != nullptr ? engine_->program() : host_->program(lane); }

  // Returns the window for which lanes have to supply TcpFacts, as in Program::in_flight_window_ns(), or kNoTcp if they
  // need not.
  int64_t tcp_window_ns() const { return tcp_.load(std::memory_order_acquire); }
  // Declares that a lane supplies TcpFacts from now on. Call it once per lane after each change of tcp_window_ns().
  void supply_tcp() { supplying_.fetch_add(1, std::memory_order_release); }

  // Counts a lane's samples. With a single lane, conditions that become true before their window ends are reported to
  // `sink`.
  void process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp, EventSink* sink);
  // Counts lost packets, as TriggerEngine::lose() does.
  void lose(uint32_t lane, const LostPackets& lost);
  // Closes the windows that end by this time, with or without packets.
  void close(uint32_t lane, int64_t time_ns, EventSink* sink);
  // Lets continue_sweep() test conditions that more packets can't make false, as of this time. Has no effect if there
  // are several lanes.
  void look(int64_t time_ns) {
    if (engine_ != nullptr) engine_->look(time_ns);
  }
  // Returns true if closed windows may have to be swept.
  bool has_work() const { return engine_ != nullptr ? engine_->has_work() : unswept_.load(std::memory_order_relaxed); }
  // Sweeps a small part of the windows that all lanes have passed, unless another lane sweeps at the moment. Windows
  // are reported to the sink of the lane that sweeps them.
  void continue_sweep(uint32_t lane, EventSink* sink);
  // Closes and sweeps the windows that end by this time, and returns when no work is left, or when another lane sweeps.
  void advance(uint32_t lane, int64_t time_ns, EventSink* sink);
  // Returns the program whose events and windows are being reported, which may be an earlier one than the lanes count
  // in. REQUIRES: it is called by a sink that is receiving a report.
  const Program& reported_program() const { return *reported_; }
  // Returns the engine's statistics; all 0 if there are several lanes.
  TriggerStats stats() const { return engine_ != nullptr ? engine_->stats() : TriggerStats(); }
  // Declares that a lane counts no packets after this time.
  void end(int64_t time_ns);
  // Returns the earliest time given to end(), after which counts are incomplete, or INT64_MAX while all lanes count.
  int64_t ended_ns() const { return ended_ns_.load(std::memory_order_relaxed); }

 private:
  bool sweep(uint32_t steps, EventSink* sink);
  void on_event(const Event& event) override { sink_->on_event(event); }
  void on_window(const WindowReport& report) override { sink_->on_window(report); }
  void on_program(const Program& program, int64_t since_ns) override;

  const uint32_t lanes_;
  const uint32_t max_groups_;
  std::shared_ptr<const Program> last_;     // for the controlling thread
  std::shared_ptr<const Program> waiting_;  // waits until all lanes supply TcpFacts
  const Program* reported_;                 // for the sweeping lane
  std::unique_ptr<TriggerEngine> engine_;   // null: host_ counts
  std::unique_ptr<HostTriggers> host_;      // null: engine_ counts
  EventSink* sink_ = nullptr;               // the sweeping lane's output
  std::atomic<uint32_t> joined_{0};
  std::atomic<bool> sweeper_{false};  // true while a lane sweeps
  std::atomic<bool> unswept_{false};  // a lane has passed a window, or steps were used up, since the last sweep began
  std::atomic<int64_t> ended_ns_{INT64_MAX};
  std::atomic<int64_t> tcp_;         // the window for which lanes supply TcpFacts
  std::atomic<uint32_t> supplying_;  // number of lanes that supply them
  std::atomic<bool> replacing_{false};
  std::atomic<int64_t> since_ns_{INT64_MIN};
};

}  // namespace tapline::trigger
