#include "monitors/control/control_channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace tapline {
namespace {

using nlohmann::json;

uint64_t NumberIn(const json& command, const char* field) {
  const bool numbered = command.is_object() && command.contains(field) && command[field].is_number_unsigned();
  return numbered ? command[field].get<uint64_t>() : 0;
}

constexpr int kLookEveryMs = 50;
// A plan is a few kilobytes.
constexpr size_t kMostLineBytes = 1 << 20;

// The name that a plan gives itself, valid or not, so that its sender learns which one was refused.
std::string NameIn(const json& plan) {
  const bool named = plan.is_object() && plan.contains("query") && plan["query"].is_string();
  return named ? plan["query"].get<std::string>() : "";
}

}  // namespace

ControlChannel::ControlChannel(int fd, QueryControl* control, Reporter* reporter, std::atomic<bool>* stop)
    : fd_(fd), control_(control), reporter_(reporter), stop_(stop), thread_([this] { Run(); }) {}

ControlChannel::~ControlChannel() {
  ending_ = true;
  thread_.join();
}

void ControlChannel::Run() {
  pollfd input = {fd_, POLLIN, 0};
  while (!ending_) {
    const int ready = poll(&input, 1, kLookEveryMs);
    control_->Look();
    if (ready > 0 && !ReadMore()) {
      control_->AbandonAll();
      stop_->store(true);
      input.fd = -1;
    }
  }
  control_->Look();
}

// Returns true if there may be more.
bool ControlChannel::ReadMore() {
  char buffer[16384];
  const ssize_t got = read(fd_, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  unread_.append(buffer, static_cast<size_t>(got));
  for (size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
    Obey(std::string_view(unread_).substr(0, end));
    unread_.erase(0, end + 1);
  }
  if (unread_.size() <= kMostLineBytes) return true;
  reporter_->QueryRefused("", Status::Invalid("a command of over a megabyte"));
  return false;
}

void ControlChannel::Obey(std::string_view line) {
  const json command = json::parse(line, nullptr, false);
  std::string name;
  Status status = Status::Invalid(
      "a command is {\"add\":PLAN}, {\"end\":\"QUERY\"}, {\"abandon\":\"QUERY\"}, "
      "{\"limit\":{\"query\":\"QUERY\",\"rate\":RATE}}, "
      "{\"credits\":{\"query\":\"QUERY\",\"packets\":N,\"version\":V}}, {\"mirrored\":\"QUERY\"} or "
      "{\"lost\":{\"incarnation\":I,\"packets\":N}}");
  if (command.is_object() && command.contains("add")) {
    name = NameIn(command["add"]);
    status = control_->AddQuery(command["add"].dump(), &name);
    if (status.ok()) return reporter_->QueryAdded(name);
  } else if (command.is_object() && command.contains("end") && command["end"].is_string()) {
    name = command["end"];
    status = control_->EndQuery(name);
  } else if (command.is_object() && command.contains("abandon") && command["abandon"].is_string()) {
    name = command["abandon"];
    status = control_->AbandonQuery(name);
  } else if (command.is_object() && command.contains("limit")) {
    const json& limit = command["limit"];
    name = NameIn(limit);
    const bool numbered = limit.is_object() && limit.contains("rate") && limit["rate"].is_number();
    status = control_->LimitQuery(name, numbered ? limit["rate"].get<double>() : 0);
  } else if (command.is_object() && command.contains("credits")) {
    const json& credits = command["credits"];
    name = NameIn(credits);
    status = control_->CreditQuery(name, NumberIn(credits, "packets"), NumberIn(credits, "version"));
  } else if (command.is_object() && command.contains("mirrored") && command["mirrored"].is_string()) {
    name = command["mirrored"];
    status = control_->ConfirmCopies(name);
  } else if (command.is_object() && command.contains("lost")) {
    const json& lost = command["lost"];
    status = control_->LoseCopies(NumberIn(lost, "incarnation"), NumberIn(lost, "packets"));
  }
  if (!status.ok()) reporter_->QueryRefused(name, status);
}

}  // namespace tapline
