#include "parsers/queue_flows/queue_flows.h"

#include <utility>

#include "parsers/queue_flows/tapped_queue.h"

namespace tapline {
namespace {

using queues::FlowReport;
using queues::TappedQueue;

// Reports which flows filled a queue, from what taps on both its sides show (ConQuest sections 3.1 and 6).
class QueueFlows final : public Parser {
 public:
  explicit QueueFlows(QueueFlowsOptions options) : options_(std::move(options)), keys_(options_.flow) {
    for (size_t i = 0; i < options_.queues.size(); ++i)
      queues_.push_back(std::make_unique<TappedQueue>(options_.match, options_.contents));
  }

  const Schema& schema() const override {
    static const Schema schema = {
        .name = "queue_flows",
        .description = "Flows that filled a switch's queue, exactly, each millisecond in which they did",
        .layer = Layer::kNetwork,
        .fields = {{"queue", FieldType::kString, "", "The queue: its switch and port"},
                   {"from_client", FieldType::kBool, "", "Whether the client sent these packets"},
                   {"delay_ns", FieldType::kU64, "ns", "Longest wait of one of its packets"},
                   {"queued_bytes", FieldType::kU64, "bytes", "Of the flow, that this packet found in the queue"},
                   {"queued_packets", FieldType::kU64, "packets", "Of the flow, that this packet found in the queue"},
                   {"queue_bytes", FieldType::kU64, "bytes", "Of all flows, that this packet found in the queue"},
                   {"flows_in_queue", FieldType::kU64, "", "Flows that this packet found in the queue"},
                   {"share", FieldType::kF64, "", "queued_bytes divided by queue_bytes"},
                   {"packets", FieldType::kU64, "packets", "Of the flow, that left", true},
                   {"bytes", FieldType::kU64, "bytes", "Of the flow, that left, link header included", true},
                   {"waited_ns", FieldType::kU64, "ns", "Waits of its packets together", true},
                   {"blamed_ns", FieldType::kU64, "ns", "Waits of all packets while one of its was sent", true},
                   {"lost", FieldType::kU64, "packets", "Of the flow, that came and never left", true},
                   {"error_bytes", FieldType::kU64, "bytes", "What the bytes in the queue may be off by; 0: exact"}},
        .main_fields = {"src_ip", "dst_ip"},
        .value_field = "queued_bytes",
        .interval_ns = kNsPerMs,
        .example = {"leaf1:spine2", "true", "1200000", "60000", "40", "150000", "12", "0.400000", "83", "125582",
                    "90000000", "120000000", "0", "0"},
    };
    return schema;
  }

  Needs needs() const override { return {.packets = true}; }

  void process(std::span<const Packet> burst, Emitter& out) override {
    if (!options_.view_of) return;
    for (const Packet& packet : burst) {
      if (packet.time_ns >= interval_end_ns_) close_interval(packet.time_ns, out);
      show(packet, out);
    }
  }

  // Ends the interval early, for queries that go on, too.
  void on_queries_end(uint64_t /*queries*/, Emitter& out) override {
    for (const auto& queue : queues_) queue->finish();
    if (!queues_.empty()) close_interval(out.now_ns(), out);
  }

 private:
  void show(const Packet& packet, Emitter& out) {
    const QueueView view = options_.view_of(packet);
    if (view.side == QueueView::Side::kNone || view.queue >= queues_.size()) return;
    const queues::View seen = {view.digest, keys_.key_of(packet), packet.time_ns, packet.wire_bytes,
                               queues::is_identified(packet)};
    if (view.side == QueueView::Side::kArrival) return queues_[view.queue]->arrive(seen);
    const TupleHeader header = out.header_of(packet);
    queues_[view.queue]->depart(seen, header, header.src_ip == packet.src_ip && header.src_port == packet.src_port);
  }

  void close_interval(int64_t now_ns, Emitter& out) {
    interval_end_ns_ = (now_ns / options_.every_ns + 1) * options_.every_ns;
    for (size_t i = 0; i < queues_.size(); ++i) {
      queues_[i]->close_interval(now_ns, [&](const FlowReport& report) {
        if (report.delay_ns >= options_.delay_ns && report.finding.share() >= options_.share)
          emit(options_.queues[i], report, out);
      });
    }
  }

  static void emit(const std::string& queue, const FlowReport& report, Emitter& out) {
    TupleHeader header = report.header;
    header.time_ns = out.now_ns();
    const queues::Finding& found = report.finding;
    out.emit(header, {Value::string(queue), Value::boolean(report.from_client),
                      Value::u64(static_cast<uint64_t>(report.delay_ns)), Value::u64(found.own_bytes),
                      Value::u64(found.own_packets), Value::u64(found.queue_bytes), Value::u64(found.flows),
                      Value::f64(found.share()), Value::u64(report.packets), Value::u64(report.bytes),
                      Value::u64(report.waited_ns), Value::u64(report.blamed_ns), Value::u64(report.lost),
                      Value::u64(report.error_bytes)});
  }

  QueueFlowsOptions options_;
  queues::FlowKeys keys_;
  std::vector<std::unique_ptr<TappedQueue>> queues_;
  int64_t interval_end_ns_ = INT64_MIN;
};

}  // namespace

std::unique_ptr<Parser> make_queue_flows(QueueFlowsOptions options) {
  return std::make_unique<QueueFlows>(std::move(options));
}

}  // namespace tapline
