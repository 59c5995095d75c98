#include "multilog/node/snapshot_session.h"

namespace tapline::multilog {
namespace {

void refuse(const grpc::Status& status, v1::SnapshotAnswer* response) {
  response->mutable_refused()->set_code(status.error_code());
  response->mutable_refused()->set_message(status.error_message());
}

}  // namespace

SnapshotSession::~SnapshotSession() {
  if (frozen_ == 0) return;
  v1::UnfreezeRequest request;
  v1::UnfreezeReply reply;
  request.set_id(frozen_);
  (void)service_->unfreeze(request, &reply);
}

void SnapshotSession::execute(const v1::SnapshotCommand& command, v1::SnapshotAnswer* response) {
  if (command.has_freeze()) {
    const grpc::Status status = service_->freeze(command.freeze(), response->mutable_frozen());
    if (!status.ok()) return refuse(status, response);
    frozen_ = response->frozen().id();
  } else if (command.has_unfreeze()) {
    const grpc::Status status = service_->unfreeze(command.unfreeze(), response->mutable_unfrozen());
    if (command.unfreeze().id() == frozen_) frozen_ = 0;
    if (!status.ok()) refuse(status, response);
  } else {
    refuse({grpc::StatusCode::INVALID_ARGUMENT, "no command: send freeze or unfreeze"}, response);
  }
}

}  // namespace tapline::multilog
