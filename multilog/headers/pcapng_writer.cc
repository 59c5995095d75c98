#include "multilog/headers/pcapng_writer.h"

#include <algorithm>

namespace tapline::multilog {
namespace {

constexpr uint32_t kSectionHeader = 0x0a0d0d0a, kInterfaceDescription = 1, kEnhancedPacket = 6;
constexpr uint16_t kOptionName = 2, kOptionResolution = 9;
constexpr char kNanoseconds = 9;  // if_tsresol: 10^-9

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void pad(std::string* out) { out->resize((out->size() + 3) / 4 * 4); }

// Writes a block, with its length before and after the body (draft, section 3.1).
void put_block(std::string* out, uint32_t type, const std::string& body) {
  const auto bytes = static_cast<uint32_t>(12 + body.size());
  put(out, type);
  put(out, bytes);
  *out += body;
  put(out, bytes);
}

uint16_t data_link(LinkType link) {
  switch (link) {
    case LinkType::kEthernet:
      return 1;
    case LinkType::kNull:
      return 0;
    case LinkType::kRawIp:
      return 101;
    case LinkType::kLinuxSll:
      return 113;
    case LinkType::kLinuxSll2:
      return 276;
  }
  return 1;
}

}  // namespace

PcapngWriter::PcapngWriter(const HeaderLayout* layout, std::string node) : layout_(layout), node_(std::move(node)) {
  std::string body;
  put(&body, uint32_t{0x1a2b3c4d});
  put(&body, uint16_t{1});
  put(&body, uint16_t{0});
  put(&body, int64_t{-1});  // unspecified section length
  put_block(&bytes_, kSectionHeader, body);
}

uint32_t PcapngWriter::interface_of(const uint8_t* row) {
  const LinkType link = layout_->link_of(row);
  const std::span<const uint8_t> tap_bytes = layout_->tap_bytes_of(row);
  const auto it = std::find_if(interfaces_.begin(), interfaces_.end(), [&](const Interface& known_interface) {
    return known_interface.link == link &&
           std::equal(tap_bytes.begin(), tap_bytes.end(), known_interface.tap_bytes.begin());
  });
  const auto number = static_cast<uint32_t>(it - interfaces_.begin());
  if (it == interfaces_.end()) {
    interfaces_.push_back({link, {tap_bytes.begin(), tap_bytes.end()}});
    describe(interfaces_.back());
  }
  return number;
}

void PcapngWriter::describe(const Interface& interface) {
  const std::string tap = HeaderLayout::tap_name(interface.tap_bytes);
  const std::string& name = tap.empty() ? node_ : tap;
  std::string body;
  put(&body, data_link(interface.link));
  put(&body, uint16_t{0});
  put(&body, layout_->frame_bytes());  // SnapLen
  put(&body, kOptionName);
  put(&body, static_cast<uint16_t>(name.size()));
  body += name;
  pad(&body);
  put(&body, kOptionResolution);
  put(&body, uint16_t{1});
  body += kNanoseconds;
  pad(&body);
  put(&body, uint32_t{0});  // end of options
  put_block(&bytes_, kInterfaceDescription, body);
}

void PcapngWriter::add(const uint8_t* row) {
  const auto frame = layout_->frame_of(row);
  const uint64_t time = time_of(layout_->schema(), row);
  const uint32_t interface = interface_of(row);
  std::string body;
  put(&body, interface);
  put(&body, static_cast<uint32_t>(time >> 32));
  put(&body, static_cast<uint32_t>(time));
  put(&body, static_cast<uint32_t>(frame.size()));
  put(&body, layout_->wire_bytes_of(row));
  body.append(reinterpret_cast<const char*>(frame.data()), frame.size());
  pad(&body);
  put_block(&bytes_, kEnhancedPacket, body);
}

}  // namespace tapline::multilog
