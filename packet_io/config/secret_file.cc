#include "packet_io/config/secret_file.h"

#include <array>
#include <fstream>
#include <sstream>

namespace tapline {
namespace {

// Larger than any secret with surrounding white space. Without a limit, reading a device might never end.
constexpr size_t kMaxBytes = 4096;

}  // namespace

Status read_secret_words(const std::string& flag, const std::string& path, std::vector<std::string>* words) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMaxBytes> buffer;
  file.read(buffer.data(), buffer.size());
  if (!file.is_open() || file.bad()) return Status::invalid(flag + " " + path + ": can't be read; does it exist?");
  std::istringstream text(std::string(buffer.data(), static_cast<size_t>(file.gcount())));
  for (std::string word; text >> word;) words->push_back(word);
  return {};
}

}  // namespace tapline
