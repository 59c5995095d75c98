#include "packet_io/capture/pcapng_format.h"

#include <algorithm>
#include <limits>
#include <string>

#include "parsers/api/packet.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

constexpr uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr uint32_t kInterfaceDescription = 1;
constexpr uint32_t kObsoletePacket = 2;
constexpr uint32_t kSimplePacket = 3;
constexpr uint32_t kEnhancedPacket = 6;

constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr size_t kSmallestBlockBytes = 12;
constexpr size_t kSectionBytes = 28;
// The size limit for blocks that are read as a whole; other blocks are skipped regardless of their size.
constexpr uint32_t kLargestBlockBytes = 16 * 1024 * 1024;
// The maximum number of interfaces per section, since a malicious file could declare enough to exhaust memory.
constexpr size_t kMaxInterfaces = 65536;

constexpr uint16_t kEndOfOptions = 0;
constexpr uint16_t kInterfaceName = 2;
constexpr uint16_t kTimestampResolution = 9;
constexpr uint16_t kTimestampOffset = 14;
constexpr uint8_t kMicroseconds = 6;

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

uint64_t power_of_ten(int exponent) {
  uint64_t value = 1;
  while (exponent-- > 0) value *= 10;
  return value;
}

size_t padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

// The maximum number of interfaces that a message lists.
constexpr size_t kMaxNames = 16;

std::string_view name_in(const uint8_t* value, uint16_t length) {
  const std::string_view name(reinterpret_cast<const char*>(value), length);
  return name.substr(0, name.find('\0'));
}

bool is_read_in_one_piece(uint32_t type) {
  return type == kSectionHeader || type == kInterfaceDescription || type == kObsoletePacket || type == kSimplePacket ||
         type == kEnhancedPacket;
}

}  // namespace

