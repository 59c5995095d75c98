#include "multilog/node/node_service.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "multilog/node/node_messages.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr size_t kMaxAlertsPerTrigger = 512;
constexpr uint32_t kMinHeartbeatMs = 10, kMaxHeartbeatMs = 60'000;

}  // namespace

NodeService::NodeService(HostNode* node)
    : node_(node), alerts_(kMaxAlertsPerTrigger), definitions_(definitions_of(node->log().definitions())) {
  node->log().on_alert([this](const multilog::Alert& alert) { on_alert(alert); });
}

// Once this returns, no more alerts will arrive.
NodeService::~NodeService() { node_->log().on_alert({}); }

void NodeService::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void NodeService::on_alert(const multilog::Alert& alert) {
  v1::NodeAlert out;
  out.set_trigger(alert.trigger);
  out.set_severity(std::string(name_of(alert.severity)));
  out.set_window_begin_ns(alert.window_begin_ns);
  out.set_window_end_ns(alert.window_end_ns);
  for (const Number& number : alert.values) fill(number, out.add_values());
  out.set_late(alert.late);
  out.set_found_ns(static_cast<uint64_t>(wall_ns()));
  const std::lock_guard lock(mutex_);
  name_group(alert, &out);
  alerts_.add(std::move(out));
  changed_.notify_all();
}

// Formats the keys of the alert's group as text. REQUIRES: the caller holds mutex_.
void NodeService::name_group(const multilog::Alert& alert, v1::NodeAlert* named) const {
  const auto is_it = [&](const v1::Definition& definition) {
    return definition.has_trigger() && definition.trigger().name() == alert.trigger;
  };
  const auto it = std::find_if(definitions_.begin(), definitions_.end(), is_it);
  const std::string& aggregate = (it != definitions_.end() ? *it : coming_).trigger().aggregate();
  for (const v1::Definition& definition : definitions_) {
    if (!definition.has_aggregate() || definition.aggregate().name() != aggregate) continue;
    const auto& group_by = definition.aggregate().function().group_by();
    for (const std::string& key :
         format_keys(node_->layout().schema(), {group_by.begin(), group_by.end()}, alert.group))
      named->add_group(key);
  }
}

// REQUIRES: the caller does not hold mutex_.
void NodeService::fill_counters(v1::NodeCounters* counters) {
  counters->set_capture_ended(node_->ended());  // read first, so that later values are final
  const CaptureTotals captured_totals = node_->captured();
  const MultiLog::Statistics log = node_->log().statistics();
  counters->set_packets(captured_totals.packets);
  counters->set_rows(log.appended);
  for (const auto& [reason, count] : captured_totals.dropped) (*counters->mutable_dropped())[reason] = count;
  if (log.dropped > 0) (*counters->mutable_dropped())["memory_full"] = log.dropped;
  counters->set_removed(log.removed);
  counters->set_memory_bytes(log.segment_bytes + log.heap_bytes + log.aggregate_bytes);
  counters->set_freezes(log.freezes);
  counters->set_frozen_ns(log.frozen_ns);
  const std::lock_guard lock(mutex_);
  counters->set_lost_alerts(alerts_.lost());
}

void NodeService::fill_description(v1::NodeDescription* description) {
  const Schema& schema = node_->layout().schema();
  description->set_node(node_->name());
  description->set_schema(schema.to_text());
  description->set_row_bytes(schema.row_bytes());
  description->set_incarnation(node_->incarnation());
  fill_counters(description->mutable_counters());
  const std::lock_guard lock(mutex_);
  description->set_last_alert(alerts_.last());
  for (const v1::Definition& definition : definitions_) *description->add_definitions() = definition;
}

grpc::Status NodeService::attach(const v1::AttachRequest& request, NodeStream<v1::NodeEvent>* stream) {
  if (request.heartbeat_ms() < kMinHeartbeatMs || request.heartbeat_ms() > kMaxHeartbeatMs)
    return {grpc::StatusCode::INVALID_ARGUMENT, "heartbeat_ms must be 10 to 60000"};
  std::unique_lock lock(mutex_);
  uint64_t last_number = alerts_.last();
  if (request.has_after_alert())
    last_number = request.incarnation() == node_->incarnation() ? request.after_alert() : 0;
  lock.unlock();
  return send(last_number, std::chrono::milliseconds(request.heartbeat_ms()), stream);
}

// Sends the description, then alerts as they arrive, and the counters whenever no alert arrives for `beat`.
grpc::Status NodeService::send(uint64_t after_alert, std::chrono::milliseconds beat,
                               NodeStream<v1::NodeEvent>* stream) {
  v1::NodeEvent event;
  fill_description(event.mutable_description());
  while (stream->write(event) && !stream->is_cancelled()) {
    event.Clear();
    std::unique_lock lock(mutex_);
    alerts_.taken(after_alert);
    changed_.wait_for(lock, beat, [&] { return stopped_ || alerts_.next(after_alert) != nullptr; });
    if (stopped_) return {grpc::StatusCode::UNAVAILABLE, "the node is shutting down"};
    if (const v1::NodeAlert* alert = alerts_.next(after_alert); alert != nullptr) {
      *event.mutable_alert() = *alert;
      after_alert = alert->number();
      continue;
    }
    lock.unlock();
    fill_counters(event.mutable_heartbeat());
  }
  return grpc::Status::OK;
}

grpc::Status NodeService::describe(const v1::DescribeRequest&, v1::NodeDescription* description) {
  fill_description(description);
  return grpc::Status::OK;
}

}  // namespace tapline::multilog
