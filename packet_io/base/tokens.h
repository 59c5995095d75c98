// Reads files of tokens (one per line) and PEM files, and compares tokens in constant time.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// Reads the whole file that a flag names. Returns kInvalid if it is empty or can't be read.
Status read_named_file(const std::string& flag, const std::string& path, std::string* text);

// Reads a PEM file. Returns kInvalid if it has no block of this kind, such as "CERTIFICATE" or "PRIVATE KEY".
Status read_pem(const std::string& flag, const std::string& path, const std::string& kind, std::string* text);

// Reads one token per line. Returns kInvalid unless there is a token, and each has at least 16 printable ASCII
// characters without spaces.
Status read_tokens(const std::string& flag, const std::string& path, std::vector<std::string>* tokens);

// Returns true if `authorization`, the value of this HTTP header, is "Bearer " and one of the tokens. Always compares
// all of them.
bool has_token(const std::vector<std::string>& tokens, const std::string& authorization);

// Compares two tokens in a time that does not depend on the position at which they differ. REQUIRES: `wanted` is not
// empty.
bool is_same_token(const std::string& wanted, const std::string& presented);

}  // namespace tapline
