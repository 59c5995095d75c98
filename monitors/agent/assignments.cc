#include "monitors/agent/assignments.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "monitors/messages/event_json.h"
#include "monitors/messages/message_socket.h"
#include "packet_io/base/status.h"

namespace tapline {
namespace {

v1::MonitorStatus AddedEvent(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_added()->set_query(query);
  return event;
}

v1::MonitorStatus LostEvent(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_ended()->set_query(query);
  event.mutable_query_ended()->set_lost(true);
  return event;
}

v1::MonitorStatus RefusedEvent(const std::string& query, const std::string& why, const std::string& kind) {
  v1::MonitorStatus event;
  event.mutable_query_refused()->set_query(query);
  event.mutable_query_refused()->set_message(why);
  event.mutable_query_refused()->set_kind(kind);
  return event;
}

// Name of the query that an event is about; empty: of none.
const std::string& QueryOf(const v1::MonitorStatus& event) {
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
    default:
      return none;
  }
}

// Control planes of protocol 0 send plans as JSON.
Status PlanOf(const v1::AssignCommand& command, v1::Plan* plan) {
  if (command.has_plan()) {
    *plan = command.plan();
  } else {
    const auto parsed = google::protobuf::util::JsonStringToMessage(command.plan_json(), plan);
    if (!parsed.ok()) return Status::Invalid("the assignment's plan can't be read: " + std::string(parsed.message()));
  }
  // The remaining 1 KiB holds the agent's additions and the command's frame.
  const bool fits = plan->ByteSizeLong() + 1024 <= MessageSocket::kMaxMessageBytes;
  return fits ? Status() : Status::Invalid("the assignment's plan has more than 191 KiB");
}

}  // namespace

v1::MonitorStatus ForProtocol(uint32_t protocol, v1::MonitorStatus status) {
  if (protocol == 0) status.set_json(EventJson(status));
  return status;
}

// Collects names first, since an action on one query may forget another that has ended.
template <typename Predicate>
std::vector<std::string> Assignments::In(Predicate wanted) const {
  std::vector<std::string> names;
  for (const auto& [query, place] : places_) {
    if (wanted(place.state)) names.push_back(query);
  }
  return names;
}

bool Assignments::Obey(const v1::AgentCommand& command) {
  if (command.term() < term_) return false;
  term_ = command.term();
  if (command.has_assign()) Assign(command.assign());
  if (command.has_limit()) Limit(command.limit());
  if (command.has_credit()) Credit(command.credit());
  if (command.has_end()) End(command.end());
  if (command.has_copies_lost()) Lose(command.copies_lost());
  if (command.has_mirrored()) Mirrored(command.mirrored());
  return true;
}

void Assignments::Assign(const v1::AssignCommand& command) {
  const std::string& query = command.query();
  v1::Plan plan;
  if (Status status = PlanOf(command, &plan); !status.ok())
    return Tell(RefusedEvent(query, status.message(), "internal"), command.epoch());
  const auto [found, is_new] = places_.try_emplace(query);
  Place& place = found->second;
  if (is_new || (place.state == State::kEnded && command.epoch() > place.epoch)) {
    place = NewPlace(command.epoch(), std::move(plan));
    Give(query, &place);
  } else if (command.epoch() > place.epoch) {
    place.next_plan = std::move(plan);
    place.next_epoch = command.epoch();
    AskToEnd(query, &place, true);
  } else if (place.state == State::kRunning) {
    // Reported before, but perhaps to a control plane that is gone.
    Tell(AddedEvent(query), place.epoch);
  } else if (place.state == State::kEnded) {
    Tell(place.end, place.epoch);
  }
}

void Assignments::Limit(const v1::LimitCommand& command) {
  const auto place = places_.find(command.query());
  if (place == places_.end()) return;
  place->second.limit = command.rate();
  if (!monitor_ready_) return;
  *outbox_.monitor.emplace_back().mutable_limit() = command;
}

void Assignments::Credit(const v1::CreditCommand& command) {
  const auto found = places_.find(command.query());
  if (found == places_.end() || !found->second.plan.limit().leased()) return;
  Place& place = found->second;
  place.granted = std::max(place.granted, command.packets());
  if (place.state != State::kStarting && place.state != State::kRunning) return;
  *outbox_.monitor.emplace_back().mutable_credit() = command;
}

void Assignments::Mirrored(const v1::MirroredCommand& command) {
  const auto place = places_.find(command.query());
  if (place == places_.end() || place->second.epoch != command.epoch()) return;
  place->second.mirrored = true;
  const State state = place->second.state;
  if (state == State::kStarting || state == State::kRunning)
    *outbox_.monitor.emplace_back().mutable_mirrored() = command;
}

// The monitor checks whether the incarnation is its own.
void Assignments::Lose(const v1::CopiesLostCommand& command) {
  if (monitor_ready_) *outbox_.monitor.emplace_back().mutable_copies_lost() = command;
}

