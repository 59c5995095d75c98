#include "monitors/lane/query_gate.h"

#include <gtest/gtest.h>

#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

ConnectionMatch to_port(uint16_t port) { return ConnectionMatch({}, {*AddressPattern::parse("", port)}); }

Packet packet_to(uint16_t port, uint64_t flow_hash = 1) {
  Packet packet;
  packet.flow_hash = flow_hash;
  packet.src_port = 50000;
  packet.dst_port = port;
  packet.wire_bytes = 100;
  return packet;
}

void add_all(const std::vector<QuerySpec>& queries, QueryGate* gate, PacketCredits* credits) {
  for (uint32_t i = 0; i < queries.size(); ++i) {
    credits->reset(i, queries[i].limit_packets.value_or(0));
    gate->add(i, 0);
  }
}

TEST(QueryGateTest, EachQueryGetsItsPackets) {
  std::vector<QuerySpec> queries = {{.match = to_port(80)}, {.match = to_port(443)}, {}};
  QueryAccounts accounts(3);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  Packet web = packet_to(80), other = packet_to(22);
  web.queries = other.queries = ~uint64_t{0};  // left over from the previous burst
  EXPECT_TRUE(gate.admit(&web));
  EXPECT_EQ(web.queries, 0b101u);
  EXPECT_EQ(web.to_side, ToSide::kDestination);
  EXPECT_TRUE(gate.admit(&other));
  EXPECT_EQ(other.queries, 0b100u);
  EXPECT_EQ(other.to_side, ToSide::kUnknown);
  EXPECT_EQ(accounts[0].packets_in, 1u);
  EXPECT_EQ(accounts[0].bytes_in, 100u);
  EXPECT_EQ(accounts[1].packets_in, 0u);
  EXPECT_EQ(accounts[2].packets_out, 2u);
}

// A packet counts when it arrives at the queue, even if another tap has shown it before.
TEST(QueryGateTest, QueriesOfQueuesCountArrivals) {
  std::vector<QuerySpec> queries = {{.limit_packets = 2}, {}};
  queries[0].match.restrict_to_queues(0b010, 0b100);
  QueryAccounts accounts(2);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  EXPECT_FALSE(gate.decides_by_connection());
  Packet packet = packet_to(80);
  EXPECT_TRUE(gate.admit(&packet));
  EXPECT_EQ(packet.queries, 0b10u);
  packet.repeated_view = true;
  for (packet.tap = 1; packet.tap <= 2; ++packet.tap) {
    EXPECT_TRUE(gate.admit(&packet));
    EXPECT_EQ(packet.queries, 0b11u);
  }
  EXPECT_EQ(accounts[0].packets_in, 1u);
  EXPECT_EQ(accounts[1].packets_in, 1u);
  EXPECT_EQ(gate.satisfied(), 0u);
  packet.tap = 1;
  gate.admit(&packet);
  EXPECT_EQ(gate.satisfied(), 0b01u);
}

TEST(QueryGateTest, PolledTimesCountForQueriesOfQueues) {
  std::vector<QuerySpec> queries = {{.measures_queues = true}, {}};
  QueryAccounts accounts(2);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  Packet arrived = packet_to(80), polled = packet_to(80);
  polled.polled_time = true;
  EXPECT_TRUE(gate.admit(&arrived));
  EXPECT_TRUE(gate.admit(&polled));
  EXPECT_EQ(accounts[0].packets_polled, 1u);
  EXPECT_EQ(accounts[1].packets_polled, 0u);
  EXPECT_EQ(accounts[1].packets_out, 2u);
}

