#include "packet_io/capture/pcap_format.h"

#include <algorithm>
#include <string>

#include "packet_io/capture/link_type.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

constexpr size_t kFileHeaderBytes = 24;
constexpr uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr uint32_t kMagicKuznetzov = 0xa1b2cd34;

bool is_magic(uint32_t magic) {
  return magic == kMagicMicroseconds || magic == kMagicNanoseconds || magic == kMagicKuznetzov;
}

}  // namespace

bool PcapFormat::matches(std::span<const uint8_t> head) {
  return head.size() >= kMagicBytes && (is_magic(ByteOrder(std::endian::little).u32(head.data())) ||
                                        is_magic(ByteOrder(std::endian::big).u32(head.data())));
}

Step PcapFormat::read_file_header(std::span<const uint8_t> bytes) {
  if (bytes.size() < kFileHeaderBytes) return {Step::kNeed, kFileHeaderBytes};
  const uint8_t* header = bytes.data();
  order_ = ByteOrder(is_magic(ByteOrder(std::endian::little).u32(header)) ? std::endian::little : std::endian::big);
  uint32_t magic = order_.u32(header);
  uint16_t major = order_.u16(header + 4);
  uint16_t minor = order_.u16(header + 6);
  if (major != 2) {
    return fail(CaptureFault::kUnsupportedVersion, "is pcap version " + std::to_string(major) + "." +
                                                       std::to_string(minor) + "; only version 2 is supported");
  }
  lengths_may_be_swapped_ = minor <= 3;
  ns_per_fraction_ = magic == kMagicNanoseconds ? 1 : 1000;
  record_header_bytes_ = magic == kMagicKuznetzov ? 24 : 16;
  // The upper half contains the length of a frame check sequence and flags.
  link_type_ = static_cast<uint16_t>(order_.u32(header + 20) & 0xffff);
  if (!is_supported_link_type(link_type_)) {
    return fail(CaptureFault::kUnsupportedLinkType, "has link type " + describe_link_type(link_type_) +
                                                        ", which is not decoded; supported are " +
                                                        supported_link_types());
  }
  header_read_ = true;
  return {Step::kSkip, kFileHeaderBytes};
}

Step PcapFormat::next(std::span<const uint8_t> bytes, CapturedPacket* packet) {
  if (!header_read_) return read_file_header(bytes);
  if (bytes.size() < record_header_bytes_) return {Step::kNeed, record_header_bytes_};
  const uint8_t* header = bytes.data();
  uint32_t captured = order_.u32(header + 8);
  uint32_t wire = order_.u32(header + 12);
  if (lengths_may_be_swapped_ && captured > wire) std::swap(captured, wire);
  if (captured > kMaxPacketBytes) {
    return fail(CaptureFault::kCorrupt, "a packet of " + std::to_string(captured) + " bytes, but the maximum is " +
                                            std::to_string(kMaxPacketBytes));
  }
  size_t record_bytes = record_header_bytes_ + captured;
  if (bytes.size() < record_bytes) return {Step::kNeed, record_bytes};
  packet->data = header + record_header_bytes_;
  packet->captured_bytes = captured;
  packet->wire_bytes = std::max(wire, captured);
  packet->time_ns = order_.u32(header) * kNsPerSecond + order_.u32(header + 4) * ns_per_fraction_;
  packet->link_type = link_type_;
  return {Step::kPacket, record_bytes};
}

PacketRun PcapFormat::next_run(std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) {
  return run_of(this, bytes, packets);
}

}  // namespace tapline
