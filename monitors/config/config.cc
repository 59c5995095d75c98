#include "monitors/config/config.h"

#include "packet_io/base/loopback.h"

namespace tapline {

Status validate(const MonitorConfig& config) {
  if (Status status = validate_input(config); !status.ok()) return status;
  if (config.parser.empty() && config.plan.empty() && !config.control) {
    return Status::usage("nothing to do: give a --parser (--list-parsers shows them) or a --plan");
  }
  if (!config.parser.empty() && !config.plan.empty()) {
    return Status::usage("--parser and --plan are mutually exclusive: a plan names its parsers");
  }
  if (config.control && (!config.parser.empty() || !files_of(config).empty())) {
    return Status::usage("--control can't be combined with --parser or capture files");
  }
  if (config.output == "kafka" && config.brokers.empty()) {
    return Status::usage("--output kafka needs --brokers HOST:PORT");
  }
  if (config.broker_certificate.empty() != config.broker_key.empty() ||
      (config.broker_ca.empty() && !config.broker_key.empty())) {
    return Status::usage("--broker-certificate and --broker-key require each other and --broker-ca");
  }
  if (Status status = check_services(config.clear, {"kafka", "metrics"}); !status.ok()) return status;
  if (config.output == "kafka" && config.broker_ca.empty()) {
    Status status = check_clear(config.clear, "kafka", "--brokers", config.brokers, "--broker-ca FILE");
    if (!status.ok()) return status;
  }
  if (Status status = validate_metrics(config.metrics, config.clear); !status.ok()) return status;
  if (!files_of(config).empty() && config.lanes > 1) {
    return Status::usage("--lanes applies to ports; files are read in order");
  }
  if (!config.workers.empty() && config.lanes > 1) {
    return Status::usage("--lanes and --workers are mutually exclusive: pipeline mode has one receive queue");
  }
  return {};
}

}  // namespace tapline
