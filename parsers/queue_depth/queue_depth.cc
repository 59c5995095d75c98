#include "parsers/queue_depth/depth_meter.h"
#include "parsers/queues/queue_parser.h"

namespace tapline {
namespace {

// Emits the depth of port queues, measured from packets at taps on both sides (ConQuest section 6) or from INT.
class QueueDepth final : public queues::QueueParser<DepthMeter> {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "queue_depth",
        .description = "Depth of a switch port's queue and the delays in it, from taps on both sides or from INT",
        .layer = Layer::kNetwork,
        .fields =
            {{"queue", FieldType::kString, "", "The queue: SWITCH:PORT or, with INT, SWITCH-ID:PORT[.QUEUE-ID]"},
             optional({"queue_bytes", FieldType::kU64, "bytes", "Max bytes that a packet found in the queue"}),
             optional({"queue_packets", FieldType::kU64, "packets", "Packets that the same packet found in the queue"}),
             optional({"flows_in_queue", FieldType::kU64, "flows", "Flows that the same packet found in the queue"}),
             optional(
                 {"mean_queue_bytes", FieldType::kU64, "bytes", "Mean of the bytes that packets found in the queue"}),
             optional({"min_delay_ns", FieldType::kU64, "ns", "Shortest wait of a packet"}),
             optional({"mean_delay_ns", FieldType::kU64, "ns", "Mean wait of a packet"}),
             optional({"max_delay_ns", FieldType::kU64, "ns", "Longest wait of a packet"}),
             {"packets", FieldType::kU64, "packets", "Packets that left", true},
             {"bytes", FieldType::kU64, "bytes", "Bytes that left, including link headers", true},
             {"lost", FieldType::kU64, "packets", "Packets that arrived and never left", true},
             {"lost_bytes", FieldType::kU64, "bytes", "Bytes of the packets that arrived and never left", true},
             {"never_came", FieldType::kU64, "packets", "Packets that left but whose arrival was not seen", true},
             {"ambiguous", FieldType::kU64, "packets", "Packets whose arrival is known only within bounds", true},
             {"evicted", FieldType::kU64, "packets", "Arrivals for which there was no memory", true},
             optional({"error_bytes", FieldType::kU64, "bytes",
                       "Max error of the bytes in the queue; 0: exact; absent: unknown"}),
             {"offset_ns", FieldType::kI64, "ns", "Constant offset between the taps, excluded from the delays"},
             {"late", FieldType::kU64, "packets", "With INT: packets reported too late to be measured", true},
             {"repeated", FieldType::kU64, "packets", "With INT: further copies of packets", true}},
        .main_fields = {"queue"},
        .value_field = "queue_bytes",
        .interval_ns = kNsPerMs,
        .all_traffic = true,
        .queues = true,
        .arguments = queues::QueueSettings::declare({queues::QueueSettings::every()}),
        .example = {"s1:2", "28840", "20", "2", "27037", "9988076", "10885159", "11754632", "4", "4468", "18", "25956",
                    "0", "0", "0", "0", "3477", "0", "0"},
    };
    return schema;
  }
};

}  // namespace

std::unique_ptr<Parser> make_queue_depth() { return std::make_unique<QueueDepth>(); }

}  // namespace tapline
