#include "parsers/queue_flows/flow_meter.h"
#include "parsers/queues/queue_parser.h"

namespace tapline {
namespace {

// Emits the flows that filled a queue, from the packets at taps on both of its sides (ConQuest sections 3.1 and 6) or
// from INT.
class QueueFlows final : public queues::QueueParser<FlowMeter> {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "queue_flows",
        .description = "Flows that filled the queue of a switch's port, from taps on both of its sides or from INT",
        .layer = Layer::kNetwork,
        .fields = {{"queue", FieldType::kString, "", "The queue: SWITCH:PORT or, with INT, SWITCH-ID:PORT[.QUEUE-ID]"},
                   {"from_client", FieldType::kBool, "", "True if the client sent these packets"},
                   {"delay_ns", FieldType::kU64, "ns", "Longest wait of one of the flow's packets"},
                   {"queued_bytes", FieldType::kU64, "bytes", "Bytes of the flow that this packet found in the queue"},
                   {"queued_packets", FieldType::kU64, "packets",
                    "Packets of the flow that this packet found in the queue"},
                   {"queue_bytes", FieldType::kU64, "bytes", "Bytes of all flows that this packet found in the queue"},
                   {"flows_in_queue", FieldType::kU64, "flows", "Flows that this packet found in the queue"},
                   {"share", FieldType::kF64, "ratio", "queued_bytes divided by queue_bytes"},
                   {"packets", FieldType::kU64, "packets", "Packets of the flow that left", true},
                   {"bytes", FieldType::kU64, "bytes", "Bytes of the flow that left, including link headers", true},
                   {"waited_ns", FieldType::kU64, "ns", "Total wait of the flow's packets", true},
                   {"blamed_ns", FieldType::kU64, "ns",
                    "Total time that packets of all flows waited while the flow's packets were sent", true},
                   {"lost", FieldType::kU64, "packets", "Packets of the flow that arrived and never left", true},
                   optional({"error_bytes", FieldType::kU64, "bytes",
                             "Max error of the bytes in the queue; 0: exact; absent: unknown"})},
        .main_fields = {"src_ip", "dst_ip"},
        .value_field = "queued_bytes",
        .interval_ns = kNsPerMs,
        .all_traffic = true,
        .queues = true,
        .arguments = queues::QueueSettings::declare(
            {{"delay", FieldType::kU64, "ns", "Minimum delay: emits flows with a packet that waited at least this long",
              "500000", 0, 10 * kNsPerSecond},
             {"share", FieldType::kF64, "", "Minimum share of the queue's bytes for a flow to be emitted", "0.01", 0,
              1},
             queues::QueueSettings::every()}),
        .example = {"s1:2", "true", "11754632", "21630", "15", "28840", "2", "0.750000", "2", "2884", "22366786",
                    "32899771", "14", "0"},
    };
    return schema;
  }
};

}  // namespace

std::unique_ptr<Parser> make_queue_flows() { return std::make_unique<QueueFlows>(); }

}  // namespace tapline
