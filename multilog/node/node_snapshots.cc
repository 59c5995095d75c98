// Implements a node's part of a distributed snapshot.
#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"
#include "parsers/api/time.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kMinFreezeNs = kNsPerMs, kMaxFreezeNs = 60 * kNsPerSecond;

}  // namespace

grpc::Status NodeService::freeze(const v1::FreezeRequest& request, v1::FreezeReply* reply) {
  if (request.expiry_ns() < kMinFreezeNs || request.expiry_ns() > kMaxFreezeNs)
    return {grpc::StatusCode::INVALID_ARGUMENT, "expiry_ns must be 1 ms to 60 s"};
  auto token = node_->log().freeze(request.expiry_ns());
  if (!token.ok()) return to_grpc(token.status());
  reply->set_id(token->id);
  reply->mutable_tails()->set_incarnation(node_->incarnation());
  for (const uint64_t tail : token->tails) reply->mutable_tails()->add_rows(tail);
  return grpc::Status::OK;
}

grpc::Status NodeService::unfreeze(const v1::UnfreezeRequest& request, v1::UnfreezeReply* reply) {
  auto kept = node_->log().unfreeze(request.id());
  if (!kept.ok()) return to_grpc(kept.status());
  reply->set_was_frozen(*kept);
  return grpc::Status::OK;
}

}  // namespace tapline::multilog
