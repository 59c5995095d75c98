#include "monitors/agent/assignments.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "monitors/messages/event_json.h"
#include "monitors/messages/message_socket.h"
#include "packet_io/base/status.h"

namespace tapline {
namespace {

v1::MonitorStatus added_event(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_added()->set_query(query);
  return event;
}

v1::MonitorStatus lost_event(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_ended()->set_query(query);
  event.mutable_query_ended()->set_lost(true);
  return event;
}

v1::MonitorStatus refused_event(const std::string& query, const std::string& cause, const std::string& kind) {
  v1::MonitorStatus event;
  event.mutable_query_refused()->set_query(query);
  event.mutable_query_refused()->set_message(cause);
  event.mutable_query_refused()->set_kind(kind);
  return event;
}

v1::MonitorStatus refused_triggers_event(const v1::TriggersCommand& command, const std::string& cause) {
  v1::MonitorStatus event;
  event.mutable_triggers()->set_query(command.query());
  event.mutable_triggers()->set_version(command.version());
  event.mutable_triggers()->set_message(cause);
  event.mutable_triggers()->set_kind("internal");
  return event;
}

// Returns the name of the query that an event concerns, or an empty string.
const std::string& query_of(const v1::MonitorStatus& event) {
  static const std::string none;
  switch (event.event_case()) {
    case v1::MonitorStatus::kQueryAdded:
      return event.query_added().query();
    case v1::MonitorStatus::kQueryRefused:
      return event.query_refused().query();
    case v1::MonitorStatus::kQueryEnded:
      return event.query_ended().query();
    case v1::MonitorStatus::kCredits:
      return event.credits().query();
    case v1::MonitorStatus::kLimited:
      return event.limited().query();
    case v1::MonitorStatus::kTriggers:
      return event.triggers().query();
    default:
      return none;
  }
}

// Reads the command's plan, which control planes of protocol 0 send as JSON.
Status plan_of(const v1::AssignCommand& command, v1::Plan* plan) {
  if (command.has_plan()) {
    *plan = command.plan();
  } else {
    const auto parsed = google::protobuf::util::JsonStringToMessage(command.plan_json(), plan);
    if (!parsed.ok()) return Status::invalid("can't read the assignment's plan: " + std::string(parsed.message()));
  }
  // The remaining 1 KiB is for the agent's additions and the command's framing.
  const bool fits = plan->ByteSizeLong() + 1024 <= MessageSocket::kMaxMessageBytes;
  return fits ? Status() : Status::invalid("the assignment's plan is larger than 191 KiB");
}

}  // namespace

v1::MonitorStatus for_protocol(uint32_t protocol, v1::MonitorStatus status) {
  if (protocol == 0) status.set_json(event_json(status));
  return status;
}

// Returns the names of the queries in a wanted state, and not their places, since an action on one query may remove
// another one that has ended.
template <typename Predicate>
std::vector<std::string> Assignments::in(Predicate wanted) const {
  std::vector<std::string> names;
  for (const auto& [query, place] : places_) {
    if (wanted(place.state)) names.push_back(query);
  }
  return names;
}

bool Assignments::execute(const v1::AgentCommand& command) {
  if (command.term() < term_) return false;
  term_ = command.term();
  if (command.has_assign()) assign(command.assign());
  if (command.has_limit()) limit(command.limit());
  if (command.has_credit()) credit(command.credit());
  if (command.has_end()) end(command.end());
  if (command.has_copies_lost()) lose(command.copies_lost());
  if (command.has_mirrored()) mirrored(command.mirrored());
  if (command.has_triggers()) change_triggers(command.triggers());
  if (command.has_routes()) change_routes(command.routes());
  return true;
}

void Assignments::assign(const v1::AssignCommand& command) {
  const std::string& query = command.query();
  v1::Plan plan;
  if (Status status = plan_of(command, &plan); !status.ok())
    return report(refused_event(query, status.message(), "internal"), command.epoch());
  const auto [it, is_new] = places_.try_emplace(query);
  Place& place = it->second;
  if (is_new || (place.state == State::kEnded && command.epoch() > place.epoch)) {
    place = new_place(command.epoch(), std::move(plan));
    give(query, &place);
  } else if (command.epoch() > place.epoch) {
    place.next_plan = std::move(plan);
    place.next_epoch = command.epoch();
    request_end(query, &place, true);
  } else if (place.state == State::kRunning) {
    // query_added has been reported already, but possibly to a previous control plane.
    report(added_event(query), place.epoch);
  } else if (place.state == State::kEnded) {
    report(place.end, place.epoch);
  }
}

void Assignments::limit(const v1::LimitCommand& command) {
  const auto place = places_.find(command.query());
  if (place == places_.end()) return;
  place->second.limit = command.rate();
  if (!monitor_ready_) return;
  *outbox_.monitor.emplace_back().mutable_limit() = command;
}

void Assignments::credit(const v1::CreditCommand& command) {
  const auto it = places_.find(command.query());
  if (it == places_.end() || !it->second.plan.limit().leased()) return;
  Place& place = it->second;
  place.granted = std::max(place.granted, command.packets());
  if (place.state != State::kStarting && place.state != State::kRunning) return;
  *outbox_.monitor.emplace_back().mutable_credit() = command;
}

void Assignments::mirrored(const v1::MirroredCommand& command) {
  const auto place = places_.find(command.query());
  if (place == places_.end() || place->second.epoch != command.epoch()) return;
  place->second.mirrored = true;
  const State state = place->second.state;
  if (state == State::kStarting || state == State::kRunning)
    *outbox_.monitor.emplace_back().mutable_mirrored() = command;
}

// Passes the change to the monitor, which validates the triggers.
void Assignments::change_triggers(const v1::TriggersCommand& command) {
  const auto it = places_.find(command.query());
  if (it == places_.end() || it->second.epoch != command.epoch()) {
    return report(refused_triggers_event(command, "this host does not run epoch " + std::to_string(command.epoch()) +
                                                      " of query '" + command.query() + "'"),
                  command.epoch());
  }
  Place& place = it->second;
  if (const Status status = place.triggers.change(command); !status.ok()) {
    return report(refused_triggers_event(command, status.message()), place.epoch);
  }
  if (place.state != State::kStarting && place.state != State::kRunning) return;
  *outbox_.monitor.emplace_back().mutable_triggers() = command;
}

void Assignments::send_triggers(const std::string& query, const Place& place) {
  for (v1::TriggersCommand& command : place.triggers.commands(query)) {
    *outbox_.monitor.emplace_back().mutable_triggers() = std::move(command);
  }
}

// Sends the triggers to a process that replaces a crashed one, since that process has only the queries' plans.
void Assignments::resend_triggers() {
  for (const auto& [query, place] : places_) {
    if (place.state == State::kStarting || place.state == State::kRunning) send_triggers(query, place);
  }
}

// Passes the routes to the monitor, which validates and confirms them. Without a monitor, no process uses earlier
// routes, so the agent confirms the new ones.
void Assignments::change_routes(const v1::RoutesCommand& command) {
  if (!routes_.add(command)) return;
  if (monitor_ready_) {
    send_routes();
  } else if (!monitor_lives_) {
    confirm_routes();
  }
}

void Assignments::send_routes() {
  for (const v1::RoutesCommand& command : routes_.commands()) {
    *outbox_.monitor.emplace_back().mutable_routes() = command;
  }
}

void Assignments::confirm_routes() {
  if (auto answer = routes_.confirm()) report(*std::move(answer), 0);
}

void Assignments::forget_routes() {
  routes_.clear();
  if (monitor_ready_) outbox_.monitor.emplace_back().mutable_routes()->set_version(0);
}

// Passes the losses to the monitor, which checks whether the incarnation is its own.
void Assignments::lose(const v1::CopiesLostCommand& command) {
  if (monitor_ready_) *outbox_.monitor.emplace_back().mutable_copies_lost() = command;
}

Assignments::Place Assignments::new_place(uint32_t epoch, v1::Plan plan) {
  Place place = {.epoch = epoch, .plan = std::move(plan), .ran = epoch > 1};
  const v1::Limit& limit = place.plan.limit();
  if (limit.leased()) {
    place.granted = limit.packets();
    place.spent = limit.spent();
  }
  return place;
}

void Assignments::end(const v1::EndCommand& command) {
  const std::string& query = command.query();
  const auto place = places_.find(query);
  if (place == places_.end()) return report(lost_event(query), 0);
  if (place->second.state == State::kEnded) {
    places_.erase(place);
    return;
  }
  place->second.next_plan.reset();
  request_end(query, &place->second, command.abandon());
}

void Assignments::give(const std::string& query, Place* place) {
  if (!monitor_ready_) return;
  v1::AssignCommand* command = outbox_.monitor.emplace_back().mutable_assign();
  command->set_query(query);
  command->set_epoch(place->epoch);
  v1::Plan* plan = command->mutable_plan();
  *plan = place->plan;
  if (plan->limit().leased()) {
    plan->mutable_limit()->set_packets(static_cast<uint32_t>(place->granted));
    plan->mutable_limit()->set_spent(static_cast<uint32_t>(place->spent));
  }
  if (place->limit > 0 && plan->has_sampling()) plan->mutable_sampling()->set_limit(place->limit);
  if (place->mirrored) outbox_.monitor.emplace_back().mutable_mirrored()->set_query(query);
  send_triggers(query, *place);
  place->state = State::kStarting;
}

void Assignments::request_end(const std::string& query, Place* place, bool abandon) {
  if (place->state == State::kWaiting) return ended(query, place, lost_event(query));
  if (place->state == State::kEnding) return;
  v1::EndCommand* end = outbox_.monitor.emplace_back().mutable_end();
  end->set_query(query);
  end->set_abandon(abandon);
  place->state = State::kEnding;
  place->abandoned = abandon;
}

void Assignments::ended(const std::string& query, Place* place, v1::MonitorStatus event) {
  report(event, place->epoch);
  if (place->next_plan) {
    *place = new_place(place->next_epoch, *std::move(place->next_plan));
    return give(query, place);
  }
  place->state = State::kEnded;
  place->end = std::move(event);
  forget_ended();
}

void Assignments::monitor_ready() {
  monitor_ready_ = monitor_lives_ = true;
  send_routes();
  for (auto& [query, place] : places_) {
    if (place.state == State::kWaiting) give(query, &place);
  }
}

void Assignments::on_monitor_exit(const std::string& cause) {
  monitor_ready_ = monitor_lives_ = false;
  outbox_.monitor.clear();
  v1::MonitorStatus event;
  event.mutable_monitor_ended()->set_message(cause);
  report(std::move(event), 0);
  confirm_routes();
  for (auto& [query, place] : places_) {
    if (place.state != State::kStarting && place.state != State::kRunning) continue;
    place.state = State::kWaiting;
    place.spent = place.granted;
  }
  for (const std::string& query : in([](State state) { return state == State::kEnding; }))
    ended(query, &places_.at(query), lost_event(query));
}

void Assignments::monitor_failed(const v1::MonitorStatus::Failure& failure) {
  for (auto it = places_.begin(); it != places_.end();) {
    const Place& place = it->second;
    const bool was_refused = place.state == State::kWaiting && !place.ran;
    if (was_refused) report(refused_event(it->first, failure.message(), failure.kind()), place.epoch);
    it = was_refused ? places_.erase(it) : std::next(it);
  }
}

void Assignments::on_monitor_event(const v1::MonitorStatus& event) {
  if (event.has_progress() || event.has_ready() || event.has_events_lost() || event.has_events()) return;
  if (event.has_restarted()) resend_triggers();
  if (event.has_restarted()) send_routes();
  if (event.has_routes()) routes_.confirmed(event.routes().version());
  const std::string& query = query_of(event);
  const auto it = places_.find(query);
  if (it == places_.end()) return report(event, 0);
  Place* place = &it->second;
  if (event.has_query_ended()) return ended(query, place, place->abandoned ? lost_event(query) : event);
  if (event.has_query_refused() && place->state == State::kEnding) return ended(query, place, lost_event(query));
  report(event, place->epoch);
  if (event.has_triggers() && !event.triggers().has_since_ns()) place->triggers.clear();
  if (event.has_query_added()) place->ran = true;
  if (event.has_query_added() && place->state == State::kStarting) place->state = State::kRunning;
  if (event.has_query_refused() && place->state == State::kStarting) places_.erase(it);
}

void Assignments::end_all(bool abandon) {
  for (const std::string& query : in([](State state) { return state != State::kEnded; })) {
    Place* place = &places_.at(query);
    place->next_plan.reset();
    request_end(query, place, abandon);
  }
}

bool Assignments::needs_monitor() const {
  return !in([](State state) { return state != State::kEnded; }).empty();
}

std::vector<v1::Assignment> Assignments::list() const {
  std::vector<v1::Assignment> list;
  for (const auto& [query, place] : places_) {
    v1::Assignment assignment;
    assignment.set_query(query);
    assignment.set_epoch(place.epoch);
    assignment.set_triggers_version(place.triggers.version());
    assignment.set_state(place.state == State::kEnded     ? v1::Assignment::ENDED
                         : place.state == State::kEnding  ? v1::Assignment::ENDING
                         : place.state == State::kRunning ? v1::Assignment::RUNNING
                                                          : v1::Assignment::STARTING);
    list.push_back(std::move(assignment));
  }
  return list;
}

void Assignments::report(v1::MonitorStatus event, uint32_t epoch) {
  event.set_epoch(epoch);
  outbox_.control_plane.push_back(std::move(event));
}

void Assignments::forget_ended() {
  size_t ended = 0;
  for (const auto& [query, place] : places_) ended += place.state == State::kEnded;
  for (auto it = places_.begin(); ended > kMaxEnded && it != places_.end();) {
    const bool has_ended = it->second.state == State::kEnded;
    ended -= has_ended;
    it = has_ended ? places_.erase(it) : std::next(it);
  }
}

}  // namespace tapline
