#include "multilog/node/node_access.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "packet_io/base/loopback.h"
#include "packet_io/base/tokens.h"

namespace tapline::multilog {
namespace {

// Returns the names in the peer's certificate: its subject's common name and its DNS alternative names.
std::vector<std::string> names_of(const grpc::AuthContext& peer) {
  std::vector<std::string> names;
  for (const char* property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : peer.FindPropertyValues(property)) names.emplace_back(name.data(), name.size());
  }
  return names;
}

// Checks each call's certificate and token before the call is served. Thread-safe.
class CallCheck final : public grpc::AuthMetadataProcessor {
 public:
  CallCheck(std::vector<std::string> names, std::vector<std::string> tokens, Warn warn)
      : names_(std::move(names)), tokens_(std::move(tokens)), warn_(std::move(warn)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* peer, OutputMetadata* consumed,
                       OutputMetadata*) override {
    grpc::Status status = check_names(*peer);
    if (status.ok()) status = check_token(metadata, consumed);
    if (!status.ok()) report(status.error_message());
    return status;
  }

 private:
  grpc::Status check_names(const grpc::AuthContext& peer) const {
    const std::vector<std::string> peer_names = names_of(peer);
    if (names_.empty() ||
        std::find_first_of(peer_names.begin(), peer_names.end(), names_.begin(), names_.end()) != peer_names.end())
      return grpc::Status::OK;
    std::string accepted;
    for (const std::string& name : names_) accepted += (accepted.empty() ? "" : ", ") + name;
    const std::string peer_name = peer_names.empty() ? "" : peer_names.front();
    return {grpc::StatusCode::PERMISSION_DENIED,
            "the certificate of '" + peer_name + "' is not accepted; accepted names: " + accepted};
  }

  grpc::Status check_token(const InputMetadata& metadata, OutputMetadata* consumed) const {
    if (tokens_.empty()) return grpc::Status::OK;
    const auto header = metadata.find("authorization");
    if (header == metadata.end()) return {grpc::StatusCode::UNAUTHENTICATED, "a token is required"};
    const std::string value(header->second.data(), header->second.size());
    if (!has_token(tokens_, value)) return {grpc::StatusCode::UNAUTHENTICATED, "the token is invalid"};
    consumed->insert({"authorization", value});
    return grpc::Status::OK;
  }

  // Logs at most one line per second, so that unauthorised callers can't flood the log.
  void report(const std::string& reason) {
    const int64_t now_s =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    int64_t last_s = reported_s_.load();
    if (last_s != now_s && reported_s_.compare_exchange_strong(last_s, now_s)) warn_("rejected a call: " + reason);
  }

  const std::vector<std::string> names_, tokens_;
  const Warn warn_;
  std::atomic<int64_t> reported_s_{-1};
};

}  // namespace

Status validate_access(const AccessConfig& config, const std::string& listen) {
  if (config.certificate.empty() != config.key.empty())
    return Status::usage("--tls-certificate and --tls-key require each other");
  if (!config.tokens.empty() && config.certificate.empty())
    return Status::usage("--token-file needs --tls-certificate and --tls-key: a token must not be sent unencrypted");
  if (!config.client_ca.empty() && config.certificate.empty())
    return Status::usage(
        "--tls-client-ca needs --tls-certificate and --tls-key: certificates are presented only over TLS");
  if (!config.client_names.empty() && config.client_ca.empty())
    return Status::usage("--tls-client-name needs --tls-client-ca: without authorities, anyone could claim a name");
  if (config.tokens.empty() && config.client_ca.empty() && !is_loopback(listen))
    return Status::usage(
        "--listen " + listen +
        ": other machines can reach it; it requires --tls-certificate, --tls-key and --token-file or --tls-client-ca; "
        "without them listen on 127.0.0.1 or unix:PATH");
  return {};
}

bool serves_only_own_user(const AccessConfig& config, const std::string& listen) {
  return config.tokens.empty() && config.client_ca.empty() && listen.rfind("unix", 0) != 0;
}

Status make_credentials(const AccessConfig& config, Warn warn, std::shared_ptr<grpc::ServerCredentials>* credentials) {
  if (config.certificate.empty()) {
    *credentials = grpc::InsecureServerCredentials();
    return {};
  }
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  Status status = read_pem("--tls-certificate", config.certificate, "CERTIFICATE", &pair.cert_chain);
  if (status.ok()) status = read_pem("--tls-key", config.key, "PRIVATE KEY", &pair.private_key);
  grpc::SslServerCredentialsOptions options;
  if (status.ok() && !config.client_ca.empty()) {
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    status = read_pem("--tls-client-ca", config.client_ca, "CERTIFICATE", &options.pem_root_certs);
  }
  std::vector<std::string> tokens;
  if (status.ok() && !config.tokens.empty()) status = read_tokens("--token-file", config.tokens, &tokens);
  if (!status.ok()) return status;
  options.pem_key_cert_pairs.push_back(std::move(pair));
  *credentials = grpc::SslServerCredentials(options);
  (*credentials)
      ->SetAuthMetadataProcessor(std::make_shared<CallCheck>(config.client_names, std::move(tokens), std::move(warn)));
  return {};
}

}  // namespace tapline::multilog
