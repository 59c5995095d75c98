#include "packet_io/config/metrics_config.h"

#include "packet_io/base/loopback.h"

namespace tapline {
namespace {

constexpr char kFiles[] = "--metrics-certificate FILE, --metrics-key FILE and --metrics-token-file FILE";

}  // namespace

void add_metrics_keys(ConfigTable* table, MetricsConfig* config, std::string_view help) {
  table->add_text(&config->address, "metrics", "HOST:PORT", help);
  table->add_text(&config->certificate, "metrics_certificate", "FILE",
                  "serve metrics over TLS with this certificate and its chain, as PEM");
  table->add_text(&config->key, "metrics_key", "FILE", "the certificate's private key, as PEM");
  table->add_text(
      &config->tokens, "metrics_token_file", "FILE",
      "serve metrics only to clients with one of these tokens, one per line, each of at least 16 characters");
}

Status validate_metrics(const MetricsConfig& config, const std::vector<std::string>& clear) {
  if (config.certificate.empty() != config.key.empty())
    return Status::usage("--metrics-certificate and --metrics-key require each other");
  if (!config.tokens.empty() && config.certificate.empty())
    return Status::usage(
        "--metrics-token-file needs --metrics-certificate and --metrics-key: a token must not be sent unencrypted");
  if (!config.certificate.empty() && config.address.empty())
    return Status::usage("--metrics-certificate needs --metrics HOST:PORT, the address of the metrics");
  if (config.certificate.empty()) return check_clear(clear, "metrics", "--metrics", config.address, kFiles);
  if (config.tokens.empty() && !is_loopback(config.address))
    return Status::usage(
        "--metrics " + config.address +
        ": other hosts can reach it, so it also requires --metrics-token-file FILE; without tokens, use "
        "127.0.0.1");
  return {};
}

}  // namespace tapline
