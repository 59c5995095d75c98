#include "monitors/agent/trigger_set.h"

#include <utility>

namespace tapline {

Status TriggerSet::change(const v1::TriggersCommand& command) {
  if (received_version_ != command.version()) {
    const bool is_known = !command.has_base() || (command.base() == version_ && version_ > 0);
    if (!is_known) {
      return Status::invalid("version " + std::to_string(command.base()) +
                             " of the triggers is not known: this agent has version " + std::to_string(version_) +
                             "; send all triggers");
    }
    received_ = command.has_base() ? triggers_ : Triggers();
    received_version_ = command.version();
  }
  for (const uint32_t number : command.remove()) received_.erase(number);
  for (const v1::PacketTrigger& trigger : command.add()) received_[trigger.processor()] = trigger;
  if (command.more()) return {};
  triggers_ = std::exchange(received_, {});
  version_ = std::exchange(received_version_, 0);
  return {};
}

std::vector<v1::TriggersCommand> TriggerSet::commands(const std::string& query) const {
  std::vector<v1::TriggersCommand> parts;
  if (version_ == 0) return parts;
  size_t bytes = kMaxPartBytes;
  for (auto next = triggers_.begin(); parts.empty() || next != triggers_.end();) {
    if (bytes >= kMaxPartBytes) {
      if (!parts.empty()) parts.back().set_more(true);
      parts.emplace_back().set_query(query);
      parts.back().set_version(version_);
      bytes = 0;
    }
    if (next == triggers_.end()) break;
    *parts.back().add_add() = next->second;
    bytes += next->second.ByteSizeLong() + 4;
    ++next;
  }
  return parts;
}

void TriggerSet::clear() { *this = {}; }

}  // namespace tapline
