// Adds queries to a monitor's running lanes, and ends them, on a separate thread.
//
// A slot's states are: free → written and prepared → added to each lane, which confirms → ends → done in each lane →
// reported with its accounting → free. Only look() frees slots.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monitors/control/control_channel.h"
#include "monitors/control/live_routes.h"
#include "monitors/control/live_triggers.h"
#include "monitors/events/event_forwarder.h"
#include "monitors/lane/lane.h"
#include "monitors/lane/parser_unit.h"
#include "monitors/plan/monitor_taps.h"
#include "monitors/plan/queries.h"
#include "monitors/supervisor/monitor_page.h"

namespace tapline {

class LiveQueries final : public QueryControl {
 public:
  // All arguments must outlive this object. The lanes must be running the queries in the `taken` slots. `polled_times`
  // is true if the lanes' sources timestamp packets when they poll them. If `page` is not null, plans, grants and
  // limits are recorded there for a process that takes over from this one.
  LiveQueries(std::string monitor_id, uint64_t incarnation, const ThreadLayout& layout, MonitorTaps* taps,
              Queries* queries, PacketCredits* credits, std::span<const std::unique_ptr<Lane>> lanes,
              std::span<const std::unique_ptr<ParserUnit>> units, bool polled_times, MonitorPage* page,
              EventForwarder* events, RouteFeed* routes, MessageReporter* reporter);

  Status add_query(const v1::Plan& plan) override;
  Status end_query(const std::string& name) override;
  Status abandon_query(const std::string& name) override;
  void abandon_all() override { queries_->abandoned |= queries_->taken; }
  Status limit_query(const std::string& name, double rate) override;
  Status credit_query(const std::string& name, uint64_t packets, uint64_t version) override;
  Status confirm_copies(const std::string& name) override;
  Status lose_copies(uint64_t incarnation, uint64_t packets) override;
  void change_triggers(const v1::TriggersCommand& command) override;
  void change_routes(const v1::RoutesCommand& command) override;
  bool look() override;
  bool forward_events() override { return events_->forward(); }

 private:
  Status check(const QuerySpec& spec) const;
  Status prepare(uint32_t place);
  bool send(LaneCommand::Kind kind, uint32_t place, double rate = 1);
  static bool push(Lane* lane, std::unique_ptr<LaneCommand> command);
  int find(const std::string& name) const;
  void follow_triggers(uint32_t place);
  bool look_at_triggers(uint32_t place);
  void check_credits(uint32_t place);
  void report_credits(uint32_t place);

  std::string monitor_id_;
  uint64_t incarnation_;
  const ThreadLayout& layout_;
  MonitorTaps* taps_;
  Queries* queries_;
  PacketCredits* credits_;
  std::span<const std::unique_ptr<Lane>> lanes_;
  std::span<const std::unique_ptr<ParserUnit>> units_;
  bool polled_times_;
  MonitorPage* page_;
  EventForwarder* events_;
  MessageReporter* reporter_;
  LiveRoutes routes_;
  // The state of a leased limit.
  struct Lease {
    uint64_t version = 0;
    uint64_t last_grant = 0;  // packets left at the last grant
    // the values that were last reported
    bool reported = false;
    uint64_t left = 0;
    uint64_t refused = 0;
  };
  std::array<Lease, kMaxQueries> leases_;
  std::array<std::optional<LiveTriggers>, kMaxQueries> triggers_;  // empty for a query without triggers on packets
  uint64_t lost_copies_ = 0;                                       // as reported to lanes
};

}  // namespace tapline
