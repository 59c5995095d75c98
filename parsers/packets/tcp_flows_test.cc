#include "parsers/packets/tcp_flows.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "parsers/testing/capture_file.h"
#include "parsers/testing/frames.h"

namespace tapline::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint8_t kAck = tcp_flag::kAck, kSyn = tcp_flag::kSyn;

// A connection as a tap sees it, packet by packet.
class Tap {
 public:
  explicit Tap(TcpFlowOptions options = {.max_flows = 1024}) : flows_(options) {}

  // Sends from the client by default. Returns the packet's facts; correction() has the facts for the other direction.
  TcpFacts send(uint32_t seq, uint32_t payload, uint32_t ack = 0, bool from_client = true, uint8_t flags = kAck) {
    Sample sample;
    sample.time_ns = now_ns;
    sample.src_ip = address(from_client ? "10.0.0.1" : "10.0.0.2");
    sample.dst_ip = address(from_client ? "10.0.0.2" : "10.0.0.1");
    sample.src_port = from_client ? 40000 : 80;
    sample.dst_port = from_client ? 80 : 40000;
    sample.protocol = protocol::kTcp;
    sample.tcp_flags = flags;
    sample.ip_version = 4;
    sample.bytes = 54 + payload;
    sample.payload_bytes = payload;
    const TcpNumbers numbers = {seq, ack};
    flows_.observe({&sample, 1}, {&numbers, 1}, &batch_);
    return batch_.facts[0];
  }
  TcpFacts answer(uint32_t ack, uint32_t seq = 9000, uint32_t payload = 0) { return send(seq, payload, ack, false); }
  const TcpFacts* correction() const { return batch_.size == 2 ? &batch_.facts[1] : nullptr; }
  const Sample& corrected() const { return batch_.samples[1]; }
  TcpFlows& flows() { return flows_; }

  int64_t now_ns = 1'000'000 * kMs;

 private:
  TcpFlows flows_;
  SampleBatch batch_;
};

TEST(TcpFlowsTest, DistinguishesRetransmittedBytesFromNewOnes) {
  Tap tap;
  EXPECT_EQ(tap.send(1000, 100).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(1100, 100).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(1000, 100).retransmitted_bytes, 100u);
  EXPECT_EQ(tap.send(1150, 100).retransmitted_bytes, 50u) << "50 bytes are old, 50 are new";
  EXPECT_EQ(tap.send(1250, 10).retransmitted_bytes, 0u);
}

TEST(TcpFlowsTest, SequenceNumbersWrap) {
  Tap tap;
  const uint32_t start = UINT32_MAX - 149;
  EXPECT_EQ(tap.send(start, 100).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(start + 100, 100).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(50, 100).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(start + 100, 150).retransmitted_bytes, 150u);
  EXPECT_EQ(tap.send(250, 10).missing_bytes, 100u);
}

TEST(TcpFlowsTest, BareAcksAndKeepAlivesAreNoLoss) {
  Tap tap;
  tap.send(1000, 100);
  tap.answer(1100);
  EXPECT_EQ(tap.send(1100, 0).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(1099, 0).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(1099, 1).retransmitted_bytes, 1u) << "a byte whose ACK was lost after the tap";
  tap.now_ns += 1000 * kMs;
  EXPECT_EQ(tap.send(1099, 1).retransmitted_bytes, 0u) << "a keep-alive with a byte";
  tap.now_ns += 1000 * kMs;
  EXPECT_EQ(tap.send(1099, 1).retransmitted_bytes, 0u) << "and the next one";
  tap.now_ns -= 5 * kMs;
  EXPECT_EQ(tap.send(1099, 1).retransmitted_bytes, 1u) << "a late packet does not follow a silence";
  EXPECT_EQ(tap.send(1098, 1).retransmitted_bytes, 1u);
}

TEST(TcpFlowsTest, ReorderedSegmentsAreNotRetransmissions) {
  Tap tap;
  tap.send(1000, 100);
  EXPECT_EQ(tap.send(1200, 100).missing_bytes, 100u);
  EXPECT_EQ(tap.send(1400, 100).missing_bytes, 100u);
  tap.now_ns += 3 * kMs;
  const TcpFacts late = tap.send(1100, 100);
  EXPECT_EQ(late.out_of_order_bytes, 100u);
  EXPECT_EQ(late.retransmitted_bytes, 0u);
  tap.now_ns += 1;
  const TcpFacts retransmission = tap.send(1300, 100);
  EXPECT_EQ(retransmission.out_of_order_bytes, 0u);
  EXPECT_EQ(retransmission.retransmitted_bytes, 100u) << "too late for reordering";
  EXPECT_EQ(tap.send(1100, 100).retransmitted_bytes, 100u) << "the hole was filled";
}

