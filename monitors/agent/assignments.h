// What an agent was told to run, and what follows from what happens: lines for its monitor, messages for the control
// plane. A value without clocks, threads or I/O; not thread-safe.
//
//   kWaiting ──sent to a monitor──▶ kStarting ──query_added──▶ kRunning ──▶ kEnding ──query_ended──▶ kEnded ──heard──▶
//   gone
//
// A monitor that dies puts those before kEnding back to kWaiting, and those in kEnding to kEnded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/agent.pb.h"

namespace tapline {

class Assignments {
 public:
  // Ended ones that nobody has heard of are forgotten beyond this many, the first names first.
  static constexpr size_t kMostEnded = 1024;

  // What to do next, in order. The caller takes and clears them.
  struct Outbox {
    std::vector<std::string> monitor;  // lines; empty while there is no monitor
    std::vector<v1::MonitorStatus> control_plane;
  };

  // False, and nothing happens, for a term below the highest seen.
  bool Obey(const v1::AgentCommand& command);

  // The monitor takes commands, takes none any more, or is gone.
  static bool IsReady(const std::string& line);
  void MonitorReady();
  void MonitorStopping() { monitor_ready_ = false; }
  void MonitorGone(const std::string& why);
  // A line of its status.
  void MonitorSaid(const std::string& line);

  // All end: in order, or abandoned where nobody renewed the lease within the grace period.
  void EndAll(bool abandon = false);

  // Whether there is anything that needs a monitor.
  bool needs_monitor() const;
  uint64_t term() const { return term_; }
  std::vector<v1::Assignment> List() const;
  Outbox& outbox() { return outbox_; }

 private:
  enum class State : uint8_t { kWaiting, kStarting, kRunning, kEnding, kEnded };
  struct Place {
    uint32_t epoch = 0;
    std::string plan{};
    State state = State::kWaiting;
    // Ends without saying so downstream.
    bool abandoned = false;
    std::string end{};  // the line that told of it
    // LIMIT Np as a share (schema/agent.proto): the most that it was ever granted, and how many of them monitors that
    // are gone may have taken.
    bool leased = false;
    uint64_t granted = 0;
    uint64_t spent = 0;
    // SAMPLE auto: what the pipeline could take when it was last said; 0: nothing was. A monitor that is started anew
    // has to know from its first packet on, for switches may copy no more than that.
    double limit = 0;
    // Switches have confirmed that they copy its packets.
    bool mirrored = false;
    // Of a higher epoch, waiting for this one's end.
    std::string next_plan{};
    uint32_t next_epoch = 0;
  };
  using Places = std::map<std::string, Place>;

  template <typename Predicate>
  std::vector<std::string> In(Predicate wanted) const;
  void Assign(const v1::AssignCommand& command);
  void Limit(const v1::LimitCommand& command);
  void Credit(const v1::CreditCommand& command);
  void End(const v1::EndCommand& command);
  void Mirrored(const v1::MirroredCommand& command);
  void Lose(const v1::CopiesLostCommand& command);
  static Place NewPlace(uint32_t epoch, const std::string& plan);
  void Give(const std::string& query, Place* place);
  void AskToEnd(const std::string& query, Place* place, bool abandon);
  void Ended(const std::string& query, Place* place, const std::string& line);
  void Tell(const std::string& line, uint32_t epoch);
  void ForgetEnded();

  uint64_t term_ = 0;
  bool monitor_ready_ = false;
  Places places_;
  Outbox outbox_;
};

}  // namespace tapline
