// Implements the node's calls (schema/multilog.proto), on node_server's threads, none of which touches the packet path.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "multilog/node/kept_alerts.h"
#include "multilog/node/node.h"
#include "multilog/node/node_stream.h"
#include "schema/multilog.grpc.pb.h"

namespace tapline::multilog {

class NodeService final {
 public:
  explicit NodeService(HostNode* node);
  ~NodeService();

  // Makes attach() return soon.
  void stop();

  grpc::Status attach(const v1::AttachRequest& request, NodeStream<v1::NodeEvent>* stream);
  grpc::Status describe(const v1::DescribeRequest& request, v1::NodeDescription* description);
  grpc::Status set_up_capture(const v1::CaptureRequest& request, v1::CaptureReply* reply);
  grpc::Status define(const v1::Definition& definition, v1::DefineReply* reply);
  grpc::Status remove(const v1::RemoveRequest& request, v1::RemoveReply* reply);
  grpc::Status query(const v1::QueryRequest& request, NodeStream<v1::RowBatch>* stream);
  grpc::Status aggregate(const v1::AggregateRequest& request, v1::AggregateReply* reply);
  grpc::Status pcapng(const v1::QueryRequest& request, NodeStream<v1::PcapngPiece>* stream);
  grpc::Status explain(const v1::QueryRequest& request, v1::ExplainReply* reply);
  grpc::Status endpoints(const v1::EndpointsRequest& request, v1::EndpointsReply* reply);

  // Neither call ever waits.
  grpc::Status freeze(const v1::FreezeRequest& request, v1::FreezeReply* reply);
  grpc::Status unfreeze(const v1::UnfreezeRequest& request, v1::UnfreezeReply* reply);

 private:
  void on_alert(const multilog::Alert& alert);
  void name_group(const multilog::Alert& alert, v1::NodeAlert* named) const;
  void fill_counters(v1::NodeCounters* counters);
  void fill_description(v1::NodeDescription* description);
  grpc::Status send(uint64_t after_alert, std::chrono::milliseconds beat, NodeStream<v1::NodeEvent>* stream);
  Status define_in(const v1::Definition& definition);
  Status add_filter(const v1::Definition::Filter& filter);
  Result<Snapshot> snapshot_for(const v1::QueryRequest& request);
  grpc::Status query_earliest(const v1::QueryRequest& request, NodeStream<v1::RowBatch>* stream);
  Result<Cursor> cursor_for(const v1::QueryRequest& request);

  HostNode* node_;
  // Serialises define(), remove() and set_up_capture(). Must be locked before `mutex_`.
  std::mutex changing_;
  // Guards the members below. Must not be held while the log is called, because alerts come from a thread that holds
  // the log's locks.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  // Each attached client reads alerts from here at its own pace.
  KeptAlerts alerts_;
  // The definitions in order, as clients sent them; those of a loaded log come first.
  std::vector<v1::Definition> definitions_;
  // The definition that is being added to the log; its trigger may alert before the log has accepted it.
  v1::Definition coming_;
};

}  // namespace tapline::multilog
