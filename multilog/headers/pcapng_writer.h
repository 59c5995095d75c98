// Writes rows as a section of pcapng (draft-ietf-opsawg-pcapng): one section header, one interface for each link type
// that occurs, nanosecond times, the frame's kept bytes and its length on the wire. A file may hold several sections in
// sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "multilog/headers/header_row.h"

namespace tapline::multilog {

class PcapngWriter {
 public:
  // `interface` names the capture point.
  PcapngWriter(const HeaderLayout* layout, std::string interface);

  // take() returns what was added since its last call.
  void add(const uint8_t* row);
  std::string take() { return std::exchange(bytes_, {}); }
  size_t pending_bytes() const { return bytes_.size(); }

 private:
  uint32_t interface_of(LinkType link);

  const HeaderLayout* layout_;
  std::string interface_;
  std::string bytes_;
  std::vector<LinkType> links_;  // of interface 0, 1, …
};

}  // namespace tapline::multilog
