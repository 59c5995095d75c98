#include "monitors/control/live_queries.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "monitors/lane/report.h"
#include "monitors/plan/plan.h"
#include "monitors/plan/trigger_reader.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Lanes check their inbox at each poll, at most a millisecond apart.
constexpr useconds_t kAnswerPauseUs = 200;

}  // namespace

LiveQueries::LiveQueries(std::string monitor_id, uint64_t incarnation, const ThreadLayout& layout,
                         std::span<const Tap> taps, Queries* queries, PacketCredits* credits,
                         std::span<const std::unique_ptr<Lane>> lanes,
                         std::span<const std::unique_ptr<ParserUnit>> units, MonitorPage* page, EventForwarder* events,
                         MessageReporter* reporter)
    : monitor_id_(std::move(monitor_id)),
      incarnation_(incarnation),
      layout_(layout),
      taps_(taps),
      queries_(queries),
      credits_(credits),
      lanes_(lanes),
      units_(units),
      page_(page),
      events_(events),
      reporter_(reporter) {
  for (uint32_t place = 0; place < kMostQueries; ++place) leases_[place].lent = credits->left(place);
}

int LiveQueries::Find(const std::string& name) const {
  for (uint32_t place : SetBits(queries_->taken)) {
    if (queries_->specs[place].name == name) return static_cast<int>(place);
  }
  return -1;
}

Status LiveQueries::Check(const QuerySpec& spec) const {
  if (Find(spec.name) >= 0) return Status::Invalid("query '" + spec.name + "' is running already");
  if (~queries_->taken == 0) {
    return Status::Resources("this monitor has 64 queries; end one, or run a second monitor for the rest");
  }
  if (!spec.threads.is_default() && spec.threads != layout_) {
    return Status::Invalid("query '" + spec.name + "' asks for other threads than this monitor was started with");
  }
  if (Status status = layout_.Check(spec.parsers); !status.ok()) return status;
  if (Status status = CheckTaps(spec, taps_); !status.ok()) return status;
  return CheckTriggers(spec, layout_);
}

Status LiveQueries::Prepare(uint32_t place) {
  QuerySpec& spec = queries_->specs[place];
  spec.lanes = 0;
  queries_->abandoned &= ~(uint64_t{1} << place);
  for (const auto& unit : units_) spec.lanes += unit->Serves(place);
  credits_->Reset(place, spec.limit_packets.value_or(0), spec.limit_spent);
  leases_[place] = {.lent = credits_->left(place)};
  if (page_ != nullptr) page_->granted[place] = credits_->granted(place);
  if (page_ != nullptr) page_->pipeline_limits[place] = spec.pipeline_limit;
  if (page_ != nullptr) page_->copies_confirmed[place] = !spec.copies_unconfirmed;
  for (const auto& unit : units_) {
    if (!unit->Serves(place)) continue;
    if (Status status = unit->output().Prepare(place); !status.ok()) return status;
  }
  return {};
}

// Returns true if the lane has done it; a lane that has finished does nothing any more.
bool LiveQueries::Ask(Lane* lane, std::unique_ptr<LaneCommand> command) {
  LaneCommand* posted = command.release();
  lane->inbox().Post(posted);
  while (!posted->answered() && !lane->progress().over.load(std::memory_order_acquire)) usleep(kAnswerPauseUs);
  // Leave the command to a lane that ends meanwhile: it may still look at it.
  if (!posted->answered()) return false;
  delete posted;
  return true;
}

// Returns true if every lane has done it.
bool LiveQueries::Tell(LaneCommand::Kind kind, uint32_t place, double rate) {
  bool all = true;
  for (const auto& lane : lanes_) all &= Ask(lane.get(), std::make_unique<LaneCommand>(kind, place, rate));
  return all;
}

Status LiveQueries::AddQuery(const v1::Plan& plan) {
  QuerySpec spec;
  if (Status status = ReadPlan(plan, monitor_id_, &spec); !status.ok()) return status;
  if (Status status = Check(spec); !status.ok()) return status;
  const auto place = static_cast<uint32_t>(std::countr_one(queries_->taken));
  queries_->specs[place] = std::move(spec);
  if (Status status = Prepare(place); !status.ok()) return status;
  if (page_ != nullptr && !page_->plans[place].Set(plan.SerializeAsString())) {
    return Status::Invalid("the plan of '" + plan.query() + "' is too long");
  }
  {
    std::lock_guard lock(queries_->mutex);
    queries_->taken |= uint64_t{1} << place;
  }
  return Tell(LaneCommand::Kind::kAdd, place) ? Status() : Status::Resources("the monitor is ending");
}

