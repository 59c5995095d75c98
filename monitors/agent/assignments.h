// Keeps the queries that an agent has to run, and reacts to events with commands for its monitor and statuses for the
// control plane. Uses no clocks, threads or I/O; not thread-safe.
//
//   kWaiting ──sent to a monitor──▶ kStarting ──query_added──▶ kRunning ──▶ kEnding ──query_ended──▶ kEnded
//
// kEnded queries are removed once the control plane has acknowledged them. When a monitor dies, queries before kEnding
// return to kWaiting, and those in kEnding become kEnded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitors/agent/route_set.h"
#include "monitors/agent/trigger_set.h"
#include "schema/agent.pb.h"

namespace tapline {

// Converts a status to the form that a control plane with this protocol reads.
v1::MonitorStatus for_protocol(uint32_t protocol, v1::MonitorStatus status);

class Assignments {
 public:
  // Maximum number of unacknowledged ended queries; beyond it, the first ones by name are removed.
  static constexpr size_t kMaxEnded = 1024;

  // The next actions, in order. The caller executes and clears them.
  struct Outbox {
    std::vector<v1::MonitorCommand> monitor;  // empty while there is no monitor
    std::vector<v1::MonitorStatus> control_plane;
  };

  // Executes a command. Returns false, and does nothing, if its term is below the highest seen.
  bool execute(const v1::AgentCommand& command);

  // Must be called when the monitor accepts commands, no longer accepts any, or has ended.
  void monitor_ready();
  void monitor_stopping() { monitor_ready_ = false; }
  void on_monitor_exit(const std::string& cause);
  // Must be called when a monitor could not start. Refuses the queries that no monitor has run yet; the others wait for
  // the next monitor.
  void monitor_failed(const v1::MonitorStatus::Failure& failure);
  // Handles an event from the monitor.
  void on_monitor_event(const v1::MonitorStatus& event);

  // Drops the routes. Must be called when the lease is lost: route changes are then missed, and the monitor must not
  // infer ports from old routes.
  void forget_routes();

  // Ends all queries cleanly, or abandons them if the lease was not renewed within the grace period.
  void end_all(bool abandon = false);

  // Returns true if any query needs a monitor.
  bool needs_monitor() const;
  uint64_t term() const { return term_; }
  std::vector<v1::Assignment> list() const;
  Outbox& outbox() { return outbox_; }

 private:
  enum class State : uint8_t { kWaiting, kStarting, kRunning, kEnding, kEnded };
  struct Place {
    uint32_t epoch = 0;
    v1::Plan plan{};
    State state = State::kWaiting;
    // True if the query ends without an end of stream downstream.
    bool abandoned = false;
    v1::MonitorStatus end{};  // the event that reported the query's end
    // The part's share of LIMIT Np (CreditCommand in schema/monitor.proto): the largest number ever granted, and the
    // number of packets that earlier monitors may have taken.
    uint64_t granted = 0;
    uint64_t spent = 0;
    // SAMPLE auto: the rate that the pipeline can sustain, as last reported; 0: not reported. A restarted monitor must
    // know it before its first packet, since switches may copy only that share.
    double limit = 0;
    // True if switches have confirmed that they copy the query's packets.
    bool mirrored = false;
    // The triggers that replace those in the plan.
    TriggerSet triggers{};
    // True if a monitor has run the query, here or (according to its epoch) on another host.
    bool ran = false;
    // An assignment with a higher epoch, which starts once the current one has ended.
    std::optional<v1::Plan> next_plan{};
    uint32_t next_epoch = 0;
  };
  using Places = std::map<std::string, Place>;

  template <typename Predicate>
  std::vector<std::string> in(Predicate wanted) const;
  void assign(const v1::AssignCommand& command);
  void limit(const v1::LimitCommand& command);
  void credit(const v1::CreditCommand& command);
  void end(const v1::EndCommand& command);
  void mirrored(const v1::MirroredCommand& command);
  void change_triggers(const v1::TriggersCommand& command);
  void send_triggers(const std::string& query, const Place& place);
  void resend_triggers();
  void lose(const v1::CopiesLostCommand& command);
  void change_routes(const v1::RoutesCommand& command);
  void send_routes();
  void confirm_routes();
  static Place new_place(uint32_t epoch, v1::Plan plan);
  void give(const std::string& query, Place* place);
  void request_end(const std::string& query, Place* place, bool abandon);
  void ended(const std::string& query, Place* place, v1::MonitorStatus event);
  void report(v1::MonitorStatus event, uint32_t epoch);
  void forget_ended();

  uint64_t term_ = 0;
  bool monitor_ready_ = false;
  bool monitor_lives_ = false;  // true while the process may parse packets, even if it is no longer ready
  RouteSet routes_;
  Places places_;
  Outbox outbox_;
};

}  // namespace tapline
