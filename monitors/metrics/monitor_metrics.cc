#include "monitors/metrics/monitor_metrics.h"

#include <unistd.h>

#include <fstream>
#include <map>

#include "parsers/api/bits.h"

namespace tapline {
namespace {

using Kind = MetricKind;

constexpr MetricFamily kPackets = {"packets_total", "Packets by processing stage", Kind::kCounter};
constexpr MetricFamily kBytes = {"bytes_total", "Bytes on the wire of the packets received", Kind::kCounter};
constexpr MetricFamily kDropped = {"packets_dropped_total", "Packets lost or not decoded, by reason", Kind::kCounter};
constexpr MetricFamily kTapPackets = {"tap_packets_total", "Packets of a tap, by outcome", Kind::kCounter};
constexpr MetricFamily kTapBytes = {"tap_bytes_total", "Bytes on the wire of a tap's packets", Kind::kCounter};
constexpr MetricFamily kTapDropped = {"tap_packets_dropped_total", "Packets of a tap lost or not decoded, by reason",
                                      Kind::kCounter};
constexpr MetricFamily kForgotten = {"views_forgotten_total", "Packets forgotten before they could appear in every tap",
                                     Kind::kCounter};
constexpr MetricFamily kParserPackets = {"parser_packets_total", "Packets and stream pieces passed to a parser",
                                         Kind::kCounter};
constexpr MetricFamily kParserTuples = {"parser_tuples_total", "Tuples that a parser emitted", Kind::kCounter};
constexpr MetricFamily kParserCost = {
    "parser_cycles_per_packet", "Time stamp counter cycles that a parser takes for a packet, sampled", Kind::kGauge};
constexpr MetricFamily kParserLost = {"parser_lost_total", "Losses of the engine and its parsers, by reason and unit",
                                      Kind::kCounter};
constexpr MetricFamily kTriggerWindows = {"trigger_windows_total",
                                          "Windows of triggers on packets: tested, and of these, late and lossy ones",
                                          Kind::kCounter};
constexpr MetricFamily kTriggerGroups = {"trigger_groups_total", "Groups in these windows", Kind::kCounter};
constexpr MetricFamily kTriggerRest = {"trigger_rest_packets_total",
                                       "Packets that triggers counted without their group, for lack of room",
                                       Kind::kCounter};
constexpr MetricFamily kTriggerSuppressed = {"trigger_events_suppressed_total",
                                             "Events beyond the limit of a trigger and window", Kind::kCounter};
constexpr MetricFamily kTriggerReplacements = {"trigger_replacements_total",
                                               "Replacements of all triggers of a running query", Kind::kCounter};
constexpr MetricFamily kFlows = {"flows", "Connections in the tables", Kind::kGauge};
constexpr MetricFamily kFlowsStarted = {"flows_started_total", "Connections seen", Kind::kCounter};
constexpr MetricFamily kQueryPackets = {
    "query_packets_total", "A running query's packets: received, and passed to its parsers", Kind::kCounter};
constexpr MetricFamily kQueryTuples = {
    "query_tuples_total", "A running query's tuples: emitted by parsers, and sent by the monitor", Kind::kCounter};
constexpr MetricFamily kQueryDropped = {"query_dropped_total", "Losses of a running query, by reason and unit",
                                        Kind::kCounter};
constexpr MetricFamily kQueries = {"queries", "Running queries", Kind::kGauge};
constexpr MetricFamily kBatches = {"batches_total", "Batches of tuples sent", Kind::kCounter};
constexpr MetricFamily kBatchBytes = {"batch_bytes_total", "Bytes of sent batches, before compression", Kind::kCounter};
constexpr MetricFamily kRefused = {"batches_refused_total", "Batches refused by a full queue", Kind::kCounter};
constexpr MetricFamily kEventTuples = {"event_tuples_omitted_total", "Events without the tuple that decided them",
                                       Kind::kCounter};
constexpr MetricFamily kFill = {"output_queue_ratio", "Used share of the fullest output queue", Kind::kGauge};
constexpr MetricFamily kReduction = {"data_reduction_ratio", "Bytes captured per byte emitted", Kind::kGauge};
constexpr MetricFamily kRing = {"ring_packets", "Packets that wait for a worker of pipeline mode", Kind::kGauge};
constexpr MetricFamily kRingSize = {"ring_packets_max", "Packets that may wait for a worker", Kind::kGauge};
constexpr MetricFamily kMemory = {
    "memory_bytes", "Resident memory (process), buffered out-of-order stream data (reassembly)", Kind::kGauge};

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void visit_whole(const MetricVisitor& visit, const MetricFamily& family, std::initializer_list<MetricLabel> labels,
                 uint64_t value) {
  visit(family, {labels.begin(), labels.size()}, static_cast<double>(value));
}

}  // namespace

struct MonitorMetrics::Sums {
  LaneAccounting lanes;
  std::vector<TapAccounting> taps;
  std::vector<std::pair<std::string, Accounting>> queries;
  std::map<std::string, ParserStats> parsers;
  EngineStats engines;
  OutputStats output;
};

MonitorMetrics::MonitorMetrics(Queries* queries, std::span<const Tap> taps,
                               std::span<const std::unique_ptr<Lane>> lanes,
                               std::span<const std::unique_ptr<ParserUnit>> units, const DispatchStage* dispatch)
    : queries_(queries), taps_(taps), lanes_(lanes), units_(units), dispatch_(dispatch) {}

MonitorMetrics::Sums MonitorMetrics::collect() const {
  Sums sums;
  sums.taps.resize(taps_.size());
  for (const auto& lane : lanes_) {
    sums.lanes += lane->published();
    // Empty until the lane first publishes a copy.
    const std::vector<TapAccounting> taps = lane->published_taps();
    for (size_t tap = 0; tap < taps.size(); ++tap) sums.taps[tap] += taps[tap];
  }
  QueryAccounts accounts(kMaxQueries);
  for (const auto& unit : units_) {
    const UnitSnapshot snapshot = unit->stage().published();
    for (size_t place = 0; place < snapshot.accounts.size(); ++place) accounts[place] += snapshot.accounts[place];
    for (const ParserStats& stats : snapshot.parsers) sums.parsers[std::string(stats.name)] += stats;
    sums.engines += snapshot.engine;
    sums.output += snapshot.output;
  }
  std::lock_guard lock(queries_->mutex);
  for (uint32_t place : SetBits(queries_->taken)) {
    sums.queries.emplace_back(queries_->specs[place].name, accounts[place]);
  }
  return sums;
}

void MonitorMetrics::for_each(const MetricVisitor& visit) const {
  const Sums sums = collect();
  visit_lanes(sums, visit);
  visit_taps(sums, visit);
  visit_parsers(sums, visit);
  visit_queries(sums, visit);
  visit_output(sums, visit);
  visit_rings(visit);
  visit_process(sums, visit);
}

void MonitorMetrics::visit_lanes(const Sums& sums, const MetricVisitor& visit) const {
  visit_whole(visit, kPackets, {{"stage", "received"}}, sums.lanes.received);
  visit_whole(visit, kPackets, {{"stage", "matched"}}, sums.lanes.matched);
  visit_whole(visit, kPackets, {{"stage", "unmatched"}}, sums.lanes.unmatched);
  visit_whole(visit, kPackets, {{"stage", "merged"}}, sums.lanes.merged);
  visit_whole(visit, kPackets, {{"stage", "held"}}, sums.lanes.held);
  visit_whole(visit, kPackets, {{"stage", "repeated"}}, sums.lanes.repeated);
  visit_whole(visit, kBytes, {{"stage", "received"}}, sums.lanes.received_bytes);
  for (int i = 0; i < kOwnDrops; ++i) {
    if (reason_info(i).unit != DropUnit::kPackets) continue;
    visit_whole(visit, kDropped, {{"reason", std::string(reason_info(i).name)}}, sums.lanes.lost[i]);
  }
  for (int i = 1; i < kDecodeOutcomes; ++i) {
    const auto outcome = static_cast<DecodeOutcome>(i);
    visit_whole(visit, kDropped, {{"reason", std::string(drop_reason(outcome))}}, sums.lanes.undecodable[i]);
  }
}

void MonitorMetrics::visit_taps(const Sums& sums, const MetricVisitor& visit) const {
  const auto visit_each = [&](const MetricFamily& family, const char* label, std::string_view value, auto count) {
    for (size_t i = 0; i < taps_.size(); ++i) {
      if (taps_[i].is_marked() && sums.taps[i].received == 0) continue;
      visit_whole(visit, family, {{"tap", taps_[i].name()}, {label, std::string(value)}}, count(sums.taps[i]));
    }
  };
  visit_each(kTapPackets, "stage", "received", [](const TapAccounting& tap) { return tap.received; });
  visit_each(kTapPackets, "stage", "passed", [](const TapAccounting& tap) { return tap.passed; });
  visit_each(kTapPackets, "stage", "repeated", [](const TapAccounting& tap) { return tap.repeated; });
  visit_each(kTapPackets, "stage", "late", [](const TapAccounting& tap) { return tap.late; });
  visit_each(kTapBytes, "stage", "received", [](const TapAccounting& tap) { return tap.received_bytes; });
  for (int i = 0; i < kOwnDrops; ++i) {
    if (reason_info(i).unit != DropUnit::kPackets) continue;
    visit_each(kTapDropped, "reason", reason_info(i).name, [i](const TapAccounting& tap) { return tap.lost[i]; });
  }
  for (int i = 1; i < kDecodeOutcomes; ++i) {
    visit_each(kTapDropped, "reason", drop_reason(static_cast<DecodeOutcome>(i)),
               [i](const TapAccounting& tap) { return tap.undecodable[i]; });
  }
  visit_whole(visit, kForgotten, {}, sums.lanes.forgotten_views);
}

void MonitorMetrics::visit_parsers(const Sums& sums, const MetricVisitor& visit) const {
  for (const auto& [name, stats] : sums.parsers) visit_whole(visit, kParserPackets, {{"parser", name}}, stats.packets);
  for (const auto& [name, stats] : sums.parsers) visit_whole(visit, kParserTuples, {{"parser", name}}, stats.tuples);
  for (const auto& [name, stats] : sums.parsers) {
    if (stats.sampled_packets == 0) continue;
    const MetricLabel label = {"parser", name};
    visit(kParserCost, {&label, 1},
          static_cast<double>(stats.sampled_cycles) / static_cast<double>(stats.sampled_packets));
  }
  for (int i = 0; i < kLossReasons; ++i) {
    const ReasonInfo& info = reason_info(index_of(static_cast<LossReason>(i)));
    visit_whole(visit, kParserLost, {{"reason", std::string(info.name)}, {"unit", std::string(name_of(info.unit))}},
                sums.engines.losses[i]);
  }
  visit_triggers(sums.engines.triggers, visit);
  visit_whole(visit, kFlows, {}, sums.engines.live_connections);
  visit_whole(visit, kFlowsStarted, {}, sums.engines.connections);
}

void MonitorMetrics::visit_triggers(const TriggerTotals& totals, const MetricVisitor& visit) {
  visit_whole(visit, kTriggerWindows, {{"state", "tested"}}, totals.windows);
  visit_whole(visit, kTriggerWindows, {{"state", "late"}}, totals.late_windows);
  visit_whole(visit, kTriggerWindows, {{"state", "lossy"}}, totals.lossy_windows);
  visit_whole(visit, kTriggerGroups, {}, totals.groups);
  visit_whole(visit, kTriggerRest, {}, totals.rest_packets);
  visit_whole(visit, kTriggerSuppressed, {}, totals.suppressed_events);
  visit_whole(visit, kTriggerReplacements, {}, totals.replacements);
}

void MonitorMetrics::visit_queries(const Sums& sums, const MetricVisitor& visit) const {
  visit_whole(visit, kQueries, {}, sums.queries.size());
  for (const auto& [name, account] : sums.queries) {
    visit_whole(visit, kQueryPackets, {{"query", name}, {"stage", "in"}}, account.packets_in);
    visit_whole(visit, kQueryPackets, {{"query", name}, {"stage", "out"}}, account.packets_out);
  }
  for (const auto& [name, account] : sums.queries) {
    visit_whole(visit, kQueryTuples, {{"query", name}, {"stage", "in"}}, account.tuples_in);
    visit_whole(visit, kQueryTuples, {{"query", name}, {"stage", "out"}}, account.tuples_out);
  }
  for (const auto& [name, account] : sums.queries) {
    for (int i = 0; i < kDropReasons; ++i) {
      if (account.dropped[i] == 0) continue;
      const ReasonInfo& info = reason_info(i);
      visit_whole(visit, kQueryDropped,
                  {{"query", name}, {"reason", std::string(info.name)}, {"unit", std::string(name_of(info.unit))}},
                  account.dropped[i]);
    }
  }
}

void MonitorMetrics::visit_output(const Sums& sums, const MetricVisitor& visit) const {
  visit_whole(visit, kBatches, {}, sums.output.batches);
  visit_whole(visit, kBatchBytes, {}, sums.output.bytes);
  visit_whole(visit, kRefused, {}, sums.output.refused);
  visit_whole(visit, kEventTuples, {{"reason", "too_long"}}, sums.output.event_tuples_too_long);
  visit_whole(visit, kEventTuples, {{"reason", "no_room"}}, sums.output.event_tuples_no_room);
  visit(kFill, {}, sums.output.fill);
  if (sums.output.bytes == 0) return;
  visit(kReduction, {}, static_cast<double>(sums.lanes.received_bytes) / static_cast<double>(sums.output.bytes));
}

void MonitorMetrics::visit_rings(const MetricVisitor& visit) const {
  if (dispatch_ == nullptr) return;
  for (const MetricFamily& family : {kRing, kRingSize}) {
    for (const WorkerGroup& group : dispatch_->groups()) {
      for (size_t i = 0; i < group.workers.size(); ++i) {
        SpscRing<Packet>& ring = group.workers[i]->packets();
        visit_whole(visit, family, {{"parsers", group.parsers.front()}, {"worker", std::to_string(i)}},
                    family.name == kRing.name ? ring.waiting() : ring.capacity());
      }
    }
  }
}

void MonitorMetrics::visit_process(const Sums& sums, const MetricVisitor& visit) const {
  visit_whole(visit, kMemory, {{"of", "process"}}, resident_bytes());
  visit_whole(visit, kMemory, {{"of", "reassembly"}}, sums.engines.reassembly_bytes);
}

}  // namespace tapline