Status LiveQueries::EndQuery(const std::string& name) {
  const int place = Find(name);
  if (place < 0) return Status::Invalid("no query '" + name + "' is running");
  Tell(LaneCommand::Kind::kEnd, static_cast<uint32_t>(place));
  return {};
}

Status LiveQueries::AbandonQuery(const std::string& name) {
  if (const int place = Find(name); place >= 0) queries_->abandoned |= uint64_t{1} << place;
  return EndQuery(name);
}

Status LiveQueries::LimitQuery(const std::string& name, double rate) {
  if (!(rate > 0 && rate <= 1)) return Status::Invalid("a limit's rate is above 0 and at most 1");
  const int place = Find(name);
  if (place < 0) return {};
  if (!queries_->specs[place].rate_may_fall) return Status::Invalid("query '" + name + "' does not say SAMPLE auto");
  Tell(LaneCommand::Kind::kLimit, static_cast<uint32_t>(place), rate);
  if (page_ != nullptr) page_->pipeline_limits[place] = rate;
  if (queries_->specs[place].sampled_by_port) reporter_->Limited(name, rate);
  return {};
}

Status LiveQueries::CreditQuery(const std::string& name, uint64_t packets, uint64_t version) {
  const int found = Find(name);
  if (found < 0) return {};
  const auto place = static_cast<uint32_t>(found);
  if (!queries_->specs[place].limit_leased) return Status::Invalid("query '" + name + "' has no limit that is leased");
  // Write the page first if the grant grows, and last if it shrinks: a process that takes over never has more than was
  // granted.
  if (page_ != nullptr) page_->granted[place] = std::max(packets, credits_->granted(place));
  credits_->Grant(place, packets);
  if (page_ != nullptr) page_->granted[place] = credits_->granted(place);
  leases_[place].version = version;
  leases_[place].lent = credits_->left(place);
  TellCredits(place);
  return {};
}

Status LiveQueries::ConfirmCopies(const std::string& name) {
  const int place = Find(name);
  if (place < 0) return {};
  Tell(LaneCommand::Kind::kMirrored, static_cast<uint32_t>(place));
  if (page_ != nullptr) page_->copies_confirmed[place] = true;
  return {};
}

Status LiveQueries::LoseCopies(uint64_t incarnation, uint64_t packets) {
  if (incarnation != incarnation_ || packets <= lost_copies_) return {};
  auto command = std::make_unique<LaneCommand>(LaneCommand::Kind::kLose, 0);
  command->packets = packets - lost_copies_;
  lost_copies_ = packets;
  // It is unknown which lane would have received packets that never arrived.
  Ask(lanes_[0].get(), std::move(command));
  return {};
}

// Reports when half of the grant is used up, and then whenever something has changed.
void LiveQueries::LookAtCredits(uint32_t place) {
  const Lease& lease = leases_[place];
  const uint64_t left = credits_->left(place);
  const bool changed = !lease.told || left != lease.left || credits_->refused(place) != lease.refused;
  if (changed && left <= lease.lent / 2) TellCredits(place);
}

void LiveQueries::TellCredits(uint32_t place) {
  Lease& lease = leases_[place];
  const uint64_t refused = credits_->refused(place), left = credits_->left(place), granted = credits_->granted(place);
  v1::MonitorStatus::Credits credits;
  credits.set_query(queries_->specs[place].name);
  credits.set_version(lease.version);
  credits.set_granted(granted);
  credits.set_taken(granted - left);
  credits.set_wanting(left <= lease.lent / 2);
  credits.set_refused(left == 0 && refused != lease.refused);
  reporter_->Credits(std::move(credits));
  lease.told = true;
  lease.left = left;
  lease.refused = refused;
}

void LiveQueries::Look() {
  for (uint32_t place : SetBits(queries_->taken)) {
    if (queries_->specs[place].limit_leased) LookAtCredits(place);
  }
  uint64_t done = queries_->taken;
  for (const auto& lane : lanes_) done &= lane->progress().done.load(std::memory_order_acquire);
  for (uint32_t place : SetBits(done)) {
    Accounting sum;
    for (const auto& unit : units_) {
      if (unit->Serves(place)) sum += unit->accounts()[place];
    }
    if (page_ != nullptr) page_->plans[place].Clear();
    events_->EndQuery(place);
    reporter_->QueryEnded(queries_->specs[place].name, QueryAccountingOf(queries_->specs[place], sum));
  }
  std::lock_guard lock(queries_->mutex);
  queries_->taken &= ~done;
}

}  // namespace tapline
