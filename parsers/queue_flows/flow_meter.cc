#include "parsers/queue_flows/flow_meter.h"

namespace tapline {

void FlowMeter::depart(queues::View view, const Packet& packet, Emitter& out) {
  view.tag = headers_.keep(packet, out);
  input_.depart(view);
}

void FlowMeter::hop(queues::View view, int64_t arrival_ns, const Packet& packet, Emitter& out) {
  view.tag = headers_.keep(packet, out);
  input_.hop(view, arrival_ns, packet.time_ns);
}

void FlowMeter::close_interval(const std::string& queue, uint64_t queries, Emitter& out) {
  input_.advance(out.now_ns());
  flows_.close([&](const queues::FlowIntervals::Flow& flow, const queues::FlowIntervals::Sums& sums) {
    emit(queue, queries, flow, sums, out);
    headers_.free(flow.tag);
  });
  const uint64_t without_room = flows_.take_without_room();
  if (without_room != 0) out.lose(LossReason::kParserMemoryFull, without_room, queries);
}

void FlowMeter::emit(const std::string& queue, uint64_t queries, const queues::FlowIntervals::Flow& flow,
                     const queues::FlowIntervals::Sums& sums, Emitter& out) const {
  const queues::Finding& found = flow.wait.finding;
  if (flow.wait.delay_ns < settings_.delay_ns || found.share() < settings_.share) return;
  const queues::DepartureHeader& first = headers_[flow.tag];
  TupleHeader header = first.header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  out.emit(header, {Value::string(queue), Value::boolean(first.from_client),
                    Value::u64(static_cast<uint64_t>(flow.wait.delay_ns)), Value::u64(found.own_bytes),
                    Value::u64(found.own_packets), Value::u64(found.queue_bytes), Value::u64(found.flows),
                    Value::f64(found.share()), Value::u64(flow.packets), Value::u64(flow.bytes),
                    Value::u64(sums.waited_ns), Value::u64(sums.blamed_ns), Value::u64(sums.lost),
                    flow.cut ? Value::absent(FieldType::kU64) : Value::u64(flow.error_bytes)});
}

}  // namespace tapline
