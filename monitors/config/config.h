// All settings of tapline-monitor and their defaults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "monitors/config/broker_login_file.h"
#include "packet_io/base/status.h"
#include "packet_io/config/config_table.h"
#include "packet_io/config/hash_key_file.h"
#include "packet_io/config/input_config.h"
#include "packet_io/config/metrics_config.h"

namespace tapline {

struct MonitorConfig : InputConfig {
  bool busy = false;
  std::string duplicates = "keep";
  // With several taps: how long, and how many, packets are remembered, so that each is counted once.
  uint32_t view_horizon_ms = 1000;
  uint32_t view_packets = 1 << 20;
  uint32_t lanes = 1;
  std::vector<std::string> workers;
  uint32_t ring_packets = 4096;

  // Processing: plans, or parsers that are applied to every packet.
  std::vector<std::string> parser;
  std::vector<std::string> plan;
  bool control = false;
  // True if switches send this monitor copies that are marked with the queue at which they were made (AT).
  bool marked_copies = false;
  // The file with the routes of the taps' switches.
  std::string routes;
  std::vector<std::string> plugin;
  std::string monitor_id = "local-0";
  std::string hash_key_file;
  // The keys in hash_key_file, once it has been read.
  HashKeys hash_keys;

  // Output.
  std::string output = "json";
  std::string brokers;
  std::string broker_ca;
  std::string broker_certificate;
  std::string broker_key;
  std::string broker_login_file;
  // The login in broker_login_file, once it has been read.
  BrokerLogin broker_login;
  std::vector<std::string> clear;
  std::string compression = "lz4";
  uint32_t queue_mib = 64;
  uint32_t broker_timeout_s = 10;
  uint32_t batch_rows = 4096;
  uint32_t flush_ms = 100;
  uint32_t heartbeat_ms = 500;
  std::string status = "text";
  MetricsConfig metrics;
  std::string headers_to;

  // Crash recovery.
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

ConfigTable table_of(MonitorConfig* config);

// Validates the constraints that involve several keys, for example that Kafka output has brokers.
Status validate(const MonitorConfig& config);

}  // namespace tapline
