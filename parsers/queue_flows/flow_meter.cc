#include "parsers/queue_flows/flow_meter.h"

namespace tapline {

using queues::Finding;
using queues::FlowTable;

void FlowMeter::depart(queues::View view, const Packet& packet, Emitter& out) {
  view.tag = headers_.keep(packet, out);
  input_.depart(view);
}

void FlowMeter::hop(queues::View view, int64_t arrival_ns, const Packet& packet, Emitter& out) {
  view.tag = headers_.keep(packet, out);
  input_.hop(view, arrival_ns, packet.time_ns);
}

void FlowMeter::pass(const queues::Passage& passage) {
  const queues::DepartureHeader& header = headers_.take(passage.tag);
  const Finding found = contents_.add(passage);
  if (found.flow == FlowTable::kOthers) {
    ++without_room_;
    return;
  }
  Flow& flow = active_flow(found);
  flow.latest = header;
  ++flow.packets;
  flow.bytes += passage.bytes;
  flow.error_bytes = std::max(flow.error_bytes, found.error_bytes);
  flow.cut |= found.cut;
  if (!passage.arrival_known || passage.delay_ns() < flow.delay_ns) return;
  flow.delay_ns = passage.delay_ns();
  flow.finding = found;
}

// An arrival identifies its flow by the key alone. If no packet of a flow leaves, only its losses are known, which
// queue_depth counts.
void FlowMeter::never_left(const queues::View& arrival) {
  const uint32_t number = contents_.flows().find(arrival.flow_key);
  if (number != FlowTable::kOthers && flows_[number].active) ++flows_[number].lost;
}

FlowMeter::Flow& FlowMeter::active_flow(const Finding& found) {
  if (found.flow >= flows_.size()) flows_.resize(found.flow + found.flow / 2 + 1);
  Flow& flow = flows_[found.flow];
  if (found.is_new) flow = {};
  if (flow.active) return flow;
  const uint64_t waited_ns = flow.waited_before_ns, blamed_ns = flow.blamed_before_ns;
  flow = {};
  flow.waited_before_ns = waited_ns;
  flow.blamed_before_ns = blamed_ns;
  flow.active = true;
  contents_.hold(found.flow);
  active_.push_back(found.flow);
  return flow;
}

void FlowMeter::close_interval(const std::string& queue, uint64_t queries, Emitter& out) {
  input_.advance(out.now_ns());
  for (const uint32_t number : active_) {
    emit(queue, queries, number, flows_[number], out);
    flows_[number].active = false;
    contents_.release(number);
  }
  active_.clear();
  if (without_room_ != 0) out.lose(LossReason::kParserMemoryFull, without_room_, queries);
  without_room_ = 0;
}

void FlowMeter::emit(const std::string& queue, uint64_t queries, uint32_t number, Flow& flow, Emitter& out) {
  const uint64_t waited_ns = contents_.waits().waited_ns(number) - flow.waited_before_ns;
  const uint64_t blamed_ns = contents_.waits().blamed_ns(number) - flow.blamed_before_ns;
  flow.waited_before_ns += waited_ns;
  flow.blamed_before_ns += blamed_ns;
  const Finding& found = flow.finding;
  if (flow.delay_ns < settings_.delay_ns || found.share() < settings_.share) return;
  TupleHeader header = flow.latest.header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  out.emit(header, {Value::string(queue), Value::boolean(flow.latest.from_client),
                    Value::u64(static_cast<uint64_t>(flow.delay_ns)), Value::u64(found.own_bytes),
                    Value::u64(found.own_packets), Value::u64(found.queue_bytes), Value::u64(found.flows),
                    Value::f64(found.share()), Value::u64(flow.packets), Value::u64(flow.bytes), Value::u64(waited_ns),
                    Value::u64(blamed_ns), Value::u64(flow.lost),
                    flow.cut ? Value::absent(FieldType::kU64) : Value::u64(flow.error_bytes)});
}

}  // namespace tapline
