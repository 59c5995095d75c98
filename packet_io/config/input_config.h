// The input of a program that reads packets: taps (capture files or interfaces), or one port.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/base/tap.h"
#include "packet_io/config/config_table.h"

namespace tapline {

struct InputConfig {
  std::vector<std::string> pcap = {};
  std::string interface = {};
  std::vector<std::string> tap = {};
  std::string vdev = {};
  std::string port = {};
  std::string speed = "max";
  uint32_t merge_bound_us = 1000;

  bool operator==(const InputConfig&) const = default;
};

void add_input_keys(ConfigTable* table, InputConfig* input);
// Adds only the setting --tap.
void add_tap_key(ConfigTable* table, std::vector<std::string>* tap);
// Returns kUsage unless exactly one kind of input is given, with a speed that this kind supports.
Status validate_input(const InputConfig& input);

// Returns the taps by number: those without a switch first, in the order given. A DPDK device or port is one tap.
// REQUIRES: validate_input() succeeded.
std::vector<Tap> taps_of(const InputConfig& input);
// Return the sources of all taps on capture files, or on interfaces of this host.
std::vector<std::string> files_of(const InputConfig& input);
std::vector<std::string> interfaces_of(const InputConfig& input);

// Adds the setting that names the file for read_hash_keys().
void add_hash_key(ConfigTable* table, std::string* file);

}  // namespace tapline
