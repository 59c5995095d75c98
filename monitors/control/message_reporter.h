// Reports a monitor's events (schema/monitor.proto): as messages to the agent that started it, as lines of JSON to
// programs, or as text to people. Never called from the packet path.
//
// Reporting to an agent never blocks. While the agent does not read, events wait in a bounded queue. Progress and
// arrivals are not queued, since the next report replaces them. Events for which there is no room are counted, and
// reported as `events_lost` once there is room. Safe to call from several threads. After a fork, each process must make
// its own reporter.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "monitors/messages/message_socket.h"
#include "packet_io/base/reporter.h"
#include "schema/monitor.pb.h"

namespace tapline {

class MessageReporter final : public Reporter {
 public:
  // Reports to the agent if `socket` is a message socket, else to standard error in this format. The caller owns the
  // socket.
  MessageReporter(int socket, Format format);
  // Waits until the agent has read the queued messages, or has read nothing for a second.
  ~MessageReporter() override;

  void ready() override;
  void warning(const std::string& message) override;
  void error(const Status& status) override;
  // Reports that a new process took over from one that died: the number of restarts so far, and the time since the
  // death was detected.
  void restarted(uint32_t restarts, int64_t took_ms);
  // Reports the progress; `fraction` is the completed share of the input, if known.
  void progress(uint64_t packets, uint64_t bytes, std::optional<double> fraction);
  void query_added(const std::string& query);
  void query_refused(const std::string& query, const Status& status);
  void query_ended(const std::string& query, v1::QueryAccounting accounting);
  void credits(v1::MonitorStatus::Credits credits);
  void limited(const std::string& query, double rate);
  void triggers(v1::MonitorStatus::Triggers response);
  void routes(v1::MonitorStatus::Routes answer);
  // Reports how many packets, for any query, have arrived from the start of this incarnation to `until_ns`.
  void copies(uint64_t incarnation, uint64_t packets, int64_t until_ns);
  // Reports a query's events (schema/event.proto), to an agent only. Returns false if they are lost because the
  // remaining room is reserved for statuses.
  bool events(const v1::EventBatch& batch);
  // Reports the accounting of the whole run. `summary` has several lines, for people.
  void end(v1::RunAccounting accounting, const std::string& summary);

 private:
  // Reports an event. `text` is for people; if it is empty, nothing is printed for them.
  void report(const v1::MonitorStatus& event, const std::string& text);
  void send(const v1::MonitorStatus& event);

  std::mutex mutex_;
  std::optional<MessageSocket> socket_;
  uint64_t lost_ = 0;
};

}  // namespace tapline
