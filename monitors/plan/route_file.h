// Reads the routes and ports of switches from a file, for a monitor without a controller.
//
//   # SWITCH MAC PORT[,PORT...]
//   leaf1 02:00:00:00:00:01 3
//   leaf1 02:00:00:00:00:02 4,5     the switch chooses one of them by a hash
//
//   # SWITCH port PORT BITS_PER_SECOND [NEIGHBOUR PORT]
//   leaf1 port 3 10000000000
//   leaf1 port 4 40000000000 spine1 7    packets enter spine1 through its port 7
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "packet_io/base/status.h"
#include "parsers/routes/route_feed.h"

namespace tapline {

// Reads the text of such a file. An error names the line.
Result<RouteTable> read_routes(std::string_view text);

// Publishes the file's routes, which apply to packets with any timestamp. Does nothing if the path is empty.
Status load_routes(const std::string& path, RouteFeed* feed);

}  // namespace tapline
