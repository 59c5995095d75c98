#include <gtest/gtest.h>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

constexpr int64_t kSecond = 1'000'000'000, kStart = 1000 * kSecond;
const std::string kA = "10.0.0.1", kB = "10.0.0.2", kA6 = "2001:db8::1", kB6 = "2001:db8::2";

std::string number(size_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}
std::string icmp(uint8_t type, uint8_t code, uint32_t rest, const std::string& data = "") {
  return number(type, 1) + number(code, 1) + number(0, 2) + number(rest, 4) + data;
}
std::string echo(uint8_t type, uint16_t id, uint16_t sequence) {
  return icmp(type, 0, static_cast<uint32_t>(id << 16 | sequence), "0123456789");
}
std::string quoted(const testing::Bytes& ip, size_t bytes) {
  return std::string(ip.begin(), ip.begin() + static_cast<ptrdiff_t>(std::min(bytes, ip.size())));
}

// Returns the two hosts and these fields of each tuple.
Lines seen(const std::vector<Frame>& frames, const Lines& fields) {
  Harness harness({"icmp"});
  harness.all(frames);
  Lines lines = harness.lines(fields);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string ends = harness.tuples()[i].endpoints();
    const size_t arrow = ends.find('>');
    lines[i] = ends.substr(0, arrow - 2) + ">" + ends.substr(arrow + 1, ends.size() - arrow - 3) + " " + lines[i];
  }
  return lines;
}

TEST(Icmp, EchoesArePaired) {
  EXPECT_EQ(
      seen({testing::icmp_frame(kA, kB, echo(8, 7, 1), kStart), testing::icmp_frame(kA, kB, echo(8, 7, 2), kStart + 5),
            testing::icmp_frame(kB, kA, echo(0, 7, 2), kStart + 9),
            testing::icmp_frame(kB, kA, echo(0, 7, 1), kStart + 11)},
           {"message", "type", "rtt_ns", "id", "sequence", "bytes", "partial"}),
      (Lines{"10.0.0.1>10.0.0.2 echo 8 4 7 2 18 ", "10.0.0.1>10.0.0.2 echo 8 11 7 1 18 "}));
  EXPECT_EQ(seen({testing::icmp_frame(kA6, kB6, echo(128, 7, 1), kStart),
                  testing::icmp_frame(kB6, kA6, echo(129, 7, 1), kStart + 3)},
                 {"message", "type", "rtt_ns", "partial"}),
            (Lines{"2001:db8::1>2001:db8::2 echo 128 3 "}));
}

TEST(Icmp, EitherHostMaySendRequests) {
  EXPECT_EQ(
      seen({testing::icmp_frame(kA, kB, echo(8, 7, 1), kStart), testing::icmp_frame(kB, kA, echo(8, 7, 1), kStart + 1),
            testing::icmp_frame(kA, kB, echo(0, 7, 1), kStart + 3),
            testing::icmp_frame(kB, kA, echo(0, 7, 1), kStart + 7)},
           {"rtt_ns", "partial"}),
      (Lines{"10.0.0.2>10.0.0.1 2 ", "10.0.0.1>10.0.0.2 7 "}));
}

TEST(Icmp, ReportsOneSidedAndRepeatedEchoes) {
  EXPECT_EQ(seen({testing::icmp_frame(kB, kA, echo(0, 7, 1), kStart)}, {"type", "rtt_ns", "partial"}),
            Lines{"10.0.0.1>10.0.0.2 0 - response"});
  // Requests without replies, one per second, are reported after ten seconds.
  std::vector<Frame> frames;
  for (uint16_t i = 0; i < 30; ++i) frames.push_back(testing::icmp_frame(kA, kB, echo(8, 7, i), kStart + i * kSecond));
  Harness harness({"icmp"});
  harness.feed(frames);
  EXPECT_EQ(harness.tuples().size(), 19u);
  EXPECT_EQ(harness.tuples()[0].header.time_ns, kStart + 11 * kSecond);
  // The reply arrives twice.
  EXPECT_EQ(
      seen({testing::icmp_frame(kA, kB, echo(8, 7, 1), kStart), testing::icmp_frame(kB, kA, echo(0, 7, 1), kStart + 1),
            testing::icmp_frame(kB, kA, echo(0, 7, 1), kStart + 2)},
           {"rtt_ns", "partial"}),
      (Lines{"10.0.0.1>10.0.0.2 1 ", "10.0.0.1>10.0.0.2 - response"}));
}

