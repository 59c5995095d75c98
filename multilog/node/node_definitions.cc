// Implements a node's definitions and its capture settings.
#include <functional>
#include <set>
#include <string>

#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {

Status NodeService::add_filter(const v1::Definition::Filter& filter) {
  MultiLog& log = node_->log();
  if (!has_trees(filter)) return log.add_filter(filter.name(), filter.expression());
  const std::set<std::string> own(filter.aggregates().begin(), filter.aggregates().end());
  const bool sees_all = filter.scope().nodes_size() == 0;
  for (const Tree::Aggregate& aggregate : aggregates_of(filter.condition())) {
    const std::string name = aggregate.name().substr(0, aggregate.name().rfind('.'));
    // The error must not reveal the existence of another owner's aggregate.
    if (!sees_all && !own.contains(name))
      return Status(Code::kInvalid, "unknown field '" + aggregate.name() + "'", aggregate.at());
  }
  return log.add_filter(filter.name(), conjunction({filter.condition(), filter.scope()}));
}

Status NodeService::define_in(const v1::Definition& definition) {
  MultiLog& log = node_->log();
  switch (definition.kind_case()) {
    case v1::Definition::kFilter:
      return add_filter(definition.filter());
    case v1::Definition::kAggregate:
      return log.add_aggregate(spec_of(definition.aggregate()));
    case v1::Definition::kTrigger: {
      const auto spec = spec_of(definition.trigger());
      return spec.ok() ? log.add_trigger(*spec) : spec.status();
    }
    case v1::Definition::kIndex:
      return log.add_index(definition.index().field());
    case v1::Definition::KIND_NOT_SET:
      break;
  }
  return {Code::kInvalid, "nothing to define: give a filter, an aggregate, a trigger or an index"};
}

grpc::Status NodeService::define(const v1::Definition& definition, v1::DefineReply*) {
  const std::lock_guard one(changing_);
  std::unique_lock lock(mutex_);
  coming_ = definition;
  lock.unlock();
  const Status status = define_in(definition);
  lock.lock();
  coming_.Clear();
  if (status.ok()) definitions_.push_back(definition);
  return to_grpc(status);
}

grpc::Status NodeService::remove(const v1::RemoveRequest& request, v1::RemoveReply*) {
  const std::lock_guard one(changing_);
  MultiLog& log = node_->log();
  Status status(Code::kInvalid, "nothing to remove: name a filter, an aggregate, a trigger or an index");
  std::function<bool(const v1::Definition&)> is_it;
  switch (request.kind_case()) {
    case v1::RemoveRequest::kFilter:
      status = log.remove_filter(request.filter());
      is_it = [&](const v1::Definition& definition) { return definition.filter().name() == request.filter(); };
      break;
    case v1::RemoveRequest::kAggregate:
      status = log.remove_aggregate(request.aggregate());
      is_it = [&](const v1::Definition& definition) { return definition.aggregate().name() == request.aggregate(); };
      break;
    case v1::RemoveRequest::kTrigger:
      status = log.remove_trigger(request.trigger());
      is_it = [&](const v1::Definition& definition) { return definition.trigger().name() == request.trigger(); };
      break;
    case v1::RemoveRequest::kIndex:
      status = log.remove_index(request.index());
      is_it = [&](const v1::Definition& definition) { return definition.index().field() == request.index(); };
      break;
    case v1::RemoveRequest::KIND_NOT_SET:
      break;
  }
  if (!status.ok()) return to_grpc(status);
  const std::lock_guard lock(mutex_);
  std::erase_if(definitions_, is_it);
  if (request.kind_case() == v1::RemoveRequest::kTrigger) alerts_.forget(request.trigger());
  return grpc::Status::OK;
}

grpc::Status NodeService::set_up_capture(const v1::CaptureRequest& request, v1::CaptureReply*) {
  if (!(request.sampling_rate() > 0 && request.sampling_rate() <= 1))
    return {grpc::StatusCode::INVALID_ARGUMENT, "sampling_rate must be above 0 and at most 1"};
  const std::lock_guard one(changing_);
  return to_grpc(node_->set_up_capture({request.sampling_rate(), request.filter()}));
}

}  // namespace tapline::multilog
