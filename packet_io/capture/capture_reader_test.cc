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
  CaptureCopy Read(const Bytes& bytes) { return ReadCapture(dir_.Write("file", bytes)); }
  TempDir dir_;
};

class BothByteOrders : public CaptureReaderTest, public testing::WithParamInterface<std::endian> {};
INSTANTIATE_TEST_SUITE_P(Order, BothByteOrders, testing::Values(std::endian::little, std::endian::big));

TEST_P(BothByteOrders, PcapOfMicroseconds) {
  ByteWriter out(GetParam());
  PcapHeader(out);
  PcapRecord(out, 1700000000, 123456, kFrame, 1500);
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.packets[0].data, kFrame);
  EXPECT_EQ(copy.packets[0].wire_bytes, 1500u);
  EXPECT_EQ(copy.packets[0].time_ns, 1700000000123456000);
  EXPECT_EQ(copy.packets[0].link_type, 1);
}

TEST_P(BothByteOrders, PcapOfNanoseconds) {
  ByteWriter out(GetParam());
  PcapHeader(out, kPcapNanos, 101);
  PcapRecord(out, 1700000000, 123456789, kFrame, 7);
  PcapRecord(out, 4000000000, 999999999, {}, 0);
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].time_ns, 1700000000123456789);
  EXPECT_EQ(copy.packets[1].time_ns, 4000000000999999999);
  EXPECT_TRUE(copy.packets[1].data.empty());
}

TEST_P(BothByteOrders, PcapWithKuznetzovsRecordHeader) {
  ByteWriter out(GetParam());
  PcapHeader(out, kPcapKuznetzov);
  for (int i = 0; i < 2; ++i) {
    out.U32(5).U32(6).U32(7).U32(60).U32(2).U16(0x800).U8(0).U8(0).Raw(kFrame);
  }
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[1].data, kFrame);
  EXPECT_EQ(copy.packets[1].time_ns, 5000006000);
}

TEST_F(CaptureReaderTest, LinkTypeIgnoresFrameCheckSequenceBits) {
  ByteWriter out;
  PcapHeader(out, kPcapMicros, 0x34000001);
  PcapRecord(out, 1, 0, kFrame, 7);
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.packets[0].link_type, 1);
}

TEST_F(CaptureReaderTest, OldPcapWithItsLengthsSwapped) {
  ByteWriter out;
  PcapHeader(out, kPcapMicros, 1, 3);
  out.U32(1).U32(0).U32(60).U32(7).Raw(kFrame);
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.packets[0].data, kFrame);
  EXPECT_EQ(copy.packets[0].wire_bytes, 60u);
}

TEST_P(BothByteOrders, PcapngWithTwoInterfacesOfDifferentKind) {
  ByteWriter out(GetParam());
  PcapngSection(out);
  PcapngInterface(out, 1);
  ByteWriter options(GetParam());
  options.U16(9).U16(1).U8(9).Pad();                 // if_tsresol: nanoseconds
  options.U16(14).U16(8).U64(100);                   // if_tsoffset: 100 s
  options.U16(2).U16(3).Raw({'l', 'o', '0'}).Pad();  // if_name
  PcapngInterface(out, 113, options.bytes());
  PcapngPacket(out, 0, 1700000000123456, kFrame, 7);
  PcapngPacket(out, 1, 1700000000123456789, kFrame, 9);
  CaptureCopy copy = Read(out.bytes());
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
  PcapngSection(little);
  PcapngInterface(little, 1);
  PcapngPacket(little, 0, 1, kFrame, 7);
  ByteWriter big(std::endian::big);
  PcapngSection(big);
  PcapngInterface(big, 101);
  PcapngPacket(big, 0, 2, {9}, 1);
  CaptureCopy copy = Read(ByteWriter().Raw(little.bytes()).Raw(big.bytes()).bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].link_type, 1);
  EXPECT_EQ(copy.packets[1].link_type, 101);
  EXPECT_EQ(copy.packets[1].time_ns, 2000);
}

TEST_P(BothByteOrders, PcapngSimpleAndObsoletePackets) {
  ByteWriter out(GetParam());
  PcapngSection(out);
  PcapngInterface(out, 1, {}, 4);
  ByteWriter obsolete(GetParam());
  obsolete.U16(0).U16(77).U32(0).U32(5000).U32(7).U32(70).Raw(kFrame);
  PcapngBlock(out, 2, obsolete);
  PcapngBlock(out, 3, ByteWriter(GetParam()).U32(7).Raw({1, 2, 3, 4}));
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 2u);
  EXPECT_EQ(copy.packets[0].data, kFrame);
  EXPECT_EQ(copy.packets[0].wire_bytes, 70u);
  EXPECT_EQ(copy.packets[0].time_ns, 5000000);
  EXPECT_EQ(copy.packets[1].data, Bytes({1, 2, 3, 4})) << "cut to the interface's snapshot length";
  EXPECT_EQ(copy.packets[1].wire_bytes, 7u);
  EXPECT_EQ(copy.packets[1].time_ns, 5000000) << "a simple packet takes the time of the one before";
}

TEST_F(CaptureReaderTest, PcapngSkipsBlocksOfAnyLength) {
  ByteWriter out;
  PcapngSection(out);
  PcapngInterface(out, 1);
  PcapngBlock(out, 0x0bad, ByteWriter().Raw(Bytes(3 * ByteWindow::kInitialBytes, 0xee)));
  PcapngPacket(out, 0, 1, kFrame, 7);
  CaptureCopy copy = Read(out.bytes());
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), 1u);
}

