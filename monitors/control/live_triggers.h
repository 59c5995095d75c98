// Replaces the triggers of one running query (TriggersCommand in schema/monitor.proto).
//
//   change() ──▶ received ──last part──▶ latest ──▶ being prepared ──▶ given to the lanes ──▶ counting: reported
//                                          ▲                                                      │
//                                          └────────── a later version waits until then ──────────┘
//
// Preparing thousands of triggers takes a tenth of a second. Events must not wait for that, so another thread does it.
// Only one version at a time is prepared or given to the lanes. Of the versions that arrive in the meantime, only the
// latest is used.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "packet_io/base/status.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/shared_triggers.h"
#include "schema/monitor.pb.h"

namespace tapline {

// Not thread-safe.
class LiveTriggers {
 public:
  // `query` is the query's name. The plan's triggers are version 0, which a command can replace only as a whole.
  LiveTriggers(std::string query, std::shared_ptr<trigger::SharedTriggers> shared)
      : query_(std::move(query)), shared_(std::move(shared)) {}

  // Executes a command. If the command is refused, the error states why, and the triggers stay unchanged.
  Status change(const v1::TriggersCommand& command);
  // Continues the work. Returns a report once all lanes use a version, or it is refused.
  std::optional<v1::MonitorStatus::Triggers> look();
  // Returns true if some version has neither taken effect nor been refused.
  bool is_busy() const { return latest_.version != counting_.version; }

  // Returns the response to a command that is refused.
  static v1::MonitorStatus::Triggers refusal(const v1::TriggersCommand& command, const Status& status);

 private:
  struct Entry {
    std::string message;  // the serialized trigger, for comparison
    trigger::Trigger trigger;
  };
  struct Version {
    uint64_t version = 0;
    std::map<uint32_t, std::shared_ptr<const Entry>> triggers;  // by number
  };

  Status begin(const v1::TriggersCommand& command);
  Status remove(const v1::TriggersCommand& command);
  Status add(const v1::TriggersCommand& command);
  void prepare();
  std::optional<v1::MonitorStatus::Triggers> finish_preparing();

  std::string query_;
  std::shared_ptr<trigger::SharedTriggers> shared_;
  Version counting_;  // the version that was last reported
  Version next_;      // the version that is being prepared or was given to the lanes
  Version latest_;
  std::optional<Version> received_;     // the version whose last part has not arrived
  std::future<std::string> preparing_;  // the reason why next_ is refused; empty if it is not
};

}  // namespace tapline
