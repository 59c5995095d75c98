#pragma once

#include <cstdint>
#include <vector>

#include "parsers/api/parser.h"

namespace tapline::queues {

// The common columns of a departure, and whether the client sent it.
struct DepartureHeader {
  TupleHeader header;
  bool from_client = false;
};

// Keeps headers of departures until they are freed, by tag (View::tag).
class DepartureHeaders {
 public:
  // Keeps the packet's header. Returns its tag, which is valid until free().
  uint32_t keep(const Packet& packet, Emitter& out) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(kept_.size()));
      kept_.emplace_back();
    }
    const uint32_t tag = free_.back();
    free_.pop_back();
    DepartureHeader& own = kept_[tag];
    own.header = out.header_of(packet);
    own.from_client = own.header.src_ip == packet.src_ip && own.header.src_port == packet.src_port;
    return tag;
  }

  const DepartureHeader& operator[](uint32_t tag) const { return kept_[tag]; }
  void free(uint32_t tag) { free_.push_back(tag); }

 private:
  std::vector<DepartureHeader> kept_;
  std::vector<uint32_t> free_;
};

}  // namespace tapline::queues
