#include "packet_io/capture/capture_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "packet_io/capture/pcapng_format.h"
#include "packet_io/testing/read_capture.h"
#include "parsers/api/packet.h"

namespace tapline {
namespace {

const Bytes kFrame = {1, 2, 3, 4, 5, 6, 7};

class CaptureReaderTest : public testing::Test {
 protected:
  CaptureCopy read(const Bytes& bytes) { return read_capture(dir_.write("file", bytes)); }
  TempDir dir_;
};

class BothByteOrders : public CaptureReaderTest, public testing::WithParamInterface<std::endian> {};
INSTANTIATE_TEST_SUITE_P(Order, BothByteOrders, testing::Values(std::endian::little, std::endian::big));

TEST_P(BothByteOrders, PcapOfMicroseconds) {
  ByteWriter out(GetParam());
  pcap_header(out);
  pcap_record(out, 1700000000, 123456, kFrame, 1500);
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.packets[0].data, kFrame);
  EXPECT_EQ(copy.packets[0].wire_bytes, 1500u);
  EXPECT_EQ(copy.packets[0].time_ns, 1700000000123456000);
  EXPECT_EQ(copy.packets[0].link_type, 1);
}

TEST_P(BothByteOrders, PcapOfNanoseconds) {
  ByteWriter out(GetParam());
  pcap_header(out, kPcapNanos, 101);
  pcap_record(out, 1700000000, 123456789, kFrame, 7);
  pcap_record(out, 4000000000, 999999999, {}, 0);
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].time_ns, 1700000000123456789);
  EXPECT_EQ(copy.packets[1].time_ns, 4000000000999999999);
  EXPECT_TRUE(copy.packets[1].data.empty());
}

TEST_P(BothByteOrders, PcapWithKuznetzovsRecordHeader) {
  ByteWriter out(GetParam());
  pcap_header(out, kPcapKuznetzov);
  for (int i = 0; i < 2; ++i) {
    out.u32(5).u32(6).u32(7).u32(60).u32(2).u16(0x800).u8(0).u8(0).raw(kFrame);
  }
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[1].data, kFrame);
  EXPECT_EQ(copy.packets[1].time_ns, 5000006000);
}

TEST_F(CaptureReaderTest, LinkTypeIgnoresFrameCheckSequenceBits) {
  ByteWriter out;
  pcap_header(out, kPcapMicros, 0x34000001);
  pcap_record(out, 1, 0, kFrame, 7);
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.packets[0].link_type, 1);
}

TEST_F(CaptureReaderTest, OldPcapWithItsLengthsSwapped) {
  ByteWriter out;
  pcap_header(out, kPcapMicros, 1, 3);
  out.u32(1).u32(0).u32(60).u32(7).raw(kFrame);
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.packets[0].data, kFrame);
  EXPECT_EQ(copy.packets[0].wire_bytes, 60u);
}

TEST_P(BothByteOrders, PcapngWithTwoInterfacesOfDifferentKind) {
  ByteWriter out(GetParam());
  pcapng_section(out);
  pcapng_interface(out, 1);
  ByteWriter options(GetParam());
  options.u16(9).u16(1).u8(9).pad();                 // if_tsresol: nanoseconds
  options.u16(14).u16(8).u64(100);                   // if_tsoffset: 100 s
  options.u16(2).u16(3).raw({'l', 'o', '0'}).pad();  // if_name
  pcapng_interface(out, 113, options.bytes());
  pcapng_packet(out, 0, 1700000000123456, kFrame, 7);
  pcapng_packet(out, 1, 1700000000123456789, kFrame, 9);
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].time_ns, 1700000000123456000);
  EXPECT_EQ(copy.packets[0].link_type, 1);
  EXPECT_EQ(copy.packets[1].time_ns, 1700000100123456789);
  EXPECT_EQ(copy.packets[1].link_type, 113);
  EXPECT_EQ(copy.packets[1].wire_bytes, 9u);
}

TEST_F(CaptureReaderTest, PcapngSectionsOfDifferentByteOrderAndTheirOwnInterfaces) {
  ByteWriter little;
  pcapng_section(little);
  pcapng_interface(little, 1);
  pcapng_packet(little, 0, 1, kFrame, 7);
  ByteWriter big(std::endian::big);
  pcapng_section(big);
  pcapng_interface(big, 101);
  pcapng_packet(big, 0, 2, {9}, 1);
  CaptureCopy copy = read(ByteWriter().raw(little.bytes()).raw(big.bytes()).bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].link_type, 1);
  EXPECT_EQ(copy.packets[1].link_type, 101);
  EXPECT_EQ(copy.packets[1].time_ns, 2000);
}

TEST_P(BothByteOrders, PcapngSimpleAndObsoletePackets) {
  ByteWriter out(GetParam());
  pcapng_section(out);
  pcapng_interface(out, 1, {}, 4);
  ByteWriter obsolete(GetParam());
  obsolete.u16(0).u16(77).u32(0).u32(5000).u32(7).u32(70).raw(kFrame);
  pcapng_block(out, 2, obsolete);
  pcapng_block(out, 3, ByteWriter(GetParam()).u32(7).raw({1, 2, 3, 4}));
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].data, kFrame);
  EXPECT_EQ(copy.packets[0].wire_bytes, 70u);
  EXPECT_EQ(copy.packets[0].time_ns, 5000000);
  EXPECT_EQ(copy.packets[1].data, Bytes({1, 2, 3, 4})) << "cut to the interface's snapshot length";
  EXPECT_EQ(copy.packets[1].wire_bytes, 7u);
  EXPECT_EQ(copy.packets[1].time_ns, 5000000) << "a simple packet takes the time of the previous one";
}

