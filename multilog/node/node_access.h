// Who may ask the node: anybody of this machine, or, over TLS, whoever has one of its tokens.
//
// A port that other machines reach wants both: what a node tells are other people's packets.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <vector>

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

// The lines of the file; each at least 16 letters that can stand in a header.
tapline::Status ReadTokens(const std::string& path, std::vector<std::string>* tokens);

// Takes as long for a wrong token as for a right one of the same length, wherever they differ.
bool IsSameToken(const std::string& wanted, const std::string& given);

}  // namespace tapline::multilog
