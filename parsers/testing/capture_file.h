#pragma once

#include <string>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// Reads the complete records of a classic capture file (little-endian pcap of Ethernet frames) or of its .zst. Aborts
// on any other file: users' files are read by packet_io/capture.
std::vector<Frame> read_capture(const std::string& path);

// Reads the lines of a text file or of its .zst.
std::vector<std::string> read_lines(const std::string& path);

// Returns TAPLINE_CAPTURES/name, or "" if there are no reference captures.
std::string reference_capture(const std::string& name);

}  // namespace tapline::testing
