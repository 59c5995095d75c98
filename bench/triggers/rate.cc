// Measures Trumpet's base case and variations of it: triggers, patterns, groups, and the share of packets that match.
#include "bench/triggers/parts.h"

namespace tapline::bench {
namespace {

WorkloadOptions million_flows() { return {.flows = 1'000'000, .packets_per_flow = 10, .frames = 1 << 21}; }

}  // namespace

// Measures Trumpet's base case, and more triggers per packet than Trumpet supports.
void rate(Measurements* measurements) {
  for (const uint32_t per_packet : {8u, 16u, 64u, 256u}) {
    measurements->measure({.part = "rate",
                           .label = "4096 triggers, " + std::to_string(per_packet) + " a packet",
                           .workload = {.triggers_per_packet = per_packet},
                           .other_designs = true,
                           .linear_scan = per_packet == 8});
  }
  measurements->measure({.part = "rate",
                         .label = "4096 triggers, 8 a packet, a third on retransmissions",
                         .workload = {.retransmission_triggers_in = 3}});
  measurements->measure(
      {.part = "rate", .label = "a million flows, 8 a packet", .workload = million_flows(), .other_designs = true});
  WorkloadOptions tcp = million_flows();
  tcp.retransmission_triggers_in = 3;
  measurements->measure({.part = "rate", .label = "a million flows, a third on retransmissions", .workload = tcp});
}

void triggers(Measurements* measurements) {
  for (const uint32_t count : {0u, 256u, 1024u, 4096u, 16384u}) {
    measurements->measure({.part = "triggers",
                           .label = std::to_string(count) + " triggers",
                           .workload = {.triggers = count},
                           .other_designs = count > 0,
                           .linear_scan = count == 256});
  }
}

void patterns(Measurements* measurements) {
  for (const uint32_t count : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    measurements->measure({.part = "patterns",
                           .label = std::to_string(count) + " patterns, each packet of a new flow",
                           .workload = {.triggers_per_packet = 64, .patterns = count, .packets_per_flow = 1},
                           .other_designs = true});
  }
}

void groups(Measurements* measurements) {
  for (const uint32_t flows : {300u, 10'000u, 30'000u, 60'000u, 1'000'000u}) {
    WorkloadOptions options = {.flows = flows, .packets_per_flow = 1000, .group = trigger::GroupBy::flow()};
    if (flows >= 60'000) options.frames = 1 << 20;
    measurements->measure(
        {.part = "groups", .label = "by flow, " + std::to_string(flows) + " flows", .workload = options});
  }
  measurements->measure({.part = "groups",
                         .label = "by destination, 300 flows",
                         .workload = {.group = trigger::GroupBy::destination(32, 128)}});
}

void coverage(Measurements* measurements) {
  for (const int percent : {0, 10, 25, 50, 75, 100}) {
    measurements->measure({.part = "coverage",
                           .label = std::to_string(percent) + " % of packets match",
                           .workload = {.covered = percent / 100.0}});
  }
}

}  // namespace tapline::bench
