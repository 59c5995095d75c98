#include "parsers/queue_burst/burst_meter.h"
#include "parsers/queues/queue_parser.h"

namespace tapline {
namespace {

// Emits the bursts that filled port queues, with the flows that caused them, from the packets at taps on both sides or
// from INT.
class QueueBurst final : public queues::QueueParser<BurstMeter> {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "queue_burst",
        .description = "Bursts that filled the queue of a switch's port, and the flows that caused them",
        .layer = Layer::kNetwork,
        .fields = {{"queue", FieldType::kString, "", "The queue: SWITCH:PORT or, with INT, SWITCH-ID:PORT[.QUEUE-ID]"},
                   {"rank", FieldType::kU64, "", "Rank of the flow among those reported: 1 has the largest share"},
                   {"from_client", FieldType::kBool, "", "True if the client sent these packets"},
                   {"begin_ns", FieldType::kI64, "ns",
                    "Arrival of the packet that found the queue empty, since the epoch"},
                   {"duration_ns", FieldType::kU64, "ns", "Time until the last packet left and the queue was empty"},
                   {"delay_ns", FieldType::kU64, "ns", "Longest wait of a packet"},
                   {"peak_bytes", FieldType::kU64, "bytes", "Maximum bytes in the queue"},
                   {"burst_packets", FieldType::kU64, "packets", "Packets of all flows that left"},
                   {"burst_bytes", FieldType::kU64, "bytes", "Bytes of all flows that left"},
                   {"victims", FieldType::kU64, "packets", "Packets that waited for at least the argument `delay`"},
                   {"burst_flows", FieldType::kU64, "flows", "Flows that had packets in the burst"},
                   {"lost", FieldType::kU64, "packets", "Packets of all flows that arrived and never left"},
                   {"share", FieldType::kF64, "ratio", "The flow's share of all flows' direct_bytes"},
                   {"direct_bytes", FieldType::kU64, "bytes",
                    "Bytes of the flow that left while a victim waited, on average"},
                   {"indirect_bytes", FieldType::kU64, "bytes",
                    "Bytes of the flow that left in the burst before a victim arrived, on average"},
                   {"original_bytes", FieldType::kU64, "bytes",
                    "Bytes that the flow contributed to the depth of the queue that a victim found, on average"},
                   {"flow_victims", FieldType::kU64, "packets", "Victims of the flow itself"},
                   {"flow_delay_ns", FieldType::kU64, "ns", "Longest wait of the flow's packets"},
                   {"waited_ns", FieldType::kU64, "ns", "Total wait of the flow's packets"},
                   {"blamed_ns", FieldType::kU64, "ns",
                    "Total time that packets of all flows waited while the flow's packets were sent"}},
        .main_fields = {"src_ip", "dst_ip"},
        .value_field = "direct_bytes",
        .events = true,
        .all_traffic = true,
        .queues = true,
        .arguments = queues::QueueSettings::declare(
            {{"delay", FieldType::kU64, "ns", "Min wait of a victim", "500000", 0, 10 * kNsPerSecond}}),
        .example = {"s1:2",     "1",        "true",     "1795827145716913767",
                    "12207710", "11754632", "30282",    "27",
                    "31134",    "25",       "3",        "18",
                    "0.769856", "11766",    "2364",     "12025",
                    "15",       "11754632", "93837044", "119470448"},
    };
    return schema;
  }
};

}  // namespace

std::unique_ptr<Parser> make_queue_burst() { return std::make_unique<QueueBurst>(); }

}  // namespace tapline
