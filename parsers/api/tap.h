#pragma once

#include <string>

namespace tapline {

// The names of a tap (docs/reference/taps.md): "sw1", "eth2", "arrivals" or "departures". Names that are not configured
// are empty: a tap without a port shows all ports of its switch.
struct TapNames {
  std::string switch_name = {};
  std::string port = {};
  std::string side = {};
};

}  // namespace tapline
