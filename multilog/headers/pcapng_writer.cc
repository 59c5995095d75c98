#include "multilog/headers/pcapng_writer.h"

#include <algorithm>

namespace tapline::multilog {
namespace {

constexpr uint32_t kSectionHeader = 0x0a0d0d0a, kInterfaceDescription = 1, kEnhancedPacket = 6;
constexpr uint16_t kOptionName = 2, kOptionResolution = 9;
constexpr char kNanoseconds = 9;  // if_tsresol: 10^-9

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void Pad(std::string* out) { out->resize((out->size() + 3) / 4 * 4); }

// Writes the length in front and behind (draft, section 3.1).
void PutBlock(std::string* out, uint32_t type, const std::string& body) {
  const auto bytes = static_cast<uint32_t>(12 + body.size());
  Put(out, type);
  Put(out, bytes);
  *out += body;
  Put(out, bytes);
}

uint16_t DataLink(LinkType link) {
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

PcapngWriter::PcapngWriter(const HeaderLayout* layout, std::string interface)
    : layout_(layout), interface_(std::move(interface)) {
  std::string body;
  Put(&body, uint32_t{0x1a2b3c4d});
  Put(&body, uint16_t{1});
  Put(&body, uint16_t{0});
  Put(&body, int64_t{-1});  // section length not specified
  PutBlock(&bytes_, kSectionHeader, body);
}

uint32_t PcapngWriter::InterfaceOf(LinkType link) {
  const auto found = std::find(links_.begin(), links_.end(), link);
  const auto number = static_cast<uint32_t>(found - links_.begin());
  if (found != links_.end()) return number;
  links_.push_back(link);
  std::string body;
  Put(&body, DataLink(link));
  Put(&body, uint16_t{0});
  Put(&body, layout_->frame_bytes());  // SnapLen
  Put(&body, kOptionName);
  Put(&body, static_cast<uint16_t>(interface_.size()));
  body += interface_;
  Pad(&body);
  Put(&body, kOptionResolution);
  Put(&body, uint16_t{1});
  body += kNanoseconds;
  Pad(&body);
  Put(&body, uint32_t{0});  // end of options
  PutBlock(&bytes_, kInterfaceDescription, body);
  return number;
}

void PcapngWriter::Add(const uint8_t* row) {
  const auto frame = layout_->FrameOf(row);
  const uint64_t time = TimeOf(layout_->schema(), row);
  const uint32_t interface = InterfaceOf(layout_->LinkOf(row));
  std::string body;
  Put(&body, interface);
  Put(&body, static_cast<uint32_t>(time >> 32));
  Put(&body, static_cast<uint32_t>(time));
  Put(&body, static_cast<uint32_t>(frame.size()));
  Put(&body, layout_->WireBytesOf(row));
  body.append(reinterpret_cast<const char*>(frame.data()), frame.size());
  Pad(&body);
  PutBlock(&bytes_, kEnhancedPacket, body);
}

}  // namespace tapline::multilog
