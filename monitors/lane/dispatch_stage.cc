#include "monitors/lane/dispatch_stage.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "parsers/api/bits.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

constexpr int64_t kTimeIntervalNs = kNsPerMs;
constexpr int64_t kSendAccountsEveryNs = 50'000'000;
constexpr size_t kMaxGroups = 16;

}  // namespace

DispatchStage::DispatchStage(std::span<const QuerySpec> queries, std::vector<WorkerGroup> groups, PacketSource* source,
                             QueryAccounts* accounts)
    : queries_(queries),
      groups_(std::move(groups)),
      source_(source),
      accounts_(accounts),
      handed_on_(accounts->size()) {
  for (WorkerGroup& group : groups_) {
    routes_.push_back({&group, 0, 0});
    for (auto& worker : group.workers) workers_.push_back(worker.get());
  }
}

DispatchStage::~DispatchStage() = default;

void DispatchStage::start() {
  for (Worker* worker : workers_) worker->start();
}

bool DispatchStage::serves(const WorkerGroup& group, uint32_t query) const {
  const auto& wanted = queries_[query].parsers;
  return std::any_of(group.parsers.begin(), group.parsers.end(), [&](const std::string& parser) {
    return std::find(wanted.begin(), wanted.end(), parser) != wanted.end();
  });
}

void DispatchStage::add_query(uint32_t query) {
  const uint64_t bit = uint64_t{1} << query;
  (*accounts_)[query] = handed_on_[query] = {};
  active_ |= bit;
  for (Route& route : routes_) {
    route.queries &= ~bit;
    if (!serves(*route.group, query)) continue;
    route.queries |= bit;
    for (auto& worker : route.group->workers) {
      worker->forget(bit);
      send(*worker, {.kind = WorkerCommand::Kind::kAdd, .queries = bit});
    }
  }
}

Worker* DispatchStage::choose(Route& route, const Packet& packet) {
  const auto& workers = route.group->workers;
  const auto count = static_cast<uint32_t>(workers.size());
  if (count == 1) return workers[0].get();
  if (!route.group->by_flow) return workers[route.next++ % count].get();
  // Scales the high half of the hash to the number of workers, which needs no division.
  return workers[(packet.flow_hash >> 32) * count >> 32].get();
}

bool DispatchStage::wants(const WorkerGroup& group, const Packet& packet) {
  if (!packet.repeated_view) return true;
  return packet.fragment ? group.fragments : group.all_views;
}

bool DispatchStage::dispatch(const Packet& packet) {
  struct Choice {
    Worker* worker;
    uint64_t queries;
  };
  std::array<Choice, kMaxGroups> chosen;
  size_t count = 0;
  for (Route& route : routes_) {
    if ((packet.queries & route.queries) == 0 || !wants(*route.group, packet)) continue;
    Worker* worker = choose(route, packet);
    while (worker->packets().room(1) == 0) {
      if (source_->live() || worker->stopped()) return false;
      publish();
      std::this_thread::yield();
    }
    chosen[count++] = {worker, packet.queries & route.queries};
  }
  if (source_->retains() && packet.buffer != nullptr && count > 0)
    source_->retain(packet.buffer, static_cast<uint16_t>(count));
  // A worker sees only queries whose end it will also receive.
  for (size_t i = 0; i < count; ++i) chosen[i].worker->packets().push(packet).queries = chosen[i].queries;
  return true;
}

bool DispatchStage::wants_all_views() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const WorkerGroup& group) { return group.all_views; });
}

bool DispatchStage::wants_fragments() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const WorkerGroup& group) { return group.fragments; });
}

bool DispatchStage::wants_losses() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const WorkerGroup& group) { return group.losses; });
}

void DispatchStage::lose(const LostPackets& lost) {
  // One worker of each group, because triggers add up the losses of all of them.
  for (const WorkerGroup& group : groups_) {
    if (group.losses) send(*group.workers[0], {.kind = WorkerCommand::Kind::kLose, .lost = lost});
  }
}

// Reports the dropped packets as lost, together with those of the same millisecond.
void DispatchStage::report_dropped() {
  if (dropped_.packets > 0) lose(std::exchange(dropped_, {}));
}

void DispatchStage::drop(const Packet& packet) {
  if (dropped_.packets++ == 0) dropped_.from_ns = dropped_.until_ns = packet.time_ns;
  dropped_.from_ns = std::min(dropped_.from_ns, packet.time_ns);
  dropped_.until_ns = std::max(dropped_.until_ns, packet.time_ns);
  for (uint32_t query : SetBits(packet.queries)) {
    Accounting& account = (*accounts_)[query];
    // Another view of the packet was counted, not this one.
    if (!queries_[query].match.counts(packet)) {
      account.lose_packets(index_of(Drop::kWorkerRingFull), 1);
      continue;
    }
    --account.packets_out;
    account.packets_polled -= queries_[query].measures_queues && packet.polled_time;
    ++account.dropped[index_of(Drop::kWorkerRingFull)];
  }
}

