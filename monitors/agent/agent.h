// The main loop of an agent: it keeps one lease at a time with a control plane, and one monitor while there are queries
// to run.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "monitors/agent/agent_config.h"
#include "monitors/agent/assignments.h"
#include "monitors/agent/event_outbox.h"
#include "monitors/agent/lease.h"
#include "monitors/agent/monitor_child.h"
#include "packet_io/base/reporter.h"

namespace tapline {

class Agent {
 public:
  // `parsers` are the names of the parsers that the monitor provides. All arguments must outlive the agent.
  Agent(const AgentConfig& config, LeaseAccess access, std::vector<std::string> parsers, Reporter* reporter,
        const std::atomic<bool>* stop);

  // Runs until `stop` is set. Then ends all queries, and returns once they have ended, or after 15 s.
  Status run();

 private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  v1::AgentHello hello() const;
  void keep_lease(Time now);
  void lease_lost(const std::string& cause, Time now);
  void not_taken(const std::string& server, const std::string& cause, Time now);
  void on(const LeaseEvent& event, Time now);
  void on(const v1::Welcome& welcome);
  void answer(const v1::Probe& probe, int64_t received_ns);
  void keep_monitor(Time now);
  void start_monitor(Time now);
  void stop_monitor();
  void read_monitor(Time now);
  void on_monitor_exit(Time now);
  void deliver();
  void wait();
  bool ended(Time now);

  const AgentConfig& config_;
  const LeaseAccess access_;
  const std::vector<std::string> parsers_;
  Reporter* reporter_;
  const std::atomic<bool>* stop_;
  const uint64_t incarnation_;

  Inbox<LeaseEvent> inbox_;
  std::unique_ptr<Lease> lease_;
  uint64_t lease_count_ = 0;
  size_t server_ = 0;
  bool welcomed_ = false;
  // While there is no lease: when that began, each control plane's latest reason, and whether this was reported.
  Time without_lease_since_;
  std::map<std::string, std::string> not_taken_;
  bool reported_no_lease_ = false;
  Time next_attempt_{};
  // The lease is lost if no message arrives by lease_until_; all queries end if there is no new lease by grace_until_.
  Time lease_until_{};
  Time grace_until_ = Time::max();
  v1::Welcome deployment_;

  EventOutbox events_;
  Assignments assignments_;
  std::unique_ptr<MonitorChild> monitor_;
  // True while the monitor accepts commands and has not been asked to end.
  bool monitor_ready_ = false;
  // True if the current monitor has reported that it accepts commands.
  bool monitor_was_ready_ = false;
  // The error that the monitor reported, if any.
  v1::MonitorStatus::Failure monitor_failure_;
  uint32_t monitor_starts_ = 0;
  std::chrono::milliseconds monitor_pause_{0};
  Time next_monitor_{};
  Time monitor_started_{};
  Time needed_{};
  Time stop_at_ = Time::max();
};

}  // namespace tapline
