// How an agent speaks to control planes: by TLS with a token, a certificate or both, or, within a network of their own,
// without either.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "monitors/agent/agent_config.h"

namespace tapline {

struct LeaseAccess {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // Of the header "authorization"; empty: none.
  std::string authorization;
};

// Reads the files that the settings name. REQUIRES: the settings are valid.
Status ReadAccess(const AgentConfig& config, LeaseAccess* access);

}  // namespace tapline
