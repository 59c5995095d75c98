#include "packet_io/source/capture_check.h"

#include <sys/stat.h>

#include <array>

#include "packet_io/source/file_source.h"

namespace tapline {
namespace {

// A pcapng names the link type with each packet's interface. A file whose first packets all have an unsupported type is
// read no further: supported ones may follow.
constexpr uint64_t kMostPackets = 4096;

bool ReadingTakesBytesAway(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status CheckCapture(const std::string& path) {
  CaptureError error;
  const CaptureName name = CaptureName::Of(path);
  auto reader = CaptureReader::Open(name.path, &error);
  if (!reader) return StatusOf(error);
  if (!name.interface.empty() && !reader->Select({name.interface}, &error)) return StatusOf(error);
  std::array<CapturedPacket, 16> packets;
  while (reader->unsupported_packets() < kMostPackets) {
    size_t count = 0;
    const CaptureReader::Outcome outcome = reader->Read(packets, &count);
    if (outcome == CaptureReader::Outcome::kPackets) return {};
    if (outcome == CaptureReader::Outcome::kEnd) return reader->error() ? StatusOf(reader->error()) : Status();
    reader->Refill();
  }
  return {};
}

}  // namespace

Status CheckCaptures(std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    if (ReadingTakesBytesAway(CaptureName::Of(path).path)) continue;
    if (Status status = CheckCapture(path); !status.ok()) return status;
  }
  return {};
}

}  // namespace tapline
