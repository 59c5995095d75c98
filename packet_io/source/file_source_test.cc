#include "packet_io/source/file_source.h"

#include <gtest/gtest.h>

#include "packet_io/base/clock.h"
#include "packet_io/testing/capture_bytes.h"

namespace tapline {
namespace {

struct Seen {
  int64_t time_ns;
  Bytes data;
  bool operator==(const Seen&) const = default;
};

class FileSourceTest : public testing::Test {
 protected:
  std::string WriteCapture(const std::string& name, const std::vector<std::pair<uint32_t, uint8_t>>& packets,
                           size_t cut_bytes = 0) {
    ByteWriter out;
    PcapHeader(out);
    for (auto [seconds, byte] : packets) PcapRecord(out, seconds, 0, Bytes(60, byte), 60);
    Bytes bytes = out.bytes();
    bytes.resize(bytes.size() - cut_bytes);
    return dir_.Write(name, bytes);
  }

  std::vector<Seen> ReadAll(FileSource& source, size_t burst = kBurstPackets) {
    std::vector<Seen> seen;
    std::vector<RawPacket> packets(burst);
    while (true) {
      auto got = source.Poll(packets);
      for (size_t i = 0; i < got.packets; ++i) {
        seen.push_back({packets[i].time_ns, Bytes(packets[i].data, packets[i].data + packets[i].captured_bytes)});
      }
      if (got.ended) return seen;
    }
  }
  TempDir dir_;
};

TEST_F(FileSourceTest, MergesByTimeAndKeepsTheOrderOfFilesForEqualTimes) {
  FileSource source(
      {{WriteCapture("a", {{1, 'a'}, {3, 'b'}, {3, 'c'}}), WriteCapture("b", {{2, 'd'}, {3, 'e'}})}, false, {}});
  ASSERT_TRUE(source.Start().ok());
  std::string order;
  for (const Seen& seen : ReadAll(source, 2)) order += static_cast<char>(seen.data[0]);
  EXPECT_EQ(order, "adbce");
  EXPECT_TRUE(source.status().ok());
  EXPECT_EQ(source.Fraction(), 1.0);
}

TEST_F(FileSourceTest, OrderWithinAFileIsKeptWhereItsTimesGoBack) {
  FileSource source({{WriteCapture("a", {{5, 'a'}, {1, 'b'}, {6, 'c'}})}, false, {}});
  ASSERT_TRUE(source.Start().ok());
  std::string order;
  for (const Seen& seen : ReadAll(source)) order += static_cast<char>(seen.data[0]);
  EXPECT_EQ(order, "abc");
}

// Larger than the read windows, so that refills of one file happen while the other's packets are waiting.
TEST_F(FileSourceTest, MergedFilesLargerThanTheWindowAreWhole) {
  std::vector<std::pair<uint32_t, uint8_t>> odd, even;
  for (uint32_t i = 0; i < 20000; ++i) (i % 2 ? odd : even).push_back({i, static_cast<uint8_t>(i)});
  FileSource source({{WriteCapture("odd", odd), WriteCapture("even", even)}, false, {}});
  ASSERT_TRUE(source.Start().ok());
  auto seen = ReadAll(source);
  ASSERT_EQ(seen.size(), 20000u);
  for (uint32_t i = 0; i < seen.size(); ++i) {
    ASSERT_EQ(seen[i], (Seen{int64_t{i} * 1000000000, Bytes(60, static_cast<uint8_t>(i))}));
  }
}

TEST_F(FileSourceTest, ACutFileGivesWhatIsWholeAWarningAndALoss) {
  std::vector<std::string> warnings;
  FileSource source(
      {{WriteCapture("a", {{1, 'a'}, {2, 'b'}}, 5)}, false, [&](const std::string& w) { warnings.push_back(w); }});
  ASSERT_TRUE(source.Start().ok());
  EXPECT_EQ(ReadAll(source).size(), 1u);
  EXPECT_TRUE(source.status().ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("ends too early"), std::string::npos) << warnings[0];
  EXPECT_EQ(source.ReadLosses().by_drop[IndexOf(Drop::kCaptureTruncated)], 1u);
}

TEST_F(FileSourceTest, ACutFileThatGivesNothingIsAnError) {
  FileSource source({{WriteCapture("a", {{1, 'a'}}, 5)}, false, {}});
  ASSERT_TRUE(source.Start().ok());
  EXPECT_TRUE(ReadAll(source).empty());
  EXPECT_EQ(source.status().code(), Code::kInvalid);
}

TEST_F(FileSourceTest, StartNamesTheFileThatIsMissing) {
  FileSource source({{WriteCapture("a", {{1, 'a'}}), dir_.path("nowhere")}, false, {}});
  Status status = source.Start();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("nowhere"), std::string::npos);
}

TEST_F(FileSourceTest, PacedPacketsComeWhenTheyAreDue) {
  ByteWriter out;
  PcapHeader(out);
  PcapRecord(out, 100, 0, {1}, 1);
  PcapRecord(out, 100, 50000, {2}, 1);
  FileSource source({{dir_.Write("a", out.bytes())}, true, {}});
  ASSERT_TRUE(source.Start().ok());
  RawPacket packet;
  int64_t start_ns = MonotonicNs();
  EXPECT_EQ(source.Poll({&packet, 1}).packets, 1u);
  while (source.Poll({&packet, 1}).packets == 0) {
    ASSERT_LE(*source.IdleTimeNs(), 100'050'000'000);
    ASSERT_LT(MonotonicNs() - start_ns, 10'000'000'000) << "the second packet never came";
  }
  EXPECT_GE(MonotonicNs() - start_ns, 50'000'000);
  EXPECT_TRUE(source.Poll({&packet, 1}).ended);
}

}  // namespace
}  // namespace tapline