TEST(TcpFlowsTest, HolesAreFilledInPieces) {
  Tap tap;
  tap.send(1000, 100);
  tap.send(1400, 100);
  EXPECT_EQ(tap.send(1200, 50).out_of_order_bytes, 50u) << "the middle of the hole";
  EXPECT_EQ(tap.send(1100, 100).out_of_order_bytes, 100u);
  const TcpFacts overlapping = tap.send(1240, 260);
  EXPECT_EQ(overlapping.out_of_order_bytes, 150u);
  EXPECT_EQ(overlapping.retransmitted_bytes, 110u) << "1240 to 1250 and 1400 to 1500";
  EXPECT_EQ(tap.flows().forgotten_holes(), 0u);
  tap.send(1600, 1);
  tap.send(1700, 1);
  tap.send(1800, 1);
  EXPECT_EQ(tap.flows().forgotten_holes(), 1u);
}

TEST(TcpFlowsTest, RoundTripsEndWithTheAckThatCoversTheSegment) {
  Tap tap;
  tap.send(1000, 100);
  tap.now_ns += 5 * kMs;
  EXPECT_EQ(tap.answer(1050).rtt_ns, 0u) << "acknowledges half of it";
  tap.now_ns += 2 * kMs;
  EXPECT_EQ(tap.answer(1100).rtt_ns, 7 * kMs);
  EXPECT_EQ(tap.answer(1100).rtt_ns, 0u);
  tap.send(1100, 100);
  tap.send(1100, 100);
  EXPECT_EQ(tap.answer(1200).rtt_ns, 0u) << "it is unknown which of the two it acknowledges";
}

TEST(TcpFlowsTest, StateBeginsWithPayload) {
  Tap tap;
  tap.send(999, 0, 0, true, kSyn);
  tap.answer(1000);
  tap.send(1000, 0);
  EXPECT_EQ(tap.flows().flows(), 0u);
  tap.send(1000, 1);
  EXPECT_EQ(tap.flows().flows(), 1u);
}

