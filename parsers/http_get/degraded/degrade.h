#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::http {

// A degraded capture: the remaining frames of the original, in the degraded order.
struct Degraded {
  static constexpr uint32_t kForeign = UINT32_MAX;  // a frame that is not in the original capture

  struct Item {
    uint32_t original;
    uint32_t captured_bytes;
    uint32_t frame;  // index in `frames` or, if that is empty, in the original capture
    bool altered;    // true if its bytes were changed
  };
  std::vector<Item> items;
  std::vector<testing::Frame> frames;  // frames of a damaged file; empty: those of the original capture
};

// The effects of a mirror on a capture, reproducible by seed.
enum class Degradation : uint8_t {
  kNone,
  kLoss,          // 1 % lost at random
  kLate,          // 2 % are 1 to 3 places late
  kMidStream,     // begins somewhere in the middle
  kTwice,         // every packet twice, the copy up to 3 places later (seed 0: the next one)
  kRequestsOnly,  // only packets from clients; with seeds other than 0, about half of the connections are whole
  kResponsesOnly,
};
// The combined effects of a mirror on a whole capture. Lost and late packets are chosen at random from all packets;
// late ones arrive 1 to `places` places later.
struct Mirror {
  double lost = 0;
  double late = 0;
  uint32_t places = 0;
  uint32_t snaplen = 0;  // 0: whole packets
};
Degraded degrade(const std::vector<testing::Frame>& frames, const Mirror& mirror, uint32_t seed);

// The range of the servers' ports, needed for kRequestsOnly and kResponsesOnly.
struct ServerPorts {
  uint16_t first, last;
};
Degraded degrade(const std::vector<testing::Frame>& frames, Degradation degradation, uint32_t seed,
                 ServerPorts servers = {80, 80});

// Treats a damaged file as a degraded capture of `frames`. Each frame is recognised by its first bytes, or by its
// position if the file has the same number of frames.
Degraded recognise(const std::vector<testing::Frame>& frames, std::vector<testing::Frame> damaged);

// Returns true if the degradation removed one direction of the connection with this client.
bool is_one_way(const std::string& client, Degradation degradation, uint32_t seed);

}  // namespace tapline::http
