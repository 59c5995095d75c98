#include "monitors/agent/lease_access.h"

#include <string>
#include <vector>

#include "monitors/base/tokens.h"

namespace tapline {

Status ReadAccess(const AgentConfig& config, LeaseAccess* access) {
  access->credentials = grpc::InsecureChannelCredentials();
  if (config.control_plane_ca.empty()) return {};
  grpc::SslCredentialsOptions options;
  if (Status status = ReadNamedFile("--control-plane-ca", config.control_plane_ca, &options.pem_root_certs);
      !status.ok())
    return status;
  if (options.pem_root_certs.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    return Status::User("--control-plane-ca " + config.control_plane_ca + ": has no certificate in PEM");
  access->credentials = grpc::SslCredentials(options);
  if (config.token_file.empty()) return {};
  std::vector<std::string> tokens;
  if (Status status = ReadTokens("--token-file", config.token_file, &tokens); !status.ok()) return status;
  access->authorization = "Bearer " + tokens.front();
  return {};
}

}  // namespace tapline
