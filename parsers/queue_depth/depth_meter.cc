#include "parsers/queue_depth/depth_meter.h"

namespace tapline {

void DepthMeter::pass(const queues::Passage& passage) {
  const queues::Finding finding = contents_.add(passage);
  ++interval_.packets;
  interval_.bytes += passage.bytes;
  interval_.error_bytes = std::max(interval_.error_bytes, finding.error_bytes);
  interval_.cut |= finding.cut;
  if (!passage.arrival_known) return;
  ++interval_.measured;
  interval_.queue_bytes += finding.queue_bytes;
  if (interval_.measured == 1 || finding.queue_bytes > interval_.fullest.queue_bytes) interval_.fullest = finding;
  interval_.min_delay_ns = std::min(interval_.min_delay_ns, passage.delay_ns());
  interval_.longest_delay_ns = std::max(interval_.longest_delay_ns, passage.delay_ns());
  interval_.delays_ns += passage.delay_ns();
}

void DepthMeter::close_interval(const std::string& queue, uint64_t queries, Emitter& out) {
  input_.advance(out.now_ns());
  const queues::MatchStatistics now = input_.matches();
  const queues::SequencerStatistics hops = input_.hops();
  const uint64_t lost = now.never_left - reported_.never_left;
  const uint64_t late = hops.late - reported_hops_.late, repeated = hops.repeated - reported_hops_.repeated;
  if (interval_.packets == 0 && lost + late + repeated == 0) return;
  const Interval& all = interval_;
  // If no packet's arrival is known, the contents are unknown.
  const auto known = [&](auto value) {
    return all.measured == 0 ? Value::absent(FieldType::kU64) : Value::u64(static_cast<uint64_t>(value));
  };
  const auto measured = static_cast<int64_t>(std::max<uint64_t>(all.measured, 1));
  TupleHeader header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  out.emit(header,
           {Value::string(queue), known(all.fullest.queue_bytes), known(all.fullest.queue_packets),
            known(all.fullest.flows), known(static_cast<int64_t>(all.queue_bytes) / measured), known(all.min_delay_ns),
            known(all.delays_ns / measured), known(all.longest_delay_ns), Value::u64(all.packets),
            Value::u64(all.bytes), Value::u64(lost), Value::u64(now.never_left_bytes - reported_.never_left_bytes),
            Value::u64(all.packets - all.measured), Value::u64(now.ambiguous - reported_.ambiguous),
            Value::u64(now.evicted - reported_.evicted),
            all.cut ? Value::absent(FieldType::kU64) : Value::u64(all.error_bytes), Value::i64(input_.offset_ns()),
            Value::u64(late), Value::u64(repeated)});
  reported_ = now;
  reported_hops_ = hops;
  interval_ = {};
}

}  // namespace tapline
