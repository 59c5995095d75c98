#include "monitors/control/message_reporter.h"

#include <poll.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "monitors/messages/event_json.h"
#include "parsers/api/text.h"

namespace tapline {
namespace {

constexpr int kLastWordMs = 1000;

// Strings in a message must be UTF-8; other bytes become replacement characters.
std::string utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

bool is_replaced_by_the_next(const v1::MonitorStatus& event) { return event.has_progress() || event.has_copies(); }

}  // namespace

MessageReporter::MessageReporter(int socket, Format format) : Reporter(STDERR_FILENO, format) {
  if (MessageSocket::is(socket)) socket_.emplace(socket);
}

MessageReporter::~MessageReporter() {
  if (!socket_) return;
  pollfd writable = {socket_->fd(), POLLOUT, 0};
  while (socket_->has_unsent() && poll(&writable, 1, kLastWordMs) > 0) socket_->flush();
}

void MessageReporter::report(const v1::MonitorStatus& event, const std::string& text) {
  if (socket_) return send(event);
  if (format() == Format::kJson) return write(event_json(event) + "\n");
  if (!text.empty()) print(text);
}

void MessageReporter::send(const v1::MonitorStatus& event) {
  const std::lock_guard lock(mutex_);
  socket_->flush();
  if (is_replaced_by_the_next(event) && socket_->has_unsent()) return;
  // Reports the gap only once there is room for more than that; otherwise the next event would be lost, too.
  if (lost_ > 0 && socket_->is_half_empty()) {
    v1::MonitorStatus gap;
    gap.mutable_events_lost()->set_events(lost_);
    if (socket_->send(gap)) lost_ = 0;
  }
  if (lost_ > 0 || !socket_->send(event)) ++lost_;
}

void MessageReporter::ready() {
  v1::MonitorStatus event;
  event.mutable_ready();
  report(event, "");
}

void MessageReporter::restarted(uint32_t restarts, int64_t took_ms) {
  v1::MonitorStatus event;
  event.mutable_restarted()->set_restarts(restarts);
  event.mutable_restarted()->set_took_ms(took_ms);
  report(event, "");
}

void MessageReporter::progress(uint64_t packets, uint64_t bytes, std::optional<double> fraction) {
  v1::MonitorStatus event;
  event.mutable_progress()->set_packets(packets);
  event.mutable_progress()->set_bytes(bytes);
  if (fraction) event.mutable_progress()->set_fraction(*fraction);
  report(event, "");
}

void MessageReporter::warning(const std::string& message) {
  v1::MonitorStatus event;
  event.mutable_warning()->set_message(utf8(message));
  report(event, "warning: " + message);
}

void MessageReporter::error(const Status& status) {
  v1::MonitorStatus event;
  event.mutable_error()->set_message(utf8(status.sentence()));
  event.mutable_error()->set_kind(status.kind());
  report(event, "error: " + status.sentence());
}

void MessageReporter::query_added(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_added()->set_query(query);
  report(event, "query " + query + " was added");
}

void MessageReporter::query_refused(const std::string& query, const Status& status) {
  v1::MonitorStatus event;
  event.mutable_query_refused()->set_query(query);
  event.mutable_query_refused()->set_message(utf8(status.sentence()));
  event.mutable_query_refused()->set_kind(status.kind());
  report(event, "refused: " + status.sentence());
}

void MessageReporter::query_ended(const std::string& query, v1::QueryAccounting accounting) {
  v1::MonitorStatus event;
  event.mutable_query_ended()->set_query(query);
  *event.mutable_query_ended()->mutable_accounting() = std::move(accounting);
  report(event, "query " + query + " has ended");
}

void MessageReporter::credits(v1::MonitorStatus::Credits credits) {
  v1::MonitorStatus event;
  *event.mutable_credits() = std::move(credits);
  report(event, "");
}

void MessageReporter::limited(const std::string& query, double rate) {
  v1::MonitorStatus event;
  event.mutable_limited()->set_query(query);
  event.mutable_limited()->set_rate(rate);
  report(event, "");
}

void MessageReporter::triggers(v1::MonitorStatus::Triggers response) {
  v1::MonitorStatus event;
  *event.mutable_triggers() = std::move(response);
  report(event, "");
}

void MessageReporter::routes(v1::MonitorStatus::Routes answer) {
  v1::MonitorStatus event;
  *event.mutable_routes() = std::move(answer);
  report(event, "");
}

void MessageReporter::copies(uint64_t incarnation, uint64_t packets, int64_t until_ns) {
  v1::MonitorStatus event;
  event.mutable_copies()->set_incarnation(incarnation);
  event.mutable_copies()->set_packets(packets);
  event.mutable_copies()->set_until_ns(until_ns);
  report(event, "");
}

bool MessageReporter::events(const v1::EventBatch& batch) {
  if (!socket_) return true;
  v1::MonitorStatus event;
  *event.mutable_events() = batch;
  const std::lock_guard lock(mutex_);
  socket_->flush();
  return socket_->is_half_empty() && socket_->send(event);
}

void MessageReporter::end(v1::RunAccounting accounting, const std::string& summary) {
  v1::MonitorStatus event;
  *event.mutable_end()->mutable_accounting() = std::move(accounting);
  report(event, "");
  if (!socket_ && format() == Format::kText) write(readable_lines(summary));
}

}  // namespace tapline
