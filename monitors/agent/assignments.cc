#include "monitors/agent/assignments.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tapline {
namespace {

using nlohmann::json;

uint64_t NumberIn(const json& object, const char* field) {
  return object.contains(field) && object[field].is_number_unsigned() ? object[field].get<uint64_t>() : 0;
}

std::string AddedLine(const std::string& query) { return json{{"event", "query_added"}, {"query", query}}.dump(); }

std::string MirroredLine(const std::string& query) { return json{{"mirrored", query}}.dump(); }

std::string LostLine(const std::string& query) {
  return json{{"event", "query_ended"}, {"query", query}, {"lost", true}}.dump();
}

std::string RefusedLine(const std::string& query, const std::string& why) {
  return json{{"event", "query_refused"}, {"query", query}, {"message", why}, {"kind", "internal"}}.dump();
}

}  // namespace

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
  if (!json::accept(command.plan()))
    return Tell(RefusedLine(command.query(), "the assignment's plan is no JSON"), command.epoch());
  Place& place = places_[command.query()];
  if (place.plan.empty() || (place.state == State::kEnded && command.epoch() > place.epoch)) {
    place = NewPlace(command.epoch(), command.plan());
    Give(command.query(), &place);
  } else if (command.epoch() > place.epoch) {
    place.next_plan = command.plan();
    place.next_epoch = command.epoch();
    AskToEnd(command.query(), &place, true);
  } else if (place.state == State::kRunning) {
    // Reported before, but perhaps to a control plane that is gone.
    Tell(AddedLine(command.query()), place.epoch);
  } else if (place.state == State::kEnded) {
    Tell(place.end, place.epoch);
  }
}

void Assignments::Limit(const v1::LimitCommand& command) {
  const auto place = places_.find(command.query());
  if (place == places_.end()) return;
  place->second.limit = command.rate();
  if (!monitor_ready_) return;
  outbox_.monitor.push_back(json{{"limit", {{"query", command.query()}, {"rate", command.rate()}}}}.dump());
}

void Assignments::Credit(const v1::CreditCommand& command) {
  const auto found = places_.find(command.query());
  if (found == places_.end() || !found->second.leased) return;
  Place& place = found->second;
  place.granted = std::max(place.granted, command.packets());
  if (place.state != State::kStarting && place.state != State::kRunning) return;
  const json credits = {{"query", command.query()}, {"packets", command.packets()}, {"version", command.version()}};
  outbox_.monitor.push_back(json{{"credits", credits}}.dump());
}

void Assignments::Mirrored(const v1::MirroredCommand& command) {
  const auto place = places_.find(command.query());
  if (place == places_.end() || place->second.epoch != command.epoch()) return;
  place->second.mirrored = true;
  const State state = place->second.state;
  if (state == State::kStarting || state == State::kRunning) outbox_.monitor.push_back(MirroredLine(command.query()));
}

// The monitor checks whether the incarnation is its own.
void Assignments::Lose(const v1::CopiesLostCommand& command) {
  if (!monitor_ready_) return;
  const json lost = {{"incarnation", command.incarnation()}, {"packets", command.packets()}};
  outbox_.monitor.push_back(json{{"lost", lost}}.dump());
}

Assignments::Place Assignments::NewPlace(uint32_t epoch, const std::string& plan) {
  Place place = {.epoch = epoch, .plan = plan};
  const json parsed = json::parse(plan);
  const json limit = parsed.is_object() ? parsed.value("limit", json()) : json();
  place.leased = limit.is_object() && limit.contains("leased") && limit["leased"] == true;
  if (place.leased) {
    place.granted = NumberIn(limit, "packets");
    place.spent = NumberIn(limit, "spent");
  }
  return place;
}

void Assignments::End(const v1::EndCommand& command) {
  const std::string& query = command.query();
  const auto place = places_.find(query);
  if (place == places_.end()) return Tell(LostLine(query), 0);
  if (place->second.state == State::kEnded) {
    places_.erase(place);
    return;
  }
  place->second.next_plan.clear();
  AskToEnd(query, &place->second, command.abandon());
}

void Assignments::Give(const std::string& query, Place* place) {
  if (!monitor_ready_) return;
  json plan = json::parse(place->plan);
  if (place->leased) {
    plan["limit"]["packets"] = place->granted;
    plan["limit"]["spent"] = place->spent;
  }
  if (place->limit > 0 && plan.is_object() && plan.value("sampling", json()).is_object())
    plan["sampling"]["limit"] = place->limit;
  outbox_.monitor.push_back("{\"add\":" + plan.dump() + "}");
  if (place->mirrored) outbox_.monitor.push_back(MirroredLine(query));
  place->state = State::kStarting;
}

void Assignments::AskToEnd(const std::string& query, Place* place, bool abandon) {
  if (place->state == State::kWaiting) return Ended(query, place, LostLine(query));
  if (place->state == State::kEnding) return;
  outbox_.monitor.push_back(json{{abandon ? "abandon" : "end", query}}.dump());
  place->state = State::kEnding;
  place->abandoned = abandon;
}

void Assignments::Ended(const std::string& query, Place* place, const std::string& line) {
  Tell(line, place->epoch);
  if (!place->next_plan.empty()) {
    *place = NewPlace(place->next_epoch, place->next_plan);
    return Give(query, place);
  }
  place->state = State::kEnded;
  place->end = line;
  ForgetEnded();
}

bool Assignments::IsReady(const std::string& line) {
  const json status = json::parse(line, nullptr, false);
  return status.is_object() && status.value("event", json()) == "ready";
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
  Tell(json{{"event", "monitor_ended"}, {"message", why}}.dump(), 0);
  for (auto& [query, place] : places_) {
    if (place.state != State::kStarting && place.state != State::kRunning) continue;
    place.state = State::kWaiting;
    place.spent = place.granted;
  }
  for (const std::string& query : In([](State state) { return state == State::kEnding; }))
    Ended(query, &places_.at(query), LostLine(query));
}

void Assignments::MonitorSaid(const std::string& line) {
  const json status = json::parse(line, nullptr, false);
  if (!status.is_object() || !status.contains("event")) return;
  const std::string event = status["event"].is_string() ? status["event"] : "";
  const std::string query = status.contains("query") && status["query"].is_string() ? status["query"] : "";
  const auto found = places_.find(query);
  if (event == "progress" || event == "ready") return;
  if (found == places_.end()) return Tell(line, 0);
  Place* place = &found->second;
  if (event == "query_ended") return Ended(query, place, place->abandoned ? LostLine(query) : line);
  if (event == "query_refused" && place->state == State::kEnding) return Ended(query, place, LostLine(query));
  Tell(line, place->epoch);
  if (event == "query_added" && place->state == State::kStarting) place->state = State::kRunning;
  if (event == "query_refused" && place->state == State::kStarting) places_.erase(found);
}

void Assignments::EndAll(bool abandon) {
  for (const std::string& query : In([](State state) { return state != State::kEnded; })) {
    Place* place = &places_.at(query);
    place->next_plan.clear();
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

void Assignments::Tell(const std::string& line, uint32_t epoch) {
  v1::MonitorStatus status;
  status.set_json(line);
  status.set_epoch(epoch);
  outbox_.control_plane.push_back(std::move(status));
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
