// The input of a program that reads packets: capture files, or one port.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/config/config_table.h"

namespace tapline {

struct InputConfig {
  std::vector<std::string> pcap;
  std::string interface;
  std::string vdev;
  std::string port;
  std::string speed = "max";

  bool operator==(const InputConfig&) const = default;
};

void AddInputKeys(ConfigTable* table, InputConfig* input);
// Returns kUsage unless exactly one kind of input is given, with a speed that it supports.
Status ValidateInput(const InputConfig& input);

// Adds the setting for the file that ReadHashKeys() reads.
void AddHashKey(ConfigTable* table, std::string* file);

}  // namespace tapline
