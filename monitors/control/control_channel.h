// Receives commands for a running monitor as lines of JSON, and answers with status lines (base/reporter.h):
//
//   {"add":{…a plan…}}    →  {"event":"query_added","query":"q"}         each lane now takes packets for it
//                         or {"event":"query_refused","query":"q","message":…,"kind":…}
//   {"end":"q"}           →  {"event":"query_ended","query":"q","accounting":{…}}     when all of it is sent
//   {"abandon":"q"}       →  the same, but without an end of stream: another monitor takes over
//   {"limit":{"query":"q","rate":0.25}}   for SAMPLE auto: holds from the next second on
//                         →  {"event":"limited","query":"q","rate":0.25}   if it is sampled by port, else no answer
//   {"credits":{"query":"q","packets":500,"version":7}}   for a leased limit (schema/agent.proto)
//                         →  {"event":"credits","query":"q","version":7,"granted":500,"taken":n,…}
//                            repeated when more is needed
//   {"mirrored":"q"}      (no answer)   for a plan with rules: switches have confirmed that they copy all its packets
//   {"lost":{"incarnation":i,"packets":n}}   (no answer)   n packets never arrived, in this incarnation of the
//                            process; reported to the running queries. Before that, and twice a second, the monitor
//                            reports how many arrived: {"event":"copies","incarnation":i,"packets":n,"until_ns":t}
//
// A query that ends automatically (LIMIT) is reported in the same way. Other queries are not affected. The end of the
// input ends the monitor: its controller is gone, and the running queries are abandoned.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "packet_io/base/reporter.h"
#include "packet_io/base/status.h"

namespace tapline {

// Executes the commands. Called on the channel's thread.
class QueryControl {
 public:
  virtual ~QueryControl() = default;
  // Adds the query of a plan in JSON. Sets the query's name if the text is a plan.
  virtual Status AddQuery(std::string_view plan, std::string* name) = 0;
  virtual Status EndQuery(const std::string& name) = 0;
  // Ends the query's work here; its stream continues elsewhere.
  virtual Status AbandonQuery(const std::string& name) = 0;
  // Abandons all running queries, before the monitor ends.
  virtual void AbandonAll() = 0;
  // The pipeline can sustain this share of the query's flows, above 0 to 1. A missing query is not an error: it may
  // just have ended.
  virtual Status LimitQuery(const std::string& name, double rate) = 0;
  // The query may take so many packets in total. A missing query is not an error.
  virtual Status CreditQuery(const std::string& name, uint64_t packets, uint64_t version) = 0;
  // Switches copy all of its packets from now on. A missing query is not an error.
  virtual Status ConfirmCopies(const std::string& name) = 0;
  // So many packets of its link were lost on their way here, since the process began. Ignored for another incarnation.
  virtual Status LoseCopies(uint64_t incarnation, uint64_t packets) = 0;
  // Called at least every tenth of a second: reports the queries that have ended.
  virtual void Look() = 0;
};

class ControlChannel {
 public:
  // Reads lines from `fd`, which the caller still owns. All arguments outlive the channel. Sets `stop` at the end of
  // the input.
  ControlChannel(int fd, QueryControl* control, Reporter* reporter, std::atomic<bool>* stop);
  // Ends the thread. Commands that were not read by then are ignored.
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
