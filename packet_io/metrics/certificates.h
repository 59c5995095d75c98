// Exposes the expiry of the certificates that a program presents, as metrics.
#pragma once

#include <prometheus/metric_family.h>

#include <string>

#include "packet_io/base/status.h"

namespace tapline {

struct CertificateFile {
  std::string purpose;  // the purpose for which the certificate is presented, such as "metrics"
  std::string file;     // PEM; empty: there is none
};

// Returns the metric, without any certificates yet.
prometheus::MetricFamily certificate_ends();

// Adds the earliest expiry of the certificates that are in the file now. (Programs read their certificates only once,
// at start.) Returns kInvalid if the file has none.
Status add_certificate_end(const CertificateFile& certificate, prometheus::MetricFamily* ends);

}  // namespace tapline
