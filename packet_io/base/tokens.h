// Reads files with secrets and identities: tokens, one per line and compared in constant time, and PEM.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// Reads the whole file that a flag names. Returns kInvalid if it is empty or can't be read.
Status read_named_file(const std::string& flag, const std::string& path, std::string* text);

// Reads a PEM file. Returns kInvalid if it has no block of this kind, such as "CERTIFICATE" or "PRIVATE KEY".
Status read_pem(const std::string& flag, const std::string& path, const std::string& kind, std::string* text);

// Reads a file's lines as tokens, each of which must have at least 16 characters that are allowed in a header.
Status read_tokens(const std::string& flag, const std::string& path, std::vector<std::string>* tokens);

// Returns true if a header "authorization" has one of the tokens ("Bearer …"). Always compares all of them.
bool has_token(const std::vector<std::string>& tokens, const std::string& authorization);

// Compares two tokens in a time that does not depend on the position at which they differ.
bool is_same_token(const std::string& wanted, const std::string& presented);

}  // namespace tapline
