// Algorithm 1, host side: calls, and the stream that a coordinator keeps open.
#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {
namespace {

using grpc::ServerContext;

constexpr uint64_t kLeastFreezeNs = 1'000'000, kMostFreezeNs = 60'000'000'000;

void Refuse(const grpc::Status& status, v1::SnapshotAnswer* answer) {
  answer->mutable_refused()->set_code(status.error_code());
  answer->mutable_refused()->set_message(status.error_message());
}

}  // namespace

// One coordinator's stream: reads a command, writes its answer, reads the next. Runs on gRPC's threads, one at a time.
class NodeService::SnapshotStream final : public grpc::ServerBidiReactor<v1::SnapshotCommand, v1::SnapshotAnswer> {
 public:
  explicit SnapshotStream(NodeService* service) : service_(service) { StartRead(&command_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    answer_.Clear();
    Obey();
    StartWrite(&answer_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartRead(&command_);
  }
  void OnDone() override {
    v1::UnfreezeReply reply;
    if (frozen_ != 0) (void)service_->EndFreeze(frozen_, &reply);
    delete this;
  }

 private:
  void Obey() {
    if (command_.has_freeze()) {
      const grpc::Status status = service_->BeginFreeze(command_.freeze(), answer_.mutable_frozen());
      if (!status.ok()) return Refuse(status, &answer_);
      frozen_ = answer_.frozen().id();
    } else if (command_.has_unfreeze()) {
      const grpc::Status status = service_->EndFreeze(command_.unfreeze().id(), answer_.mutable_unfrozen());
      if (command_.unfreeze().id() == frozen_) frozen_ = 0;
      if (!status.ok()) Refuse(status, &answer_);
    } else {
      Refuse({grpc::StatusCode::INVALID_ARGUMENT, "no command: freeze or unfreeze"}, &answer_);
    }
  }

  NodeService* service_;
  v1::SnapshotCommand command_;
  v1::SnapshotAnswer answer_;
  uint64_t frozen_ = 0;
};

grpc::ServerBidiReactor<v1::SnapshotCommand, v1::SnapshotAnswer>* NodeService::Snapshots(grpc::CallbackServerContext*) {
  return new SnapshotStream(this);
}

grpc::Status NodeService::BeginFreeze(const v1::FreezeRequest& request, v1::FreezeReply* reply) {
  if (request.expiry_ns() < kLeastFreezeNs || request.expiry_ns() > kMostFreezeNs)
    return {grpc::StatusCode::INVALID_ARGUMENT, "expiry_ns is 1 ms to 60 s"};
  auto token = node_->log().Freeze(request.expiry_ns());
  if (!token.ok()) return ToGrpc(token.status());
  reply->set_id(token->id);
  reply->mutable_tails()->set_incarnation(node_->incarnation());
  for (const uint64_t tail : token->tails) reply->mutable_tails()->add_rows(tail);
  return grpc::Status::OK;
}

grpc::Status NodeService::EndFreeze(uint64_t id, v1::UnfreezeReply* reply) {
  auto kept = node_->log().Unfreeze(id);
  if (!kept.ok()) return ToGrpc(kept.status());
  reply->set_was_frozen(*kept);
  return grpc::Status::OK;
}

grpc::Status NodeService::Freeze(ServerContext*, const v1::FreezeRequest* request, v1::FreezeReply* reply) {
  return BeginFreeze(*request, reply);
}

grpc::Status NodeService::Unfreeze(ServerContext*, const v1::UnfreezeRequest* request, v1::UnfreezeReply* reply) {
  return EndFreeze(request->id(), reply);
}

}  // namespace tapline::multilog
