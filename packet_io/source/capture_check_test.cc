#include "packet_io/source/capture_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "packet_io/testing/capture_bytes.h"

namespace tapline {
namespace {

constexpr uint32_t kUser0 = 147;

class CaptureCheckTest : public testing::Test {
 protected:
  static Bytes capture(uint32_t link_type, int packets) {
    ByteWriter out;
    pcap_header(out, kPcapMicros, link_type);
    for (int i = 0; i < packets; ++i) pcap_record(out, static_cast<uint32_t>(i), 0, Bytes(60, 'x'), 60);
    return out.bytes();
  }

  // Returns the fault of a file with these bytes except the last `cut_bytes`, or an empty string.
  std::string fault(Bytes bytes, size_t cut_bytes = 0) {
    bytes.resize(bytes.size() - cut_bytes);
    const std::string path = dir_.write("capture", bytes);
    const Status status = check_captures(std::vector{path});
    EXPECT_TRUE(status.ok() || status.message().starts_with(path)) << status.message();
    EXPECT_EQ(status.exit_code(), status.ok() ? 0 : 1);
    return status.message();
  }

  TempDir dir_;
};

TEST_F(CaptureCheckTest, AcceptsCapturesWithPackets) {
  EXPECT_EQ(fault(capture(1, 3)), "");
  EXPECT_EQ(fault(capture(1, 0)), "");
  EXPECT_EQ(fault(capture(1, 2), 1), "") << "the first packet is whole";
}

TEST_F(CaptureCheckTest, RejectsUnreadableFiles) {
  EXPECT_NE(fault({}).find("is empty"), std::string::npos);
  EXPECT_NE(fault(Bytes(100, 'x')).find("is not a capture file"), std::string::npos);
  EXPECT_NE(fault({0x1f, 0x8b, 8, 0, 0, 0}).find("gunzip"), std::string::npos);
  EXPECT_NE(fault(capture(1, 0), 1).find("it has 23 bytes, and the file header takes 24"), std::string::npos);
  EXPECT_NE(fault(capture(1, 1), 1).find("ends too early"), std::string::npos);
  EXPECT_NE(fault(capture(kUser0, 1)).find("147"), std::string::npos);
  EXPECT_NE(fault({0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3}).find("can't be read"), std::string::npos);
}

TEST_F(CaptureCheckTest, NamesTheFirstInvalidFile) {
  const std::string good = dir_.write("good", capture(1, 1));
  const std::string missing = good + ".none";
  const Status status = check_captures(std::vector{good, missing, missing + "2"});
  EXPECT_EQ(status.message(), missing + ": there is no such file; check the path");
  EXPECT_NE(check_captures(std::vector{dir_.path("")}).message().find("is a directory"), std::string::npos);
}

TEST_F(CaptureCheckTest, IgnoresPipes) {
  const std::string pipe = dir_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(check_captures(std::vector{pipe}).ok()) << "and does not wait for a writer";
}

}  // namespace
}  // namespace tapline
