// Receives commands for a running monitor (schema/monitor.proto): messages on a socket that its agent made, or lines of
// JSON. Reports the outcome in events.
//
//   assign       →  query_added, once every lane takes packets for it; or query_refused
//   end          →  query_ended, once everything is sent; with `abandon`, without an end of stream
//   limit        →  limited, if the query is sampled by port, else no event; applies from the next second
//   credit       →  credits, repeated when more is needed
//   mirrored        (no event)
//   copies_lost     (no event)
//   triggers     →  triggers, once all lanes use them, or with the reason for a refusal
//   routes       →  routes, once no lane uses earlier ones, or with the reason for a refusal
//
// A query that ends automatically (LIMIT) is reported in the same way. A command that can't be read is refused; other
// commands and queries are not affected. The end of the input means that the controller has disconnected: running
// queries are abandoned, and the monitor ends.
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

// Executes the commands. The channel calls all functions on its thread.
class QueryControl {
 public:
  virtual ~QueryControl() = default;
  virtual Status add_query(const v1::Plan& plan) = 0;
  virtual Status end_query(const std::string& name) = 0;
  // Ends the query without an end of stream, since another monitor may continue the stream.
  virtual Status abandon_query(const std::string& name) = 0;
  // Marks all running queries as abandoned; they end with the monitor.
  virtual void abandon_all() = 0;
  // Limits the query to the share of its flows that the pipeline can sustain, above 0 and at most 1. A missing query is
  // not an error: it may just have ended.
  virtual Status limit_query(const std::string& name, double rate) = 0;
  // Sets the total number of packets that the query may take. A missing query is not an error.
  virtual Status credit_query(const std::string& name, uint64_t packets, uint64_t version) = 0;
  // Records that switches now copy all of the query's packets. A missing query is not an error.
  virtual Status confirm_copies(const std::string& name) = 0;
  // Records how many of the packets that switches have copied to this host since the monitor began never arrived.
  // Ignores reports about other incarnations.
  virtual Status lose_copies(uint64_t incarnation, uint64_t packets) = 0;
  // Changes the triggers of a query, and reports when they take effect or why they are refused.
  virtual void change_triggers(const v1::TriggersCommand& command) = 0;
  // Replaces the switch routes, and reports the version in force or why it is refused.
  virtual void change_routes(const v1::RoutesCommand& command) = 0;
  // Called at least every tenth of a second. Reports queries that have ended, triggers that have taken effect, and
  // credits. Returns true if it should be called again within milliseconds.
  virtual bool look() = 0;
  // Forwards waiting events. Returns true if there may be more.
  virtual bool forward_events() = 0;
};

class ControlChannel {
 public:
  // Reads commands from `fd`, which the caller still owns. All arguments must outlive the channel. Sets `stop` at the
  // end of the input. `bell` must be rung when there are events to forward.
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
