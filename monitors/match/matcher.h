// Decides which queries want a packet, by their FROM and TO, matched in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/api/packet.h"

namespace tapline {

// One entry of FROM or TO: a prefix of one family or any address, with a range of ports or any port.
class AddressPattern {
 public:
  // Matches any address and port.
  AddressPattern() = default;
  // Parses "10.0.0.0/8", "10.0.0.1", "2001:db8::/32" or, for any address, an empty prefix; port 0 means any port. Bits
  // beyond the prefix are ignored. Returns nullopt if the text is not an address or the length exceeds the family's.
  static std::optional<AddressPattern> parse(std::string_view prefix, uint16_t port);
  // Parses a pattern with a range of ports; if `first_port` is 0, any port matches. REQUIRES: first_port <= last_port.
  static std::optional<AddressPattern> parse(std::string_view prefix, uint16_t first_port, uint16_t last_port);

  bool covers(const IpAddress& address, uint16_t port) const {
    return (port_ == 0 || (port_ <= port && port <= last_port_)) && (any_address_ || covers_address(address));
  }

 private:
  bool covers_address(const IpAddress& address) const;

  bool any_address_ = true;
  bool v4_ = false;
  uint16_t port_ = 0;
  uint16_t last_port_ = 0;
  // The mapped address as two words in memory order, and a mask of the significant bits.
  uint64_t value_[2] = {0, 0};
  uint64_t mask_[2] = {0, 0};
};

// FROM and TO of one query. An empty list matches everything.
class ConnectionMatch {
 public:
  ConnectionMatch() = default;
  ConnectionMatch(std::vector<AddressPattern> sources, std::vector<AddressPattern> destinations)
      : from_(std::move(sources)), to_(std::move(destinations)) {}

  // Restricts the match to packets of these outer VLANs and of these tenants (VNIs). An empty list matches all.
  void restrict(std::vector<uint32_t> vlans, std::vector<uint32_t> tenants) {
    vlans_ = std::move(vlans);
    tenants_ = std::move(tenants);
  }

  // Restricts the match to packets of the queues whose arrivals and departures these taps (a bit each) show. Such a
  // query counts a packet at each of its arrivals, even if another tap has shown it before, and the fragments of a
  // datagram instead of the datagram.
  void restrict_to_queues(uint64_t arrivals, uint64_t departures) {
    arrivals_ = arrivals;
    taps_ = arrivals | departures;
  }

  // Excludes packets from these taps (a bit each).
  void ignore_taps(uint64_t taps) { ignored_ = taps; }

  // Excludes connections that match `excluded`.
  void except(ConnectionMatch excluded) { except_.push_back(std::move(excluded)); }

  struct Answer {
    bool wanted;
    // Unknown if the packet matches in both directions.
    ToSide to_side;
  };
  Answer match(const Packet& packet) const;

  // One end of a connection.
  struct Endpoint {
    const IpAddress& address;
    uint16_t port;
  };
  // Returns the port of the end that is not TO. If a connection matches in both directions, returns the greater port,
  // so both directions have the same result.
  uint16_t far_port(const Endpoint& source, const Endpoint& destination) const;
  // Returns true if the query wants a flow between these ends, in either direction.
  bool wants_flow(const Endpoint& one, const Endpoint& other) const { return match_ends(one, other).wanted; }
  // Returns true if the query wants every packet, except those from ignored taps.
  bool wants_all() const {
    return from_.empty() && to_.empty() && vlans_.empty() && tenants_.empty() && except_.empty() && !of_queues();
  }
  // Returns true if the query wants only packets of queues.
  bool of_queues() const { return taps_ != kAllTaps; }
  // Returns true if this view of a packet is the one that counts. REQUIRES: the packet is wanted.
  bool counts(const Packet& packet) const {
    return of_queues() ? has_tap(arrivals_, packet.tap) && !packet.reassembled : !packet.repeated_view;
  }

 private:
  static constexpr uint64_t kAllTaps = ~uint64_t{0};

  static bool has_tap(uint64_t taps, uint8_t tap) { return tap < 64 && (taps >> tap & 1) != 0; }
  Answer match_own(const Packet& packet) const;
  // Matches addresses and ports alone.
  Answer match_ends(const Endpoint& source, const Endpoint& destination) const;
  static bool any_covers(const std::vector<AddressPattern>& patterns, const IpAddress& address, uint16_t port);

  std::vector<AddressPattern> from_;
  std::vector<AddressPattern> to_;
  std::vector<uint32_t> vlans_;
  std::vector<uint32_t> tenants_;
  std::vector<ConnectionMatch> except_;
  uint64_t taps_ = kAllTaps;
  uint64_t arrivals_ = 0;  // used only if of_queues() is true
  uint64_t ignored_ = 0;
};

}  // namespace tapline