TimestampScale TimestampScale::from(uint8_t resolution, int64_t offset_seconds) {
  // Larger powers are clamped. Beyond 10^-28 s per tick, even 2^64 ticks are less than a nanosecond; beyond 2^-63 s,
  // `divide` would overflow.
  constexpr int kMaxDecimalPower = 28;
  constexpr int kMaxBinaryPower = 63;
  int power = resolution & 0x7f;
  TimestampScale scale;
  if (resolution & 0x80) {
    scale.multiply = kNsPerSecond;
    scale.divide = uint64_t{1} << std::min(power, kMaxBinaryPower);
  } else {
    scale.multiply = power_of_ten(std::max(0, 9 - power));
    scale.divide = power_of_ten(std::min(std::max(0, power - 9), kMaxDecimalPower - 9));
  }
  SignedWide offset_ns = SignedWide{offset_seconds} * kNsPerSecond;
  scale.offset_ns = static_cast<int64_t>(
      std::clamp<SignedWide>(offset_ns, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  return scale;
}

int64_t TimestampScale::to_nanoseconds(uint64_t ticks) const {
  Wide product = Wide{ticks} * multiply;
  SignedWide time_ns = static_cast<SignedWide>(divide == 1 ? product : product / divide) + offset_ns;
  return static_cast<int64_t>(std::clamp<SignedWide>(time_ns, 0, kLatestTimeNs));
}

bool PcapngFormat::matches(std::span<const uint8_t> head) {
  return head.size() >= kMagicBytes && ByteOrder().u32(head.data()) == kSectionHeader;
}

Step PcapngFormat::read_section(std::span<const uint8_t> bytes) {
  if (bytes.size() < kSectionBytes) return {Step::kNeed, kSectionBytes};
  const uint8_t* block = bytes.data();
  ByteOrder little(std::endian::little);
  ByteOrder big(std::endian::big);
  if (little.u32(block + 8) != kByteOrderMagic && big.u32(block + 8) != kByteOrderMagic) {
    return corrupt("a section header without byte order mark");
  }
  order_ = little.u32(block + 8) == kByteOrderMagic ? little : big;
  uint32_t length = order_.u32(block + 4);
  if (length < kSectionBytes) return corrupt("a section header of " + std::to_string(length) + " bytes");
  if (order_.u16(block + 12) != 1) {
    return fail(CaptureFault::kUnsupportedVersion,
                "is pcapng version " + std::to_string(order_.u16(block + 12)) + "; only version 1 is supported");
  }
  interfaces_.clear();
  return {Step::kSkip, padded(length)};
}

void PcapngFormat::read_interface_options(std::span<const uint8_t> options, Interface* interface) const {
  uint8_t resolution = kMicroseconds;
  int64_t offset_seconds = 0;
  while (options.size() >= 4) {
    uint16_t code = order_.u16(options.data());
    uint16_t length = order_.u16(options.data() + 2);
    const uint8_t* value = options.data() + 4;
    if (code == kEndOfOptions || options.size() < 4 + padded(length)) break;
    if (code == kInterfaceName) interface->name = name_in(value, length);
    if (code == kTimestampResolution && length >= 1) resolution = value[0];
    if (code == kTimestampOffset && length >= 8) offset_seconds = static_cast<int64_t>(order_.u64(value));
    options = options.subspan(4 + padded(length));
  }
  interface->scale = TimestampScale::from(resolution, offset_seconds);
}

bool PcapngFormat::select(std::vector<std::string> interfaces) {
  selected_ = std::move(interfaces);
  found_.assign(selected_.size(), false);
  return true;
}

// Determines whether the interface is selected, by its name or, only if it has none, by its number.
void PcapngFormat::select_interface(Interface* interface) {
  const std::string number = std::to_string(interfaces_.size());
  const std::string name(interface->name.empty() ? number : interface->name);
  if (described_++ < kMaxNames) names_ += (names_.empty() ? "" : ", ") + name;
  auto chosen = std::find(selected_.begin(), selected_.end(), name);
  interface->skipped = chosen == selected_.end();
  if (interface->skipped) return;
  interface->selected = static_cast<uint8_t>(chosen - selected_.begin());
  found_[interface->selected] = true;
}

std::string PcapngFormat::missing_interface() const {
  for (size_t i = 0; i < selected_.size(); ++i) {
    if (!found_[i])
      return "has no interface '" + selected_[i] + "'" + (names_.empty() ? "" : "; it has: " + names_) +
             (described_ > kMaxNames ? " and " + std::to_string(described_ - kMaxNames) + " more" : "");
  }
  return "";
}

Step PcapngFormat::read_interface(std::span<const uint8_t> block) {
  if (block.size() < 20) return corrupt("an interface description of " + std::to_string(block.size()) + " bytes");
  if (interfaces_.size() == kMaxInterfaces) return corrupt("more than 65536 interfaces in a section");
  Interface interface;
  interface.link_type = order_.u16(block.data() + 8);
  interface.snapshot_bytes = order_.u32(block.data() + 12);
  read_interface_options(block.subspan(16, block.size() - 20), &interface);
  if (!selected_.empty()) select_interface(&interface);
  interface.name = {};
  interfaces_.push_back(interface);
  return {Step::kSkip, block.size()};
}

Step PcapngFormat::deliver(std::span<const uint8_t> block, size_t header_bytes, const PacketFields& fields,
                           CapturedPacket* packet) {
  if (fields.interface_id >= interfaces_.size()) {
    return corrupt("a packet of interface " + std::to_string(fields.interface_id) + ", which is not described");
  }
  if (fields.captured > kMaxPacketBytes || fields.captured > block.size() - header_bytes - 4) {
    return corrupt("a packet of " + std::to_string(fields.captured) + " bytes in a block of " +
                   std::to_string(block.size()));
  }
  const Interface& interface = interfaces_[fields.interface_id];
  if (interface.skipped) return {Step::kSkip, block.size()};
  packet->selected = interface.selected;
  packet->data = block.data() + header_bytes;
  packet->captured_bytes = fields.captured;
  packet->wire_bytes = std::max(fields.wire, fields.captured);
  packet->time_ns = last_time_ns_ = interface.scale.to_nanoseconds(fields.ticks);
  packet->link_type = interface.link_type;
  return {Step::kPacket, block.size()};
}

Step PcapngFormat::read_enhanced_packet(std::span<const uint8_t> block, CapturedPacket* packet) {
  constexpr size_t kHeaderBytes = 28;
  if (block.size() < kHeaderBytes + 4) return corrupt("a packet block of " + std::to_string(block.size()) + " bytes");
  const uint8_t* bytes = block.data();
  uint64_t ticks = uint64_t{order_.u32(bytes + 12)} << 32 | order_.u32(bytes + 16);
  return deliver(block, kHeaderBytes, {order_.u32(bytes + 8), ticks, order_.u32(bytes + 20), order_.u32(bytes + 24)},
                 packet);
}

Step PcapngFormat::read_obsolete_packet(std::span<const uint8_t> block, CapturedPacket* packet) {
  constexpr size_t kHeaderBytes = 28;
  if (block.size() < kHeaderBytes + 4) return corrupt("a packet block of " + std::to_string(block.size()) + " bytes");
  const uint8_t* bytes = block.data();
  uint64_t ticks = uint64_t{order_.u32(bytes + 12)} << 32 | order_.u32(bytes + 16);
  return deliver(block, kHeaderBytes, {order_.u16(bytes + 8), ticks, order_.u32(bytes + 20), order_.u32(bytes + 24)},
                 packet);
}

Step PcapngFormat::read_simple_packet(std::span<const uint8_t> block, CapturedPacket* packet) {
  constexpr size_t kHeaderBytes = 12;
  if (block.size() < kHeaderBytes + 4) return corrupt("a packet block of " + std::to_string(block.size()) + " bytes");
  if (interfaces_.empty()) return corrupt("a packet of interface 0, which is not described");
  uint32_t wire = order_.u32(block.data() + 8);
  uint32_t captured = std::min<uint32_t>(wire, static_cast<uint32_t>(block.size() - kHeaderBytes - 4));
  if (interfaces_[0].snapshot_bytes != 0) captured = std::min(captured, interfaces_[0].snapshot_bytes);
  int64_t time_ns = last_time_ns_;
  Step step = deliver(block, kHeaderBytes, {0, 0, captured, wire}, packet);
  packet->time_ns = last_time_ns_ = time_ns;
  return step;
}

Step PcapngFormat::next(std::span<const uint8_t> bytes, CapturedPacket* packet) {
  if (bytes.size() < kSmallestBlockBytes) return {Step::kNeed, kSmallestBlockBytes};
  // The section header's type is the same in both byte orders, and only a section header may change the order.
  if (ByteOrder().u32(bytes.data()) == kSectionHeader) return read_section(bytes);
  uint32_t type = order_.u32(bytes.data());
  uint32_t length = order_.u32(bytes.data() + 4);
  if (length < kSmallestBlockBytes) return corrupt("a block of " + std::to_string(length) + " bytes");
  size_t block_bytes = padded(length);
  if (!is_read_in_one_piece(type)) return {Step::kSkip, block_bytes};
  if (length > kLargestBlockBytes) return corrupt("a block of " + std::to_string(length) + " bytes");
  if (bytes.size() < block_bytes) return {Step::kNeed, block_bytes};
  auto block = bytes.first(block_bytes);
  if (order_.u32(block.data() + block_bytes - 4) != length) return corrupt("a block whose two lengths differ");
  switch (type) {
    case kInterfaceDescription:
      return read_interface(block);
    case kEnhancedPacket:
      return read_enhanced_packet(block, packet);
    case kSimplePacket:
      return read_simple_packet(block, packet);
    default:
      return read_obsolete_packet(block, packet);
  }
}

PacketRun PcapngFormat::next_run(std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) {
  return run_of(this, bytes, packets);
}

}  // namespace tapline
