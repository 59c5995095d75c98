#include "parsers/packets/sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "parsers/testing/capture_file.h"
#include "parsers/testing/frames.h"

namespace tapline::testing {
namespace {

// Expects read_plain(), if it accepts the packet, to agree with decode(). Increments *plain for an accepted packet.
void expect_plain_as_decoded(const RawPacket& raw, size_t* plain) {
  Sample sample;
  TcpNumbers numbers;
  if (!read_plain(raw, &sample, &numbers)) return;
  ++*plain;
  Packet packet;
  ASSERT_EQ(decode(raw, &packet), DecodeOutcome::kOk);
  const Sample decoded = sample_of(packet);
  EXPECT_EQ(std::memcmp(&sample, &decoded, sizeof sample), 0);
  EXPECT_EQ(numbers.seq, packet.tcp_seq);
  EXPECT_EQ(numbers.ack, packet.tcp_ack);
}

TEST(SampleTest, PlainPacketsAgreeWithTheDecoder) {
  size_t plain = 0;
  for (const char* name : {"tcp_small", "http_small", "protocols_small", "datagrams_small"}) {
    std::string path = TAPLINE_SOURCE_DIR "/testbed/captures/";
    path.append(name).append(".pcap.zst");
    for (const Frame& frame : read_capture(path)) {
      expect_plain_as_decoded(frame.raw(), &plain);
    }
  }
  EXPECT_GT(plain, 100u);
}

TEST(SampleTest, TruncatedAndModifiedPacketsAgreeWithTheDecoder) {
  const Frame frame = tcp_frame({.seq = 7, .ack = 8, .flags = tcp_flag::kAck, .payload = "hello"}, 5);
  size_t plain = 0;
  expect_plain_as_decoded(frame.raw(), &plain);
  ASSERT_EQ(plain, 1u);
  for (uint32_t bytes = 0; bytes < frame.bytes.size(); ++bytes) {
    RawPacket cut_packet = frame.raw();
    cut_packet.captured_bytes = bytes;
    expect_plain_as_decoded(cut_packet, &plain);
  }
  EXPECT_EQ(plain, 1u);
  for (size_t i = 0; i < frame.bytes.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      Frame changed_frame = frame;
      changed_frame.bytes[i] = static_cast<uint8_t>(value);
      expect_plain_as_decoded(changed_frame.raw(), &plain);
    }
  }
  EXPECT_GT(plain, 5000u);
}

}  // namespace
}  // namespace tapline::testing