Assignments::Place Assignments::NewPlace(uint32_t epoch, v1::Plan plan) {
  Place place = {.epoch = epoch, .plan = std::move(plan), .ran = epoch > 1};
  const v1::Limit& limit = place.plan.limit();
  if (limit.leased()) {
    place.granted = limit.packets();
    place.spent = limit.spent();
  }
  return place;
}

void Assignments::End(const v1::EndCommand& command) {
  const std::string& query = command.query();
  const auto place = places_.find(query);
  if (place == places_.end()) return Tell(LostEvent(query), 0);
  if (place->second.state == State::kEnded) {
    places_.erase(place);
    return;
  }
  place->second.next_plan.reset();
  AskToEnd(query, &place->second, command.abandon());
}

void Assignments::Give(const std::string& query, Place* place) {
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
  place->state = State::kStarting;
}

void Assignments::AskToEnd(const std::string& query, Place* place, bool abandon) {
  if (place->state == State::kWaiting) return Ended(query, place, LostEvent(query));
  if (place->state == State::kEnding) return;
  v1::EndCommand* end = outbox_.monitor.emplace_back().mutable_end();
  end->set_query(query);
  end->set_abandon(abandon);
  place->state = State::kEnding;
  place->abandoned = abandon;
}

void Assignments::Ended(const std::string& query, Place* place, v1::MonitorStatus event) {
  Tell(event, place->epoch);
  if (place->next_plan) {
    *place = NewPlace(place->next_epoch, *std::move(place->next_plan));
    return Give(query, place);
  }
  place->state = State::kEnded;
  place->end = std::move(event);
  ForgetEnded();
}

void Assignments::MonitorReady() {
  monitor_ready_ = true;
  for (auto& [query, place] : places_) {
    if (place.state == State::kWaiting) Give(query, &place);
  }
}

void Assignments::MonitorGone(const std::string& why) {
  monitor_ready_ = false;
  outbox_.monitor.clear();
  v1::MonitorStatus event;
  event.mutable_monitor_ended()->set_message(why);
  Tell(std::move(event), 0);
  for (auto& [query, place] : places_) {
    if (place.state != State::kStarting && place.state != State::kRunning) continue;
    place.state = State::kWaiting;
    place.spent = place.granted;
  }
  for (const std::string& query : In([](State state) { return state == State::kEnding; }))
    Ended(query, &places_.at(query), LostEvent(query));
}

void Assignments::MonitorFailed(const v1::MonitorStatus::Failure& failure) {
  for (auto at = places_.begin(); at != places_.end();) {
    const Place& place = at->second;
    const bool refused = place.state == State::kWaiting && !place.ran;
    if (refused) Tell(RefusedEvent(at->first, failure.message(), failure.kind()), place.epoch);
    at = refused ? places_.erase(at) : std::next(at);
  }
}

void Assignments::MonitorSaid(const v1::MonitorStatus& event) {
  if (event.has_progress() || event.has_ready() || event.has_events_lost() || event.has_events()) return;
  const std::string& query = QueryOf(event);
  const auto found = places_.find(query);
  if (found == places_.end()) return Tell(event, 0);
  Place* place = &found->second;
  if (event.has_query_ended()) return Ended(query, place, place->abandoned ? LostEvent(query) : event);
  if (event.has_query_refused() && place->state == State::kEnding) return Ended(query, place, LostEvent(query));
  Tell(event, place->epoch);
  if (event.has_query_added()) place->ran = true;
  if (event.has_query_added() && place->state == State::kStarting) place->state = State::kRunning;
  if (event.has_query_refused() && place->state == State::kStarting) places_.erase(found);
}

void Assignments::EndAll(bool abandon) {
  for (const std::string& query : In([](State state) { return state != State::kEnded; })) {
    Place* place = &places_.at(query);
    place->next_plan.reset();
    AskToEnd(query, place, abandon);
  }
}

bool Assignments::needs_monitor() const {
  return !In([](State state) { return state != State::kEnded; }).empty();
}

std::vector<v1::Assignment> Assignments::List() const {
  std::vector<v1::Assignment> list;
  for (const auto& [query, place] : places_) {
    v1::Assignment assignment;
    assignment.set_query(query);
    assignment.set_epoch(place.epoch);
    assignment.set_state(place.state == State::kEnded     ? v1::Assignment::ENDED
                         : place.state == State::kEnding  ? v1::Assignment::ENDING
                         : place.state == State::kRunning ? v1::Assignment::RUNNING
                                                          : v1::Assignment::STARTING);
    list.push_back(std::move(assignment));
  }
  return list;
}

void Assignments::Tell(v1::MonitorStatus event, uint32_t epoch) {
  event.set_epoch(epoch);
  outbox_.control_plane.push_back(std::move(event));
}

void Assignments::ForgetEnded() {
  size_t ended = 0;
  for (const auto& [query, place] : places_) ended += place.state == State::kEnded;
  for (auto at = places_.begin(); ended > kMostEnded && at != places_.end();) {
    const bool goes = at->second.state == State::kEnded;
    ended -= goes;
    at = goes ? places_.erase(at) : std::next(at);
  }
}

}  // namespace tapline
