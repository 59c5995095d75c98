#include "packet_io/source/file_source.h"

#include <gtest/gtest.h>

#include "packet_io/base/clock.h"
#include "packet_io/testing/capture_bytes.h"

namespace tapline {
namespace {

struct SeenPacket {
  int64_t time_ns;
  Bytes data;
  bool operator==(const SeenPacket&) const = default;
};

class FileSourceTest : public testing::Test {
 protected:
  std::string write_capture(const std::string& name, const std::vector<std::pair<uint32_t, uint8_t>>& packets,
                            size_t cut_bytes = 0) {
    ByteWriter out;
    pcap_header(out);
    for (auto [seconds, byte] : packets) pcap_record(out, seconds, 0, Bytes(60, byte), 60);
    Bytes bytes = out.bytes();
    bytes.resize(bytes.size() - cut_bytes);
    return dir_.write(name, bytes);
  }

  std::vector<SeenPacket> read_all(FileSource& source, size_t burst = kBurstPackets) {
    std::vector<SeenPacket> seen;
    std::vector<RawPacket> packets(burst);
    while (true) {
      auto got = source.poll(packets);
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
      {{write_capture("a", {{1, 'a'}, {3, 'b'}, {3, 'c'}}), write_capture("b", {{2, 'd'}, {3, 'e'}})}, false, {}});
  ASSERT_TRUE(source.start().ok());
  std::string order;
  for (const SeenPacket& seen : read_all(source, 2)) order += static_cast<char>(seen.data[0]);
  EXPECT_EQ(order, "adbce");
  EXPECT_TRUE(source.status().ok());
  EXPECT_EQ(source.fraction(), 1.0);
}

TEST_F(FileSourceTest, OrderWithinAFileIsKeptIfItsTimesGoBack) {
  FileSource source({{write_capture("a", {{5, 'a'}, {1, 'b'}, {6, 'c'}})}, false, {}});
  ASSERT_TRUE(source.start().ok());
  std::string order;
  for (const SeenPacket& seen : read_all(source)) order += static_cast<char>(seen.data[0]);
  EXPECT_EQ(order, "abc");
}

// The files are larger than the read windows, so one file is refilled while the other's packets are waiting.
TEST_F(FileSourceTest, ReadsAllPacketsOfMergedFilesLargerThanTheWindow) {
  std::vector<std::pair<uint32_t, uint8_t>> odd, even;
  for (uint32_t i = 0; i < 20000; ++i) (i % 2 ? odd : even).push_back({i, static_cast<uint8_t>(i)});
  FileSource source({{write_capture("odd", odd), write_capture("even", even)}, false, {}});
  ASSERT_TRUE(source.start().ok());
  auto seen = read_all(source);
  ASSERT_EQ(seen.size(), 20000u);
  for (uint32_t i = 0; i < seen.size(); ++i) {
    ASSERT_EQ(seen[i], (SeenPacket{int64_t{i} * 1000000000, Bytes(60, static_cast<uint8_t>(i))}));
  }
}

TEST_F(FileSourceTest, ReadsCompletePacketsOfATruncatedFileAndReportsALoss) {
  std::vector<std::string> warnings;
  FileSource source(
      {{write_capture("a", {{1, 'a'}, {2, 'b'}}, 5)}, false, [&](const std::string& w) { warnings.push_back(w); }});
  ASSERT_TRUE(source.start().ok());
  EXPECT_EQ(read_all(source).size(), 1u);
  EXPECT_TRUE(source.status().ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("ends too early"), std::string::npos) << warnings[0];
  EXPECT_EQ(source.read_losses().by_drop[index_of(Drop::kCaptureTruncated)], 1u);
}

TEST_F(FileSourceTest, ATruncatedFileWithoutPacketsIsAnError) {
  FileSource source({{write_capture("a", {{1, 'a'}}, 5)}, false, {}});
  ASSERT_TRUE(source.start().ok());
  EXPECT_TRUE(read_all(source).empty());
  EXPECT_EQ(source.status().code(), Code::kInvalid);
}

class InterfacesTest : public FileSourceTest {
 protected:
  struct Record {
    uint32_t interface;
    uint64_t micros;
    uint8_t byte;
  };
  // Writes a pcapng file with the interfaces "in", "out", and an unnamed one, which is number 2.
  std::string write_pcapng(const std::vector<Record>& records) {
    ByteWriter out;
    pcapng_section(out);
    pcapng_interface(out, 1, {2, 0, 2, 0, 'i', 'n', 0, 0});
    pcapng_interface(out, 1, {2, 0, 3, 0, 'o', 'u', 't', 0});
    pcapng_interface(out, 1);
    for (const Record& record : records)
      pcapng_packet(out, record.interface, record.micros, Bytes(60, record.byte), 60);
    return dir_.write("taps.pcapng", out.bytes());
  }
  // Reads all packets: "0a 1b" means packet 'a' of tap 0 and packet 'b' of tap 1.
  std::string read(FileSource& source) {
    EXPECT_TRUE(source.start().ok()) << source.status().message();
    std::string seen;
    std::array<RawPacket, 3> packets;
    for (auto got = source.poll(packets); !got.ended; got = source.poll(packets)) {
      for (size_t i = 0; i < got.packets; ++i) {
        seen += (seen.empty() ? "" : " ") + std::to_string(packets[i].tap) + static_cast<char>(packets[i].data[0]);
      }
    }
    return seen;
  }
};

TEST_F(InterfacesTest, AreReadByNameOrNumber) {
  const std::string path = write_pcapng({{0, 1, 'a'}, {1, 2, 'b'}, {2, 3, 'c'}, {0, 4, 'd'}});
  FileSource out({.paths = {path + "#out"}});
  EXPECT_EQ(read(out), "0b");
  FileSource both({.paths = {path + "#out", path + "#in"}});
  EXPECT_EQ(read(both), "1a 0b 1d");
  FileSource number({.paths = {path + "#2"}});
  EXPECT_EQ(read(number), "0c");
  FileSource all({.paths = {path}});
  EXPECT_EQ(read(all), "0a 0b 0c 0d");
}

TEST_F(InterfacesTest, AreMergedByTimeWithinTheBound) {
  // Between 'a' and 'e', which is 25 µs late, there are more packets than are read at a time.
  std::vector<Record> records = {{0, 10, 'a'}};
  std::string others;
  for (size_t i = 0; i < 2 * kBurstPackets; ++i) {
    records.push_back({0, 30, 'x'});
    others += " 0x";
  }
  for (Record record : {Record{1, 20, 'c'}, Record{0, 5, 'e'}, Record{1, 90, 'f'}}) records.push_back(record);
  const std::string path = write_pcapng(records);
  FileSource source({.paths = {path + "#in", path + "#out"}, .merge_bound_ns = 15'000});
  EXPECT_EQ(read(source), "0a 0e 1c" + others + " 1f");
  EXPECT_EQ(source.late_packets(0), 1u);
  EXPECT_EQ(source.late_packets(1), 0u);
  FileSource patient({.paths = {path + "#in", path + "#out"}, .merge_bound_ns = 30'000});
  EXPECT_EQ(read(patient), "0e 0a 1c" + others + " 1f");
  EXPECT_EQ(patient.late_packets(0), 0u);
}

// The file is larger than the read window and the reorder buffer's memory limit.
TEST_F(InterfacesTest, LoseNothingAtAnyBound) {
  std::vector<Record> records;
  for (uint32_t i = 0; i < 150'000; ++i) records.push_back({i % 2, (i ^ 1) * uint64_t{10}, static_cast<uint8_t>(i)});
  const std::string path = write_pcapng(records);
  for (int64_t bound_ns : {int64_t{0}, int64_t{10'000}, int64_t{3'600} * 1'000'000'000}) {
    FileSource source({.paths = {path + "#in", path + "#out"}, .merge_bound_ns = bound_ns});
    ASSERT_TRUE(source.start().ok());
    const std::vector<SeenPacket> seen = read_all(source);
    EXPECT_EQ(seen.size(), records.size());
    const uint64_t late = source.late_packets(0) + source.late_packets(1);
    EXPECT_TRUE(bound_ns == 0 || late == 0) << late << " late with " << bound_ns;
  }
}

TEST_F(InterfacesTest, AMissingInterfaceIsAnErrorThatListsTheOthers) {
  const std::string path = write_pcapng({{0, 1, 'a'}});
  FileSource source({.paths = {path + "#in", path + "#eth7"}});
  EXPECT_EQ(read(source), "0a");
  EXPECT_EQ(source.status().message(), path + ": has no interface 'eth7'; it has: in, out, 2");
  EXPECT_EQ(source.status().code(), Code::kInvalid);
}

TEST_F(InterfacesTest, APcapFileHasNone) {
  const std::string path = write_capture("plain.pcap", {{1, 'a'}});
  FileSource source({.paths = {path + "#eth0"}});
  EXPECT_EQ(source.start().message(), path + ": is a pcap file, which has no interfaces: omit the '#eth0'");
}

TEST_F(FileSourceTest, ANameWithAHashMayBeAFile) {
  FileSource source({.paths = {write_capture("a#b", {{1, 'a'}})}});
  ASSERT_TRUE(source.start().ok());
  EXPECT_EQ(read_all(source).size(), 1u);
}

TEST_F(FileSourceTest, PacketsAndLossesHaveTheTapOfTheirFile) {
  FileSource source({.paths = {write_capture("a", {{1, 'a'}, {3, 'b'}}), write_capture("b", {{2, 'c'}, {4, 'd'}}, 5)}});
  ASSERT_TRUE(source.start().ok());
  std::string taps;
  std::array<RawPacket, 8> packets;
  for (auto got = source.poll(packets); !got.ended; got = source.poll(packets)) {
    for (size_t i = 0; i < got.packets; ++i) taps += std::to_string(packets[i].tap);
  }
  EXPECT_EQ(taps, "010");
  EXPECT_EQ(source.read_losses(0).by_drop[index_of(Drop::kCaptureTruncated)], 0u);
  EXPECT_EQ(source.read_losses(1).by_drop[index_of(Drop::kCaptureTruncated)], 1u);
  EXPECT_EQ(source.read_losses().by_drop[index_of(Drop::kCaptureTruncated)], 1u);
}

TEST_F(FileSourceTest, StartNamesTheMissingFile) {
  FileSource source({{write_capture("a", {{1, 'a'}}), dir_.path("nowhere")}, false, {}});
  Status status = source.start();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("nowhere"), std::string::npos);
}

TEST_F(FileSourceTest, PacedPacketsArriveWhenTheyAreDue) {
  ByteWriter out;
  pcap_header(out);
  pcap_record(out, 100, 0, {1}, 1);
  pcap_record(out, 100, 50000, {2}, 1);
  FileSource source({{dir_.write("a", out.bytes())}, true, {}});
  ASSERT_TRUE(source.start().ok());
  RawPacket packet;
  int64_t start_ns = monotonic_ns();
  EXPECT_EQ(source.poll({&packet, 1}).packets, 1u);
  while (source.poll({&packet, 1}).packets == 0) {
    ASSERT_LE(*source.idle_time_ns(), 100'050'000'000);
    ASSERT_LT(monotonic_ns() - start_ns, 10'000'000'000) << "the second packet never arrived";
  }
  EXPECT_GE(monotonic_ns() - start_ns, 50'000'000);
  EXPECT_TRUE(source.poll({&packet, 1}).ended);
}

}  // namespace
}  // namespace tapline
