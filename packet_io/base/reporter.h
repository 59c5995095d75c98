// Reports a run to people or programs, line by line on standard error; never from the packet path.
//
//   people:    warning: … / error: … / a summary at the end
//   programs:  {"event":"ready"}, {"event":"restarted","restarts":n,"took_ms":n}, {"event":"progress",…},
//              {"event":"warning","message":…}, {"event":"error","message":…,"kind":"user|resources|internal"},
//              {"event":"end","accounting":{…}}, and those of control/control_channel.h
//
// Safe to call from several threads; each line is written whole.
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
  // A new process took over from one that died: `restarts` so far, `took_ms` since the death was noticed.
  void Restarted(uint32_t restarts, int64_t took_ms);
  // `fraction` of the input, if it is known. Programs only.
  void Progress(uint64_t packets, uint64_t bytes, std::optional<double> fraction);
  void Warning(const std::string& message);
  void Error(const Status& status);
  // Answers to commands.
  void QueryAdded(const std::string& query);
  void QueryRefused(const std::string& query, const Status& status);
  void QueryEnded(const std::string& query, const std::string& accounting_json);
  // Usage of a query's share of LIMIT Np. Programs only.
  struct CreditState {
    uint64_t version;  // of the last grant
    uint64_t granted;
    uint64_t taken;
    bool wanting;  // little is left
    bool refused;  // a packet found none left since the last time
  };
  void Credits(const std::string& query, const CreditState& state);
  // The pipeline's limit for a query was received and takes effect within a second and a half. Programs only.
  void Limited(const std::string& query, double rate);
  // Packets that arrived in this life of the process up to `until_ns`, whichever query wanted them. Programs only.
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
