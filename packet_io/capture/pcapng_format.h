// The newer capture format (draft-ietf-opsawg-pcapng): sections of blocks, each section with its own byte order and
// interfaces.
//
//   block: type u32 | length u32 | body, padded to 4 bytes | length u32
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packet_io/capture/endian.h"
#include "packet_io/capture/record_format.h"

namespace tapline {

// Converts an interface's timestamps to nanoseconds: ticks * multiply / divide + offset_ns.
struct TimestampScale {
  uint64_t multiply = 1000;
  uint64_t divide = 1;
  int64_t offset_ns = 0;

  // Creates the scale from the options if_tsresol (draft section 4.2: a negative power of 10, or of 2 if the top bit is
  // set) and if_tsoffset (seconds).
  static TimestampScale from(uint8_t resolution, int64_t offset_seconds);
  // Converts a timestamp; saturates at 0 and kLatestTimeNs.
  int64_t to_nanoseconds(uint64_t ticks) const;
};

class PcapngFormat final : public RecordFormat {
 public:
  // Returns true if a file that begins with these 4 bytes has this format.
  static bool matches(std::span<const uint8_t> head);

  bool select(std::vector<std::string> interfaces) override;
  std::string missing_interface() const override;
  // A simple packet block has no timestamp, so it gets the previous packet's.
  Step next(std::span<const uint8_t> bytes, CapturedPacket* packet) override;
  PacketRun next_run(std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) override;

 private:
  struct Interface {
    uint16_t link_type = 0;
    uint32_t snapshot_bytes = 0;
    TimestampScale scale;
    std::string_view name;  // valid as long as the block
    uint8_t selected = 0;
    bool skipped = false;
  };
  struct PacketFields {
    uint32_t interface_id;
    uint64_t ticks;
    uint32_t captured;
    uint32_t wire;
  };

  Step read_section(std::span<const uint8_t> bytes);
  Step read_interface(std::span<const uint8_t> block);
  void read_interface_options(std::span<const uint8_t> options, Interface* interface) const;
  Step read_enhanced_packet(std::span<const uint8_t> block, CapturedPacket* packet);
  Step read_obsolete_packet(std::span<const uint8_t> block, CapturedPacket* packet);
  Step read_simple_packet(std::span<const uint8_t> block, CapturedPacket* packet);
  void select_interface(Interface* interface);
  Step deliver(std::span<const uint8_t> block, size_t header_bytes, const PacketFields& fields, CapturedPacket* packet);
  Step corrupt(std::string detail) { return fail(CaptureFault::kCorrupt, std::move(detail)); }

  ByteOrder order_;
  std::vector<Interface> interfaces_;
  std::vector<std::string> selected_;  // empty: all interfaces
  std::vector<bool> found_;            // flags, parallel to selected_
  std::string names_;                  // names of the first interfaces, for messages
  size_t described_ = 0;
  int64_t last_time_ns_ = 0;
};

}  // namespace tapline
