// The credentials by which an agent authenticates to control planes: TLS with a token, a certificate or both or, in a
// separate network, neither.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "monitors/agent/agent_config.h"

namespace tapline {

struct LeaseAccess {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // The value of the header "authorization"; empty if it is not sent.
  std::string authorization;
};

// Reads the files that the settings name. REQUIRES: the settings are valid.
Status read_access(const AgentConfig& config, LeaseAccess* access);

}  // namespace tapline
