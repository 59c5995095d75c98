// Receives commands for a running monitor (schema/monitor.proto): messages on a socket that its agent made, or lines of
// JSON. Reports the outcome in events.
//
//   assign       →  query_added, once every lane takes packets for it; or query_refused
//   end          →  query_ended, once everything is sent; with `abandon`, without an end of stream
//   limit        →  limited, if the query is sampled by port, else no event; for SAMPLE auto, as of the next second
//   credit       →  credits, repeated when more is needed
//   mirrored        (no event)
//   copies_lost     (no event)
//   triggers     →  triggers, once all lanes use them, or with the reason for a refusal
//   routes       →  routes, once no lane uses earlier ones, or with the reason for a refusal
//
// A query that ends automatically (LIMIT) is reported in the same way. A command that can't be read is refused; other
// commands and queries are not affected. At the end of the input, the controller is gone: running queries are
// abandoned, and the monitor ends.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "monitors/control/command_reader.h"
#include "monitors/control/message_reporter.h"
#include "monitors/events/event_bell.h"
#include "packet_io/base/status.h"
#include "schema/monitor.pb.h"

namespace tapline {

// Executes the commands. Called on the channel's thread.
class QueryControl {
 public:
  virtual ~QueryControl() = default;
  virtual Status add_query(const v1::Plan& plan) = 0;
  virtual Status end_query(const std::string& name) = 0;
  // Ends the query here; its stream continues elsewhere.
  virtual Status abandon_query(const std::string& name) = 0;
  // Abandons all running queries before the monitor ends.
  virtual void abandon_all() = 0;
  // Limits the query to the share of its flows that the pipeline can sustain, above 0 and at most 1. A missing query is
  // not an error: it may just have ended.
  virtual Status limit_query(const std::string& name, double rate) = 0;
  // Sets the total number of packets that the query may take. A missing query is not an error.
  virtual Status credit_query(const std::string& name, uint64_t packets, uint64_t version) = 0;
  // Records that switches now copy all of the query's packets. A missing query is not an error.
  virtual Status confirm_copies(const std::string& name) = 0;
  // Records how many of the link's packets were lost in transit since the process began. Ignores reports about other
  // incarnations.
  virtual Status lose_copies(uint64_t incarnation, uint64_t packets) = 0;
  // Changes the triggers of a query, and reports when they take effect or why they are refused.
  virtual void change_triggers(const v1::TriggersCommand& command) = 0;
  // Replaces the switch routes, and reports the version in force or why it is refused.
  virtual void change_routes(const v1::RoutesCommand& command) = 0;
  // Called at least every tenth of a second. Reports queries that have ended and triggers that have taken effect.
  // Returns true if it should be called again within milliseconds.
  virtual bool look() = 0;
  // Forwards waiting events. Returns true if there may be more.
  virtual bool forward_events() = 0;
};

class ControlChannel {
 public:
  // Reads commands from `fd`, which the caller still owns. All arguments must outlive the channel. Sets `stop` at the
  // end of the input. `bell` rings when events wait to be forwarded.
  ControlChannel(int fd, EventBell* bell, QueryControl* control, MessageReporter* reporter, std::atomic<bool>* stop);
  // Ends the thread. Unread commands are ignored.
  ~ControlChannel();

 private:
  void run();
  int64_t next_look_ns() const;
  bool wait();
  bool read_more();
  void execute(const v1::MonitorCommand& command);

  CommandReader reader_;
  EventBell* bell_;
  QueryControl* control_;
  MessageReporter* reporter_;
  std::atomic<bool>* stop_;
  std::atomic<bool> ending_{false};
  bool reads_ = true;
  int64_t looked_at_ns_ = 0;
  bool looks_often_ = false;
  int64_t forwarded_at_ns_ = 0;
  std::thread thread_;
};

}  // namespace tapline
