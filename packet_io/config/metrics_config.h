// The settings of a program's metrics server. Its clients are any processes on this host or, over TLS, holders of one
// of its tokens. The settings are the same for every program that has metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/config/config_table.h"

namespace tapline {

struct MetricsConfig {
  std::string address;      // HOST:PORT; empty: none
  std::string certificate;  // PEM files; empty: no TLS
  std::string key;
  std::string tokens;  // a file with one token per line; empty: clients need none

  bool operator==(const MetricsConfig&) const = default;
};

// `help` is the help text of --metrics.
void add_metrics_keys(ConfigTable* table, MetricsConfig* config, std::string_view help);

// Returns kUsage if the address requires files that are missing, or if one is given without the others. `clear` lists
// the services that may be unencrypted; "metrics" is this one.
Status validate_metrics(const MetricsConfig& config, const std::vector<std::string>& clear);

}  // namespace tapline
