// The properties of a query that a monitor needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitors/match/matcher.h"
#include "monitors/plan/thread_layout.h"
#include "monitors/plan/tuple_condition.h"
#include "monitors/plan/tuple_trigger.h"
#include "monitors/shape/text_shape.h"
#include "parsers/api/argument.h"
#include "parsers/api/tuple.h"
#include "parsers/trigger/program.h"

namespace tapline {

namespace trigger {
class SharedTriggers;
}  // namespace trigger

// Maximum number of queries in a monitor process. Packets and tuples name their queries by bits of a 64-bit word.
inline constexpr size_t kMaxQueries = 64;

// The values of a parser's arguments as text, in schema order.
struct ParserArguments {
  std::string parser = {};
  std::vector<std::string> values = {};
};

// The part of the WHERE condition that applies to one parser's tuples.
struct ParserFilter {
  std::string parser = {};
  TupleCondition condition;
};

// The queue of a switch port, named as taps are.
struct QueueName {
  std::string switch_name = {};
  std::string port = {};
  // Queue.mark of schema/plan.proto; 0: switches do not mark copies for this queue.
  uint32_t mark = 0;

  // Returns the name in the form "SWITCH:PORT".
  std::string text() const { return switch_name + ":" + port; }
};

struct QuerySpec {
  std::string name = {};
  // The plan's name for this monitor's part, regardless of the process that runs it. If it is empty, the process's own
  // name is used.
  std::string monitor = {};
  uint32_t epoch = 0;
  std::string topic = {};
  uint32_t partition = 0;
  // The canonical names of the parsers.
  std::vector<std::string> parsers = {};
  // One entry for each parser that has arguments.
  std::vector<ParserArguments> arguments = {};
  ConnectionMatch match = {};
  // True if one of the query's parsers measures queues. Set by MonitorTaps::bind.
  bool measures_queues = false;
  // The queues to measure; if empty, all queues that have taps on both sides.
  std::vector<QueueName> queues = {};
  // The flows that queue parsers report, selected by addresses and ports alone; nullopt: all.
  std::optional<ConnectionMatch> reported = {};
  // Conditions that tuples must meet to leave as events and to be counted by tuple triggers. For tuples in the stream,
  // its consumers evaluate the conditions.
  std::vector<ParserFilter> filters = {};
  // The triggers that are tested on packets; null if there are none.
  std::shared_ptr<const trigger::Program> triggers = {};
  // Combines the triggers' counts on all lanes, and replaces triggers while the query runs; null if there are none, or
  // if they are partial.
  std::shared_ptr<trigger::SharedTriggers> shared_triggers = {};
  // Triggers that are tested on tuples, if one thread emits all tuples. Otherwise, only the stream job tests them.
  std::vector<TupleTrigger> tuple_triggers = {};
  // The strings that must be transformed before they leave the monitor.
  std::vector<FieldShape> shapes = {};
  std::optional<int64_t> limit_duration_ns = {};
  std::optional<uint64_t> limit_packets = {};
  // True if more packets may be granted (LiveQueries::credit_query), so the query waits when none are left.
  bool limit_leased = false;
  // The number of packets that already count against the limit.
  uint64_t limit_spent = 0;
  // The threads that the plan requests.
  ThreadLayout threads = {};
  // The number of this monitor's parsing threads that send batches of the query.
  uint32_t lanes = 1;
  // The share of flows, 0 < rate <= 1.
  double sampling_rate = 1.0;
  // True for SAMPLE auto: the rate may fall to a sustainable one. Otherwise, excess load is lost and counted.
  bool rate_may_fall = false;
  // True if switches may omit flows that the rate excludes; the far port is then the first criterion (flow_hash.h).
  bool sampled_by_port = false;
  // The share of flows that the pipeline can sustain, as last reported.
  double pipeline_limit = 1.0;
  // True if switches copy the query's packets but have not yet confirmed that they copy all of them.
  bool copies_unconfirmed = false;

  // Returns true if the tuple's flow must be reported. Tuples without addresses, which describe a whole queue, always
  // are.
  bool reports(const TupleHeader& header) const {
    if (!reported || header.src_ip == IpAddress()) [[likely]]
      return true;
    return reported->wants_flow({header.src_ip, header.src_port}, {header.dst_ip, header.dst_port});
  }

  // Returns the interval in ns at which the parser emits for this query; 0: each tuple is an event.
  int64_t interval_ns(const Schema& schema) const {
    if (schema.name == "trigger" && triggers != nullptr && triggers->partial()) return triggers->shortest_every_ns();
    for (const ParserArguments& entry : arguments) {
      if (entry.parser == schema.name) return interval_ns_of(schema, entry.values);
    }
    return schema.interval_ns;
  }
};

}  // namespace tapline
