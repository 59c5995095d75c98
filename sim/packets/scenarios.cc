// The experiments. In a tree with k = 4, hosts 4 and 5 are below edge switch 102, and hosts 6 and 7 below 103; their
// packets to hosts with even numbers go up through 202.
#include <ns3/ipv4-header.h>
#include <ns3/simulator.h>

#include <cstdlib>

#include "sim/packets/scenario.h"

namespace tapline::packets {
namespace {

constexpr uint8_t kUrgent = 0xb0;  // VOICE-ADMIT (RFC 5865): the first class of service on a switch with several
constexpr uint64_t kMbps = 1'000'000;

Scenario quiet() {
  return {"quiet",
          "two flows with room for both: nothing is wrong",
          {},
          {{.from = 4, .to = 0, .bits_per_second = 20 * kMbps}, {.from = 5, .to = 8, .bits_per_second = 20 * kMbps}},
          0.6};
}

Scenario equal_priority() {
  return {"equal-priority",
          "Figure 2, top: two flows need more capacity than 102 has towards 202",
          {.queue_packets = 32},
          {{.from = 4, .to = 0}, {.from = 5, .to = 8, .start_s = 0.003}},
          0.6};
}

Scenario unequal_priority() {
  return {"unequal-priority",
          "Figure 2, middle: the second flow has priority at every switch",
          {.queue_packets = 32, .by_priority = true},
          {{.from = 4, .to = 0}, {.from = 5, .to = 8, .tos = kUrgent, .start_s = 0.05, .bits_per_second = 60 * kMbps}},
          0.6};
}

// Returns a scenario in which a switch loses full packets in the first 1.3 ms of every 100 ms after the first: one or
// two segments of each flow through it.
Scenario periodic_bug() {
  return {"periodic-bug",
          "Figure 2, bottom: 202 loses packets every 100 ms, although it has room for all; the last two flows avoid it",
          {},
          {{.from = 4, .to = 0, .stop_s = 2, .bits_per_second = 10 * kMbps},
           {.from = 5, .to = 8, .stop_s = 2, .bits_per_second = 10 * kMbps},
           {.from = 5, .to = 9, .stop_s = 2, .bits_per_second = 5 * kMbps},
           {.from = 12, .to = 8, .stop_s = 2, .bits_per_second = 5 * kMbps}},
          2,
          [](FatTree* tree) {
            tree->lose(202, [](ns3::Ptr<ns3::Packet> packet) {
              const auto now_us = ns3::Simulator::Now().GetMicroSeconds();
              return packet->GetSize() > 1000 && now_us > 100'000 && now_us % 100'000 < 1'300;
            });
          }};
}

Scenario many_flows() {
  Scenario scenario{"many-flows",
                    "six flows to six hosts need more capacity than 102 has towards 202",
                    {.queue_packets = 64},
                    {},
                    0.5};
  for (uint32_t i = 0; i < 6; ++i) {
    const uint32_t receivers[] = {0, 8, 12, 2, 10, 14};
    scenario.flows.push_back({.from = 4 + i % 2, .to = receivers[i], .start_s = 0.002 * i});
  }
  return scenario;
}

// Returns the scenario of Figure 9(c).
Scenario several_switches() {
  return {"several-switches",
          "Figure 9(c): one flow competes with an urgent flow at 102, and later with another at 202",
          {.queue_packets = 32, .by_priority = true},
          {{.from = 4, .to = 0},
           {.from = 5, .to = 10, .tos = kUrgent, .start_s = 0.05, .stop_s = 0.3, .bits_per_second = 70 * kMbps},
           {.from = 6, .to = 12, .tos = kUrgent, .start_s = 0.4, .stop_s = 0.65, .bits_per_second = 70 * kMbps}},
          0.7,
          {}};
}

Scenario detour() {
  return {"detour",
          "one flow sends one packet in twenty through 203 instead of 202",
          {},
          {{.from = 4, .to = 0, .bits_per_second = 30 * kMbps}, {.from = 5, .to = 8, .bits_per_second = 30 * kMbps}},
          0.5,
          [](FatTree* tree) { tree->detour(102, 0, 1, 0.05); }};
}

// Returns a scenario from Prakash et al., NSDI'12: 14 flows and a single flow reach the last switch through different
// ports.
Scenario outcast(const std::string& name, const std::string& about, uint64_t link_bits_per_second,
                 uint32_t queue_packets) {
  Scenario scenario{
      name, about, {.link_bits_per_second = link_bits_per_second, .queue_packets = queue_packets}, {}, 1.05};
  scenario.window_bytes = 300'000;
  for (uint32_t i = 1; i < 16; ++i) scenario.flows.push_back({.from = i, .to = 0, .start_s = 0.0001 * i, .stop_s = 2});
  return scenario;
}

Scenario outcast_of_the_paper() {
  return outcast("outcast", "1, 2 and 12 flows over 1, 3 and 5 switches to host 0, 1 Gb/s", 1000 * kMbps, 200);
}

Scenario outcast_small() { return outcast("outcast-small", "like outcast, with links of 100 Mb/s", 100 * kMbps, 200); }

Scenario incast() {
  Scenario scenario{"incast",
                    "12 flows, all over 5 switches, to host 0: they get equal shares",
                    {.link_bits_per_second = 100 * kMbps, .queue_packets = 64},
                    {},
                    1.05};
  for (uint32_t i = 4; i < 16; ++i) scenario.flows.push_back({.from = i, .to = 0, .start_s = 0.0001 * i, .stop_s = 2});
  return scenario;
}

// Returns a scenario whose senders have fewer bytes in flight than fit into the queues, so no packet is dropped and the
// telemetry of all packets arrives. Each burst is drained before the next one begins.
Scenario queues() {
  constexpr double kEvery = 0.125, kFor = 0.03;
  Scenario scenario{"queues",
                    "incast without drops: 4 bursts, each of 12 flows to host 0; the packets report all queues",
                    {.link_bits_per_second = 100 * kMbps, .queue_packets = 1000, .ethernet_framing = true},
                    {},
                    4 * kEvery};
  scenario.window_bytes = 64'000;
  for (int burst = 0; burst < 4; ++burst) {
    for (uint32_t i = 4; i < 16; ++i) {
      const double start_s = burst * kEvery + 0.00005 * i * (burst + 1);
      scenario.flows.push_back({.from = i, .to = 0, .start_s = start_s, .stop_s = start_s + kFor});
    }
  }
  return scenario;
}

// Returns the scenario of Figure 9(b): 128 hosts, and flows from the four hosts below one edge switch, each to a
// different host.
Scenario competing() {
  Scenario scenario{"competing",
                    "k = 8: 124 flows to 124 hosts need more capacity than 100 has towards 200",
                    {.k = 8, .queue_packets = 64, .one_way_up = true},
                    {},
                    0.5};
  for (uint32_t i = 0; i < 124; ++i) scenario.flows.push_back({.from = i % 4, .to = 4 + i, .start_s = 0.0005 * i});
  return scenario;
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      quiet(),  equal_priority(),       unequal_priority(), periodic_bug(), many_flows(), several_switches(),
      detour(), outcast_of_the_paper(), outcast_small(),    incast(),       queues(),     competing()};
  return all;
}

bool change(const std::string& setting, Scenario* scenario) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = setting.substr(0, equals);
  char* end = nullptr;
  const unsigned long value = std::strtoul(setting.c_str() + equals + 1, &end, 10);
  if (*end != '\0' || end == setting.c_str() + equals + 1 || value > 1'000'000) return false;
  if (name == "queue") {
    scenario->tree.queue_packets = static_cast<uint32_t>(value);
  } else if (name == "timeout") {
    scenario->min_timeout_ms = static_cast<uint32_t>(value);
  } else if (name == "window") {
    scenario->window_bytes = static_cast<uint32_t>(value);
  } else if (name == "processing") {
    scenario->tree.processing_ns = value;
  } else if (name == "apart") {
    for (size_t i = 0; i < scenario->flows.size(); ++i)
      scenario->flows[i].start_s = static_cast<double>(value * i) * 1e-6;
  } else if (name == "jitter") {
    scenario->tree.host_jitter_ns = value;
  } else if (name == "seconds") {
    scenario->seconds = static_cast<double>(value);
    for (FlowSpec& flow : scenario->flows) flow.stop_s = scenario->seconds + 1;
  } else {
    return false;
  }
  return true;
}

const Scenario* find_scenario(const std::string& name) {
  for (const Scenario& scenario : scenarios()) {
    if (scenario.name == name) return &scenario;
  }
  return nullptr;
}

}  // namespace tapline::packets
