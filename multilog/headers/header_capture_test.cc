#include "multilog/headers/header_capture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include "multilog/headers/pcapng_writer.h"
#include "parsers/testing/frames.h"

namespace tapline::multilog {
namespace {

using testing::Bytes;
using testing::ethernet;
using testing::Frame;
using testing::icmp_frame;
using testing::ip_v4;
using testing::ip_v6;
using testing::tcp_frame;
using testing::udp_frame;

// Delivers frames in bursts of three, then ends.
class FrameSource final : public PacketSource {
 public:
  explicit FrameSource(std::vector<Frame> frames) : frames_(std::move(frames)) {}
  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> packets) override {
    Burst burst;
    while (burst.packets < 3 && next_ < frames_.size()) packets[burst.packets++] = frames_[next_++].raw();
    burst.ended = next_ == frames_.size();
    return burst;
  }
  Status status() const override { return {}; }
  Losses read_losses() override { return losses; }
  bool live() const override { return false; }

  Losses losses;

 private:
  std::vector<Frame> frames_;
  size_t next_ = 0;
};

// Runs HeaderCapture over the frames, with rings that are big enough unless `shape` specifies otherwise.
class CaptureRun {
 public:
  CaptureRun(std::vector<Frame> frames, const CaptureOptions& options = {}, size_t rings = 1,
             RowRing::Shape shape = {.batch_rows = 4, .batches = 64}, uint32_t frame_bytes = 64)
      : layout(frame_bytes) {
    shape.row_bytes = layout.row_bytes();
    for (size_t i = 0; i < rings; ++i) {
      rings_.push_back(std::move(*RowRing::make(shape)));
      pointers_.push_back(rings_.back().get());
    }
    capture_ = std::move(*HeaderCapture::make(options, &layout, pointers_));
    FrameSource source(std::move(frames));
    source.losses.by_drop[static_cast<size_t>(Drop::kNicMissed)] = 2;
    const std::atomic<bool> stop{false};
    capture_->run(&source, &stop);
    for (const auto& ring : rings_) read(ring.get());
  }

  const CaptureCounters& counters() const { return capture_->counters(); }
  uint64_t packets() const { return counters().packets.load(); }
  std::string text(size_t row, std::string_view field) const {
    return format_field(layout.schema(), *layout.schema().find(field), rows[row].data());
  }
  // packets = rows + sum of dropped
  bool balanced() const {
    uint64_t sum = counters().rows.load();
    for (const auto& [reason, count] : counters().dropped()) sum += count;
    return sum == packets();
  }

  const HeaderLayout layout;
  std::vector<std::vector<uint8_t>> rows;
  std::vector<uint64_t> rows_of_ring;

 private:
  void read(RowRing* ring) {
    rows_of_ring.push_back(0);
    uint32_t count = 0;
    while (const uint8_t* batch = ring->front(&count)) {
      for (uint32_t i = 0; i < count; ++i)
        rows.emplace_back(batch + i * layout.row_bytes(), batch + (i + 1) * layout.row_bytes());
      rows_of_ring.back() += count;
      ring->pop();
    }
    EXPECT_TRUE(ring->ended());
  }

