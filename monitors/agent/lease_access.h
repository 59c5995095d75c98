// How an agent authenticates to control planes: by TLS with a token, a certificate or both, or, within a separate
// network, without either.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "monitors/agent/agent_config.h"

namespace tapline {

struct LeaseAccess {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // Value of the header "authorization"; empty: none.
  std::string authorization;
};

// Reads the files that the settings name. REQUIRES: the settings are valid.
Status read_access(const AgentConfig& config, LeaseAccess* access);

}  // namespace tapline