TEST_F(CaptureReaderTest, PcapngPacketsOfUnsupportedInterfacesAreCounted) {
  ByteWriter out;
  PcapngSection(out);
  PcapngInterface(out, 127);
  PcapngInterface(out, 1);
  PcapngPacket(out, 0, 1, kFrame, 7);
  PcapngPacket(out, 1, 2, kFrame, 7);
  CaptureCopy copy = Read(out.bytes());
  EXPECT_EQ(copy.error.message, "");
  EXPECT_EQ(copy.packets.size(), 1u);
  EXPECT_EQ(copy.unsupported_packets, 1u);
}

Bytes ManyPackets(int count) {
  ByteWriter out;
  PcapHeader(out);
  for (int i = 0; i < count; ++i) PcapRecord(out, i, 0, Bytes(1 + i * 37 % 1500, static_cast<uint8_t>(i)), 1500);
  return out.bytes();
}

void ExpectManyPackets(const CaptureCopy& copy, int count) {
  ASSERT_EQ(copy.error.message, "");
  ASSERT_EQ(copy.packets.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(copy.packets[i].data, Bytes(1 + i * 37 % 1500, static_cast<uint8_t>(i))) << i;
  }
}

TEST_F(CaptureReaderTest, ManyPacketsAcrossTheWindowPlainAndCompressed) {
  Bytes file = ManyPackets(2000);
  ASSERT_GT(file.size(), 3 * ByteWindow::kInitialBytes);
  ExpectManyPackets(Read(file), 2000);
  ExpectManyPackets(Read(Zstd(file)), 2000);
}

TEST_F(CaptureReaderTest, ManyPacketsThroughAPipe) {
  Bytes file = ManyPackets(2000);
  ASSERT_GT(file.size(), 3 * ByteWindow::kInitialBytes);
  std::string fifo = dir_.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer(
      [&] { std::ofstream(fifo, std::ios::binary).write(reinterpret_cast<char*>(file.data()), file.size()); });
  CaptureCopy copy = ReadCapture(fifo);
  writer.join();
  ExpectManyPackets(copy, 2000);
}

TEST_F(CaptureReaderTest, AFileThatGrowsIsReadToItsNewEnd) {
  Bytes file = ManyPackets(2000);
  size_t half = file.size() / 2;
  std::string path = dir_.Write("file", Bytes(file.begin(), file.begin() + half));
  CaptureError error;
  auto reader = CaptureReader::Open(path, &error);
  ASSERT_NE(reader, nullptr);
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<char*>(file.data() + half), file.size() - half);
  std::array<CapturedPacket, 7> packets;
  size_t count;
  CaptureReader::Outcome outcome;
  while ((outcome = reader->Read(packets, &count)) != CaptureReader::Outcome::kEnd) {
    if (outcome == CaptureReader::Outcome::kRefill) reader->Refill();
  }
  EXPECT_EQ(reader->packets(), 2000u);
  EXPECT_FALSE(reader->error());
}

TEST_F(CaptureReaderTest, CompressedInSeveralFrames) {
  ByteWriter out;
  PcapHeader(out);
  PcapRecord(out, 1, 0, kFrame, 7);
  ByteWriter rest;
  PcapRecord(rest, 2, 0, kFrame, 7);
  CaptureCopy copy = Read(ByteWriter().Raw(Zstd(out.bytes())).Raw(Zstd(rest.bytes())).bytes());
  EXPECT_EQ(copy.error.message, "");
  EXPECT_EQ(copy.packets.size(), 2u);
}

TEST_F(CaptureReaderTest, ProgressIsThatOfTheFileItself) {
  ByteWriter out;
  PcapHeader(out);
  for (int i = 0; i < 5000; ++i) PcapRecord(out, 1, 0, kFrame, 7);
  Bytes file = Zstd(out.bytes());
  CaptureError error;
  auto reader = CaptureReader::Open(dir_.Write("file", file), &error);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->file_size_bytes(), file.size());
  std::array<CapturedPacket, 64> packets;
  size_t count;
  CaptureReader::Outcome outcome;
  while ((outcome = reader->Read(packets, &count)) != CaptureReader::Outcome::kEnd) {
    if (outcome == CaptureReader::Outcome::kRefill) reader->Refill();
  }
  EXPECT_EQ(reader->file_position_bytes(), file.size());
}

TEST(TimestampScaleTest, PowersOfTenAndTwo) {
  EXPECT_EQ(TimestampScale::From(6, 0).ToNanoseconds(1700000000123456), 1700000000123456000);
  EXPECT_EQ(TimestampScale::From(0, 0).ToNanoseconds(7), 7000000000);
  EXPECT_EQ(TimestampScale::From(9, -1).ToNanoseconds(2000000000), 1000000000);
  EXPECT_EQ(TimestampScale::From(12, 0).ToNanoseconds(1999), 1);
  EXPECT_EQ(TimestampScale::From(0x80 | 1, 0).ToNanoseconds(3), 1500000000);
  EXPECT_EQ(TimestampScale::From(0x80 | 32, 0).ToNanoseconds(uint64_t{1} << 31), 500000000);
}

TEST(TimestampScaleTest, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(TimestampScale::From(0, 0).ToNanoseconds(~uint64_t{0}), kLatestTimeNs);
  EXPECT_EQ(TimestampScale::From(6, INT64_MIN).ToNanoseconds(0), 0);
  EXPECT_EQ(TimestampScale::From(127, 0).ToNanoseconds(1000), 0);
}

}  // namespace
}  // namespace tapline
