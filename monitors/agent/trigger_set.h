// An assignment's triggers, as the control plane last set them (TriggersCommand), kept for the next monitor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "packet_io/base/status.h"
#include "schema/monitor.pb.h"

namespace tapline {

// Not thread-safe.
class TriggerSet {
 public:
  // A command gets no more triggers once they have this size. The last one and the other fields still fit the message.
  static constexpr size_t kMaxPartBytes = 128 << 10;

  // Version of the set; 0: the triggers in the plan.
  uint64_t version() const { return version_; }
  // Applies a command. Fails, and leaves the set unchanged, if the command changes a version other than the current
  // one.
  Status change(const v1::TriggersCommand& command);
  // Returns the commands that give a monitor the whole set, or none for version 0.
  std::vector<v1::TriggersCommand> commands(const std::string& query) const;
  // Drops a set that the monitor has refused.
  void clear();

 private:
  using Triggers = std::map<uint32_t, v1::PacketTrigger>;  // by number

  uint64_t version_ = 0;
  Triggers triggers_;
  // The version that is being received; 0: none.
  uint64_t received_version_ = 0;
  Triggers received_;
};

}  // namespace tapline
