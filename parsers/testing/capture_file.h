#pragma once

#include <string>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// Reads the complete records of a pcap file (little-endian, Ethernet), compressed if its name ends in .zst. Aborts on
// any other file; packet_io/capture reads users' files.
std::vector<Frame> read_capture(const std::string& path);

// Reads the lines of a text file, compressed if its name ends in .zst.
std::vector<std::string> read_lines(const std::string& path);

// Returns the path of a file among the reference captures, or "" if it does not exist.
std::string reference_capture(const std::string& name);

}  // namespace tapline::testing
