// The definitions of a node, and its capture settings.
#include <functional>
#include <set>
#include <string>

#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {

Status NodeService::AddFilter(const v1::Definition::Filter& filter) {
  MultiLog& log = node_->log();
  if (!HasTrees(filter)) return log.AddFilter(filter.name(), filter.expression());
  const std::set<std::string> own(filter.aggregates().begin(), filter.aggregates().end());
  const bool sees_all = filter.scope().nodes_size() == 0;
  for (const Tree::Aggregate& aggregate : AggregatesOf(filter.condition())) {
    const std::string name = aggregate.name().substr(0, aggregate.name().rfind('.'));
    // The error must not reveal that an aggregate of somebody else exists.
    if (!sees_all && !own.contains(name))
      return Status(Code::kInvalid, "unknown field '" + aggregate.name() + "'", aggregate.at());
  }
  return log.AddFilter(filter.name(), And({filter.condition(), filter.scope()}));
}

Status NodeService::DefineIn(const v1::Definition& definition) {
  MultiLog& log = node_->log();
  switch (definition.kind_case()) {
    case v1::Definition::kFilter:
      return AddFilter(definition.filter());
    case v1::Definition::kAggregate:
      return log.AddAggregate(SpecOf(definition.aggregate()));
    case v1::Definition::kTrigger: {
      const auto spec = SpecOf(definition.trigger());
      return spec.ok() ? log.AddTrigger(*spec) : spec.status();
    }
    case v1::Definition::kIndex:
      return log.AddIndex(definition.index().field());
    case v1::Definition::KIND_NOT_SET:
      break;
  }
  return {Code::kInvalid, "nothing to define: a filter, an aggregate, a trigger or an index"};
}

grpc::Status NodeService::Define(const v1::Definition& definition, v1::DefineReply*) {
  const std::lock_guard one(changing_);
  std::unique_lock lock(mutex_);
  coming_ = definition;
  lock.unlock();
  const Status status = DefineIn(definition);
  lock.lock();
  coming_.Clear();
  if (status.ok()) definitions_.push_back(definition);
  return ToGrpc(status);
}

grpc::Status NodeService::Remove(const v1::RemoveRequest& request, v1::RemoveReply*) {
  const std::lock_guard one(changing_);
  MultiLog& log = node_->log();
  Status status(Code::kInvalid, "nothing to remove: name a filter, an aggregate, a trigger or an index");
  std::function<bool(const v1::Definition&)> is_it;
  switch (request.kind_case()) {
    case v1::RemoveRequest::kFilter:
      status = log.RemoveFilter(request.filter());
      is_it = [&](const v1::Definition& each) { return each.filter().name() == request.filter(); };
      break;
    case v1::RemoveRequest::kAggregate:
      status = log.RemoveAggregate(request.aggregate());
      is_it = [&](const v1::Definition& each) { return each.aggregate().name() == request.aggregate(); };
      break;
    case v1::RemoveRequest::kTrigger:
      status = log.RemoveTrigger(request.trigger());
      is_it = [&](const v1::Definition& each) { return each.trigger().name() == request.trigger(); };
      break;
    case v1::RemoveRequest::kIndex:
      status = log.RemoveIndex(request.index());
      is_it = [&](const v1::Definition& each) { return each.index().field() == request.index(); };
      break;
    case v1::RemoveRequest::KIND_NOT_SET:
      break;
  }
  if (!status.ok()) return ToGrpc(status);
  const std::lock_guard lock(mutex_);
  std::erase_if(definitions_, is_it);
  return grpc::Status::OK;
}

grpc::Status NodeService::SetUpCapture(const v1::CaptureRequest& request, v1::CaptureReply*) {
  if (!(request.sampling_rate() > 0 && request.sampling_rate() <= 1))
    return {grpc::StatusCode::INVALID_ARGUMENT, "sampling_rate is above 0 and at most 1"};
  const std::lock_guard one(changing_);
  return ToGrpc(node_->SetUpCapture({request.sampling_rate(), request.filter()}));
}

}  // namespace tapline::multilog
