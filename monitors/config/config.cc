#include "monitors/config/config.h"

#include "packet_io/base/loopback.h"

namespace tapline {

Status Validate(const MonitorConfig& config) {
  if (Status status = ValidateInput(config); !status.ok()) return status;
  if (config.parser.empty() && config.plan.empty() && !config.control) {
    return Status::Usage("nothing to do: name a --parser (--list-parsers shows them) or a --plan");
  }
  if (!config.parser.empty() && !config.plan.empty()) {
    return Status::Usage("--parser and --plan exclude each other: a plan names its parsers");
  }
  if (config.control && (!config.parser.empty() || !FilesOf(config).empty())) {
    return Status::Usage("--control is for plans on a port: not with --parser or capture files");
  }
  if (config.output == "kafka" && config.brokers.empty()) {
    return Status::Usage("--output kafka needs --brokers HOST:PORT");
  }
  if (config.broker_certificate.empty() != config.broker_key.empty() ||
      (config.broker_ca.empty() && !config.broker_key.empty())) {
    return Status::Usage("--broker-certificate and --broker-key go together, and with --broker-ca");
  }
  if (Status status = CheckServices(config.clear, {"kafka", "metrics"}); !status.ok()) return status;
  if (config.output == "kafka" && config.broker_ca.empty()) {
    Status status = CheckClear(config.clear, "kafka", "--brokers", config.brokers, "--broker-ca FILE");
    if (!status.ok()) return status;
  }
  if (Status status = ValidateMetrics(config.metrics, config.clear); !status.ok()) return status;
  if (!FilesOf(config).empty() && config.lanes > 1) {
    return Status::Usage("--lanes is for ports; files are read in order");
  }
  if (!config.workers.empty() && config.lanes > 1) {
    return Status::Usage("--lanes and --workers exclude each other: pipeline mode has one receive queue");
  }
  return {};
}

}  // namespace tapline
