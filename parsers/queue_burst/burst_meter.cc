#include "parsers/queue_burst/burst_meter.h"

namespace tapline {

using queues::FlowTable;

void BurstMeter::depart(queues::View view, const Packet& packet, Emitter& out) {
  view.tag = headers_.keep(packet, out);
  input_.depart(view);
}

void BurstMeter::hop(queues::View view, int64_t arrival_ns, const Packet& packet, Emitter& out) {
  view.tag = headers_.keep(packet, out);
  input_.hop(view, arrival_ns, packet.time_ns);
}

void BurstMeter::pass(const queues::Passage& passage) {
  const uint32_t flow = contents_.record(passage);
  if (flow >= latest_.size()) latest_.resize(flow + flow / 2 + 1);
  latest_[flow] = headers_[passage.tag];
  headers_.free(passage.tag);
}

// Keeps the burst and the headers of its flows. Drops FlowTable::kOthers, which has no header.
void BurstMeter::burst(const queues::Burst& burst) {
  if (ended_.size() == kMaxEnded) {
    ++without_room_;
    return;
  }
  EndedBurst& ended = ended_.emplace_back(EndedBurst{burst, {}});
  std::erase_if(ended.burst.reported, [](const auto& flow) { return flow.flow == FlowTable::kOthers; });
  for (const queues::Burst::Flow& flow : ended.burst.reported) ended.headers.push_back(latest_[flow.flow]);
}

void BurstMeter::close_interval(const std::string& queue, uint64_t queries, Emitter& out) {
  input_.advance(out.now_ns());
  if (contents_.in_burst() && input_.quiet()) contents_.finish();
  for (const EndedBurst& ended : ended_) {
    for (size_t rank = 0; rank < ended.headers.size(); ++rank) emit(queue, queries, ended, rank, out);
  }
  ended_.clear();
  if (without_room_ != 0) out.lose(LossReason::kParserMemoryFull, without_room_, queries);
  without_room_ = 0;
}

void BurstMeter::emit(const std::string& queue, uint64_t queries, const EndedBurst& ended, size_t rank, Emitter& out) {
  const queues::Burst& burst = ended.burst;
  const queues::Burst::Flow& flow = burst.reported[rank];
  const queues::BusyPeriod::Culprit& bytes = flow.bytes;
  TupleHeader header = ended.headers[rank].header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  const double share =
      burst.all.direct == 0 ? 0 : static_cast<double>(bytes.direct) / static_cast<double>(burst.all.direct);
  const Value values[] = {Value::string(queue),
                          Value::u64(rank + 1),
                          Value::boolean(ended.headers[rank].from_client),
                          Value::i64(burst.begin_ns),
                          Value::u64(static_cast<uint64_t>(burst.end_ns - burst.begin_ns)),
                          Value::u64(static_cast<uint64_t>(burst.max_delay_ns)),
                          Value::u64(burst.peak_bytes),
                          Value::u64(burst.packets),
                          Value::u64(burst.bytes),
                          Value::u64(burst.victims),
                          Value::u64(burst.flows),
                          Value::u64(burst.lost),
                          Value::f64(share),
                          Value::u64(bytes.direct / burst.victims),
                          Value::u64(bytes.indirect / burst.victims),
                          Value::u64(bytes.original / burst.victims),
                          Value::u64(flow.waits.victims),
                          Value::u64(static_cast<uint64_t>(flow.waits.max_ns)),
                          Value::u64(static_cast<uint64_t>(flow.waits.sum_ns)),
                          Value::u64(flow.blamed_ns)};
  // Only the flows that caused the most waiting, or waited the most, become events.
  flow.is_main ? out.emit_event(header, values) : out.emit(header, values);
}

}  // namespace tapline
