// Commands to a running monitor as lines of JSON, and their answers as status lines (base/reporter.h):
//
//   {"add":{…a plan…}}    →  {"event":"query_added","query":"q"}         each lane now takes packets for it
//                         or {"event":"query_refused","query":"q","message":…,"kind":…}
//   {"end":"q"}           →  {"event":"query_ended","query":"q","accounting":{…}}     when all of it is out
//   {"abandon":"q"}       →  the same, but its stream does not say that it has ended: another monitor goes on with it
//   {"limit":{"query":"q","rate":0.25}}   of SAMPLE auto: holds from the next second on
//     → {"event":"limited","query":"q","rate":0.25}   where it is sampled by port, else no answer
//   {"credits":{"query":"q","packets":500,"version":7}}
//                         →  {"event":"credits","query":"q","version":7,"granted":500,"taken":n,…}
//                            of a limit that is leased (schema/agent.proto); said again when more is wanted
//   {"mirrored":"q"}      (no answer)   of a plan with rules: switches have confirmed that they copy all that it wants
//   {"lost":{"incarnation":i,"packets":n}}   (no answer)                 so many never came, in this life of the
//   process:
//                            told to the queries that run. Before, and twice a second, it says what did come:
//                            {"event":"copies","incarnation":i,"packets":n,"until_ns":t}
//
// A query that ends by itself (LIMIT) is told of in the same way. Other queries notice nothing. The end of the input is
// the end of the monitor: whoever gave the commands is gone, and the queries that run are abandoned.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "packet_io/base/reporter.h"
#include "packet_io/base/status.h"

namespace tapline {

// What commands are about. Called on the channel's thread.
class QueryControl {
 public:
  virtual ~QueryControl() = default;
  // Takes a plan's JSON. Sets the query's name if that is a plan.
  virtual Status AddQuery(std::string_view plan, std::string* name) = 0;
  virtual Status EndQuery(const std::string& name) = 0;
  // Ends its work here; its stream goes on elsewhere.
  virtual Status AbandonQuery(const std::string& name) = 0;
  // All that run, before the monitor ends.
  virtual void AbandonAll() = 0;
  // The pipeline can take this share of the query's flows, above 0 to 1. One that is not there is no error: it may just
  // have ended.
  virtual Status LimitQuery(const std::string& name, double rate) = 0;
  // It may take so many packets in all; one that is not there is no error.
  virtual Status CreditQuery(const std::string& name, uint64_t packets, uint64_t version) = 0;
  // Switches copy all of its packets from now on; one that is not there is no error.
  virtual Status ConfirmCopies(const std::string& name) = 0;
  // So many packets of its link were lost on their way here, since the process began; of another process: nothing.
  virtual Status LoseCopies(uint64_t incarnation, uint64_t packets) = 0;
  // Called at least each tenth of a second: tells of what has ended.
  virtual void Look() = 0;
};

class ControlChannel {
 public:
  // Reads lines from `fd`, which stays the caller's. All outlive the channel. At its end, `stop` is set.
  ControlChannel(int fd, QueryControl* control, Reporter* reporter, std::atomic<bool>* stop);
  // Ends the thread. What was not read by then is not obeyed.
  ~ControlChannel();

 private:
  void Run();
  bool ReadMore();
  void Obey(std::string_view line);

  int fd_;
  QueryControl* control_;
  Reporter* reporter_;
  std::atomic<bool>* stop_;
  std::string unread_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace tapline
