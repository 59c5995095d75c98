// The supported link types, with their numbers in capture files (www.tcpdump.org/linktypes.html), and names of others.
#pragma once

#include <cstdint>
#include <string>

namespace tapline {

enum CaptureLinkType : uint16_t {
  kCaptureNull = 0,
  kCaptureEthernet = 1,
  kCaptureRawBsd = 12,
  kCaptureRawOpenBsd = 14,
  kCaptureRaw = 101,
  kCaptureLoop = 108,
  kCaptureSll = 113,
  kCaptureIpv4 = 228,
  kCaptureIpv6 = 229,
  kCaptureSll2 = 276,
};

bool is_supported_link_type(uint16_t number);

// Returns the number and name, as in "127 (802.11 with radiotap)", or only the number if the name is unknown.
std::string describe_link_type(uint16_t number);

// Lists the supported link types, for messages.
const char* supported_link_types();

}  // namespace tapline