TEST(Icmp, ErrorsNameTheOffendingFlow) {
  const testing::Bytes udp = testing::ip_v4(kA, kB, protocol::kUdp, testing::udp_datagram(40000, 53, "question"));
  const Lines fields = {"message", "reason", "code", "mtu", "quoted_protocol", "quoted_src", "quoted_dst"};
  EXPECT_EQ(seen({testing::icmp_frame(kB, kA, icmp(3, 3, 0, quoted(udp, 28)), kStart)}, fields),
            Lines{"10.0.0.2>10.0.0.1 unreachable port 3 - udp 10.0.0.1:40000 10.0.0.2:53"});
  EXPECT_EQ(seen({testing::icmp_frame("10.0.0.9", kA, icmp(3, 4, 1400, quoted(udp, 28)), kStart)}, fields),
            Lines{"10.0.0.9>10.0.0.1 unreachable too-big 4 1400 udp 10.0.0.1:40000 10.0.0.2:53"});
  EXPECT_EQ(seen({testing::icmp_frame("10.0.0.9", kA, icmp(11, 0, 0, quoted(udp, 20)), kStart)}, fields),
            Lines{"10.0.0.9>10.0.0.1 time-exceeded in-transit 0 - udp 10.0.0.1 10.0.0.2"});
  const testing::Bytes tcp = testing::ip_v6(kA6, kB6, protocol::kTcp, testing::tcp_segment({.dst_port = 443}));
  EXPECT_EQ(seen({testing::icmp_frame(kB6, kA6, icmp(2, 0, 1280, quoted(tcp, 60)), kStart)}, fields),
            Lines{"2001:db8::2>2001:db8::1 too-big  0 1280 tcp [2001:db8::1]:40000 [2001:db8::2]:443"});
  const testing::Bytes other_frame = testing::ip_v4(kA, kB, 132, {});
  EXPECT_EQ(seen({testing::icmp_frame(kB, kA, icmp(3, 99, 0, quoted(other_frame, 20)), kStart)}, fields),
            Lines{"10.0.0.2>10.0.0.1 unreachable  99 - 132 10.0.0.1 10.0.0.2"});
}

TEST(Icmp, EveryErrorCutShort) {
  const testing::Bytes udp = testing::ip_v4(kA, kB, protocol::kUdp, testing::udp_datagram(40000, 53, "question"));
  const std::string whole = icmp(3, 3, 0, quoted(udp, 28));
  for (size_t length = 0; length < whole.size(); ++length) {
    const Lines lines = seen({testing::icmp_frame(kB, kA, whole.substr(0, length), kStart)}, {"message", "quoted_dst"});
    const std::string destination = length < 28 ? "-" : length < 32 ? "10.0.0.2" : "10.0.0.2:53";
    EXPECT_EQ(lines, length < 8 ? Lines{} : Lines{"10.0.0.2>10.0.0.1 unreachable " + destination}) << length;
  }
}

TEST(Icmp, OtherAndUnknownMessages) {
  EXPECT_EQ(seen({testing::icmp_frame(kA6, kB6, icmp(135, 0, 0, std::string(16, 'x')), kStart),
                  testing::icmp_frame(kA, kB, icmp(135, 1, 0), kStart + 1)},
                 {"message", "type", "code", "quoted_dst", "partial"}),
            (Lines{"2001:db8::1>2001:db8::2 neighbor-solicitation 135 0 - ", "10.0.0.1>10.0.0.2  135 1 - "}));
}

TEST(Icmp, OtherProtocolsEmitNothing) {
  std::vector<Frame> frames = testing::Conversation().handshake().client(echo(8, 1, 1)).close().frames();
  frames.push_back(testing::udp_frame({.payload = echo(8, 1, 1)}, kStart + kSecond));
  EXPECT_EQ(Harness({"icmp"}).all(frames).tuples().size(), 0u);
}

}  // namespace
}  // namespace tapline
