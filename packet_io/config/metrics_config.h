// The settings of a metrics server, the same for every program that has one. On loopback, any process may be a client;
// on other addresses, clients need TLS and a token, unless --clear permits unencrypted metrics.
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

// Returns kUsage if the address requires files that are missing, or if a file is given without another that it
// requires. `clear` lists the services that may be unencrypted; this one's name is "metrics".
Status validate_metrics(const MetricsConfig& config, const std::vector<std::string>& clear);

}  // namespace tapline
