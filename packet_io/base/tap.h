// A tap is a point in the network where traffic is copied. A program's taps are numbered (see taps_of()), and each
// packet has the number of its tap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "packet_io/base/status.h"

namespace tapline {

inline constexpr size_t kMaxTaps = 64;

// The side of a port's queue at which packets are copied: before or after they wait in the queue.
enum class TapSide : uint8_t { kUnknown, kArrivals, kDepartures };
std::string_view name_of(TapSide side);  // Returns "arrivals", "departures", or "" for kUnknown.

struct Tap {
  // The maximum length of a switch or port name, in bytes, as in rows (multilog/headers/header_row.h).
  static constexpr size_t kMaxNameBytes = 24;

  std::string switch_name = {};  // empty: unknown
  std::string port = {};         // empty: unknown, or all of the switch's ports
  TapSide side = TapSide::kUnknown;
  // An interface of this host, or a capture file; "FILE#INTERFACE" is one interface in a pcapng file.
  std::string source = {};
  bool file = false;

  bool has_switch() const { return !switch_name.empty(); }
  // Returns true for a tap of copies that switches mark. It receives its queue's name when it is bound
  // (monitors/plan/monitor_taps.h).
  bool is_marked() const { return !has_switch() && side != TapSide::kUnknown; }
  // Returns a name such as "sw1:eth2:arrivals". A tap without a switch is named by its source, and by its side if
  // marked.
  std::string name() const;

  bool operator==(const Tap&) const = default;
};

// Parses SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE. Returns kUsage for any other text. A source with a '/', or
// whose name ends in .pcap, .pcapng, .cap or .zst, is a file, so that a configuration means the same on every host.
Status parse_tap(const std::string& text, Tap* tap);

// Returns kUsage if two taps are at the same point or share a source, or if there are more than kMaxTaps.
Status validate_taps(std::span<const Tap> taps);

}  // namespace tapline