TEST(QueryGateTest, ALowerRateKeepsASubset) {
  std::vector<QuerySpec> queries = {{}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  uint64_t before = 1000;
  std::vector<bool> kept(1000, true);
  for (double rate : {0.5, 0.25}) {
    gate.set_sampling_rate(0, rate);
    uint64_t now = 0;
    for (uint64_t hash = 0; hash < 1000; ++hash) {
      Packet packet = packet_to(80, hash);
      gate.admit(&packet);
      EXPECT_TRUE(packet.queries == 0 || kept[hash]) << hash;
      kept[hash] = packet.queries != 0;
      now += kept[hash];
    }
    EXPECT_NEAR(static_cast<double>(now), static_cast<double>(before) / 2, 60);
    before = now;
  }
  EXPECT_EQ(accounts[0].packets_in, 2000u);
  EXPECT_TRUE(accounts[0].balanced());
}

// Switches match zero bits in the far port, so these bits must be zero in the far port of every kept flow.
TEST(QueryGateTest, ByPortARateKeepsOnlyTheFlowsThatSwitchesCopy) {
  std::vector<QuerySpec> queries = {{.match = to_port(80), .sampled_by_port = true}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  for (int bits = 1; bits <= kPortBits; ++bits) {
    for (double share : {1.0, 0.6}) {
      gate.set_sampling_rate(0, share / (1 << bits));
      int kept = 0;
      for (int port = 32768; port < 61000; ++port) {
        Packet forward = packet_to(80, static_cast<uint64_t>(port) * 0x9e3779b97f4a7c15);
        forward.src_port = static_cast<uint16_t>(port);
        Packet back = forward;
        std::swap(back.src_port, back.dst_port);
        gate.admit(&forward);
        gate.admit(&back);
        ASSERT_EQ(forward.queries, back.queries) << port << ": both directions or none";
        if (forward.queries == 0) continue;
        ++kept;
        ASSERT_EQ(port & ((1 << bits) - 1) << 1, 0) << port;
      }
      EXPECT_NEAR(kept, 28232 * share / (1 << bits), 28232 * share / (1 << bits) / 5) << bits << ", " << share;
    }
  }
}

TEST(QueryGateTest, ByPortALowerRateKeepsASubset) {
  for (int port = 1; port < 65536; ++port) {
    const uint64_t hash = static_cast<uint64_t>(port) * 0x9e3779b97f4a7c15;
    bool is_kept = true;
    for (double rate = 1; rate > 0.001; rate *= 0.7) {
      const bool now = sampled(hash, static_cast<uint16_t>(port), sampling_threshold(rate));
      ASSERT_TRUE(is_kept || !now) << port << " at " << rate;
      is_kept = now;
    }
  }
}

TEST(QueryGateTest, UnwantedPacketsAreSkipped) {
  std::vector<QuerySpec> queries = {{.match = to_port(80)}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  Packet packet = packet_to(22);
  EXPECT_FALSE(gate.admit(&packet));
  EXPECT_EQ(packet.queries, 0u);
}

TEST(QueryGateTest, QueriesThatDisagreeOnTheServerGiveNoHint) {
  std::vector<QuerySpec> queries = {{.match = to_port(80)}, {.match = to_port(50000)}};
  QueryAccounts accounts(2);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  Packet packet = packet_to(80);
  gate.admit(&packet);
  EXPECT_EQ(packet.queries, 0b11u);
  EXPECT_EQ(packet.to_side, ToSide::kUnknown);
}

TEST(QueryGateTest, SamplingKeepsFlowsAndLowerRatesKeepSubsets) {
  std::vector<QuerySpec> queries = {{.sampling_rate = 1.0}, {.sampling_rate = 0.5}, {.sampling_rate = 0.1}};
  QueryAccounts accounts(3);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  constexpr uint64_t kFlows = 20000;
  FlowHasher hasher({1, 2});
  for (uint16_t round = 0; round < 2; ++round) {
    for (uint64_t flow = 0; flow < kFlows; ++flow) {
      FlowKey key;
      key.src_port = static_cast<uint16_t>(flow);
      Packet packet = packet_to(80, hasher.hash(key));
      gate.admit(&packet);
      ASSERT_NE(packet.queries & 1, 0u);
      ASSERT_TRUE((packet.queries & 4) == 0 || (packet.queries & 2) != 0);
    }
  }
  // The distribution is binomial; the bound is six standard deviations.
  EXPECT_NEAR(accounts[1].packets_out / (2.0 * kFlows), 0.5, 6 * 0.0036);
  EXPECT_NEAR(accounts[2].packets_out / (2.0 * kFlows), 0.1, 6 * 0.0022);
  EXPECT_EQ(accounts[1].packets_out % 2, 0u) << "both packets of a flow, or none";
  for (const Accounting& account : accounts) {
    EXPECT_EQ(account.packets_in, 2 * kFlows);
    EXPECT_TRUE(account.balanced());
  }
}

TEST(QueryGateTest, NeverMorePacketsThanTheLimit) {
  std::vector<QuerySpec> queries = {{.limit_packets = 3}, {}};
  QueryAccounts accounts(2);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  for (int i = 0; i < 5; ++i) {
    Packet packet = packet_to(80);
    gate.admit(&packet);
    EXPECT_EQ(packet.queries, i < 3 ? 0b11u : 0b10u);
    EXPECT_EQ(gate.satisfied(), i < 2 ? 0u : 1u);
  }
  EXPECT_EQ(accounts[0].packets_in, 3u);
  gate.end(gate.satisfied());
  EXPECT_EQ(gate.active(), 0b10u);
  EXPECT_EQ(gate.satisfied(), 0u);
}

TEST(QueryGateTest, ALeasedLimitWaitsForMoreAndReportsSkippedPackets) {
  std::vector<QuerySpec> queries = {{.limit_packets = 3, .limit_leased = true}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  auto admit = [&gate](int packets) {
    int had = 0;
    for (int i = 0; i < packets; ++i) {
      Packet packet = packet_to(80);
      gate.admit(&packet);
      had += packet.queries != 0;
    }
    return had;
  };
  EXPECT_EQ(admit(5), 3);
  gate.check_credits();
  EXPECT_EQ(gate.satisfied(), 0u) << "the query has not ended";
  EXPECT_EQ(credits.refused(0), 2u);
  EXPECT_EQ(accounts[0].packets_in, 3u) << "these packets may have been the last ones";
  credits.grant(0, 7);
  EXPECT_EQ(admit(1), 1);
  EXPECT_EQ(accounts[0].packets_in, 6u);
  EXPECT_EQ(accounts[0].dropped[index_of(Drop::kNoCredit)], 2u);
  EXPECT_EQ(admit(1), 1);
  EXPECT_EQ(accounts[0].packets_in, 7u);
  EXPECT_EQ(accounts[0].bytes_in, 700u);
  EXPECT_EQ(accounts[0].dropped[index_of(Drop::kNoCredit)], 2u) << "reported once";
  EXPECT_TRUE(accounts[0].balanced());
  credits.grant(0, 0);
  EXPECT_EQ(credits.granted(0), 5u) << "unused packets are returned";
  EXPECT_EQ(admit(4), 0);
  credits.grant(0, 6);
  EXPECT_EQ(admit(4), 1);
  EXPECT_EQ(accounts[0].packets_out, 6u);
}

TEST(QueryGateTest, TheLimitCountsAfterSampling) {
  std::vector<QuerySpec> queries = {{.limit_packets = 5, .sampling_rate = 0.2}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  for (uint64_t flow = 0; gate.satisfied() == 0; ++flow) {
    ASSERT_LT(flow, 10000u);
    Packet packet = packet_to(80, flow * 0x9e3779b97f4a7c15);
    gate.admit(&packet);
  }
  EXPECT_EQ(accounts[0].packets_out, 5u);
  EXPECT_GT(accounts[0].packets_in, 5u);
  EXPECT_TRUE(accounts[0].balanced());
}

TEST(QueryGateTest, Durations) {
  std::vector<QuerySpec> queries = {{.limit_duration_ns = 10 * kSecond}, {.limit_duration_ns = 5 * kSecond}, {}};
  QueryAccounts accounts(3);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  gate.start_clock(100 * kSecond);
  EXPECT_EQ(gate.next_deadline_ns(), 105 * kSecond);
  EXPECT_EQ(gate.expired_at(105 * kSecond - 1), 0u);
  EXPECT_EQ(gate.expired_at(105 * kSecond), 0b10u);
  gate.end(0b10);
  EXPECT_EQ(gate.next_deadline_ns(), 110 * kSecond);
  gate.end(0b01);
  EXPECT_EQ(gate.next_deadline_ns(), INT64_MAX);
  EXPECT_EQ(gate.active(), 0b100u);
}

TEST(QueryGateTest, AnEndlessDurationDoesNotOverflow) {
  std::vector<QuerySpec> queries = {{.limit_duration_ns = INT64_MAX - 5}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  gate.start_clock(1'700'000'000 * kSecond);
  EXPECT_EQ(gate.next_deadline_ns(), INT64_MAX);
}

TEST(QueryGateTest, SixtyFourQueries) {
  std::vector<QuerySpec> queries(kMaxQueries);
  QueryAccounts accounts(kMaxQueries);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  Packet packet = packet_to(80);
  gate.admit(&packet);
  EXPECT_EQ(packet.queries, ~uint64_t{0});
}

TEST(QueryGateTest, AQueryIsUnconditionalWhileItWantsEveryPacket) {
  std::vector<QuerySpec> queries = {{}};
  QueryAccounts accounts(1);
  PacketCredits credits;
  QueryGate gate(queries, &accounts, &credits);
  add_all(queries, &gate, &credits);
  EXPECT_EQ(gate.unconditional(), 1u);
  gate.set_sampling_rate(0, 0.5);
  EXPECT_EQ(gate.unconditional(), 0u);
  gate.set_sampling_rate(0, 1);
  EXPECT_EQ(gate.unconditional(), 1u);
}

}  // namespace
}  // namespace tapline
