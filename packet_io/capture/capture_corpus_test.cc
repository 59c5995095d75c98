// Reads every available real capture: those in TAPLINE_CAPTURES, or else in ../shared/traces next to the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "packet_io/testing/read_capture.h"

namespace tapline {
namespace {

std::filesystem::path captures_dir() {
  const char* set = std::getenv("TAPLINE_CAPTURES");
  return set != nullptr ? std::filesystem::path(set) : std::filesystem::path(TAPLINE_SOURCE_DIR) / "../shared/traces";
}

std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  bool open_quote = false;
  for (std::string cell; std::getline(in, cell, ',');) {
    if (open_quote) {
      cells.back() += "," + cell;
    } else {
      cells.push_back(cell);
    }
    if (std::count(cell.begin(), cell.end(), '"') % 2 == 1) open_quote = !open_quote;
  }
  return cells;
}

// The manifest's counts come from tshark, which may report additional packets after the damage in a corrupt file.
TEST(CaptureCorpusTest, PacketCountsMatchTheManifest) {
  std::ifstream manifest(captures_dir() / "manifest.csv");
  if (!manifest) GTEST_SKIP() << "no captures under " << captures_dir() << "; set TAPLINE_CAPTURES";
  std::string line;
  std::getline(manifest, line);
  ASSERT_EQ(split_line(line)[5], "packets");
  int files = 0, unsupported = 0, partial = 0;
  while (std::getline(manifest, line)) {
    auto cells = split_line(line);
    CaptureCopy copy = read_capture(captures_dir() / cells[0]);
    ++files;
    if (copy.error.fault == CaptureFault::kUnsupportedLinkType) {
      ++unsupported;
      continue;
    }
    partial += copy.error.partial();
    EXPECT_TRUE(!copy.error || copy.error.partial()) << copy.error.message;
    uint64_t expected = std::stoull(cells[5]);
    uint64_t packets = copy.packets.size() + copy.unsupported_packets;
    if (copy.error.fault == CaptureFault::kCorrupt) {
      EXPECT_LE(packets, expected) << cells[0] << ": " << copy.error.message;
    } else {
      EXPECT_EQ(packets, expected) << cells[0] << ": " << copy.error.message;
    }
  }
  std::printf("%d captures, %d of unsupported link types, %d cut or damaged\n", files, unsupported, partial);
  EXPECT_GT(files, 0);
  EXPECT_LT(unsupported, files / 10);
}

}  // namespace
}  // namespace tapline
