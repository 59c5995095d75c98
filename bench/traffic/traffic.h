// Generates an endless mixture of TCP traffic, reproducible for a given seed, and counts the packets sent and lost.
//
//   kept flows     `flows` keep-alive HTTP connections, used in turn: first a handshake each, then one GET and its
//                  response per turn, so that all of them stay open at the same time
//   short flows    HTTP connections from handshake to FIN
//   SYN flood      SYNs from random addresses, without responses
//
// Each packet is then lost with probability `loss`, as on an overflowing mirror port. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "bench/traffic/frame.h"

namespace tapline::traffic {

struct Mixture {
  uint32_t flows = 1'000'000;
  // Shares of the packets; a quarter of these values until all kept flows have begun.
  double flood = 0.2;
  double churn = 0.2;  // packets of short flows
  double loss = 0.1;
  uint64_t seed = 1;
};

struct Counts {
  uint64_t made = 0;
  uint64_t lost = 0;
  uint64_t flood = 0;         // SYNs made for the flood
  uint64_t connections = 0;   // connections begun, both kept and short
  uint64_t transactions = 0;  // HTTP requests made
  uint64_t sent() const { return made - lost; }
};

class Traffic {
 public:
  explicit Traffic(const Mixture& mixture);

  // Writes the next packet that is not lost and returns its length. `out` has room for kMaxFrameBytes.
  size_t next(uint8_t* out);
  const Counts& counts() const { return counts_; }
  // Returns true once every kept flow has begun.
  bool all_flows_begun() const { return begun_ == flows_.size(); }

 private:
  struct Flow {
    uint32_t client_sequence = 0;
    uint32_t server_sequence = 0;
  };
  // The remaining packets of one exchange, in order.
  struct Segment {
    bool from_client;
    uint8_t flags;
    uint16_t payload_bytes;
  };
  struct Exchange {
    Endpoint client, server;
    Flow* flow = nullptr;
    Flow own_flow;
    std::array<Segment, 12> segments;
    size_t count = 0;
    size_t next = 0;
    bool done() const { return next == count; }
  };

  size_t make_one(uint8_t* out);
  size_t flood(uint8_t* out);
  size_t proceed(Exchange* exchange, uint8_t* out);
  void begin_kept();
  void begin_short();
  void add_handshake(Exchange* exchange);
  void add_transaction(Exchange* exchange);
  std::string_view payload_of(const Segment& segment, const Exchange& exchange);
  uint32_t random() { return static_cast<uint32_t>(random_()); }
  bool chance(double share) { return random() < share * 4294967296.0; }

  Mixture mixture_;
  std::mt19937_64 random_;
  std::vector<Flow> flows_;
  size_t begun_ = 0;
  size_t next_flow_ = 0;
  Exchange kept_, short_;
  uint32_t short_connections_ = 0;
  std::string payload_;
  Counts counts_;
};

}  // namespace tapline::traffic
