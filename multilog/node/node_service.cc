#include "multilog/node/node_service.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "multilog/node/pcapng_writer.h"

namespace tapline::multilog {
namespace {

using grpc::ServerContext;

constexpr size_t kMostAlertsWaiting = 1024;
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr uint64_t kLeastFreezeNs = 1'000'000, kMostFreezeNs = 60'000'000'000;
constexpr uint32_t kLeastHeartbeatMs = 10, kMostHeartbeatMs = 60'000;

grpc::Status ToGrpc(const Status& status) {
  using grpc::StatusCode;
  const auto code = [&] {
    switch (status.code()) {
      case Code::kOk:
        return StatusCode::OK;
      case Code::kInvalid:
        return StatusCode::INVALID_ARGUMENT;
      case Code::kNotFound:
        return StatusCode::NOT_FOUND;
      case Code::kExists:
        return StatusCode::ALREADY_EXISTS;
      case Code::kInUse:
      case Code::kFrozen:
        return StatusCode::FAILED_PRECONDITION;
      case Code::kMemoryFull:
      case Code::kDiskFull:
        return StatusCode::RESOURCE_EXHAUSTED;
      case Code::kIoError:
      case Code::kCorrupt:
        return StatusCode::INTERNAL;
      case Code::kStopped:
        return StatusCode::UNAVAILABLE;
    }
    return StatusCode::INTERNAL;
  }();
  std::string message = status.message();
  if (status.position()) message += " (at byte " + std::to_string(*status.position()) + " of the expression)";
  return {code, message};
}

uint64_t WallNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Fill(const Number& number, v1::NodeNumber* out) {
  if (!number.present) return;
  constexpr __int128 kMost = INT64_MAX, kLeast = INT64_MIN;
  // Sums are kept in 128 bits.
  if (number.is_float || number.whole > kMost || number.whole < kLeast) {
    out->set_real(number.AsDouble());
  } else {
    out->set_whole(static_cast<int64_t>(number.whole));
  }
}

FunctionSpec SpecOf(const v1::AggregateFunction& function) {
  FunctionSpec spec;
  spec.function = function.function();
  spec.field = function.field();
  if (function.quantiles_size() > 0) spec.quantiles.assign(function.quantiles().begin(), function.quantiles().end());
  spec.group_by.assign(function.group_by().begin(), function.group_by().end());
  if (function.max_groups() > 0) spec.max_groups = function.max_groups();
  return spec;
}

QuerySpec SpecOf(const v1::QueryRequest& request) {
  QuerySpec spec;
  spec.expression = request.expression();
  spec.filter = request.filter();
  spec.within.assign(request.within().begin(), request.within().end());
  spec.time_low = request.time_low_ns();
  if (request.time_high_ns() > 0) spec.time_high = request.time_high_ns();
  return spec;
}

void Fill(const AggregateValue& value, const Schema& schema, const std::vector<std::string>& group_by,
          v1::AggregateReply* reply) {
  for (const std::string& name : value.names) reply->add_names(name);
  for (const Number& number : value.values) Fill(number, reply->add_values());
  for (const Group& group : value.groups) {
    auto* out = reply->add_groups();
    out->set_rest(group.is_rest);
    for (const std::string& text : FormatKeys(schema, group_by, group.keys)) out->add_keys(text);
    for (const Number& number : group.outputs) Fill(number, out->add_values());
  }
  reply->set_unreadable_segments(value.unreadable);
}

// Calls take(row) for each row until it says no, the limit is reached, or the client has gone.
template <typename Take>
void ForEachRow(Cursor* cursor, uint64_t limit, const ServerContext& context, Take take) {
  uint64_t left = limit == 0 ? UINT64_MAX : limit;
  for (auto rows = cursor->Next(); !rows.empty() && !context.IsCancelled(); rows = cursor->Next()) {
    for (const uint8_t* row : rows) {
      if (left-- == 0 || !take(row)) return;
    }
  }
}

}  // namespace

NodeService::NodeService(HostNode* node) : node_(node) {
  node->log().OnAlert([this](const multilog::Alert& alert) { OnAlert(alert); });
}

// Once this returns no alert is on its way here.
NodeService::~NodeService() { node_->log().OnAlert({}); }

void NodeService::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void NodeService::OnAlert(const multilog::Alert& alert) {
  v1::NodeAlert out;
  out.set_trigger(alert.trigger);
  out.set_severity(std::string(NameOf(alert.severity)));
  out.set_window_begin_ns(alert.window_begin_ns);
  out.set_window_end_ns(alert.window_end_ns);
  for (const Number& number : alert.values) Fill(number, out.add_values());
  out.set_late(alert.late);
  out.set_found_ns(WallNs());
  const std::lock_guard lock(mutex_);
  for (const v1::Definition& definition : definitions_) {
    if (definition.trigger().name() != alert.trigger) continue;
    for (const v1::Definition& other : definitions_) {
      if (!other.has_aggregate() || other.aggregate().name() != definition.trigger().aggregate()) continue;
      const auto& group_by = other.aggregate().function().group_by();
      for (const std::string& text :
           FormatKeys(node_->layout().schema(), {group_by.begin(), group_by.end()}, alert.group))
        out.add_group(text);
    }
  }
  for (Listener& listener : listeners_) {
    if (listener.alerts.size() == kMostAlertsWaiting) {
      listener.alerts.pop_front();
      ++lost_alerts_;
    }
    listener.alerts.push_back(out);
  }
  changed_.notify_all();
}

void NodeService::FillCounters(v1::NodeCounters* counters) {
  const CaptureCounters& captured = node_->captured();
  const MultiLog::Statistics log = node_->log().statistics();
  counters->set_packets(captured.packets.load(std::memory_order_relaxed));
  counters->set_rows(log.appended);
  for (const auto& [reason, count] : captured.Dropped()) (*counters->mutable_dropped())[reason] = count;
  if (log.dropped > 0) (*counters->mutable_dropped())["memory_full"] = log.dropped;
  counters->set_removed(log.removed);
  counters->set_memory_bytes(log.segment_bytes + log.heap_bytes + log.aggregate_bytes);
  counters->set_lost_alerts(lost_alerts_);
}

void NodeService::FillDescription(v1::NodeDescription* description) {
  const Schema& schema = node_->layout().schema();
  description->set_node(node_->name());
  description->set_schema(schema.ToText());
  description->set_row_bytes(schema.row_bytes());
  description->set_incarnation(node_->incarnation());
  for (const v1::Definition& definition : definitions_) *description->add_definitions() = definition;
  FillCounters(description->mutable_counters());
}

grpc::Status NodeService::Attach(ServerContext* context, const v1::AttachRequest* request,
                                 grpc::ServerWriter<v1::NodeEvent>* writer) {
  if (request->heartbeat_ms() < kLeastHeartbeatMs || request->heartbeat_ms() > kMostHeartbeatMs)
    return {grpc::StatusCode::INVALID_ARGUMENT, "heartbeat_ms is 10 to 60000"};
  const auto beat = std::chrono::milliseconds(request->heartbeat_ms());
  std::unique_lock lock(mutex_);
  listeners_.emplace_back();
  const auto me = std::prev(listeners_.end());
  v1::NodeEvent event;
  FillDescription(event.mutable_description());
  bool listening = true;
  while (listening && !stopped_) {
    lock.unlock();
    listening = writer->Write(event) && !context->IsCancelled();
    lock.lock();
    event.Clear();
    if (!listening || stopped_) break;
    if (me->alerts.empty()) changed_.wait_for(lock, beat, [&] { return stopped_ || !me->alerts.empty(); });
    if (!me->alerts.empty()) {
      *event.mutable_alert() = std::move(me->alerts.front());
      me->alerts.pop_front();
    } else {
      FillCounters(event.mutable_heartbeat());
    }
  }
  listeners_.erase(me);
  return stopped_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the node ends") : grpc::Status::OK;
}

grpc::Status NodeService::Describe(ServerContext*, const v1::DescribeRequest*, v1::NodeDescription* description) {
  const std::lock_guard lock(mutex_);
  FillDescription(description);
  return grpc::Status::OK;
}

Status NodeService::DefineIn(const v1::Definition& definition) {
  MultiLog& log = node_->log();
  switch (definition.kind_case()) {
    case v1::Definition::kFilter:
      return log.AddFilter(definition.filter().name(), definition.filter().expression());
    case v1::Definition::kAggregate: {
      const auto& from = definition.aggregate();
      AggregateSpec spec;
      spec.name = from.name();
      spec.filter = from.filter();
      spec.function = SpecOf(from.function());
      if (from.bucket_ns() > 0) spec.bucket_ns = from.bucket_ns();
      if (from.buckets() > 0) spec.buckets = from.buckets();
      return log.AddAggregate(spec);
    }
    case v1::Definition::kTrigger: {
      const auto& from = definition.trigger();
      TriggerSpec spec;
      spec.name = from.name();
      spec.aggregate = from.aggregate();
      spec.condition = from.condition();
      spec.window_ns = from.window_ns();
      if (from.period_ns() > 0) spec.period_ns = from.period_ns();
      spec.cooldown_ns = from.cooldown_ns();
      if (from.severity() == "info") {
        spec.severity = Severity::kInfo;
      } else if (from.severity() == "critical") {
        spec.severity = Severity::kCritical;
      } else if (!from.severity().empty() && from.severity() != "warning") {
        return {Code::kInvalid, "severity '" + from.severity() + "' is none of info, warning, critical"};
      }
      return log.AddTrigger(spec);
    }
    case v1::Definition::kIndex:
      return log.AddIndex(definition.index().field());
    case v1::Definition::KIND_NOT_SET:
      break;
  }
  return {Code::kInvalid, "nothing to define: a filter, an aggregate, a trigger or an index"};
}

grpc::Status NodeService::Define(ServerContext*, const v1::Definition* definition, v1::DefineReply*) {
  // Its trigger may alert before this returns; the lock is not held meanwhile.
  if (Status status = DefineIn(*definition); !status.ok()) return ToGrpc(status);
  const std::lock_guard lock(mutex_);
  definitions_.push_back(*definition);
  return grpc::Status::OK;
}

grpc::Status NodeService::Remove(ServerContext*, const v1::RemoveRequest* request, v1::RemoveReply*) {
  MultiLog& log = node_->log();
  Status status(Code::kInvalid, "nothing to remove: name a filter, an aggregate, a trigger or an index");
  std::function<bool(const v1::Definition&)> is_it;
  switch (request->kind_case()) {
    case v1::RemoveRequest::kFilter:
      status = log.RemoveFilter(request->filter());
      is_it = [&](const v1::Definition& each) { return each.filter().name() == request->filter(); };
      break;
    case v1::RemoveRequest::kAggregate:
      status = log.RemoveAggregate(request->aggregate());
      is_it = [&](const v1::Definition& each) { return each.aggregate().name() == request->aggregate(); };
      break;
    case v1::RemoveRequest::kTrigger:
      status = log.RemoveTrigger(request->trigger());
      is_it = [&](const v1::Definition& each) { return each.trigger().name() == request->trigger(); };
      break;
    case v1::RemoveRequest::kIndex:
      status = log.RemoveIndex(request->index());
      is_it = [&](const v1::Definition& each) { return each.index().field() == request->index(); };
      break;
    case v1::RemoveRequest::KIND_NOT_SET:
      break;
  }
  if (!status.ok()) return ToGrpc(status);
  const std::lock_guard lock(mutex_);
  std::erase_if(definitions_, is_it);
  return grpc::Status::OK;
}

Result<Snapshot> NodeService::SnapshotFor(const v1::QueryRequest& request) {
  Snapshot snapshot = node_->log().TakeSnapshot();
  if (!request.has_at()) return snapshot;
  if (request.at().incarnation() != node_->incarnation())
    return Status(Code::kNotFound, "the snapshot is of an earlier start of this node; take a new one");
  const std::vector<uint64_t> tails(request.at().rows().begin(), request.at().rows().end());
  snapshot.CutTo(tails);
  return snapshot;
}

Result<Cursor> NodeService::CursorFor(const v1::QueryRequest& request) {
  auto snapshot = SnapshotFor(request);
  if (!snapshot.ok()) return snapshot.status();
  return node_->log().Query(SpecOf(request), std::move(*snapshot));
}

grpc::Status NodeService::Query(ServerContext* context, const v1::QueryRequest* request,
                                grpc::ServerWriter<v1::RowBatch>* writer) {
  auto cursor = CursorFor(*request);
  if (!cursor.ok()) return ToGrpc(cursor.status());
  const uint32_t row_bytes = node_->layout().row_bytes();
  v1::RowBatch batch;
  ForEachRow(&*cursor, request->limit(), *context, [&](const uint8_t* row) {
    batch.mutable_rows()->append(reinterpret_cast<const char*>(row), row_bytes);
    if (batch.rows().size() < kPieceBytes) return true;
    const bool taken = writer->Write(batch);
    batch.Clear();
    return taken;
  });
  if (context->IsCancelled()) return grpc::Status::CANCELLED;
  batch.set_unreadable_segments(cursor->statistics().unreadable);
  writer->Write(batch);
  return grpc::Status::OK;
}

grpc::Status NodeService::Pcapng(ServerContext* context, const v1::QueryRequest* request,
                                 grpc::ServerWriter<v1::PcapngPiece>* writer) {
  auto cursor = CursorFor(*request);
  if (!cursor.ok()) return ToGrpc(cursor.status());
  PcapngWriter file(&node_->layout(), node_->name());
  v1::PcapngPiece piece;
  const auto send = [&] {
    piece.set_bytes(file.Take());
    const bool taken = writer->Write(piece);
    piece.Clear();
    return taken;
  };
  ForEachRow(&*cursor, request->limit(), *context, [&](const uint8_t* row) {
    file.Add(row);
    piece.set_packets(piece.packets() + 1);
    return file.pending_bytes() < kPieceBytes || send();
  });
  if (context->IsCancelled()) return grpc::Status::CANCELLED;
  send();
  return grpc::Status::OK;
}

grpc::Status NodeService::Aggregate(ServerContext*, const v1::AggregateRequest* request, v1::AggregateReply* reply) {
  const Schema& schema = node_->layout().schema();
  MultiLog& log = node_->log();
  auto snapshot = SnapshotFor(request->query());
  if (!snapshot.ok()) return ToGrpc(snapshot.status());
  const QuerySpec spec = SpecOf(request->query());
  if (request->stored().empty()) {
    const FunctionSpec function = SpecOf(request->function());
    auto value = log.Aggregate(spec, function, std::move(*snapshot));
    if (!value.ok()) return ToGrpc(value.status());
    Fill(*value, schema, function.group_by, reply);
    return grpc::Status::OK;
  }
  auto value = log.ReadAggregate(request->stored(), *snapshot, spec.time_low, spec.time_high);
  if (!value.ok()) return ToGrpc(value.status());
  std::vector<std::string> group_by;
  {
    const std::lock_guard lock(mutex_);
    for (const v1::Definition& each : definitions_) {
      if (!each.has_aggregate() || each.aggregate().name() != request->stored()) continue;
      const auto& names = each.aggregate().function().group_by();
      group_by.assign(names.begin(), names.end());
    }
  }
  Fill(*value, schema, group_by, reply);
  return grpc::Status::OK;
}

grpc::Status NodeService::Explain(ServerContext*, const v1::QueryRequest* request, v1::ExplainReply* reply) {
  auto text = node_->log().Explain(SpecOf(*request));
  if (!text.ok()) return ToGrpc(text.status());
  reply->set_text(*text);
  return grpc::Status::OK;
}

grpc::Status NodeService::Freeze(ServerContext*, const v1::FreezeRequest* request, v1::FreezeReply* reply) {
  if (request->expiry_ns() < kLeastFreezeNs || request->expiry_ns() > kMostFreezeNs)
    return {grpc::StatusCode::INVALID_ARGUMENT, "expiry_ns is 1 ms to 60 s"};
  auto token = node_->log().Freeze(request->expiry_ns());
  if (!token.ok()) return ToGrpc(token.status());
  reply->set_id(token->id);
  reply->mutable_tails()->set_incarnation(node_->incarnation());
  for (const uint64_t tail : token->tails) reply->mutable_tails()->add_rows(tail);
  return grpc::Status::OK;
}

grpc::Status NodeService::Unfreeze(ServerContext*, const v1::UnfreezeRequest* request, v1::UnfreezeReply* reply) {
  auto kept = node_->log().Unfreeze(request->id());
  if (!kept.ok()) return ToGrpc(kept.status());
  reply->set_was_frozen(*kept);
  return grpc::Status::OK;
}

}  // namespace tapline::multilog
