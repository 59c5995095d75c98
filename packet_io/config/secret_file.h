// Reads secrets from files, since any user on the host can read command lines.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// Reads the words of a small file, which may be an inherited descriptor (/proc/self/fd/3). Errors name the flag and the
// file, never its content.
Status read_secret_words(const std::string& flag, const std::string& path, std::vector<std::string>* words);

}  // namespace tapline
