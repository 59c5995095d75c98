// Tests the errors for files that are not complete captures.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packet_io/testing/read_capture.h"

namespace tapline {
namespace {

const Bytes kFrame = {1, 2, 3, 4, 5, 6, 7};

class CaptureFaultsTest : public testing::Test {
 protected:
  CaptureCopy read(const Bytes& bytes) { return read_capture(dir_.write("file", bytes)); }

  static Bytes three_packets() {
    ByteWriter out;
    pcap_header(out);
    for (int i = 0; i < 3; ++i) pcap_record(out, i, 0, kFrame, 7);
    return out.bytes();
  }
  static Bytes three_packets_of_pcapng() {
    ByteWriter out;
    pcapng_section(out);
    pcapng_interface(out, 1);
    for (int i = 0; i < 3; ++i) pcapng_packet(out, 0, i, kFrame, 7);
    return out.bytes();
  }
  TempDir dir_;
};

TEST_F(CaptureFaultsTest, Missing) {
  CaptureCopy copy = read_capture(dir_.path("nowhere.pcap"));
  EXPECT_EQ(copy.error.fault, CaptureFault::kNotFound);
  EXPECT_NE(copy.error.message.find("nowhere.pcap: there is no such file"), std::string::npos) << copy.error.message;
}

TEST_F(CaptureFaultsTest, Directory) { EXPECT_EQ(read_capture(dir_.path(".")).error.fault, CaptureFault::kNotAFile); }

TEST_F(CaptureFaultsTest, Empty) { EXPECT_EQ(read({}).error.fault, CaptureFault::kEmpty); }

TEST_F(CaptureFaultsTest, NotACapture) {
  EXPECT_EQ(read({'h', 'e', 'l', 'l', 'o'}).error.fault, CaptureFault::kNotACapture);
  EXPECT_EQ(read({'x'}).error.fault, CaptureFault::kNotACapture);
  EXPECT_EQ(read(zstd({'h', 'e', 'l', 'l', 'o'})).error.fault, CaptureFault::kNotACapture);
  EXPECT_NE(read({0x1f, 0x8b, 8, 0}).error.message.find("gunzip"), std::string::npos);
}

TEST_F(CaptureFaultsTest, UnsupportedLinkType) {
  ByteWriter pcap;
  pcap_header(pcap, kPcapMicros, 127);
  pcap_record(pcap, 1, 0, kFrame, 7);
  CaptureCopy copy = read(pcap.bytes());
  EXPECT_EQ(copy.error.fault, CaptureFault::kUnsupportedLinkType);
  EXPECT_NE(copy.error.message.find("127 (802.11 with radiotap)"), std::string::npos) << copy.error.message;

  ByteWriter pcapng;
  pcapng_section(pcapng);
  pcapng_interface(pcapng, 105);
  pcapng_packet(pcapng, 0, 1, kFrame, 7);
  copy = read(pcapng.bytes());
  EXPECT_EQ(copy.error.fault, CaptureFault::kUnsupportedLinkType);
  EXPECT_EQ(copy.unsupported_packets, 1u);
}

TEST_F(CaptureFaultsTest, UnknownVersions) {
  Bytes pcap = three_packets();
  pcap[4] = 3;
  EXPECT_EQ(read(pcap).error.fault, CaptureFault::kUnsupportedVersion);
  ByteWriter pcapng;
  pcapng_section(pcapng, 2);
  EXPECT_EQ(read(pcapng.bytes()).error.fault, CaptureFault::kUnsupportedVersion);
}

// Cuts a file at every byte. Whole packets must be returned, and the truncation must be reported.
TEST_F(CaptureFaultsTest, CutAnywhere) {
  constexpr size_t kPcapHeader = 24, kPcapRecord = 16 + 7;
  Bytes whole_bytes = three_packets();
  for (size_t cut = 4; cut < whole_bytes.size(); ++cut) {
    CaptureCopy copy = read(Bytes(whole_bytes.begin(), whole_bytes.begin() + cut));
    size_t expected = cut < kPcapHeader ? 0 : (cut - kPcapHeader) / kPcapRecord;
    bool clean = cut >= kPcapHeader && (cut - kPcapHeader) % kPcapRecord == 0;
    EXPECT_EQ(copy.packets.size(), expected) << cut;
    EXPECT_EQ(copy.error.fault, clean ? CaptureFault::kNone : CaptureFault::kTruncated) << cut;
    if (clean) continue;
    EXPECT_EQ(copy.error.offset_bytes, cut < kPcapHeader ? 0 : kPcapHeader + expected * kPcapRecord) << cut;
  }
}

TEST_F(CaptureFaultsTest, PcapngCutAnywhere) {
  constexpr size_t kHeaders = 28 + 20, kBlock = 32 + 8;
  Bytes whole_bytes = three_packets_of_pcapng();
  ASSERT_EQ(whole_bytes.size(), kHeaders + 3 * kBlock);
  for (size_t cut = 4; cut < whole_bytes.size(); ++cut) {
    CaptureCopy copy = read(Bytes(whole_bytes.begin(), whole_bytes.begin() + cut));
    EXPECT_EQ(copy.packets.size(), cut < kHeaders ? 0 : (cut - kHeaders) / kBlock) << cut;
    bool clean = cut == 28 || (cut >= kHeaders && (cut - kHeaders) % kBlock == 0);
    EXPECT_EQ(copy.error.fault, clean ? CaptureFault::kNone : CaptureFault::kTruncated) << cut;
  }
}

TEST_F(CaptureFaultsTest, CompressedCutAnywhereIsTruncatedAndKeepsEarlierPackets) {
  ByteWriter out;
  pcap_header(out);
  // The data are too random to compress, so zstd divides them into several blocks.
  uint32_t state = 1;
  for (int i = 0; i < 400; ++i) {
    Bytes data(1000);
    for (uint8_t& byte : data) byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    pcap_record(out, i, 0, data, 1000);
  }
  Bytes whole_bytes = zstd(out.bytes());
  size_t last = 0;
  for (size_t cut = whole_bytes.size() / 2; cut < whole_bytes.size(); cut += 20011) {
    CaptureCopy copy = read(Bytes(whole_bytes.begin(), whole_bytes.begin() + cut));
    EXPECT_EQ(copy.error.fault, CaptureFault::kTruncated) << cut;
    EXPECT_GE(copy.packets.size(), last);
    EXPECT_LT(copy.packets.size(), 400u);
    last = copy.packets.size();
  }
  EXPECT_GT(last, 0u);
}

TEST_F(CaptureFaultsTest, DamagedCompression) {
  Bytes whole_bytes = zstd(three_packets());
  whole_bytes[4] = 0xff;
  CaptureFault fault = read(whole_bytes).error.fault;
  EXPECT_TRUE(fault == CaptureFault::kCorrupt || fault == CaptureFault::kTruncated);
}

TEST_F(CaptureFaultsTest, ImpossiblePacketLength) {
  Bytes file = three_packets();
  file[24 + 23 + 8 + 3] = 0x7f;  // top byte of the second packet's captured length
  CaptureCopy copy = read(file);
  EXPECT_EQ(copy.error.fault, CaptureFault::kCorrupt);
  EXPECT_EQ(copy.error.offset_bytes, 24u + 23u);
  EXPECT_EQ(copy.packets.size(), 1u);
}

TEST_F(CaptureFaultsTest, ImpossiblePcapngBlocks) {
  constexpr size_t kSecondPacket = 28 + 20 + 40;
  struct Damage {
    size_t offset;
    uint8_t value;
  };
  for (Damage damage : {Damage{4, 3}, Damage{7, 0x70}, Damage{8, 9}, Damage{20, 200}, Damage{36, 1}}) {
    Bytes file = three_packets_of_pcapng();
    file[kSecondPacket + damage.offset] = damage.value;
    CaptureCopy copy = read(file);
    EXPECT_EQ(copy.error.fault, CaptureFault::kCorrupt) << damage.offset;
    EXPECT_EQ(copy.error.offset_bytes, kSecondPacket) << damage.offset;
    EXPECT_EQ(copy.packets.size(), 1u) << damage.offset;
  }
}

TEST_F(CaptureFaultsTest, NoPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  std::string path = dir_.write("secret", three_packets());
  chmod(path.c_str(), 0);
  EXPECT_EQ(read_capture(path).error.fault, CaptureFault::kNoPermission);
}

// Sets each byte to several values. Reading must end, and must not access memory outside the file's bytes, as
// sanitizers verify.
TEST_F(CaptureFaultsTest, EveryDamagedByteIsHandled) {
  for (const Bytes& whole_bytes : {three_packets(), three_packets_of_pcapng()}) {
    for (size_t offset = 0; offset < whole_bytes.size(); ++offset) {
      for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        Bytes file = whole_bytes;
        file[offset] = value;
        EXPECT_LE(read(file).packets.size(), 3u);
      }
    }
  }
}

}  // namespace
}  // namespace tapline
