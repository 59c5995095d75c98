// Fuzz target for capture files: pcap, pcapng, and both within Zstandard frames.
//
// The input is a file. It is read in three ways, which must agree: as a file, through a pipe, and (if it is not
// compressed) record by record from a heap copy of exactly the bytes that the format requested, so that a sanitizer
// detects each read beyond them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "packet_io/capture/capture_reader.h"
#include "packet_io/capture/link_type.h"

namespace tapline {
namespace {

// A pipe has room for this number of bytes without a reader.
constexpr size_t kMaxInputBytes = 65536;
// Limits the number of packets, since a few compressed bytes can expand to many.
constexpr size_t kMaxPackets = 20'000;

struct SeenPackets {
  uint64_t packets = 0;
  uint64_t digest = 0;
  uint64_t unsupported = 0;
  CaptureFault fault = CaptureFault::kNone;
  bool operator==(const SeenPackets&) const = default;

  void add(const CapturedPacket& packet) {
    ++packets;
    for (uint32_t i = 0; i < packet.captured_bytes; ++i) digest = digest * 31 + packet.data[i];
    digest = digest * 31 + static_cast<uint64_t>(packet.time_ns);
    digest = digest * 31 + packet.wire_bytes + packet.link_type;
  }
};

void require(bool condition, const char* property) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", property);
  std::abort();
}

SeenPackets read_all(int fd) {
  SeenPackets seen;
  CaptureError error;
  auto reader = CaptureReader::open("/proc/self/fd/" + std::to_string(fd), &error);
  close(fd);
  if (!reader) return {.fault = error.fault};
  std::array<CapturedPacket, 3> packets;
  size_t count;
  CaptureReader::Outcome outcome = CaptureReader::Outcome::kPackets;
  while (outcome != CaptureReader::Outcome::kEnd && seen.packets < kMaxPackets) {
    outcome = reader->read(packets, &count);
    if (outcome == CaptureReader::Outcome::kRefill) reader->refill();
    for (size_t i = 0; i < count && seen.packets < kMaxPackets; ++i) seen.add(packets[i]);
  }
  if (outcome != CaptureReader::Outcome::kEnd) return seen;
  seen.unsupported = reader->unsupported_packets();
  seen.fault = reader->error().fault;
  return seen;
}

SeenPackets read_file(std::span<const uint8_t> bytes) {
  int fd = memfd_create("capture", MFD_CLOEXEC);
  bool was_written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  require(was_written, "not enough memory for a file");
  return read_all(fd);
}

SeenPackets read_piped(std::span<const uint8_t> bytes) {
  int ends[2];
  require(pipe(ends) == 0, "no pipe");
  bool was_written = write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  require(was_written, "the input does not fit into a pipe");
  close(ends[1]);
  return read_all(ends[0]);
}

// Collects only the packets, since only the reader reports faults.
SeenPackets read_records(RecordFormat* format, std::span<const uint8_t> bytes) {
  SeenPackets seen;
  size_t wanted = 1;
  while (wanted <= bytes.size() && seen.packets < kMaxPackets) {
    const std::vector<uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(wanted));
    CapturedPacket packet;
    Step step = format->next(exact, &packet);
    if (step.kind == Step::kFault) break;
    if (step.kind == Step::kNeed) {
      require(step.bytes > wanted, "a format requests bytes that it already has");
      wanted = step.bytes;
      continue;
    }
    if (step.kind == Step::kPacket && is_supported_link_type(packet.link_type)) seen.add(packet);
    require(step.bytes > 0, "a record of no bytes");
    bytes = bytes.subspan(std::min(step.bytes, bytes.size()));
    wanted = 1;
  }
  return seen;
}

void check(std::span<const uint8_t> bytes) {
  SeenPackets whole = read_file(bytes);
  // Creating a pipe's buffers costs more than all other steps, so only some inputs are read through a pipe.
  if (bytes.size() % 4 == 0) require(whole == read_piped(bytes), "file and pipe differ");
  auto format = detect_format(bytes);
  if (!format || whole.packets >= kMaxPackets) return;
  SeenPackets records = read_records(format.get(), bytes);
  require(records.packets == whole.packets && records.digest == whole.digest, "records and reader differ");
}

}  // namespace
}  // namespace tapline

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= tapline::kMaxInputBytes) tapline::check({data, size});
  return 0;
}
