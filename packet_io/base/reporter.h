// What a person or a program is told about a run, line by line on standard error: never from the packet path.
//
//   people:    warning: … / error: … / a summary at the end
//   programs:  {"event":"ready"}, {"event":"restarted","restarts":n,"took_ms":n}, {"event":"progress",…},
//              {"event":"warning","message":…}, {"event":"error","message":…,"kind":"user|resources|internal"},
//              {"event":"end","accounting":{…}}, and those of control/control_channel.h
//
// Safe to call from several threads; each line is written at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

class Reporter {
 public:
  enum class Format : uint8_t { kText, kJson };

  Reporter(int fd, Format format) : fd_(fd), format_(format) {}

  void Ready();
  // A new process goes on for one that died. `restarts` so far, `took_ms` since it was found dead.
  void Restarted(uint32_t restarts, int64_t took_ms);
  // `fraction` of the input where that is known. Programs only.
  void Progress(uint64_t packets, uint64_t bytes, std::optional<double> fraction);
  void Warning(const std::string& message);
  void Error(const Status& status);
  // Answers to commands.
  void QueryAdded(const std::string& query);
  void QueryRefused(const std::string& query, const Status& status);
  void QueryEnded(const std::string& query, const std::string& accounting_json);
  // How far a query's share of LIMIT Np is used up; programs only.
  struct CreditState {
    uint64_t version;  // of the last grant
    uint64_t granted;
    uint64_t taken;
    bool wanting;  // little is left
    bool refused;  // a packet found none left since the last time
  };
  void Credits(const std::string& query, const CreditState& state);
  // What the pipeline can take of a query was heard, and is in force within a second and a half; programs only.
  void Limited(const std::string& query, double rate);
  // How many packets have come in this life of the process until a moment, whoever wanted them; programs only.
  void Copies(uint64_t incarnation, uint64_t packets, int64_t until_ns);
  // The accounting of the whole run: as a JSON object for programs, as lines for people.
  void End(const std::string& accounting_json, const std::string& summary);

 private:
  void Write(const std::string& line);

  std::mutex mutex_;
  int fd_;
  Format format_;
};

}  // namespace tapline
