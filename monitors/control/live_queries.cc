#include "monitors/control/live_queries.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "monitors/lane/report.h"
#include "monitors/plan/plan.h"
#include "monitors/plan/polled_times.h"
#include "monitors/plan/trigger_reader.h"
#include "packet_io/base/clock.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Lanes check their inbox at each poll, and polls are at most a millisecond apart.
constexpr useconds_t kResponsePauseUs = 200;

}  // namespace

LiveQueries::LiveQueries(std::string monitor_id, uint64_t incarnation, const ThreadLayout& layout, MonitorTaps* taps,
                         Queries* queries, PacketCredits* credits, std::span<const std::unique_ptr<Lane>> lanes,
                         std::span<const std::unique_ptr<ParserUnit>> units, bool polled_times, MonitorPage* page,
                         EventForwarder* events, RouteFeed* routes, MessageReporter* reporter)
    : monitor_id_(std::move(monitor_id)),
      incarnation_(incarnation),
      layout_(layout),
      taps_(taps),
      queries_(queries),
      credits_(credits),
      lanes_(lanes),
      units_(units),
      polled_times_(polled_times),
      page_(page),
      events_(events),
      reporter_(reporter),
      routes_(routes) {
  for (uint32_t place = 0; place < kMaxQueries; ++place) leases_[place].last_grant = credits->left(place);
  for (uint32_t place : SetBits(queries_->taken)) follow_triggers(place);
}

int LiveQueries::find(const std::string& name) const {
  for (uint32_t place : SetBits(queries_->taken)) {
    if (queries_->specs[place].name == name) return static_cast<int>(place);
  }
  return -1;
}

Status LiveQueries::check(const QuerySpec& spec) const {
  if (find(spec.name) >= 0) return Status::invalid("query '" + spec.name + "' is already running");
  if (~queries_->taken == 0) {
    return Status::resources("this monitor has 64 queries; end one, or run a second monitor for the rest");
  }
  if (!spec.threads.is_default() && spec.threads != layout_) {
    return Status::invalid("query '" + spec.name +
                           "' requires threads other than those with which this monitor was started");
  }
  if (Status status = layout_.check(spec.parsers); !status.ok()) return status;
  for (uint32_t place : SetBits(queries_->taken)) {
    if (Status status = check_intervals(spec, queries_->specs[place]); !status.ok()) return status;
  }
  return check_triggers(spec, layout_);
}

Status LiveQueries::prepare(uint32_t place) {
  QuerySpec& spec = queries_->specs[place];
  spec.lanes = 0;
  queries_->abandoned &= ~(uint64_t{1} << place);
  for (const auto& unit : units_) spec.lanes += unit->serves(place);
  share_triggers(layout_.lanes, &spec);
  follow_triggers(place);
  credits_->reset(place, spec.limit_packets.value_or(0), spec.limit_spent);
  leases_[place] = {.last_grant = credits_->left(place)};
  if (page_ != nullptr) page_->granted[place] = credits_->granted(place);
  if (page_ != nullptr) page_->pipeline_limits[place] = spec.pipeline_limit;
  if (page_ != nullptr) page_->copies_confirmed[place] = !spec.copies_unconfirmed;
  for (const auto& unit : units_) {
    if (!unit->serves(place)) continue;
    if (Status status = unit->output().prepare(place); !status.ok()) return status;
  }
  return {};
}

// Sends the command to the lane, and waits. Returns true if it was executed, and false if the lane finished before.
bool LiveQueries::push(Lane* lane, std::unique_ptr<LaneCommand> command) {
  LaneCommand* posted = command.release();
  lane->inbox().post(posted);
  while (!posted->answered() && !lane->progress().over.load(std::memory_order_acquire)) usleep(kResponsePauseUs);
  // A lane that is ending may still read the command, so the command is not freed.
  if (!posted->answered()) return false;
  delete posted;
  return true;
}

// Sends a command to every lane, and waits. Returns true if all lanes have executed it.
bool LiveQueries::send(LaneCommand::Kind kind, uint32_t place, double rate) {
  bool all = true;
  for (const auto& lane : lanes_) all &= push(lane.get(), std::make_unique<LaneCommand>(kind, place, rate));
  return all;
}

Status LiveQueries::add_query(const v1::Plan& plan) {
  QuerySpec spec;
  if (Status status = read_plan(plan, monitor_id_, &spec); !status.ok()) return status;
  if (Status status = check(spec); !status.ok()) return status;
  if (Status status = taps_->bind(&spec); !status.ok()) return status;
  if (const auto warning = polled_times_warning(spec, polled_times_)) reporter_->warning(*warning);
  const auto place = static_cast<uint32_t>(std::countr_one(queries_->taken));
  queries_->specs[place] = std::move(spec);
  if (Status status = prepare(place); !status.ok()) return status;
  if (page_ != nullptr && !page_->plans[place].set(plan.SerializeAsString())) {
    return Status::invalid("the plan of '" + plan.query() + "' is too long");
  }
  {
    std::lock_guard lock(queries_->mutex);
    queries_->taken |= uint64_t{1} << place;
  }
  return send(LaneCommand::Kind::kAdd, place) ? Status() : Status::resources("the monitor is ending");
}

Status LiveQueries::end_query(const std::string& name) {
  const int place = find(name);
  if (place < 0) return Status::invalid("no query '" + name + "' is running");
  send(LaneCommand::Kind::kEnd, static_cast<uint32_t>(place));
  return {};
}

