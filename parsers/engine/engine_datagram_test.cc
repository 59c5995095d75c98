// Tests datagram flows in the connection table.
#include <algorithm>

#include "parsers/engine/engine_fixture.h"

namespace tapline {
namespace {

std::vector<Frame> udp_flood(int flows) {
  std::vector<Frame> frames;
  for (int i = 0; i < flows; ++i) {
    const std::string src = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250);
    frames.push_back(testing::udp_frame({.src = src, .payload = "x"}, kStart + 1'000'000'000 + i * 1000));
  }
  return frames;
}

// TCP parsers do not see the flows of datagram parsers, and vice versa.
TEST(Engine, ReportsDatagramFlowsOnlyToParsersThatWantThem) {
  const std::vector<Frame> tcp = Conversation().handshake().client("x").close().frames();
  const std::vector<Frame> both = concat(tcp, udp_flood(3));
  Lines alone;
  for (const std::string name : {"tcp_conn_time", "tcp_flow_key", "tcp_pkt_size", "udp_flow"}) {
    Harness harness(Lines{name});
    harness.all(both);
    for (const testing::Tuple& tuple : harness.tuples()) alone.push_back(name + " " + tuple.endpoints());
  }
  Harness all_parsers(Lines{"tcp_conn_time", "tcp_flow_key", "tcp_pkt_size", "udp_flow"});
  all_parsers.all(both);
  Lines seen;
  for (const testing::Tuple& tuple : all_parsers.tuples()) {
    seen.push_back(all_parsers.engine().parser(tuple.parser).schema().name + " " + tuple.endpoints());
  }
  std::sort(alone.begin(), alone.end());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, alone);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const std::string& s) { return s.starts_with("udp_flow"); }), 3);
}

TEST(Engine, DatagramFlowsEndWhenIdle) {
  Harness harness({"udp_flow"});
  harness.feed(udp_flood(5));
  EXPECT_EQ(harness.engine().stats().live_connections, 5u);
  harness.engine().advance(kStart + 60'000'000'000);
  EXPECT_EQ(harness.engine().stats().live_connections, 5u);
  harness.engine().advance(kStart + 63'000'000'000);
  EXPECT_EQ(harness.engine().stats().live_connections, 0u);
}

TEST(Engine, EstablishedConnectionsSurviveAFloodOfDatagrams) {
  Harness harness(Lines{"tcp_conn_time", "udp_flow"});
  Conversation conversation(at(kStart, 1000));
  harness.feed(conversation.handshake().frames());
  harness.feed(udp_flood(1000));
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), 1000u - 63u);
  conversation.wait_ns(2'000'000'000).close();
  harness.feed({conversation.frames().begin() + 3, conversation.frames().end()});
  std::vector<std::string> outcomes;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple.parser == 0) outcomes.push_back(tuple["event"]);
  }
  EXPECT_EQ(outcomes, (Lines{"syn", "established", "fin"}));
}

}  // namespace
}  // namespace tapline
