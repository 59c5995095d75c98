// Serves metrics as Prometheus text at /metrics, to a few clients at a time, over TLS if there is a certificate.
//
// Runs on a dedicated thread, so that it never delays polling threads. A client has a few seconds in total, for a
// request of at most a few KiB. Slow, silent or malicious clients delay others only if there are many of them, and then
// only briefly. (prometheus-cpp's server has no such bounds, and its TLS crashes on Debian 12.)
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
  // Returns null and sets *status if a file is unusable or the server can't listen on the address. `other_files` are
  // certificates that the program presents elsewhere; the metrics include their expiry and that of the server's
  // certificate. REQUIRES: validate_metrics() found no error, and there is an address.
  static std::unique_ptr<MetricsServer> start(const MetricsConfig& config,
                                              const std::vector<CertificateFile>& other_files,
                                              std::unique_ptr<const prometheus::Collectable> figures, Status* status);

  // Closes open connections.
  ~MetricsServer();

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
