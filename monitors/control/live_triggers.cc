#include "monitors/control/live_triggers.h"

#include <chrono>
#include <utility>
#include <vector>

#include "monitors/plan/trigger_reader.h"

namespace tapline {
namespace {

using Report = v1::MonitorStatus::Triggers;
using trigger::Program;

Report refusal_of(const std::string& query, uint64_t version, const Status& status) {
  Report report;
  report.set_query(query);
  report.set_version(version);
  report.set_message(status.message());
  report.set_kind(status.kind());
  return report;
}

}  // namespace

Report LiveTriggers::refusal(const v1::TriggersCommand& command, const Status& status) {
  return refusal_of(command.query(), command.version(), status);
}

Status LiveTriggers::change(const v1::TriggersCommand& command) {
  Status status;
  if (!received_ || received_->version != command.version()) status = begin(command);
  if (status.ok()) status = remove(command);
  if (status.ok()) status = add(command);
  if (!status.ok()) received_.reset();
  if (!status.ok() || command.more()) return status;
  latest_ = *std::exchange(received_, std::nullopt);
  if (!preparing_.valid() && next_.version == counting_.version) prepare();
  return {};
}

Status LiveTriggers::begin(const v1::TriggersCommand& command) {
  received_.reset();
  if (command.version() <= latest_.version) {
    return Status::invalid("version " + std::to_string(command.version()) + " of the triggers is not above version " +
                           std::to_string(latest_.version) + ", which this monitor has");
  }
  const bool is_whole = !command.has_base();
  if (!is_whole && (command.base() != latest_.version || latest_.version == 0)) {
    return Status::invalid("version " + std::to_string(command.base()) +
                           " of the triggers is not known: this monitor has version " +
                           std::to_string(latest_.version) + "; send all triggers");
  }
  received_ = is_whole ? Version() : latest_;
  received_->version = command.version();
  return {};
}

Status LiveTriggers::remove(const v1::TriggersCommand& command) {
  for (const uint32_t number : command.remove()) {
    if (received_->triggers.erase(number) == 0) {
      return Status::invalid("there is no trigger " + std::to_string(number) + " to remove");
    }
  }
  return {};
}

Status LiveTriggers::add(const v1::TriggersCommand& command) {
  for (const v1::PacketTrigger& message : command.add()) {
    const uint32_t number = message.processor();
    auto entry = std::make_shared<Entry>();
    message.SerializeToString(&entry->message);
    const auto known = latest_.triggers.find(number);
    if (known != latest_.triggers.end() && known->second->message != entry->message) {
      return Status::invalid("trigger " + std::to_string(number) +
                             " differs from the running trigger with the same number; give the new one another number");
    }
    if (Status status = read_trigger(message, &entry->trigger); !status.ok()) return status;
    if (received_->triggers.size() == Program::kMaxTriggers) {
      return Status::invalid("a query can have at most " + std::to_string(Program::kMaxTriggers) +
                             " triggers on packets");
    }
    if (!received_->triggers.emplace(number, std::move(entry)).second) {
      return Status::invalid("trigger " + std::to_string(number) + " is given twice");
    }
  }
  return {};
}

void LiveTriggers::prepare() {
  next_ = latest_;
  std::vector<trigger::Trigger> triggers;
  for (const auto& [number, entry] : next_.triggers) triggers.push_back(entry->trigger);
  preparing_ = std::async(std::launch::async, [shared = shared_, triggers = std::move(triggers)]() mutable {
    std::string error;
    auto program = Program::make(std::move(triggers), &error, shared->max_groups());
    return program == nullptr ? error : shared->replace(std::move(program));
  });
}

std::optional<Report> LiveTriggers::look() {
  if (preparing_.valid()) return finish_preparing();
  if (next_.version != counting_.version) {
    if (shared_->replacing()) {
      shared_->continue_replacing();
      return std::nullopt;
    }
    counting_ = next_;
    Report report;
    report.set_query(query_);
    report.set_version(counting_.version);
    report.set_count(static_cast<uint32_t>(counting_.triggers.size()));
    report.set_since_ns(shared_->counting_since_ns());
    return report;
  }
  if (latest_.version != counting_.version) prepare();
  return std::nullopt;
}

// Checks whether preparation has ended. If it failed, drops that version and all later ones, and refuses the latest.
std::optional<Report> LiveTriggers::finish_preparing() {
  if (preparing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  const std::string error = preparing_.get();
  if (error.empty()) return std::nullopt;
  const uint64_t version = latest_.version;
  received_.reset();
  latest_ = next_ = counting_;
  return refusal_of(query_, version, Status::invalid(error));
}

}  // namespace tapline
