#include "parsers/testing/capture_file.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tapline::testing {
namespace {

constexpr size_t kFileHeaderBytes = 24, kRecordHeaderBytes = 16;
constexpr uint32_t kMicroseconds = 0xa1b2c3d4, kNanoseconds = 0xa1b23c4d;

[[noreturn]] void fail(const std::string& path, const char* reason) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), reason);
  std::abort();
}

std::string contents(const std::string& path) {
  const bool compressed = path.ends_with(".zst");
  FILE* file = compressed ? popen(("zstd -qdc --long=27 '" + path + "'").c_str(), "r") : std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail(path, "can't be opened");
  std::string bytes;
  std::string block(1 << 20, '\0');
  for (size_t read; (read = std::fread(block.data(), 1, block.size(), file)) > 0;) bytes.append(block, 0, read);
  const int outcome = compressed ? pclose(file) : std::fclose(file);
  if (outcome != 0) fail(path, "can't be read");
  return bytes;
}

uint32_t number_at(const std::string& bytes, size_t offset) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::vector<Frame> read_capture(const std::string& path) {
  const std::string bytes = contents(path);
  if (bytes.size() < kFileHeaderBytes) fail(path, "is not a capture");
  const uint32_t magic = number_at(bytes, 0);
  if ((magic != kMicroseconds && magic != kNanoseconds) || number_at(bytes, 20) != 1)
    fail(path, "is not a little-endian pcap file of Ethernet frames");
  std::vector<Frame> frames;
  for (size_t offset = kFileHeaderBytes; offset + kRecordHeaderBytes <= bytes.size();) {
    const uint32_t captured = number_at(bytes, offset + 8);
    const size_t begin = offset + kRecordHeaderBytes;
    if (captured > bytes.size() - begin) break;
    Frame& frame = frames.emplace_back();
    frame.time_ns = number_at(bytes, offset) * 1'000'000'000ll +
                    number_at(bytes, offset + 4) * (magic == kMicroseconds ? 1000ll : 1ll);
    frame.wire_bytes = number_at(bytes, offset + 12);
    frame.bytes.assign(bytes.begin() + static_cast<ptrdiff_t>(begin),
                       bytes.begin() + static_cast<ptrdiff_t>(begin + captured));
    offset = begin + captured;
  }
  return frames;
}

std::vector<std::string> read_lines(const std::string& path) {
  const std::string text = contents(path);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string reference_capture(const std::string& name) {
  const char* folder = std::getenv("TAPLINE_CAPTURES");
  const std::filesystem::path base = folder != nullptr ? folder : TAPLINE_SOURCE_DIR "/../shared/traces";
  const std::filesystem::path path = base / name;
  return std::filesystem::exists(path) ? path.string() : "";
}

}  // namespace tapline::testing
