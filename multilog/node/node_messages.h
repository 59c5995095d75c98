// Converts between MultiLog's types and the messages of schema/multilog.proto.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "multilog/multilog.h"
#include "schema/multilog.pb.h"

namespace tapline::multilog {

// Returns false if the message is from a control plane of the previous version, which sends only text.
template <typename Message>
bool has_trees(const Message& message) {
  return message.has_condition() || message.has_scope();
}

grpc::Status to_grpc(const Status& status);
// Converts a number; sets nothing if it is missing.
void fill(const Number& number, v1::NodeNumber* out);
void fill(const AggregateValue& value, const Schema& schema, const std::vector<std::string>& group_by,
          v1::AggregateReply* reply);
FunctionSpec spec_of(const v1::AggregateFunction& function);
QuerySpec spec_of(const v1::QueryRequest& request);
// Returns kInvalid for an invalid severity.
Result<TriggerSpec> spec_of(const v1::Definition::Trigger& trigger);
AggregateSpec spec_of(const v1::Definition::StoredAggregate& aggregate);
// Returns a loaded log's definitions as messages.
std::vector<v1::Definition> definitions_of(const MultiLog::Definitions& definitions);

}  // namespace tapline::multilog
