#include "packet_io/config/hash_key_file.h"

#include <vector>

#include "packet_io/config/secret_file.h"

namespace tapline {
namespace {

Status Wrong(const std::string& path, const std::string& why) {
  return Status::Invalid("--hash-key-file " + path + ": a key is 32 hexadecimal digits; " + why);
}

}  // namespace

Status ReadHashKeys(const std::string& path, HashKeys* keys) {
  if (path.empty()) return {};
  std::vector<std::string> words;
  if (Status status = ReadSecretWords("--hash-key-file", path, &words); !status.ok()) return status;
  if (words.empty() || words.size() > 2)
    return Wrong(path, "the file has " + std::to_string(words.size()) + " words, one or two are right");
  HashKey read[2];
  for (size_t i = 0; i < words.size(); ++i) {
    const auto key = HashKey::parse(words[i]);
    if (!key && words[i].size() != 32) return Wrong(path, "it has " + std::to_string(words[i].size()) + " characters");
    if (!key) return Wrong(path, "not all of its 32 characters are such digits");
    read[i] = *key;
  }
  *keys = {read[0], read[words.size() - 1]};
  return {};
}

}  // namespace tapline
