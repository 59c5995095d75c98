// Who may ask the node: anybody of this machine, or, over TLS, whoever has one of its tokens.
//
// A port that other machines reach wants both: what a node tells are other people's packets.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "monitors/base/status.h"

namespace tapline::multilog {

struct AccessConfig {
  std::string certificate;  // PEM files; empty: no TLS
  std::string key;
  std::string tokens;  // a file with a token a line; empty: nobody is asked for one
};

// kUsage if files are missing for that address, or one without the others.
tapline::Status ValidateAccess(const AccessConfig& config, const std::string& listen);

// Reads the files. REQUIRES: ValidateAccess() found nothing.
tapline::Status MakeCredentials(const AccessConfig& config, std::shared_ptr<grpc::ServerCredentials>* credentials);

}  // namespace tapline::multilog
