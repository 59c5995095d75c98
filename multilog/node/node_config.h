// All settings of tapline-multilog, and their defaults.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "multilog/node/node.h"
#include "multilog/node/node_access.h"
#include "packet_io/config/hash_key_file.h"
#include "packet_io/config/input_config.h"
#include "packet_io/config/metrics_config.h"

namespace tapline::multilog {

struct NodeConfig : InputConfig {
  // The directory to which a monitor writes headers; used instead of an input.
  std::string headers_from;

  // Selection of the packets to keep.
  std::string filter;
  std::string sample = "1";
  uint32_t frame_bytes = HeaderLayout::kMaxFrameBytes;
  uint32_t telemetry_hops = 0;
  bool tap_names = false;
  std::string hash_key_file;
  // The contents of the key file, once it has been read.
  HashKeys hash_keys;

  // The log.
  std::string node = "local-0";
  uint32_t writers = 2;
  uint32_t memory_mib = 1024;
  std::vector<std::string> index = {"src_ip", "dst_ip", "src_port", "dst_port"};
  std::string directory;
  std::string durability = "interval";
  uint32_t retain_mib = 0;
  uint32_t retain_s = 0;

  // The server, and access to it.
  std::string listen = "127.0.0.1:7400";
  AccessConfig access;
  MetricsConfig metrics;
  std::vector<std::string> clear;
  std::string status = "text";

  // DPDK.
  std::string hugepages = "auto";
  uint32_t packet_memory_mib = 64;
};

ConfigTable table_of(NodeConfig* config);

// Validates the constraints that involve several keys.
Status validate(const NodeConfig& config);

// REQUIRES: validate() found no error.
NodeOptions options_of(const NodeConfig& config);

}  // namespace tapline::multilog
