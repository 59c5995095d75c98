// All settings of tapline-agent, and their defaults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/config/config_table.h"
#include "packet_io/config/input_config.h"
#include "packet_io/config/metrics_config.h"

namespace tapline {

struct AgentConfig {
  std::string name;
  std::vector<std::string> control_plane = {"127.0.0.1:8481"};
  std::string control_plane_ca;
  std::string control_plane_certificate;
  std::string control_plane_key;
  std::string token_file;
  std::string monitor;
  std::string interface;
  std::vector<std::string> tap;
  std::string vdev;
  std::vector<std::string> plugin;
  uint32_t lanes = 1;
  std::string hugepages = "auto";
  uint32_t memory_mib = 256;
  uint32_t max_connections = 1'048'576;
  uint32_t capacity_mbps = 10'000;
  std::string multilog;
  std::string broker_ca;
  std::string broker_certificate;
  std::string broker_key;
  std::vector<std::string> clear;
  MetricsConfig metrics;
  uint32_t idle_s = 60;
  std::string status = "text";
};

ConfigTable table_of(AgentConfig* config);

// Returns the monitor's input.
InputConfig input_of(const AgentConfig& config);

// Validates the constraints that involve several keys.
Status validate(const AgentConfig& config);

// Fails if the settings forbid unencrypted connections to these brokers, which a control plane named.
Status check_brokers(const AgentConfig& config, const std::string& brokers);

// Returns the monitor's command line, for the brokers that a control plane named. The child's first secret must contain
// the deployment's hash keys, and its second one, if `logs_in`, the broker login.
std::vector<std::string> monitor_command(const AgentConfig& config, const std::string& brokers, bool logs_in);

}  // namespace tapline