  std::vector<std::unique_ptr<RowRing>> rings_;
  std::vector<RowRing*> pointers_;
  std::unique_ptr<HeaderCapture> capture_;
};

Frame syn(uint16_t port, int64_t time_ns = 5) {
  return tcp_frame({.src_port = port, .seq = 7, .flags = tcp_flag::kSyn}, time_ns);
}

TEST(HeaderCapture, FieldsOfTcpOverV4) {
  const CaptureRun captured({tcp_frame({.src = "10.1.2.3",
                                        .dst = "10.4.5.6",
                                        .src_port = 1234,
                                        .dst_port = 80,
                                        .seq = 100,
                                        .ack = 200,
                                        .flags = tcp_flag::kAck | tcp_flag::kPsh,
                                        .payload = "hello",
                                        .vlans = {42}},
                                       1'000)});
  ASSERT_EQ(captured.rows.size(), 1u);
  const auto is = [&](std::string_view field, const std::string& text) {
    EXPECT_EQ(captured.text(0, field), text) << field;
  };
  is("time", "1000");
  is("src_ip", "10.1.2.3");
  is("dst_ip", "10.4.5.6");
  is("src_ip6", "");
  is("src_port", "1234");
  is("dst_port", "80");
  is("protocol", "6");
  is("seq", "100");
  is("ack", "200");
  is("tcp_flags", std::to_string(tcp_flag::kAck | tcp_flag::kPsh));
  is("payload_bytes", "5");
  is("bytes", std::to_string(14 + 4 + 20 + 20 + 5));
  is("vlan", "42");
  is("network_id", "");
  EXPECT_TRUE(captured.balanced());
}

TEST(HeaderCapture, FieldsOfUdpOverV6AndOfIcmp) {
  const CaptureRun captured({udp_frame({.src = "2001:db8::1", .dst = "2001:db8::2", .payload = "x"}, 1),
                             icmp_frame("10.0.0.1", "10.0.0.2", std::string("\x08\0\0\0\0\1\0\1", 8), 2)});
  ASSERT_EQ(captured.rows.size(), 2u);
  EXPECT_EQ(captured.text(0, "src_ip6"), "2001:db8::1");
  EXPECT_EQ(captured.text(0, "dst_ip6"), "2001:db8::2");
  EXPECT_EQ(captured.text(0, "src_ip"), "");
  EXPECT_EQ(captured.text(0, "ip_id"), "");
  EXPECT_EQ(captured.text(0, "seq"), "");
  EXPECT_EQ(captured.text(0, "dst_port"), "53");
  EXPECT_EQ(captured.text(1, "protocol"), "1");
  EXPECT_EQ(captured.text(1, "src_port"), "0");
  EXPECT_EQ(captured.text(1, "vlan"), "");
}

TEST(HeaderCapture, KeepsTheFramesFirstBytes) {
  const Frame frame = tcp_frame({.payload = std::string_view("0123456789012345678901234567890123456789")}, 1);
  for (const uint32_t bytes : {0u, 20u, 64u}) {
    const CaptureRun captured({frame, icmp_frame("10.0.0.1", "10.0.0.2", "\x08", 2)}, {}, 1,
                              {.batch_rows = 4, .batches = 64}, bytes);
    ASSERT_EQ(captured.rows.size(), 2u);
    const auto kept = captured.layout.frame_of(captured.rows[0].data());
    ASSERT_EQ(kept.size(), bytes);
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), frame.bytes.begin()));
    EXPECT_EQ(captured.layout.wire_bytes_of(captured.rows[0].data()), frame.bytes.size());
    // The ICMP frame has only 35 bytes.
    EXPECT_EQ(captured.layout.frame_of(captured.rows[1].data()).size(), std::min(bytes, 35u));
  }
}

TEST(HeaderCapture, SpraysBatchesOverRings) {
  std::vector<Frame> frames;
  for (uint16_t i = 0; i < 40; ++i) frames.push_back(syn(1000 + i));
  const CaptureRun captured(frames, {}, 4);
  EXPECT_EQ(captured.rows_of_ring, (std::vector<uint64_t>{12, 12, 8, 8}));
  std::set<std::string> ports;
  for (size_t i = 0; i < captured.rows.size(); ++i) ports.insert(captured.text(i, "src_port"));
  EXPECT_EQ(ports.size(), 40u);
}

TEST(HeaderCapture, RowsWithoutRoomAreCounted) {
  std::vector<Frame> frames;
  for (uint16_t i = 0; i < 40; ++i) frames.push_back(syn(1000 + i));
  const CaptureRun captured(frames, {}, 2, {.batch_rows = 4, .batches = 2});
  EXPECT_EQ(captured.rows.size(), 16u);
  EXPECT_EQ(captured.counters().dropped(), (std::map<std::string, uint64_t>{{"nic_missed", 2}, {"ring_full", 24}}));
  EXPECT_TRUE(captured.balanced());
}

TEST(HeaderCapture, FilterSamplingAndMalformedFrames) {
  std::vector<Frame> frames;
  for (uint16_t i = 0; i < 400; ++i) frames.push_back(syn(1000 + i));
  Frame arp = syn(1);
  arp.bytes[12] = 8, arp.bytes[13] = 6;
  frames.push_back(arp);
  Frame cut_frame = syn(2);
  cut_frame.bytes.resize(30);
  frames.push_back(cut_frame);
  const CaptureRun captured(frames, {.sampling_rate = 0.5, .filter = "src_port < 1100"});
  const auto dropped = captured.counters().dropped();
  EXPECT_GT(dropped.at("unsampled"), 150u);
  EXPECT_LT(dropped.at("unsampled"), 250u);
  EXPECT_GT(captured.rows.size(), 25u);
  EXPECT_LT(captured.rows.size(), 75u);
  EXPECT_EQ(dropped.at("not_ip"), 1u);
  EXPECT_TRUE(captured.balanced());
  // Sampling is deterministic, so a second run keeps the same flows.
  const CaptureRun sampled_twice(frames, {.sampling_rate = 0.5, .filter = "src_port < 1100"});
  EXPECT_EQ(sampled_twice.rows, captured.rows);
}

TEST(HeaderCapture, AnInvalidFilterIsAnErrorWithItsPosition) {
  const HeaderLayout layout(0);
  const auto made = HeaderCapture::make({.filter = "src_port == "}, &layout, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kInvalid);
  EXPECT_TRUE(made.status().position().has_value());
}

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Makes a frame with an IPv4 datagram that carries the payload from one end of a tunnel to the other.
Bytes tunnel(uint8_t protocol, const Bytes& payload) {
  return ethernet(0x0800, ip_v4("192.0.2.1", "192.0.2.2", protocol, payload));
}
Bytes udp(uint16_t dst_port, const Bytes& payload) {
  return testing::udp_datagram(50000, dst_port, {reinterpret_cast<const char*>(payload.data()), payload.size()});
}
// Turns the frame's IPv4 datagram into a fragment with an offset of `words` eight-byte words.
Bytes fragment(Bytes frame, uint8_t words, bool has_more) {
  frame[14 + 6] = has_more ? 0x20 : 0;
  frame[14 + 7] = words;
  return frame;
}
Bytes fragment6(uint8_t next_header, const Bytes& payload) {
  const Bytes header = {next_header, 0, 0, 1, 0, 0, 0, 5};
  return ethernet(0x86dd, ip_v6("2001:db8::1", "2001:db8::2", protocol::kFragment, header + payload));
}

CaptureRun one(const Bytes& frame) { return CaptureRun({Frame{frame, 5, 0, LinkType::kEthernet}}); }

struct UnfollowedCase {
  const char* name;
  Bytes frame;
  size_t kept;
};

// A user who may see only the tunnel's ends must not be able to tell from `frame` which hosts use the tunnel.
TEST(HeaderCapture, ContentsOfUnsupportedTunnelsAreNotKept) {
  const Bytes inner = ip_v4("10.9.8.7", "10.9.8.6", protocol::kIcmp, Bytes(24, 'x'));
  const Bytes inner6 = ip_v6("2001:0:9::7", "2001:0:9::6", protocol::kTcp, Bytes(24, 0));
  Bytes arp = {0, 1, 8, 0, 6, 4, 0, 1};
  arp = arp + Bytes(6, 2) + Bytes{10, 9, 8, 7} + Bytes(6, 0) + Bytes{10, 9, 8, 6};
  Bytes malformed = inner;
  malformed[3] = 10;  // shorter than an IPv4 header
  const Bytes vxlan = {8, 0, 0, 0, 0, 0, 1, 0};
  const Bytes gre_arp = {0, 0, 8, 6}, gre_v4 = {0, 0, 8, 0};
  constexpr size_t kV4 = 14 + 20, kUdp = kV4 + 8, kV6 = 14 + 40 + 8;
  const std::vector<UnfollowedCase> cases = {
      {"ARP in GRE", tunnel(protocol::kGre, gre_arp + arp), kV4},
      {"ARP in VXLAN", tunnel(protocol::kUdp, udp(4789, vxlan + ethernet(0x0806, arp))), kUdp},
      {"nonsense in VXLAN", tunnel(protocol::kUdp, udp(4789, vxlan + ethernet(0x0800, malformed))), kUdp},
      {"nonsense in Teredo", tunnel(protocol::kUdp, udp(7777, inner6)), kUdp},
      {"a first fragment of GRE", fragment(tunnel(protocol::kGre, gre_v4 + inner), 0, true), kV4},
      {"a last fragment of GRE", fragment(tunnel(protocol::kGre, inner), 3, false), kV4},
      {"a fragment of IPv4", fragment(tunnel(protocol::kIpV4, inner + Bytes(4, 0)), 0, true), kV4},
      {"a fragment of VXLAN",
       fragment(tunnel(protocol::kUdp, udp(4789, vxlan + ethernet(0x0800, inner) + Bytes(6, 0))), 0, true), kV4},
      {"a fragment of IPv4 in IPv6", fragment6(protocol::kIpV4, inner + Bytes(4, 0)), kV6}};
  for (const UnfollowedCase& unfollowed : cases) {
    const CaptureRun captured = one(unfollowed.frame);
    ASSERT_EQ(captured.rows.size(), 1u) << unfollowed.name;
    const auto frame = captured.layout.frame_of(captured.rows[0].data());
    EXPECT_EQ(frame.size(), unfollowed.kept) << unfollowed.name;
    EXPECT_TRUE(std::equal(frame.begin(), frame.end(), unfollowed.frame.begin())) << unfollowed.name;
    const std::vector<uint8_t>& row = captured.rows[0];
    for (const Bytes& address : {Bytes{10, 9, 8}, Bytes{0, 9, 0, 0}})
      EXPECT_EQ(std::search(row.begin(), row.end(), address.begin(), address.end()), row.end()) << unfollowed.name;
  }
}

TEST(HeaderCapture, ContentsOfDecodedPacketsAreKept) {
  const Bytes segment = testing::tcp_segment({.flags = tcp_flag::kAck, .payload = "hello, world....."});
  const Bytes inner = ip_v4("10.9.8.7", "10.9.8.6", protocol::kTcp, segment);
  const Bytes part = ip_v4("192.0.2.1", "192.0.2.2", protocol::kTcp, segment + Bytes(3, 0));
  for (const Bytes& frame : {tunnel(protocol::kGre, Bytes{0, 0, 8, 0} + inner), tunnel(protocol::kUdp, udp(53, inner)),
                             tunnel(protocol::kTcp, segment), fragment(ethernet(0x0800, part), 0, true)}) {
    const CaptureRun captured = one(frame);
    ASSERT_EQ(captured.rows.size(), 1u);
    EXPECT_EQ(captured.layout.frame_of(captured.rows[0].data()).size(), std::min<size_t>(frame.size(), 64));
  }
}

uint32_t word(const std::string& bytes, size_t offset) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

// Returns the blocks' types, and checks that the two lengths of each block agree.
std::vector<uint32_t> block_types(const std::string& file) {
  std::vector<uint32_t> types;
  for (size_t offset = 0; offset < file.size();) {
    const uint32_t bytes = word(file, offset + 4);
    types.push_back(word(file, offset));
    EXPECT_EQ(bytes % 4, 0u);
    EXPECT_EQ(word(file, offset + bytes - 4), bytes);
    offset += bytes;
  }
  return types;
}

TEST(PcapngWriter, AnInterfaceForEachLinkType) {
  Frame raw = syn(3);
  raw.bytes.erase(raw.bytes.begin(), raw.bytes.begin() + 14);
  raw.link = LinkType::kRawIp;
  const CaptureRun captured({syn(1), raw, syn(2)});
  PcapngWriter writer(&captured.layout, "h1");
  for (const auto& row : captured.rows) writer.add(row.data());
  EXPECT_EQ(block_types(writer.take()), (std::vector<uint32_t>{0x0a0d0d0a, 1, 6, 1, 6, 6}));
  EXPECT_EQ(writer.pending_bytes(), 0u);
}

// Tests rows of packets from three taps: sw1:2:arrivals, sw2, and a tap without a switch.
class TapNamesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  std::vector<uint8_t> row_of(uint8_t tap) const {
    const Frame frame = tcp_frame({}, 5);
    RawPacket raw = frame.raw();
    raw.tap = tap;
    Packet packet;
    EXPECT_EQ(decode(raw, FlowHasher(HashKey{}), &packet), DecodeOutcome::kOk);
    std::vector<uint8_t> row(layout_.row_bytes());
    layout_.write(raw, packet, row.data());
    return row;
  }
  bool matches(const std::string& filter, const std::vector<uint8_t>& row) const {
    auto expression = Expression::compile(filter, layout_.schema());
    EXPECT_TRUE(expression.ok()) << expression.status().to_string();
    return expression->matches(row.data(), layout_.schema());
  }

