#include "packet_io/capture/link_type.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tapline {
namespace {

constexpr std::array kSupported = {kCaptureNull, kCaptureEthernet, kCaptureRawBsd, kCaptureRawOpenBsd, kCaptureRaw,
                                   kCaptureLoop, kCaptureSll,      kCaptureIpv4,   kCaptureIpv6,       kCaptureSll2};

constexpr std::array<std::pair<uint16_t, const char*>, 20> kNames = {{
    {6, "Token Ring"},
    {7, "ARCNET"},
    {8, "SLIP"},
    {9, "PPP"},
    {10, "FDDI"},
    {50, "PPP in HDLC framing"},
    {104, "Cisco HDLC"},
    {105, "802.11"},
    {107, "Frame Relay"},
    {123, "SunATM"},
    {127, "802.11 with radiotap"},
    {147, "user defined"},
    {189, "USB, Linux"},
    {195, "802.15.4"},
    {220, "USB, Linux, mmapped"},
    {227, "CAN, SocketCAN"},
    {239, "NFLOG"},
    {249, "USB, Windows"},
    {253, "Netlink"},
    {252, "Wireshark upper PDU"},
}};

}  // namespace

bool is_supported_link_type(uint16_t number) {
  return std::find(kSupported.begin(), kSupported.end(), number) != kSupported.end();
}

std::string describe_link_type(uint16_t number) {
  auto name = std::find_if(kNames.begin(), kNames.end(), [&](const auto& entry) { return entry.first == number; });
  std::string text = std::to_string(number);
  return name == kNames.end() ? text : text + " (" + name->second + ")";
}

const char* supported_link_types() { return "Ethernet, null/loopback, raw IP, Linux cooked (SLL, SLL2)"; }

}  // namespace tapline
