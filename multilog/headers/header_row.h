// A packet's header as a row of the node's MultiLog.
//
// Contains the innermost packet's fields, as decode() returns them, and the frame's first bytes, for pcapng. A field is
// absent if it belongs to the other address family or another protocol, if the packet has no tag, tunnel or telemetry,
// or if its tap has no known names.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "multilog/base/conditions.h"
#include "packet_io/base/tap.h"
#include "parsers/api/telemetry.h"

namespace tapline::multilog {

class HeaderLayout {
 public:
  static constexpr uint32_t kMaxFrameBytes = 64;
  static constexpr uint32_t kMaxHops = Telemetry::kMaxHops;

  // Keeps up to `frame_bytes` of each frame, at most kMaxFrameBytes, and the telemetry of up to `telemetry_hops`
  // switches, at most kMaxHops; with 0 hops, rows have no telemetry fields. With `tap_names`, rows have the fields
  // switch, port and side, with the names of the packet's tap if it is one of `taps`.
  explicit HeaderLayout(uint32_t frame_bytes, uint32_t telemetry_hops = 0, bool tap_names = false,
                        std::span<const Tap> taps = {});

  const Schema& schema() const { return schema_; }
  uint32_t row_bytes() const { return schema_.row_bytes(); }
  uint32_t frame_bytes() const { return frame_bytes_; }
  uint32_t telemetry_hops() const { return telemetry_hops_; }
  bool tap_names() const { return tap_names_; }

  // Writes a row of row_bytes() bytes.
  void write(const RawPacket& raw, const Packet& packet, uint8_t* row) const;

  // Return the kept bytes of the frame, its length on the wire, and its link type.
  std::span<const uint8_t> frame_of(const uint8_t* row) const;
  uint32_t wire_bytes_of(const uint8_t* row) const;
  LinkType link_of(const uint8_t* row) const;
  // Returns the bytes of the row's fields switch, port and side, which are the same for all packets of a tap. Empty if
  // rows have no such fields.
  std::span<const uint8_t> tap_bytes_of(const uint8_t* row) const;
  // Returns a tap's name, such as "sw1:2:arrivals", from these bytes, or an empty string if its switch is unknown.
  static std::string tap_name(std::span<const uint8_t> tap_bytes);

 private:
  // Writes the fields that follow the frame: path, hop_ns, hop_latency_ns, queue_depth, hops, path_cut. Returns their
  // presence bits.
  uint32_t write_telemetry(const Packet& packet, uint8_t* row) const;
  uint32_t telemetry_bytes() const;
  // Writes the fields that follow the telemetry: switch, port, side. Returns their presence bits.
  uint32_t write_tap(uint8_t tap, uint8_t* row) const;

  // The bytes of a tap's fields in a row, and their presence bits.
  struct TapFields {
    static constexpr uint32_t kSideBytes = 10;
    std::array<uint8_t, 2 * Tap::kMaxNameBytes + kSideBytes> bytes = {};
    uint32_t present = 0;
  };
  static TapFields fields_of(const Tap& tap, uint32_t first_bit);

  uint32_t frame_bytes_;
  uint32_t telemetry_hops_;
  bool tap_names_;
  std::vector<TapFields> taps_;
  Schema schema_;
};

}  // namespace tapline::multilog
