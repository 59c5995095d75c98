// Pipeline mode (NetAlytics section 5.1): the lane that receives packets hands each to the workers whose parsers want
// it, without a copy of its bytes, through a ring for each worker.
//
//                             ┌─ ring ─▶ worker 0 ─┐ group "http_get", by flow
//   lane: poll, decode, match ┼─ ring ─▶ worker 1 ─┘
//                             └─ ring ─▶ worker 2     group of the other parsers
//
// Within a group a flow always goes to the same worker; where none of its parsers follows flows, packets go round. A
// packet enters the rings of all groups that want it or, where one is full, none: live captures count it as dropped for
// its queries, capture files wait.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "monitors/lane/packet_stage.h"
#include "monitors/lane/worker.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

// Workers that run the same parsers and share their flows.
struct WorkerGroup {
  std::vector<std::string> parsers;
  bool by_flow = true;
  std::vector<std::unique_ptr<Worker>> workers;
};

class DispatchStage final : public PacketStage {
 public:
  // `queries` are places; `accounts` is what the lane counts into. What it counts of a query is handed on to the first
  // worker that serves it. All outlive the stage; `source` is the lane's.
  DispatchStage(std::span<const QuerySpec> queries, std::vector<WorkerGroup> groups, PacketSource* source,
                QueryAccounts* accounts);
  ~DispatchStage() override;

  // Starts the workers' threads.
  void Start();

  void AddQuery(uint32_t query) override;
  void Process(std::span<Packet> packets) override;
  void Advance(int64_t now_ns) override;
  void BeginEnd(uint64_t queries) override;
  // The ends are the workers' to send.
  bool ContinueEnd() override { return true; }
  uint64_t Done(uint64_t queries) const override;
  OutputStats backlog() const override;
  void SetSamplingRate(uint32_t query, double rate) override;
  void SetWatchedSince(uint32_t query, int64_t time_ns) override;
  void CaptureOver() override { SendToAll({.kind = WorkerCommand::Kind::kOver}); }
  void Tick(int64_t monotonic_ns) override;
  Status Finish() override;
  Status status() const override;

  std::span<const WorkerGroup> groups() const { return groups_; }

 private:
  struct Route {
    WorkerGroup* group;
    uint64_t queries;  // those with a parser in the group
    uint32_t next;     // where packets go round
  };

  Worker* Choose(Route& route, const Packet& packet);
  bool Dispatch(const Packet& packet);
  void Drop(const Packet& packet);
  void Publish();
  void AwaitDrained();
  void Send(Worker& worker, WorkerCommand command);
  void SendToAll(const WorkerCommand& command);
  // To the workers that serve the query; sets its bit.
  void SendOf(uint32_t query, WorkerCommand command);
  void SendAccounts(uint64_t queries);
  bool Serves(const WorkerGroup& group, uint32_t query) const;

  std::span<const QuerySpec> queries_;
  std::vector<WorkerGroup> groups_;
  std::vector<Route> routes_;
  std::vector<Worker*> workers_;
  PacketSource* source_;
  QueryAccounts* accounts_;
  QueryAccounts handed_on_;
  uint64_t active_ = 0;
  int64_t now_ns_ = INT64_MIN;       // packet time
  int64_t told_ns_ = INT64_MIN;      // packet time that the workers were told
  int64_t told_at_ns_ = 0;           // monotonic
  int64_t accounts_sent_at_ns_ = 0;  // monotonic
  bool finished_ = false;
};

}  // namespace tapline
