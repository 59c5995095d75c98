#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::http {

// A degraded capture: which frames of the undegraded one it holds, in its order.
struct Degraded {
  static constexpr uint32_t kForeign = UINT32_MAX;  // a frame that the undegraded capture does not have

  struct Item {
    uint32_t original;
    uint32_t captured_bytes;
    uint32_t frame;  // in `frames`, if that is not empty
    bool altered;    // its bytes were changed
  };
  std::vector<Item> items;
  std::vector<testing::Frame> frames;  // of a damaged file; empty: those of the undegraded capture
};

// What a mirror does to a capture, the same for the same seed.
enum class Degradation : uint8_t {
  kNone,
  kLoss,          // 1 % lost at random
  kLate,          // 2 % are 1 to 3 places late
  kMidStream,     // begins somewhere in the middle
  kTwice,         // every packet twice, the copy up to 3 places later (seed 0: the next one)
  kRequestsOnly,  // only what clients send; other seeds than 0: of about half of the connections, the others whole
  kResponsesOnly,
};
// What a mirror does to all of a capture at once. Lost and late packets are shares of all, at random; the late ones
// come 1 to `places` places later than they should.
struct Mirror {
  double lost = 0;
  double late = 0;
  uint32_t places = 0;
  uint32_t snaplen = 0;  // 0: whole packets
};
Degraded degrade(const std::vector<testing::Frame>& frames, const Mirror& mirror, uint32_t seed);

// The last two degradations need to know the ports that servers listen at.
struct ServerPorts {
  uint16_t first, last;
};
Degraded degrade(const std::vector<testing::Frame>& frames, Degradation degradation, uint32_t seed,
                 ServerPorts servers = {80, 80});

// A damaged file as a degraded capture of `frames`, each frame recognised by its first bytes, or in a file of as many
// frames by its place.
Degraded recognise(const std::vector<testing::Frame>& frames, std::vector<testing::Frame> damaged);

// Whether the degradation took away one direction of the connection with this client.
bool is_one_way(const std::string& client, Degradation degradation, uint32_t seed);

}  // namespace tapline::http
