#include "packet_io/base/tokens.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tapline {
namespace {

constexpr size_t kMinTokenBytes = 16;
constexpr char kScheme[] = "Bearer ";

}  // namespace

Status read_named_file(const std::string& flag, const std::string& path, std::string* text) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  *text = content.str();
  if (!file || text->empty()) return Status::invalid(flag + " " + path + ": can't be read, or is empty");
  return {};
}

Status read_pem(const std::string& flag, const std::string& path, const std::string& kind, std::string* text) {
  if (Status status = read_named_file(flag, path, text); !status.ok()) return status;
  const size_t begin = text->find("-----BEGIN ");
  if (begin == std::string::npos || text->find(kind, begin) == std::string::npos)
    return Status::invalid(flag + " " + path + " contains no " + kind + " in PEM format");
  return {};
}

Status read_tokens(const std::string& flag, const std::string& path, std::vector<std::string>* tokens) {
  std::string text;
  if (Status status = read_named_file(flag, path, &text); !status.ok()) return status;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const bool is_right = line.size() >= kMinTokenBytes &&
                          std::all_of(line.begin(), line.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
    if (!is_right)
      return Status::invalid(flag + " " + path + ": a token must be a line of at least 16 characters without spaces");
    tokens->push_back(line);
  }
  if (tokens->empty()) return Status::invalid(flag + " " + path + ": has no token");
  return {};
}

bool has_token(const std::vector<std::string>& tokens, const std::string& authorization) {
  bool is_known = false;
  for (const std::string& token : tokens) is_known |= is_same_token(kScheme + token, authorization);
  return is_known;
}

bool is_same_token(const std::string& wanted, const std::string& presented) {
  volatile unsigned char different = wanted.size() != presented.size();
  for (size_t i = 0; i < presented.size(); ++i) different = different | (wanted[i % wanted.size()] ^ presented[i]);
  return different == 0;
}

}  // namespace tapline
