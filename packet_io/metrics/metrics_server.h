// Serves figures as Prometheus text at /metrics, to a few clients at a time, over TLS where there is a certificate.
//
// One thread, which keeps off those that poll. A client has a few seconds for everything and a request of a few KiB;
// whether it is slow, silent or malicious, others wait for it only where there are many of it, and then not for long.
// (The server that prometheus-cpp brings has no such bounds, and its TLS crashes in Debian 12.)
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/config/metrics_config.h"
#include "packet_io/metrics/certificates.h"

namespace tapline {

class MetricsServer {
 public:
  // Null, and *status says why, if the files can't be used or the address not be listened at. `others` are certificates
  // that the program shows elsewhere: when these and its own end is among the figures.
  // REQUIRES: ValidateMetrics() found nothing, and there is an address.
  static std::unique_ptr<MetricsServer> Start(const MetricsConfig& config, const std::vector<CertificateFile>& others,
                                              std::unique_ptr<const prometheus::Collectable> figures, Status* status);

  // Connections that last are cut.
  ~MetricsServer();

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
