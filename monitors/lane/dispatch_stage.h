// Pipeline mode (NetAlytics section 5.1). Through one ring per worker, the receiving lane passes each packet to the
// workers whose parsers want it, without copying its bytes.
//
//                             ┌─ ring ─▶ worker 0 ─┐ group "http_get", by flow
//   lane: poll, decode, match ┼─ ring ─▶ worker 1 ─┘
//                             └─ ring ─▶ worker 2     group of the other parsers
//
// Within a group, a flow always goes to the same worker; if none of the group's parsers follows flows, packets are
// distributed round-robin. A packet enters the rings of all groups that want it or, if one is full, none of them. In
// the latter case, a live capture counts the packet as dropped for its queries, and a capture file waits.
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

// Workers that run the same parsers and divide the packets among themselves.
struct WorkerGroup {
  std::vector<std::string> parsers;
  bool by_flow = true;
  // True if one of the parsers needs repeated views of packets.
  bool all_views = false;
  bool fragments = false;  // true if one of them needs fragments
  bool losses = false;     // true if one of them needs losses
  std::vector<std::unique_ptr<Worker>> workers;
};

class DispatchStage final : public PacketStage {
 public:
  // `queries` are the query slots. The lane counts into `accounts`, and the stage passes the lane's counts for a query
  // to the first worker that serves the query. `queries`, `source` (the lane's source) and `accounts` must outlive the
  // stage.
  DispatchStage(std::span<const QuerySpec> queries, std::vector<WorkerGroup> groups, PacketSource* source,
                QueryAccounts* accounts);
  ~DispatchStage() override;

  // Starts the workers' threads.
  void start();

  void add_query(uint32_t query) override;
  void process(std::span<Packet> packets) override;
  bool wants_all_views() const override;
  bool wants_fragments() const override;
  bool wants_losses() const override;
  void lose(const LostPackets& lost) override;
  void advance(int64_t now_ns) override;
  void begin_end(uint64_t queries) override;
  // The workers end the queries' streams, so there is nothing to continue here.
  bool continue_end() override { return true; }
  uint64_t done(uint64_t queries) const override;
  OutputStats backlog() const override;
  void set_sampling_rate(uint32_t query, double rate) override;
  void set_watched_since(uint32_t query, int64_t time_ns) override;
  void capture_over() override { send_to_all({.kind = WorkerCommand::Kind::kOver}); }
  void tick(int64_t monotonic_ns) override;
  Status finish() override;
  Status status() const override;

  std::span<const WorkerGroup> groups() const { return groups_; }

 private:
  struct Route {
    WorkerGroup* group;
    uint64_t queries;  // queries with a parser in the group
    uint32_t next;     // next worker in round-robin order
  };

  static bool wants(const WorkerGroup& group, const Packet& packet);
  Worker* choose(Route& route, const Packet& packet);
  bool dispatch(const Packet& packet);
  void drop(const Packet& packet);
  void report_dropped();
  void publish();
  void await_drained();
  void send(Worker& worker, WorkerCommand command);
  void send_to_all(const WorkerCommand& command);
  // Sends the command to the workers that serve the query, with the query's bit set.
  void send_of(uint32_t query, WorkerCommand command);
  void send_accounts(uint64_t queries);
  bool serves(const WorkerGroup& group, uint32_t query) const;

  std::span<const QuerySpec> queries_;
  std::vector<WorkerGroup> groups_;
  std::vector<Route> routes_;
  std::vector<Worker*> workers_;
  PacketSource* source_;
  QueryAccounts* accounts_;
  QueryAccounts handed_on_;
  uint64_t active_ = 0;
  LostPackets dropped_;               // packets that were dropped since the last report
  int64_t now_ns_ = INT64_MIN;        // packet time
  int64_t sent_time_ns_ = INT64_MIN;  // packet time last sent to the workers
  int64_t sent_at_ns_ = 0;            // monotonic time
  int64_t accounts_sent_at_ns_ = 0;   // monotonic time
  bool finished_ = false;
};

}  // namespace tapline
