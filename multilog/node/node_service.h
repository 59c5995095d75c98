// The gRPC face of a node (schema/multilog.proto). Its threads are gRPC's: none of them ever touches the path of
// packets.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "multilog/node/node.h"
#include "schema/multilog.grpc.pb.h"

namespace tapline::multilog {

class NodeService final : public v1::MultiLogNode::WithCallbackMethod_Snapshots<v1::MultiLogNode::Service> {
 public:
  explicit NodeService(HostNode* node);
  ~NodeService() override;

  // Streams that last end soon; what comes later is UNAVAILABLE.
  void Stop();

  grpc::Status Attach(grpc::ServerContext*, const v1::AttachRequest*, grpc::ServerWriter<v1::NodeEvent>*) override;
  grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*, v1::NodeDescription*) override;
  grpc::Status SetUpCapture(grpc::ServerContext*, const v1::CaptureRequest*, v1::CaptureReply*) override;
  grpc::Status Define(grpc::ServerContext*, const v1::Definition*, v1::DefineReply*) override;
  grpc::Status Remove(grpc::ServerContext*, const v1::RemoveRequest*, v1::RemoveReply*) override;
  grpc::Status Query(grpc::ServerContext*, const v1::QueryRequest*, grpc::ServerWriter<v1::RowBatch>*) override;
  grpc::Status Aggregate(grpc::ServerContext*, const v1::AggregateRequest*, v1::AggregateReply*) override;
  grpc::Status Pcapng(grpc::ServerContext*, const v1::QueryRequest*, grpc::ServerWriter<v1::PcapngPiece>*) override;
  grpc::Status Explain(grpc::ServerContext*, const v1::QueryRequest*, v1::ExplainReply*) override;
  grpc::Status Endpoints(grpc::ServerContext*, const v1::EndpointsRequest*, v1::EndpointsReply*) override;
  grpc::Status Freeze(grpc::ServerContext*, const v1::FreezeRequest*, v1::FreezeReply*) override;
  grpc::Status Unfreeze(grpc::ServerContext*, const v1::UnfreezeRequest*, v1::UnfreezeReply*) override;

  grpc::ServerBidiReactor<v1::SnapshotCommand, v1::SnapshotAnswer>* Snapshots(grpc::CallbackServerContext*) override;

 private:
  class SnapshotStream;
  // Alerts on their way to one who is attached. Bounded: the oldest go, counted.
  struct Listener {
    std::deque<v1::NodeAlert> alerts;
  };

  void OnAlert(const multilog::Alert& alert);
  void FillCounters(v1::NodeCounters* counters);
  void FillDescription(v1::NodeDescription* description);
  Status DefineIn(const v1::Definition& definition);
  grpc::Status BeginFreeze(const v1::FreezeRequest& request, v1::FreezeReply* reply);
  grpc::Status EndFreeze(uint64_t id, v1::UnfreezeReply* reply);
  Result<Snapshot> SnapshotFor(const v1::QueryRequest& request);
  grpc::Status QueryEarliest(grpc::ServerContext* context, const v1::QueryRequest& request,
                             grpc::ServerWriter<v1::RowBatch>* writer);
  Result<Cursor> CursorFor(const v1::QueryRequest& request);

  HostNode* node_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::list<Listener> listeners_;
  uint64_t lost_alerts_ = 0;
  // What was defined here, as it was said, in order; what a loaded log had comes first.
  std::vector<v1::Definition> definitions_;
};

}  // namespace tapline::multilog
