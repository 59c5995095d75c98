// What a node answers (schema/multilog.proto), on node_server's threads: none of them ever touches the path of packets.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "multilog/node/node.h"
#include "multilog/node/node_stream.h"
#include "schema/multilog.grpc.pb.h"

namespace tapline::multilog {

class NodeService final {
 public:
  explicit NodeService(HostNode* node);
  ~NodeService();

  // Attach() ends soon.
  void Stop();

  grpc::Status Attach(const v1::AttachRequest& request, NodeStream<v1::NodeEvent>* stream);
  grpc::Status Describe(const v1::DescribeRequest& request, v1::NodeDescription* description);
  grpc::Status SetUpCapture(const v1::CaptureRequest& request, v1::CaptureReply* reply);
  grpc::Status Define(const v1::Definition& definition, v1::DefineReply* reply);
  grpc::Status Remove(const v1::RemoveRequest& request, v1::RemoveReply* reply);
  grpc::Status Query(const v1::QueryRequest& request, NodeStream<v1::RowBatch>* stream);
  grpc::Status Aggregate(const v1::AggregateRequest& request, v1::AggregateReply* reply);
  grpc::Status Pcapng(const v1::QueryRequest& request, NodeStream<v1::PcapngPiece>* stream);
  grpc::Status Explain(const v1::QueryRequest& request, v1::ExplainReply* reply);
  grpc::Status Endpoints(const v1::EndpointsRequest& request, v1::EndpointsReply* reply);

  // These two never wait.
  grpc::Status Freeze(const v1::FreezeRequest& request, v1::FreezeReply* reply);
  grpc::Status Unfreeze(const v1::UnfreezeRequest& request, v1::UnfreezeReply* reply);

 private:
  // Alerts on their way to one who is attached. Bounded: the oldest go, counted.
  struct Listener {
    std::deque<v1::NodeAlert> alerts;
  };

  void OnAlert(const multilog::Alert& alert);
  void NameGroup(const multilog::Alert& alert, v1::NodeAlert* named) const;
  void FillCounters(v1::NodeCounters* counters);
  void FillDescription(v1::NodeDescription* description);
  grpc::Status Heed(std::list<Listener>::iterator me, std::chrono::milliseconds beat,
                    NodeStream<v1::NodeEvent>* stream);
  Status DefineIn(const v1::Definition& definition);
  Result<Snapshot> SnapshotFor(const v1::QueryRequest& request);
  grpc::Status QueryEarliest(const v1::QueryRequest& request, NodeStream<v1::RowBatch>* stream);
  Result<Cursor> CursorFor(const v1::QueryRequest& request);

  HostNode* node_;
  // Define(), Remove() and SetUpCapture() one after the other. Taken before `mutex_`.
  std::mutex changing_;
  // What follows is under this. The log is never called with it: alerts come from a thread that holds locks of the log.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::list<Listener> listeners_;
  uint64_t lost_alerts_ = 0;
  // What was defined here, as it was said, in order; what a loaded log had comes first.
  std::vector<v1::Definition> definitions_;
  // On its way into the log: its trigger may alert before it is known that it fits.
  v1::Definition coming_;
};

}  // namespace tapline::multilog
