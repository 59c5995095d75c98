#include "monitors/agent/lease_access.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tapline {
namespace {

constexpr size_t kLeastTokenBytes = 16;

Status ReadFile(const std::string& flag, const std::string& path, std::string* text) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  *text = content.str();
  if (!file || text->empty()) return Status::User(flag + " " + path + ": can't be read, or is empty");
  return {};
}

// The first line that is not empty.
Status ReadToken(const std::string& path, std::string* token) {
  std::string text;
  if (Status status = ReadFile("--token-file", path, &text); !status.ok()) return status;
  std::istringstream lines(text);
  while (token->empty() && std::getline(lines, *token)) continue;
  const bool right = token->size() >= kLeastTokenBytes &&
                     std::all_of(token->begin(), token->end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (!right) return Status::User("--token-file " + path + ": a token is a line of 16 or more letters without spaces");
  return {};
}

}  // namespace

Status ReadAccess(const AgentConfig& config, LeaseAccess* access) {
  access->credentials = grpc::InsecureChannelCredentials();
  if (config.control_plane_ca.empty()) return {};
  grpc::SslCredentialsOptions options;
  if (Status status = ReadFile("--control-plane-ca", config.control_plane_ca, &options.pem_root_certs); !status.ok())
    return status;
  if (options.pem_root_certs.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    return Status::User("--control-plane-ca " + config.control_plane_ca + ": has no certificate in PEM");
  access->credentials = grpc::SslCredentials(options);
  if (config.token_file.empty()) return {};
  std::string token;
  Status status = ReadToken(config.token_file, &token);
  access->authorization = "Bearer " + token;
  return status;
}

}  // namespace tapline