TEST_F(CaptureReaderTest, PcapngSkipsBlocksOfAnyLength) {
  ByteWriter out;
  pcapng_section(out);
  pcapng_interface(out, 1);
  pcapng_block(out, 0x0bad, ByteWriter().raw(Bytes(3 * ByteWindow::kInitialBytes, 0xee)));
  pcapng_packet(out, 0, 1, kFrame, 7);
  CaptureCopy copy = read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 1u);
}

TEST_F(CaptureReaderTest, PcapngPacketsOfUnsupportedInterfacesAreCounted) {
  ByteWriter out;
  pcapng_section(out);
  pcapng_interface(out, 127);
  pcapng_interface(out, 1);
  pcapng_packet(out, 0, 1, kFrame, 7);
  pcapng_packet(out, 1, 2, kFrame, 7);
  CaptureCopy copy = read(out.bytes());
  EXPECT_EQ(copy.error.message, "");
  EXPECT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.unsupported_packets, 1u);
}

Bytes many_packets(int count) {
  ByteWriter out;
  pcap_header(out);
  for (int i = 0; i < count; ++i) pcap_record(out, i, 0, Bytes(1 + i * 37 % 1500, static_cast<uint8_t>(i)), 1500);
  return out.bytes();
}

void expect_many_packets(const CaptureCopy& copy, int count) {
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(copy.packets[i].data, Bytes(1 + i * 37 % 1500, static_cast<uint8_t>(i))) << i;
  }
}

TEST_F(CaptureReaderTest, ManyPacketsAcrossTheWindowPlainAndCompressed) {
  Bytes file = many_packets(2000);
  ASSERT_GT(file.size(), 3 * ByteWindow::kInitialBytes);
  expect_many_packets(read(file), 2000);
  expect_many_packets(read(zstd(file)), 2000);
}

TEST_F(CaptureReaderTest, ManyPacketsThroughAPipe) {
  Bytes file = many_packets(2000);
  ASSERT_GT(file.size(), 3 * ByteWindow::kInitialBytes);
  std::string fifo = dir_.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer(
      [&] { std::ofstream(fifo, std::ios::binary).write(reinterpret_cast<char*>(file.data()), file.size()); });
  CaptureCopy copy = read_capture(fifo);
  writer.join();
  expect_many_packets(copy, 2000);
}

TEST_F(CaptureReaderTest, AFileThatGrowsIsReadToItsNewEnd) {
  Bytes file = many_packets(2000);
  size_t half = file.size() / 2;
  std::string path = dir_.write("file", Bytes(file.begin(), file.begin() + half));
  CaptureError error;
  auto reader = CaptureReader::open(path, &error);
  ASSERT_NE(reader, nullptr);
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<char*>(file.data() + half), file.size() - half);
  std::array<CapturedPacket, 7> packets;
  size_t count;
  CaptureReader::Outcome outcome;
  while ((outcome = reader->read(packets, &count)) != CaptureReader::Outcome::kEnd) {
    if (outcome == CaptureReader::Outcome::kRefill) reader->refill();
  }
  EXPECT_EQ(reader->packets(), 2000u);
  EXPECT_FALSE(reader->error());
}

TEST_F(CaptureReaderTest, CompressedInSeveralFrames) {
  ByteWriter out;
  pcap_header(out);
  pcap_record(out, 1, 0, kFrame, 7);
  ByteWriter rest;
  pcap_record(rest, 2, 0, kFrame, 7);
  CaptureCopy copy = read(ByteWriter().raw(zstd(out.bytes())).raw(zstd(rest.bytes())).bytes());
  EXPECT_EQ(copy.error.message, "");
  EXPECT_EQ(copy.packets.size(), 2u);
}

TEST_F(CaptureReaderTest, ProgressIsInBytesOfTheFile) {
  ByteWriter out;
  pcap_header(out);
  for (int i = 0; i < 5000; ++i) pcap_record(out, 1, 0, kFrame, 7);
  Bytes file = zstd(out.bytes());
  CaptureError error;
  auto reader = CaptureReader::open(dir_.write("file", file), &error);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->file_size_bytes(), file.size());
  std::array<CapturedPacket, 64> packets;
  size_t count;
  CaptureReader::Outcome outcome;
  while ((outcome = reader->read(packets, &count)) != CaptureReader::Outcome::kEnd) {
    if (outcome == CaptureReader::Outcome::kRefill) reader->refill();
  }
  EXPECT_EQ(reader->file_position_bytes(), file.size());
}

TEST(TimestampScaleTest, PowersOfTenAndTwo) {
  EXPECT_EQ(TimestampScale::from(6, 0).to_nanoseconds(1700000000123456), 1700000000123456000);
  EXPECT_EQ(TimestampScale::from(0, 0).to_nanoseconds(7), 7000000000);
  EXPECT_EQ(TimestampScale::from(9, -1).to_nanoseconds(2000000000), 1000000000);
  EXPECT_EQ(TimestampScale::from(12, 0).to_nanoseconds(1999), 1);
  EXPECT_EQ(TimestampScale::from(0x80 | 1, 0).to_nanoseconds(3), 1500000000);
  EXPECT_EQ(TimestampScale::from(0x80 | 32, 0).to_nanoseconds(uint64_t{1} << 31), 500000000);
}

TEST(TimestampScaleTest, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(TimestampScale::from(0, 0).to_nanoseconds(~uint64_t{0}), kLatestTimeNs);
  EXPECT_EQ(TimestampScale::from(6, INT64_MIN).to_nanoseconds(0), 0);
  EXPECT_EQ(TimestampScale::from(127, 0).to_nanoseconds(1000), 0);
}

}  // namespace
}  // namespace tapline
