#include "parsers/transactions/degraded/wrapping.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tapline::testing {
namespace {

constexpr size_t kEthernetBytes = 14, kV4Bytes = 20;
// Bounds of the payload of a fragment, multiples of 8. The TCP header fits into the first fragment, as RFC 1858
// requires.
constexpr size_t kFragmentBytes = 520, kMinFragmentBytes = 64;
constexpr uint16_t kVlan = 7, kVxlanPort = 4789, kTypeV4 = 0x0800, kTypeV6 = 0x86dd;
constexpr uint8_t kMoreFragments = 0x20;

bool holds_v4(const Frame& frame) {
  return frame.bytes.size() > kEthernetBytes + kV4Bytes && frame.bytes[12] == 0x08 && frame.bytes[13] == 0x00 &&
         frame.bytes[kEthernetBytes] == 0x45;
}

Bytes part_of(const Bytes& bytes, size_t begin, size_t end) {
  return {bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(end)};
}

Frame with_bytes(const Frame& frame, Bytes bytes) {
  Frame result = frame;
  result.bytes = std::move(bytes);
  return result;
}

// Returns the end of the datagram, without Ethernet padding.
size_t ip_end(const Frame& frame) {
  const size_t total = static_cast<size_t>(frame.bytes[16]) << 8 | frame.bytes[17];
  return std::min(frame.bytes.size(), kEthernetBytes + total);
}

Frame in_vlan(const Frame& frame) {
  Bytes bytes = frame.bytes;
  const uint8_t tag[] = {0x81, 0x00, 0x00, kVlan};
  bytes.insert(bytes.begin() + 12, std::begin(tag), std::end(tag));
  return with_bytes(frame, std::move(bytes));
}

Frame in_vxlan(const Frame& frame) {
  std::string inside("\x08\0\0\0\0\x12\x34\0", 8);
  inside.append(frame.bytes.begin(), frame.bytes.end());
  const Bytes udp = udp_datagram(50'000, kVxlanPort, inside);
  return with_bytes(frame, ethernet(kTypeV4, ip_v4("192.0.2.1", "192.0.2.2", protocol::kUdp, udp)));
}

Frame in_v6(const Frame& frame) {
  const auto address = [&](size_t offset) {
    std::string text = "2001:db8::";
    for (size_t i = 0; i < 4; ++i) text += std::to_string(frame.bytes[offset + i]) + (i < 3 ? "." : "");
    return text;
  };
  const Bytes payload = part_of(frame.bytes, kEthernetBytes + kV4Bytes, ip_end(frame));
  return with_bytes(frame, ethernet(kTypeV6, ip_v6(address(26), address(30), frame.bytes[23], payload)));
}

std::vector<Frame> in_fragments(const Frame& frame, uint32_t number) {
  const size_t begin = kEthernetBytes + kV4Bytes, end = ip_end(frame);
  if (end < begin + 2 * kMinFragmentBytes) return {frame};
  const size_t bytes = std::clamp((end - begin) / 16 * 8, kMinFragmentBytes, kFragmentBytes);
  std::vector<Frame> fragments;
  for (size_t position = begin; position < end; position += bytes) {
    const size_t stop = std::min(position + bytes, end);
    const size_t total = kV4Bytes + stop - position, offset = (position - begin) / 8;
    Bytes ip = part_of(frame.bytes, kEthernetBytes, begin);
    ip[2] = static_cast<uint8_t>(total >> 8);
    ip[3] = static_cast<uint8_t>(total);
    ip[4] = static_cast<uint8_t>(number >> 8);
    ip[5] = static_cast<uint8_t>(number);
    ip[6] = static_cast<uint8_t>(offset >> 8 | (stop < end ? kMoreFragments : 0));
    ip[7] = static_cast<uint8_t>(offset);
    ip.insert(ip.end(), frame.bytes.begin() + static_cast<ptrdiff_t>(position),
              frame.bytes.begin() + static_cast<ptrdiff_t>(stop));
    fragments.push_back(with_bytes(frame, ethernet(kTypeV4, with_checksum(std::move(ip)))));
  }
  return fragments;
}

}  // namespace

std::vector<Frame> wrapped(const Frame& frame, Wrapping wrapping, uint32_t number) {
  if (!holds_v4(frame)) return {frame};
  switch (wrapping) {
    case Wrapping::kNone:
      return {frame};
    case Wrapping::kVlan:
      return {in_vlan(frame)};
    case Wrapping::kVxlan:
      return {in_vxlan(frame)};
    case Wrapping::kFragments:
      return in_fragments(frame, number);
    case Wrapping::kV6:
      return {in_v6(frame)};
  }
  return {};
}

}  // namespace tapline::testing
