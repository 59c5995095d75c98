// Writes rows as a section of pcapng (draft-ietf-opsawg-pcapng): one section header, one interface per combination of
// tap and link type that occurs, times in nanoseconds, and each frame's kept bytes and length on the wire. A file may
// contain several consecutive sections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "multilog/headers/header_row.h"

namespace tapline::multilog {

class PcapngWriter {
 public:
  // `node` names the interfaces of rows without a tap.
  PcapngWriter(const HeaderLayout* layout, std::string node);

  // Adds a row. take() returns the bytes added since its last call.
  void add(const uint8_t* row);
  std::string take() { return std::exchange(bytes_, {}); }
  size_t pending_bytes() const { return bytes_.size(); }

 private:
  struct Interface {
    LinkType link;
    std::vector<uint8_t> tap_bytes;
  };

  // Returns the number of the row's interface, and describes the interface when it first occurs.
  uint32_t interface_of(const uint8_t* row);
  void describe(const Interface& interface);

  const HeaderLayout* layout_;
  std::string node_;
  std::string bytes_;
  std::vector<Interface> interfaces_;
};

}  // namespace tapline::multilog
