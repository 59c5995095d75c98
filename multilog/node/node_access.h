// Who may ask the node: its own user on this machine (node_server), or, over TLS, a caller with one of its tokens, or
// with a certificate of the authorities and names that it obeys, or with both where both are set.
//
// A port that other machines reach wants TLS and one of the two: what a node tells are other people's packets.
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
  std::string tokens;     // a file with a token a line; empty: nobody is asked for one
  std::string client_ca;  // PEM of the authorities of those who may ask; empty: nobody is asked for a certificate
  std::vector<std::string> client_names;  // and whom their certificates may name; empty: anybody
};

// A sentence for who runs the node. Thread-safe.
using Warn = std::function<void(const std::string&)>;

// kUsage if files are missing for that address, or one without the others.
Status ValidateAccess(const AccessConfig& config, const std::string& listen);

// Reads the files; `warn` hears of calls that are refused. REQUIRES: ValidateAccess() found nothing.
Status MakeCredentials(const AccessConfig& config, Warn warn, std::shared_ptr<grpc::ServerCredentials>* credentials);

}  // namespace tapline::multilog
