// Where a program serves its metrics, and to whom: anybody of this host, or, over TLS, whoever has one of its tokens.
// The same for every program that has metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/config/config_table.h"

namespace tapline {

struct MetricsConfig {
  std::string address;      // HOST:PORT; empty: nowhere
  std::string certificate;  // PEM files; empty: no TLS
  std::string key;
  std::string tokens;  // a file with a token a line; empty: nobody is asked for one

  bool operator==(const MetricsConfig&) const = default;
};

// `help` is that of --metrics.
void AddMetricsKeys(ConfigTable* table, MetricsConfig* config, std::string_view help);

// kUsage if files are missing for that address, or one without the others. `clear` are the services that may go without
// TLS: "metrics" is this one.
Status ValidateMetrics(const MetricsConfig& config, const std::vector<std::string>& clear);

}  // namespace tapline