void DispatchStage::process(std::span<Packet> packets) {
  bool retained = source_->retains();
  for (const Packet& packet : packets) {
    now_ns_ = std::max(now_ns_, packet.time_ns);
    if (dropped_.packets > 0 && packet.time_ns / kNsPerMs > dropped_.until_ns / kNsPerMs) report_dropped();
    retained &= packet.buffer != nullptr;  // a reassembled datagram has no buffer
    if (!dispatch(packet)) drop(packet);
  }
  publish();
  if (!retained) await_drained();
}

void DispatchStage::publish() {
  for (Worker* worker : workers_) worker->packets().publish();
}

// Waits until the workers have processed this burst. The bytes of packets that the source does not retain become
// invalid afterwards.
void DispatchStage::await_drained() {
  for (Worker* worker : workers_) {
    while (!worker->packets().drained() && !worker->stopped()) std::this_thread::yield();
  }
}

void DispatchStage::send(Worker& worker, WorkerCommand command) {
  command.after_packets = worker.packets().pushed();
  while (worker.commands().room(1) == 0 && !worker.stopped()) std::this_thread::yield();
  if (worker.commands().room(1) == 0) {
    delete command.account;
    return;
  }
  worker.commands().push(command);
  worker.commands().publish();
}

void DispatchStage::send_to_all(const WorkerCommand& command) {
  for (Worker* worker : workers_) send(*worker, command);
}

// Sends each query's counts since the previous call. They go to the first worker that serves the query.
void DispatchStage::send_accounts(uint64_t queries) {
  for (uint32_t query : SetBits(queries)) {
    const Accounting& now = (*accounts_)[query];
    if (now == handed_on_[query]) continue;
    const uint64_t bit = uint64_t{1} << query;
    auto route = std::find_if(routes_.begin(), routes_.end(), [&](const Route& r) { return (r.queries & bit) != 0; });
    if (route == routes_.end()) continue;
    auto* delta = new Accounting(now - handed_on_[query]);
    send(*route->group->workers[0], {.kind = WorkerCommand::Kind::kAccount, .queries = bit, .account = delta});
    handed_on_[query] = now;
  }
}

void DispatchStage::advance(int64_t now_ns) {
  if (now_ns / kNsPerMs > dropped_.until_ns / kNsPerMs) report_dropped();
  const bool second_passed = sent_time_ns_ == INT64_MIN || now_ns / kNsPerSecond > sent_time_ns_ / kNsPerSecond;
  now_ns_ = std::max(now_ns_, now_ns);
  if (!second_passed) return;
  // Sends the past second's counts before time advances, since windows end at whole seconds.
  send_accounts(active_);
  send_to_all({.kind = WorkerCommand::Kind::kAdvance, .time_ns = now_ns_});
  sent_time_ns_ = now_ns_;
}

void DispatchStage::tick(int64_t monotonic_ns) {
  if (monotonic_ns - sent_at_ns_ < kTimeIntervalNs) return;
  sent_at_ns_ = monotonic_ns;
  if (now_ns_ > sent_time_ns_) {
    send_to_all({.kind = WorkerCommand::Kind::kAdvance, .time_ns = now_ns_});
    sent_time_ns_ = now_ns_;
  }
  if (monotonic_ns - accounts_sent_at_ns_ < kSendAccountsEveryNs) return;
  accounts_sent_at_ns_ = monotonic_ns;
  send_accounts(active_);
}

void DispatchStage::begin_end(uint64_t queries) {
  report_dropped();
  send_accounts(queries & active_);
  active_ &= ~queries;
  for (const Route& route : routes_) {
    if ((route.queries & queries) == 0) continue;
    for (auto& worker : route.group->workers) {
      if (now_ns_ != INT64_MIN) send(*worker, {.kind = WorkerCommand::Kind::kAdvance, .time_ns = now_ns_});
      send(*worker, {.kind = WorkerCommand::Kind::kEnd, .queries = route.queries & queries});
    }
  }
}

uint64_t DispatchStage::done(uint64_t queries) const {
  uint64_t done = queries;
  for (const Route& route : routes_) {
    for (const auto& worker : route.group->workers) done &= worker->done() | ~route.queries;
  }
  return done;
}

OutputStats DispatchStage::backlog() const {
  OutputStats worst;
  for (const Worker* worker : workers_) {
    worst.fill = std::max(worst.fill, worker->output_fill());
    worst.refused += worker->output_refused();
  }
  return worst;
}

void DispatchStage::send_of(uint32_t query, WorkerCommand command) {
  command.queries = uint64_t{1} << query;
  for (const Route& route : routes_) {
    if ((route.queries & command.queries) == 0) continue;
    for (auto& worker : route.group->workers) send(*worker, command);
  }
}

void DispatchStage::set_sampling_rate(uint32_t query, double rate) {
  send_of(query, {.kind = WorkerCommand::Kind::kRate, .rate = rate});
}

void DispatchStage::set_watched_since(uint32_t query, int64_t time_ns) {
  send_of(query, {.kind = WorkerCommand::Kind::kWatched, .time_ns = time_ns});
}

Status DispatchStage::finish() {
  if (!finished_) send_to_all({.kind = WorkerCommand::Kind::kFinish});
  finished_ = true;
  for (Worker* worker : workers_) worker->join();
  return status();
}

Status DispatchStage::status() const {
  for (const Worker* worker : workers_) {
    if (worker->failed()) return worker->status();
  }
  return {};
}

}  // namespace tapline