  const std::vector<Tap> taps_ = {
      {"sw1", "2", TapSide::kArrivals, "m0"}, {.switch_name = "sw2", .source = "m1"}, {.source = "m2"}};
  const HeaderLayout layout_{64, GetParam(), true, taps_};
};

TEST_P(TapNamesTest, EachTapIsAnInterfaceOfPcapng) {
  PcapngWriter writer(&layout_, "h1");
  for (const uint8_t tap : {0, 1, 0, 2}) writer.add(row_of(tap).data());
  const std::string file = writer.take();
  EXPECT_EQ(block_types(file), (std::vector<uint32_t>{0x0a0d0d0a, 1, 6, 1, 6, 6, 1, 6}));
  const size_t first = file.find("sw1:2:arrivals"), second = file.find("sw2"), third = file.find("h1");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
}

TEST_P(TapNamesTest, AreFieldsInFilters) {
  const auto first = row_of(0), second = row_of(1), third = row_of(2);
  EXPECT_TRUE(matches("switch == \"sw1\" && port == \"2\" && side == \"arrivals\"", first));
  EXPECT_FALSE(matches("switch == \"sw2\"", first));
  EXPECT_FALSE(matches("switch == \"sw\"", first));
  EXPECT_TRUE(matches("switch == \"sw2\"", second));
  EXPECT_FALSE(matches("port == \"2\" || port != \"2\"", second)) << "unknown";
  EXPECT_FALSE(matches("switch != \"sw1\"", third)) << "unknown";
  EXPECT_TRUE(matches("src_port == 40000", third));
}

TEST_P(TapNamesTest, AreAbsentByDefault) {
  const HeaderLayout plain(64, GetParam());
  EXPECT_EQ(plain.schema().find("switch"), nullptr);
  EXPECT_EQ(layout_.row_bytes(), plain.row_bytes() + 2 * Tap::kMaxNameBytes + 10);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutTelemetry, TapNamesTest, ::testing::Values(0u, 5u));

}  // namespace
}  // namespace tapline::multilog
