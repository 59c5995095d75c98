#include "packet_io/metrics/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>

namespace tapline {
namespace {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using File = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;

// Returns the earliest expiry of a file's certificates, in seconds since 1970.
std::optional<time_t> end_of(const std::string& path) {
  const File file(BIO_new_file(path.c_str(), "r"));
  std::optional<time_t> first;
  while (file != nullptr) {
    const Certificate certificate(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
    std::tm end = {};
    if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) break;
    first = std::min(first.value_or(timegm(&end)), timegm(&end));
  }
  // Reaching the end of the file also leaves an error in OpenSSL's queue.
  ERR_clear_error();
  return first;
}

}  // namespace

prometheus::MetricFamily certificate_ends() {
  return {"tapline_certificate_not_after_timestamp_seconds",
          "Expiry of this process's certificates, by purpose, as Unix time",
          prometheus::MetricType::Gauge,
          {}};
}

Status add_certificate_end(const CertificateFile& certificate, prometheus::MetricFamily* ends) {
  if (certificate.file.empty()) return {};
  const std::optional<time_t> end = end_of(certificate.file);
  if (!end) return Status::invalid(certificate.file + " contains no readable PEM certificate");
  prometheus::ClientMetric metric;
  metric.label = {{"purpose", certificate.purpose}};
  metric.gauge.value = static_cast<double>(*end);
  ends->metric.push_back(std::move(metric));
  return {};
}

}  // namespace tapline
