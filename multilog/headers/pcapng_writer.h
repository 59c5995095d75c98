// Rows as a section of pcapng (draft-ietf-opsawg-pcapng): one section header, one interface for each link type that
// occurs, nanosecond times, the frame's kept bytes and its length on the wire. Sections may follow each other in a
// file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "multilog/headers/header_row.h"

namespace tapline::multilog {

class PcapngWriter {
 public:
  // `interface` names where it was captured.
  PcapngWriter(const HeaderLayout* layout, std::string interface);

  // What has been written and not been taken yet.
  void Add(const uint8_t* row);
  std::string Take() { return std::exchange(bytes_, {}); }
  size_t pending_bytes() const { return bytes_.size(); }

 private:
  uint32_t InterfaceOf(LinkType link);

  const HeaderLayout* layout_;
  std::string interface_;
  std::string bytes_;
  std::vector<LinkType> links_;  // of interface 0, 1, …
};

}  // namespace tapline::multilog
