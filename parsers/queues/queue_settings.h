#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/api/schema.h"
#include "parsers/api/time.h"
#include "parsers/api/tuple.h"
#include "parsers/queues/packet_identity.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/queue_input.h"

namespace tapline::queues {

// The classes of a port, whose packets overtake each other if there are several. The contents that a packet found are
// then the packets that left while it waited, which show what delayed it within its class (kWithin), or the packets
// that left within the longest recent delay, which include those that were served quickly but delayed other classes
// (kAcross; ConQuest section 3.6).
enum class Classes : uint8_t { kOne, kWithin, kAcross };

// The arguments that all queue parsers have, and the interval of those that emit once per interval.
struct QueueSettings {
  FlowUnit flow = FlowUnit::kFiveTuple;
  int64_t max_delay_ns = 0;
  Classes classes = Classes::kOne;
  uint64_t link_bits_per_second = 0;  // 0: unknown
  int64_t every_ns = kNsPerMs;

  bool operator==(const QueueSettings&) const = default;

  // Appends the declarations of these arguments to the parser's other ones.
  static std::vector<Argument> declare(std::vector<Argument> own) {
    own.push_back({.name = "flow",
                   .type = FieldType::kString,
                   .description = "Packets of one flow have the same 5-tuple, two addresses, or destination",
                   .default_value = "five_tuple",
                   .choices = {"five_tuple", "pair", "destination"}});
    own.push_back({"max_delay", FieldType::kU64, "ns", "Longest time that a packet may stay in the queue", "1000000000",
                   kNsPerMs, 10 * kNsPerSecond});
    own.push_back(
        {.name = "classes",
         .type = FieldType::kString,
         .description =
             "one: a FIFO queue; within, across: classes whose packets overtake each other; a packet's contents are "
             "those that left while it waited (within) or within the longest recent delay (across)",
         .default_value = "one",
         .choices = {"one", "within", "across"}});
    own.push_back({"link", FieldType::kU64, "bits/s",
                   "Speed of the queue's link, to correct late timestamps and to bound the bytes of packets without "
                   "INT; 0: unknown",
                   "0", 0, 1e12});
    return own;
  }
  static Argument every() {
    return {"every",  FieldType::kU64,  "ns", "Interval of the tuples, in whole milliseconds", "1000000",
            kNsPerMs, 10 * kNsPerSecond};
  }

  // Reads the arguments of declare() from the values of all arguments.
  static QueueSettings of(std::span<const Value> arguments) {
    const std::span<const Value> shared = arguments.last(4);
    return {.flow = unit_of(shared[0].as_string()),
            .max_delay_ns = static_cast<int64_t>(shared[1].as_u64()),
            .classes = classes_of(shared[2].as_string()),
            .link_bits_per_second = shared[3].as_u64()};
  }

  InputOptions input() const {
    return {{.max_delay_ns = max_delay_ns, .fifo = classes == Classes::kOne},
            {.link_bits_per_second = link_bits_per_second}};
  }
  ContentsOptions contents(QueueSource source) const {
    ContentsOptions options = {.across_classes_decay_ns = classes == Classes::kAcross ? max_delay_ns / 10 : 0};
    if (source == QueueSource::kTaps) return options;
    options.max_flows = 1 << 14;
    options.max_packets = 1 << 17;
    options.incomplete = true;
    options.link_bits_per_second = link_bits_per_second;
    return options;
  }

 private:
  static Classes classes_of(std::string_view name) {
    if (name == "within") return Classes::kWithin;
    return name == "across" ? Classes::kAcross : Classes::kOne;
  }
  static FlowUnit unit_of(std::string_view name) {
    if (name == "pair") return FlowUnit::kPair;
    return name == "destination" ? FlowUnit::kDestination : FlowUnit::kFiveTuple;
  }
};

}  // namespace tapline::queues
