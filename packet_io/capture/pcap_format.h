// The classic capture format (draft-ietf-opsawg-pcap): a file header of 24 bytes, then records.
#pragma once

#include <span>

#include "packet_io/capture/endian.h"
#include "packet_io/capture/record_format.h"

namespace tapline {

// Reads both byte orders, microseconds and nanoseconds, and Kuznetzov's variant, whose record header is 8 bytes longer.
class PcapFormat final : public RecordFormat {
 public:
  // Returns true if a file that begins with these 4 bytes has this format.
  static bool matches(std::span<const uint8_t> head);

  Step next(std::span<const uint8_t> bytes, CapturedPacket* packet) override;
  PacketRun next_run(std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) override;

 private:
  Step read_file_header(std::span<const uint8_t> bytes);

  bool header_read_ = false;
  ByteOrder order_;
  uint32_t record_header_bytes_ = 16;
  int64_t ns_per_fraction_ = 1000;
  // True for versions up to 2.3, which wrote the two lengths in either order.
  bool lengths_may_be_swapped_ = false;
  uint16_t link_type_ = 0;
};

}  // namespace tapline
