// Everything that can be set about tapline-monitor, its defaults, and where a setting may come from: a YAML file of
// flat keys, and flags of the same names ('-' for '_') that override it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monitors/base/status.h"

namespace tapline {

struct MonitorConfig {
  // Input: capture files, or one port.
  std::vector<std::string> pcap;
  std::string interface;
  std::string vdev;
  std::string port;
  std::string speed = "max";
  bool busy = false;
  std::string duplicates = "keep";
  uint32_t lanes = 1;
  std::vector<std::string> workers;
  uint32_t ring_packets = 4096;

  // What to do with the packets: plans, or parsers over all of them.
  std::vector<std::string> parser;
  std::vector<std::string> plan;
  bool control = false;
  std::vector<std::string> plugin;
  std::string monitor_id = "local-0";
  std::string hash_key = "00000000000000000000000000000000";

  // Output.
  std::string output = "json";
  std::string brokers;
  std::string compression = "lz4";
  uint32_t queue_mib = 64;
  uint32_t broker_timeout_s = 10;
  uint32_t batch_rows = 4096;
  uint32_t flush_ms = 100;
  uint32_t heartbeat_ms = 500;
  std::string status = "text";
  std::string metrics;

  // What happens when the process dies.
  std::string supervise = "auto";
  uint32_t watchdog_ms = 500;

  // Memory.
  std::string hugepages = "auto";
  uint32_t memory_mib = 256;
  uint32_t max_connections = 1'048'576;
  uint32_t idle_timeout_s = 300;
  uint32_t max_reassembly_mib = 64;

  bool operator==(const MonitorConfig&) const = default;
};

// One setting. Its flag is "--" + name with '-' for '_'.
struct ConfigKey {
  std::string_view name;
  // What its flag takes: "FILE", "HOST:PORT"…; empty for one that takes nothing.
  std::string_view argument;
  std::string_view help;
  // Lists collect: a flag may be repeated, YAML may have a sequence, and either may separate by commas if `commas`.
  bool list;
  bool commas;
  // Sets one value from text. Returns what is wrong with it, or nothing.
  std::string (*set)(MonitorConfig*, const std::string&);
  void (*clear)(MonitorConfig*);
  // The values as text, one unless it is a list.
  std::vector<std::string> (*get)(const MonitorConfig&);
};

std::span<const ConfigKey> config_keys();
const ConfigKey* FindConfigKey(std::string_view name);

// Overwrites what the YAML names. Unknown and repeated keys and wrong values are errors with the line, `where` first.
Status ParseYaml(const std::string& text, const std::string& where, MonitorConfig* config);
Status LoadYaml(const std::string& path, MonitorConfig* config);

// The effective configuration as YAML, which ParseYaml() reads back as it was.
std::string DumpYaml(const MonitorConfig& config);

// What no single key can tell: that there is one input, something to do, a broker for Kafka.
Status Validate(const MonitorConfig& config);

}  // namespace tapline
