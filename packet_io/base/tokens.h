// Files with secrets and identities: tokens, which are lines of a file and compared in constant time, and PEM.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// The whole file, which a flag names; kUser if there is nothing.
Status ReadNamedFile(const std::string& flag, const std::string& path, std::string* text);

// The same of a file in PEM that has a block of that kind: "CERTIFICATE" or "PRIVATE KEY".
Status ReadPem(const std::string& flag, const std::string& path, const std::string& kind, std::string* text);

// The lines of that file; each at least 16 letters that can stand in a header.
Status ReadTokens(const std::string& flag, const std::string& path, std::vector<std::string>* tokens);

// Whether a header "authorization" has one of the tokens ("Bearer …"). All are compared.
bool HasToken(const std::vector<std::string>& tokens, const std::string& authorization);

// Takes as long for a wrong token as for a right one of the same length, wherever they differ.
bool IsSameToken(const std::string& wanted, const std::string& given);

}  // namespace tapline