Status LiveQueries::abandon_query(const std::string& name) {
  if (const int place = find(name); place >= 0) queries_->abandoned |= uint64_t{1} << place;
  return end_query(name);
}

Status LiveQueries::limit_query(const std::string& name, double rate) {
  if (!(rate > 0 && rate <= 1)) return Status::invalid("a limit's rate must be above 0 and at most 1");
  const int place = find(name);
  if (place < 0) return {};
  if (!queries_->specs[place].rate_may_fall) return Status::invalid("query '" + name + "' does not have SAMPLE auto");
  send(LaneCommand::Kind::kLimit, static_cast<uint32_t>(place), rate);
  if (page_ != nullptr) page_->pipeline_limits[place] = rate;
  if (queries_->specs[place].sampled_by_port) reporter_->limited(name, rate);
  return {};
}

Status LiveQueries::credit_query(const std::string& name, uint64_t packets, uint64_t version) {
  const int slot = find(name);
  if (slot < 0) return {};
  const auto place = static_cast<uint32_t>(slot);
  if (!queries_->specs[place].limit_leased) return Status::invalid("query '" + name + "' has no leased limit");
  // The page is written first if the grant grows, and last if it shrinks: the grant of a process that takes over must
  // include all packets that this process may have taken.
  if (page_ != nullptr) page_->granted[place] = std::max(packets, credits_->granted(place));
  credits_->grant(place, packets);
  if (page_ != nullptr) page_->granted[place] = credits_->granted(place);
  leases_[place].version = version;
  leases_[place].last_grant = credits_->left(place);
  report_credits(place);
  return {};
}

Status LiveQueries::confirm_copies(const std::string& name) {
  const int place = find(name);
  if (place < 0) return {};
  send(LaneCommand::Kind::kMirrored, static_cast<uint32_t>(place));
  if (page_ != nullptr) page_->copies_confirmed[place] = true;
  return {};
}

Status LiveQueries::lose_copies(uint64_t incarnation, uint64_t packets) {
  if (incarnation != incarnation_ || packets <= lost_copies_) return {};
  auto command = std::make_unique<LaneCommand>(LaneCommand::Kind::kLose, 0);
  command->packets = packets - lost_copies_;
  lost_copies_ = packets;
  // It is unknown which lane would have received the lost packets, so the first one counts them.
  push(lanes_[0].get(), std::move(command));
  return {};
}

void LiveQueries::follow_triggers(uint32_t place) {
  const QuerySpec& spec = queries_->specs[place];
  triggers_[place].reset();
  if (spec.shared_triggers != nullptr) triggers_[place].emplace(spec.name, spec.shared_triggers);
}

void LiveQueries::change_triggers(const v1::TriggersCommand& command) {
  const int place = find(command.query());
  Status status;
  if (place < 0) {
    status = Status::invalid("no query '" + command.query() + "' is running");
  } else if (auto& triggers = triggers_[static_cast<size_t>(place)]; !triggers) {
    status = Status::invalid("query '" + command.query() + "' has no triggers on packets");
  } else {
    status = triggers->change(command);
  }
  if (!status.ok()) reporter_->triggers(LiveTriggers::refusal(command, status));
}

void LiveQueries::change_routes(const v1::RoutesCommand& command) {
  if (auto answer = routes_.change(command, wall_ns())) reporter_->routes(*std::move(answer));
}

// Reports changes of the query's triggers. Returns true if one has neither taken effect nor been refused.
bool LiveQueries::look_at_triggers(uint32_t place) {
  if (!triggers_[place]) return false;
  if (auto report = triggers_[place]->look()) reporter_->triggers(*std::move(report));
  return triggers_[place]->is_busy();
}

// Reports credits when half of the grant is used up, and then after every change.
void LiveQueries::check_credits(uint32_t place) {
  const Lease& lease = leases_[place];
  const uint64_t left = credits_->left(place);
  const bool has_changed = !lease.reported || left != lease.left || credits_->refused(place) != lease.refused;
  if (has_changed && left <= lease.last_grant / 2) report_credits(place);
}

void LiveQueries::report_credits(uint32_t place) {
  Lease& lease = leases_[place];
  const uint64_t refused = credits_->refused(place), left = credits_->left(place), granted = credits_->granted(place);
  v1::MonitorStatus::Credits credits;
  credits.set_query(queries_->specs[place].name);
  credits.set_version(lease.version);
  credits.set_granted(granted);
  credits.set_taken(granted - left);
  credits.set_wanting(left <= lease.last_grant / 2);
  credits.set_refused(left == 0 && refused != lease.refused);
  reporter_->credits(std::move(credits));
  lease.reported = true;
  lease.left = left;
  lease.refused = refused;
}

bool LiveQueries::look() {
  bool busy = false;
  for (uint32_t place : SetBits(queries_->taken)) {
    if (queries_->specs[place].limit_leased) check_credits(place);
    busy |= look_at_triggers(place);
  }
  uint64_t done = queries_->taken;
  for (const auto& lane : lanes_) done &= lane->progress().done.load(std::memory_order_acquire);
  for (uint32_t place : SetBits(done)) {
    Accounting sum;
    for (const auto& unit : units_) {
      if (unit->serves(place)) sum += unit->accounts()[place];
    }
    if (page_ != nullptr) page_->plans[place].clear();
    events_->end_query(place);
    triggers_[place].reset();
    reporter_->query_ended(queries_->specs[place].name, query_accounting_of(queries_->specs[place], sum));
  }
  std::lock_guard lock(queries_->mutex);
  queries_->taken &= ~done;
  return busy;
}

}  // namespace tapline
