// The credentials with which an agent authenticates to control planes: TLS with a token, a certificate or both. An
// isolated network may need none.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "monitors/agent/agent_config.h"

namespace tapline {

struct LeaseAccess {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // The value of the header "authorization"; if it is empty, the header is not sent.
  std::string authorization;
};

// Reads the files that the configuration names. REQUIRES: the configuration is valid.
Status read_access(const AgentConfig& config, LeaseAccess* access);

}  // namespace tapline
