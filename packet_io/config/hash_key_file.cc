#include "packet_io/config/hash_key_file.h"

#include <vector>

#include "packet_io/config/secret_file.h"

namespace tapline {
namespace {

Status wrong(const std::string& path, const std::string& reason) {
  return Status::invalid("--hash-key-file " + path + ": a key is 32 hexadecimal digits; " + reason);
}

}  // namespace

Status read_hash_keys(const std::string& path, HashKeys* keys) {
  if (path.empty()) return {};
  std::vector<std::string> words;
  if (Status status = read_secret_words("--hash-key-file", path, &words); !status.ok()) return status;
  if (words.empty() || words.size() > 2)
    return wrong(path, "the file has " + std::to_string(words.size()) + " words; it must have one or two");
  HashKey read[2];
  for (size_t i = 0; i < words.size(); ++i) {
    const auto key = HashKey::parse(words[i]);
    if (!key && words[i].size() != 32) return wrong(path, "it has " + std::to_string(words[i].size()) + " characters");
    if (!key) return wrong(path, "not all of its 32 characters are hexadecimal digits");
    read[i] = *key;
  }
  *keys = {read[0], read[words.size() - 1]};
  return {};
}

}  // namespace tapline