TEST(TcpFlowsTest, ANewConnectionWithTheSamePortsStartsEmpty) {
  Tap tap;
  tap.send(1000, 5000);
  tap.send(2999, 0, 0, true, kSyn);
  EXPECT_EQ(tap.send(3000, 100).retransmitted_bytes, 0u);
  EXPECT_EQ(tap.send(3000, 100).retransmitted_bytes, 100u);
  EXPECT_EQ(tap.send(2'000'000'000, 100).missing_bytes, 0u) << "without a SYN, by its distance";
}

// Sends the same ten bytes in each call. Returns the number of bytes that count as retransmitted.
uint32_t send_from(TcpFlows* flows, uint16_t port, int64_t time_ns) {
  Sample sample;
  sample.time_ns = time_ns;
  sample.src_port = port;
  sample.protocol = protocol::kTcp;
  sample.payload_bytes = 10;
  const TcpNumbers numbers = {1, 0};
  SampleBatch batch;
  flows->observe({&sample, 1}, {&numbers, 1}, &batch);
  return batch.facts[0].retransmitted_bytes;
}

TEST(TcpFlowsTest, FullTablesEvictTheLeastRecentlyUsedFlow) {
  TcpFlows flows({.max_flows = 4});
  const auto send = [&](uint16_t port, int64_t time_ns) { return send_from(&flows, port, time_ns); };
  for (uint16_t port = 1; port <= 4; ++port) send(port, port * kMs);
  send(1, 10 * kMs);
  send(5, 11 * kMs);
  EXPECT_EQ(flows.flows(), 4u);
  EXPECT_EQ(flows.evicted_flows(), 1u);
  EXPECT_EQ(send(1, 12 * kMs), 10u);
  EXPECT_EQ(send(3, 13 * kMs), 10u);
  EXPECT_EQ(send(2, 14 * kMs), 0u) << "it was replaced, so its bytes are not known to be old";
}

TEST(TcpFlowsTest, LatePacketsEvictTheLeastRecentlyUsedFlow) {
  TcpFlows flows({.max_flows = 4});
  for (uint16_t port = 1; port <= 4; ++port) send_from(&flows, port, port * 10 * kMs);
  send_from(&flows, 5, 35 * kMs);
  EXPECT_EQ(send_from(&flows, 4, 50 * kMs), 10u) << "the newest connection stays";
  EXPECT_EQ(send_from(&flows, 1, 51 * kMs), 0u);
}

// Trumpet measures congestion by the share of the bytes in flight at the end of the last window that are not
// acknowledged in this window.
TEST(TcpFlowsTest, UnackedIsDataInFlightMinusAcknowledgedData) {
  Tap tap({.max_flows = 1024, .window_ns = 10 * kMs});
  tap.send(1000, 1000);
  tap.answer(1200);
  tap.now_ns += 10 * kMs;  // 800 in flight
  const TcpFacts first = tap.send(2000, 500);
  EXPECT_EQ(first.in_flight_bytes, 800u);
  EXPECT_EQ(first.unacked_bytes, 800);
  EXPECT_EQ(tap.correction(), nullptr);
  EXPECT_EQ(tap.answer(1500).unacked_bytes, 0) << "it does not describe the ACK's direction";
  ASSERT_NE(tap.correction(), nullptr);
  EXPECT_EQ(tap.correction()->unacked_bytes, -300);
  EXPECT_EQ(tap.corrected().packets, 0u);
  EXPECT_EQ(tap.corrected().bytes, 0u);
  EXPECT_EQ(tap.corrected().src_port, 40000);
  tap.answer(2500);
  EXPECT_EQ(tap.correction()->unacked_bytes, -500) << "only bytes that were in flight then";
  tap.now_ns += 10 * kMs;
  EXPECT_EQ(tap.send(2500, 100).in_flight_bytes, 0u);
  tap.now_ns += 10 * kMs;
  tap.answer(2550);
  ASSERT_NE(tap.correction(), nullptr) << "the window begins with an ACK";
  EXPECT_EQ(tap.correction()->in_flight_bytes, 100u);
  EXPECT_EQ(tap.correction()->unacked_bytes, 50);
}

using Direction = std::tuple<std::string, std::string, uint16_t, uint16_t>;

uint64_t number_after(const std::string& line, const std::string& name, size_t start) {
  const size_t position = line.find("\"" + name + "\": ", start);
  return position == std::string::npos ? 0 : std::stoull(line.substr(position + name.size() + 4));
}

std::string text_after(const std::string& line, const std::string& name) {
  const size_t position = line.find("\"" + name + "\": \"") + name.size() + 5;
  return line.substr(position, line.find('"', position) - position);
}

// In tcp_loss, both hosts drop 2 % of the segments after the tap, so each retransmission repeats bytes that were
// captured. The expected number is each direction's payload minus its distinct payload, as counted by tshark.
TEST(TcpFlowsTest, RetransmittedBytesOfACaptureWithLosses) {
  for (const std::string name : {"generated/tcp_loss", "generated/tcp_clean"}) {
    const std::string path = reference_capture(name + ".pcap.zst");
    if (path.empty()) GTEST_SKIP() << "no reference captures";
    TcpFlows flows({.max_flows = 1 << 12});
    std::map<Direction, uint64_t> retransmitted;
    SampleBatch batch;
    for (const Frame& frame : read_capture(path)) {
      Sample sample;
      TcpNumbers numbers;
      if (!read_plain(frame.raw(), &sample, &numbers)) continue;
      flows.observe({&sample, 1}, {&numbers, 1}, &batch);
      retransmitted[{to_string(sample.src_ip), to_string(sample.dst_ip), sample.src_port, sample.dst_port}] +=
          batch.facts[0].retransmitted_bytes;
    }
    uint64_t expected_sum = 0;
    size_t connections = 0;
    for (const std::string& line : read_lines(reference_capture("truth/" + name + ".pcap.jsonl"))) {
      if (!line.starts_with("{\"kind\": \"tcp_conn\"")) continue;
      ++connections;
      const std::string client = text_after(line, "client"), server = text_after(line, "server");
      const auto client_port = static_cast<uint16_t>(number_after(line, "cport", 0));
      const auto server_port = static_cast<uint16_t>(number_after(line, "sport", 0));
      for (const bool from_client : {true, false}) {
        const size_t position = line.find(from_client ? "\"c2s\"" : "\"s2c\"");
        const uint64_t expected =
            number_after(line, "payload_bytes", position) - number_after(line, "unique_payload_bytes", position);
        const Direction direction = from_client ? Direction{client, server, client_port, server_port}
                                                : Direction{server, client, server_port, client_port};
        EXPECT_EQ(retransmitted[direction], expected) << name << " " << client_port << " " << from_client;
        expected_sum += expected;
      }
    }
    EXPECT_GT(connections, 100u);
    EXPECT_TRUE(expected_sum > 1000 || name != "generated/tcp_loss");
    EXPECT_EQ(flows.forgotten_holes(), 0u);
  }
}

}  // namespace
}  // namespace tapline::testing
