#include "monitors/match/matcher.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

namespace tapline {
namespace {

constexpr int kMappedBits = 128;
constexpr int kV4MappedOffsetBits = 96;

std::optional<int> parse_length(std::string_view text, int max_length) {
  int length = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || length < 0 || length > max_length)
    return std::nullopt;
  return length;
}

void set_mask(int bits, uint64_t mask[2]) {
  std::array<uint8_t, kMappedBits / 8> bytes = {};
  for (int bit = 0; bit < bits; ++bit) bytes[bit / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
  std::memcpy(mask, bytes.data(), bytes.size());
}

}  // namespace

std::optional<AddressPattern> AddressPattern::parse(std::string_view prefix, uint16_t port) {
  return parse(prefix, port, port);
}

std::optional<AddressPattern> AddressPattern::parse(std::string_view prefix, uint16_t first_port, uint16_t last_port) {
  AddressPattern pattern;
  pattern.port_ = first_port;
  pattern.last_port_ = last_port;
  if (prefix.empty()) return pattern;
  size_t slash = prefix.find('/');
  std::string text(prefix.substr(0, slash));
  std::array<uint8_t, 16> bytes;
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    pattern.v4_ = true;
    address = IpAddress::v4(bytes.data());
  } else if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    address = IpAddress::v6(bytes.data());
  } else {
    return std::nullopt;
  }
  int family_offset = pattern.v4_ ? kV4MappedOffsetBits : 0;
  int max_length = kMappedBits - family_offset;
  auto length = slash == std::string_view::npos ? max_length : parse_length(prefix.substr(slash + 1), max_length);
  if (!length) return std::nullopt;
  set_mask(family_offset + *length, pattern.mask_);
  std::memcpy(pattern.value_, address.mapped().data(), sizeof pattern.value_);
  for (int i = 0; i < 2; ++i) pattern.value_[i] &= pattern.mask_[i];
  pattern.any_address_ = false;
  return pattern;
}

bool AddressPattern::covers_address(const IpAddress& address) const {
  uint64_t words[2];
  std::memcpy(words, address.mapped().data(), sizeof words);
  bool inside = ((words[0] & mask_[0]) ^ value_[0]) == 0 && ((words[1] & mask_[1]) ^ value_[1]) == 0;
  // ::/0 and other short IPv6 prefixes contain the mapped IPv4 addresses but must not match them.
  return inside && (v4_ || !address.is_v4());
}

bool ConnectionMatch::any_covers(const std::vector<AddressPattern>& patterns, const IpAddress& address, uint16_t port) {
  if (patterns.empty()) return true;
  for (const AddressPattern& pattern : patterns) {
    if (pattern.covers(address, port)) return true;
  }
  return false;
}

namespace {

bool any_is(const std::vector<uint32_t>& wanted, uint32_t value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

}  // namespace

ConnectionMatch::Answer ConnectionMatch::match(const Packet& packet) const {
  const Answer response = match_own(packet);
  for (const ConnectionMatch& excluded : except_) {
    if (response.wanted && excluded.match(packet).wanted) return {false, ToSide::kUnknown};
  }
  return response;
}

ConnectionMatch::Answer ConnectionMatch::match_own(const Packet& packet) const {
  if (of_queues() && !has_tap(taps_, packet.tap)) return {false, ToSide::kUnknown};
  if (ignored_ != 0 && has_tap(ignored_, packet.tap)) return {false, ToSide::kUnknown};
  if (!any_is(vlans_, packet.vlan[0]) || !any_is(tenants_, packet.network_id)) return {false, ToSide::kUnknown};
  return match_ends({packet.src_ip, packet.src_port}, {packet.dst_ip, packet.dst_port});
}

ConnectionMatch::Answer ConnectionMatch::match_ends(const Endpoint& source, const Endpoint& destination) const {
  if (from_.empty() && to_.empty()) return {true, ToSide::kUnknown};
  bool is_forward =
      any_covers(to_, destination.address, destination.port) && any_covers(from_, source.address, source.port);
  bool is_backward =
      any_covers(to_, source.address, source.port) && any_covers(from_, destination.address, destination.port);
  if (is_forward == is_backward) return {is_forward, ToSide::kUnknown};
  return {true, is_forward ? ToSide::kDestination : ToSide::kSource};
}

uint16_t ConnectionMatch::far_port(const Endpoint& source, const Endpoint& destination) const {
  switch (match_ends(source, destination).to_side) {
    case ToSide::kDestination:
      return source.port;
    case ToSide::kSource:
      return destination.port;
    default:
      return std::max(source.port, destination.port);
  }
}

}  // namespace tapline
