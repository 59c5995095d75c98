#include "monitors/agent/lease_access.h"

#include <string>
#include <vector>

#include "packet_io/base/tokens.h"

namespace tapline {

Status read_access(const AgentConfig& config, LeaseAccess* access) {
  access->credentials = grpc::InsecureChannelCredentials();
  if (config.control_plane_ca.empty()) return {};
  grpc::SslCredentialsOptions options;
  Status status = read_pem("--control-plane-ca", config.control_plane_ca, "CERTIFICATE", &options.pem_root_certs);
  if (status.ok() && !config.control_plane_key.empty()) {
    status = read_pem("--control-plane-certificate", config.control_plane_certificate, "CERTIFICATE",
                      &options.pem_cert_chain);
    if (status.ok())
      status = read_pem("--control-plane-key", config.control_plane_key, "PRIVATE KEY", &options.pem_private_key);
  }
  if (!status.ok()) return status;
  access->credentials = grpc::SslCredentials(options);
  if (config.token_file.empty()) return {};
  std::vector<std::string> tokens;
  if (status = read_tokens("--token-file", config.token_file, &tokens); !status.ok()) return status;
  access->authorization = "Bearer " + tokens.front();
  return {};
}

}  // namespace tapline
