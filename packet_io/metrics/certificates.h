// When the certificates end that a program shows others, as metrics.
#pragma once

#include <prometheus/metric_family.h>

#include <string>

#include "packet_io/base/status.h"

namespace tapline {

struct CertificateFile {
  std::string purpose;  // what it is shown for: "metrics"
  std::string file;     // PEM; empty: none is
};

// No certificates yet.
prometheus::MetricFamily CertificateEnds();

// Adds when the first of the file's certificates ends, as the file is now: programs read theirs once, when they start.
// kUser: the file has none.
Status AddCertificateEnd(const CertificateFile& certificate, prometheus::MetricFamily* ends);

}  // namespace tapline
