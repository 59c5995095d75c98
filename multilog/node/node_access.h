// The node's access control. Callers must be processes of the node's user on this machine (node_server.h), or clients
// over TLS that present a token, a certificate from a configured authority with a configured name, or both if both are
// configured.
//
// A port that other machines can reach requires TLS and a token or certificate, since the node's responses contain
// other users' packets.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline::multilog {

struct AccessConfig {
  std::string certificate;  // PEM files; empty: no TLS
  std::string key;
  std::string tokens;     // a file with one token per line; empty: no token is required
  std::string client_ca;  // PEM file of the authorities for client certificates; empty: no certificate is required
  std::vector<std::string> client_names;  // accepted names in client certificates; empty: any name
};

// Receives a message for the operator. Thread-safe.
using Warn = std::function<void(const std::string&)>;

// Returns kUsage if the address requires options that are not set, or if one option is set without the others that it
// requires.
Status validate_access(const AccessConfig& config, const std::string& listen);

// Returns true if only processes of the node's user may call it: no caller has to present anything, and any user of
// this host could connect to the address. REQUIRES: validate_access() found no error.
bool serves_only_own_user(const AccessConfig& config, const std::string& listen);

// Reads the files. `warn` is called for refused calls, at most once per second. REQUIRES: validate_access() found no
// error.
Status make_credentials(const AccessConfig& config, Warn warn, std::shared_ptr<grpc::ServerCredentials>* credentials);

}  // namespace tapline::multilog
