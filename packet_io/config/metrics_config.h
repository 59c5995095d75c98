// The settings of a program's metrics server. The server's clients are any processes on this host or, over TLS, holders
// of one of its tokens. Every program that has metrics has the same settings.
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
  std::string tokens;  // a file with one token per line; empty: clients need no token

  bool operator==(const MetricsConfig&) const = default;
};

// Adds the settings; `help` is the help text of --metrics.
void add_metrics_keys(ConfigTable* table, MetricsConfig* config, std::string_view help);

// Returns kUsage if the address requires files that are missing, or if one file is given without the others. `clear`
// lists the services that may be unencrypted; this one's name is "metrics".
Status validate_metrics(const MetricsConfig& config, const std::vector<std::string>& clear);

}  // namespace tapline
