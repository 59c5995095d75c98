#include "packet_io/source/capture_check.h"

#include <sys/stat.h>

#include <array>

#include "packet_io/source/file_source.h"

namespace tapline {
namespace {

// In a pcapng file, each interface has its own link type. After this number of packets of unsupported types, a file is
// accepted, since supported ones may follow.
constexpr uint64_t kMaxPackets = 4096;

bool reading_takes_bytes_away(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status check_capture(const std::string& path) {
  CaptureError error;
  const CaptureName name = CaptureName::of(path);
  auto reader = CaptureReader::open(name.path, &error);
  if (!reader) return status_of(error);
  if (!name.interface.empty() && !reader->select({name.interface}, &error)) return status_of(error);
  std::array<CapturedPacket, 16> packets;
  while (reader->unsupported_packets() < kMaxPackets) {
    size_t count = 0;
    const CaptureReader::Outcome outcome = reader->read(packets, &count);
    if (outcome == CaptureReader::Outcome::kPackets) return {};
    if (outcome == CaptureReader::Outcome::kEnd) return reader->error() ? status_of(reader->error()) : Status();
    reader->refill();
  }
  return {};
}

}  // namespace

Status check_captures(std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    if (reading_takes_bytes_away(CaptureName::of(path).path)) continue;
    if (Status status = check_capture(path); !status.ok()) return status;
  }
  return {};
}

}  // namespace tapline
