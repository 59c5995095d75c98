#include "multilog/node/node_access.h"

#include <grpcpp/grpcpp.h>

#include <utility>
#include <vector>

#include "monitors/base/loopback.h"
#include "monitors/base/tokens.h"

namespace tapline::multilog {
namespace {

tapline::Status ReadPem(const std::string& flag, const std::string& path, const std::string& what, std::string* text) {
  if (tapline::Status status = ReadNamedFile(flag, path, text); !status.ok()) return status;
  const size_t begin = text->find("-----BEGIN ");
  if (begin == std::string::npos || text->find(what, begin) == std::string::npos)
    return tapline::Status::User(flag + " " + path + ": has no " + what + " in PEM");
  return {};
}

// Looks at each call's header before the call is.
class TokenCheck final : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenCheck(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata* consumed,
                       OutputMetadata*) override {
    const auto header = metadata.find("authorization");
    if (header == metadata.end()) return {grpc::StatusCode::UNAUTHENTICATED, "a token is wanted"};
    const std::string value(header->second.data(), header->second.size());
    if (!HasToken(tokens_, value)) return {grpc::StatusCode::UNAUTHENTICATED, "the token is wrong"};
    consumed->insert({"authorization", value});
    return grpc::Status::OK;
  }

 private:
  const std::vector<std::string> tokens_;
};

}  // namespace

tapline::Status ValidateAccess(const AccessConfig& config, const std::string& listen) {
  if (config.certificate.empty() != config.key.empty())
    return tapline::Status::Usage("--tls-certificate and --tls-key go together");
  if (!config.tokens.empty() && config.certificate.empty())
    return tapline::Status::Usage(
        "--token-file needs --tls-certificate and --tls-key: a token must not be read on its way");
  if (config.tokens.empty() && !IsLoopback(listen))
    return tapline::Status::Usage(
        "--listen " + listen +
        ": other machines reach it, so it takes --tls-certificate, --tls-key and --token-file; "
        "without them listen on 127.0.0.1 or unix:PATH");
  return {};
}

tapline::Status MakeCredentials(const AccessConfig& config, std::shared_ptr<grpc::ServerCredentials>* credentials) {
  if (config.certificate.empty()) {
    *credentials = grpc::InsecureServerCredentials();
    return {};
  }
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  tapline::Status status = ReadPem("--tls-certificate", config.certificate, "CERTIFICATE", &pair.cert_chain);
  if (status.ok()) status = ReadPem("--tls-key", config.key, "PRIVATE KEY", &pair.private_key);
  if (!status.ok()) return status;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(std::move(pair));
  *credentials = grpc::SslServerCredentials(options);
  if (config.tokens.empty()) return {};
  std::vector<std::string> tokens;
  if (status = ReadTokens("--token-file", config.tokens, &tokens); !status.ok()) return status;
  (*credentials)->SetAuthMetadataProcessor(std::make_shared<TokenCheck>(std::move(tokens)));
  return {};
}

}  // namespace tapline::multilog
