// One run: a tree, flows of ns-3's TCP over it, a capture for each receiving host, and the truth.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/packets/capture_file.h"
#include "sim/packets/fat_tree.h"
#include "sim/packets/truth.h"

namespace tapline::packets {

struct Scenario {
  std::string name, about;
  TreeOptions tree;
  std::vector<FlowSpec> flows;
  double seconds = 1;
  // Adds faults and detours to the tree.
  std::function<void(FatTree*)> prepare = {};
  // The maximum number of bytes that a sender has in flight.
  uint32_t window_bytes = 96'000;
  // The minimum retransmission timeout. The default is Linux's.
  uint32_t min_timeout_ms = 200;
};

class Run {
 public:
  // Writes hN.pcap for each receiver and truth.json into the folder.
  Run(const Scenario& scenario, const std::string& folder);
  void execute();

 private:
  struct Segment {
    size_t flow;
    uint32_t seq, payload_bytes;
  };

  void listen(uint32_t host);
  void connect(size_t flow);
  void sent(const Segment& segment, ns3::Ptr<const ns3::Packet> packet);
  void received(uint32_t host, ns3::Ptr<const ns3::Packet> packet);
  // Reads a packet of a flow's data direction. Returns false for other packets.
  bool read(ns3::Ptr<const ns3::Packet> packet, Segment* segment);

  const Scenario& scenario_;
  std::string folder_;
  Truth truth_;
  std::unique_ptr<FatTree> tree_;
  std::map<uint32_t, std::unique_ptr<CaptureFile>> captures_;
  // The first sequence number that has not been sent, by flow.
  std::vector<uint32_t> sent_;
};

// Changes a setting: "queue=64" (packets per port), "timeout=2" (minimum, ms), "seconds=3", "window=300000" (bytes),
// "jitter=0" (ns on hosts' links), "processing=12000" (maximum in edge switches, ns), or "apart=100" (us between the
// starts of flows). Returns false if there is no such setting.
bool change(const std::string& setting, Scenario* scenario);

// Returns the scenario with this name, or null.
const Scenario* find_scenario(const std::string& name);
const std::vector<Scenario>& scenarios();

}  // namespace tapline::packets
