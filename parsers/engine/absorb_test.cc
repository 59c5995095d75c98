// Tests that Engine::absorb() does not change the output: the same packets give the same tuples with and without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"
#include "parsers/trigger/program.h"

namespace tapline::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
const std::vector<std::string> kParsers = {"tcp_conn_time", "tcp_flow_key", "tcp_pkt_size"};

// Returns the complete contents of each tuple as a line.
std::vector<std::string> all_of(const Collector& collector) {
  std::vector<std::string> lines;
  for (const Tuple& tuple : collector.tuples) {
    std::string line = std::to_string(tuple.parser) + " " + std::to_string(tuple.header.time_ns) + " " +
                       tuple.endpoints() + " " + std::to_string(tuple.header.flow_hash) + " " +
                       std::to_string(tuple.header.flow_incarnation) + " " + std::to_string(tuple.header.queries);
    for (const auto& [name, value] : tuple.values) {
      // An event names flows of which packets were sampled, which depends on the order of packets in its window.
      if (name != "exemplars") line += " " + name + "=" + value;
    }
    lines.push_back(line);
  }
  return lines;
}

struct Outcome {
  std::vector<std::string> tuples;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> wanted;  // packets and bytes by query
  uint64_t packets = 0;
  uint64_t absorbed = 0;

  void count(uint64_t queries, uint64_t more_packets, uint64_t more_bytes) {
    for (; queries != 0; queries &= queries - 1) {
      auto& [sum_packets, sum_bytes] = wanted[queries & -queries];
      sum_packets += more_packets;
      sum_bytes += more_bytes;
    }
  }
};

// Queries that select all packets, or the connections of some endpoints.
constexpr uint64_t kAll = 1, kOfOneServer = 2, kOfSomeClients = 4;
uint64_t wanted_by(const Packet& packet, uint64_t queries) {
  uint64_t wanted = kAll;
  if (packet.src_ip == packet.dst_ip) return wanted & queries;
  for (const auto& [ip, port] : {std::pair(packet.src_ip, packet.src_port), {packet.dst_ip, packet.dst_port}}) {
    if (to_string(ip) == "10.1.0.1") wanted |= kOfOneServer;
    if (port >= 40003) wanted |= kOfSomeClients;
  }
  return wanted & queries;
}

// The queries of a simulated lane: `first` run all the time, `second` only during a range of packets.
struct Queries {
  uint64_t first = kAll;
  uint64_t second = 0;
  size_t from = SIZE_MAX;
  size_t until = SIZE_MAX;
};

Outcome run(const std::vector<Frame>& frames, const std::vector<std::string>& parsers, size_t burst_packets,
            bool absorb, const Queries& assigned = {},
            const std::shared_ptr<const trigger::Program>& triggers = nullptr) {
  Collector collector;
  Engine engine(make_parsers(parsers), &collector, {.max_connections = 256});
  if (triggers != nullptr) engine.set_triggers(0, 0, triggers);
  collector.watch(&engine);
  const FlowHasher hasher(kTestKey);
  Outcome outcome;
  uint64_t queries = assigned.first;
  const auto want = [&] {
    for (uint32_t i = 0; i < engine.parser_count(); ++i) engine.set_parser_queries(i, queries);
  };
  want();
  const auto process = [&](std::vector<RawPacket> raws) {
    std::vector<Packet> packets;
    for (const RawPacket& raw : raws) {
      Packet packet;
      if (decode(raw, hasher, &packet) != DecodeOutcome::kOk) continue;
      packet.queries = wanted_by(packet, queries);
      outcome.count(packet.queries, 1, packet.wire_bytes);
      if (packet.queries != 0) packets.push_back(packet);
    }
    if (!packets.empty()) engine.process(packets);
  };
  for (size_t index = 0; index < frames.size();) {
    if (index >= assigned.from && index < assigned.until && queries == assigned.first) {
      queries |= assigned.second;
      want();
    } else if (index >= assigned.until && queries != assigned.first) {
      engine.end_queries(assigned.second);
      queries = assigned.first;
      want();
    }
    std::vector<RawPacket> burst;
    for (size_t i = index; i < std::min(index + burst_packets, frames.size()); ++i) burst.push_back(frames[i].raw());
    index += burst.size();
    for (std::span<const RawPacket> rest = burst; !rest.empty();) {
      const Engine::AbsorbResult absorbed =
          absorb ? engine.absorb(rest, queries & kAll, queries & ~kAll, INT64_MAX) : Engine::AbsorbResult();
      if (absorbed.scanned == 0) {
        process({rest.begin(), rest.end()});
        break;
      }
      std::vector<RawPacket> left;
      for (size_t i = 0; i < absorbed.scanned; ++i) {
        if ((absorbed.left >> i & 1) != 0) left.push_back(rest[i]);
      }
      EXPECT_EQ(left.size() + absorbed.packets, absorbed.scanned);
      for (const auto& share : absorbed.shares) outcome.count(share.queries, share.packets, share.bytes);
      process(left);
      if (absorbed.packets != 0) engine.advance(absorbed.latest_ns);
      outcome.absorbed += absorbed.packets;
      rest = rest.subspan(absorbed.scanned);
    }
  }
  engine.end();
  outcome.tuples = all_of(collector);
  outcome.packets = engine.stats().packets;
  return outcome;
}

// Makes many interleaved conversations with reused ports. Some are cut short or reset, lack a handshake or an answer to
// their SYN, have a server's port above the client's, or use VLAN tags or IPv6; a few packets are late and a few are
// lost.
std::vector<Frame> traffic(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 120; ++i) {
    Conversation::Options options;
    options.client =
        pick(8) == 0 ? "2001:db8::" + std::to_string(1 + pick(9)) : "10.0.0." + std::to_string(1 + pick(9));
    options.server = options.client[0] == '2' ? "2001:db8::80" : "10.1.0." + std::to_string(1 + pick(3));
    options.client_port = static_cast<uint16_t>(40000 + pick(6));
    options.client_isn = random();
    options.server_isn = random();
    options.start_ns = 1'000 * kSecond + pick(20'000) * int64_t{1'000'000};
    if (pick(10) == 0) options.vlans = {5};
    if (pick(4) == 0) options.server_port = 50000;
    Conversation conversation(options);
    if (pick(6) != 0) conversation.handshake();
    for (uint32_t k = pick(40); k > 0; --k) {
      if (pick(3) == 0) conversation.wait_ns(pick(400) * int64_t{1'000'000});
      pick(2) == 0 ? conversation.client(std::string(pick(50), 'c')) : conversation.server(std::string(pick(50), 's'));
    }
    if (pick(4) != 0) conversation.close();
    if (pick(8) == 0) conversation.server("", tcp_flag::kRst | tcp_flag::kAck);
    const bool refuses = pick(8) == 0;
    if (refuses) {
      conversation.frames().resize(std::min<size_t>(conversation.frames().size(), 1));
      conversation.server("", tcp_flag::kRst | tcp_flag::kAck);
    }
    for (Frame& frame : conversation.frames()) {
      if (pick(50) != 0) frames.push_back(std::move(frame));
    }
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.time_ns < b.time_ns; });
  for (size_t i = 3; i < frames.size(); ++i) {
    if (pick(40) == 0) std::swap(frames[i], frames[i - 1 - pick(3)]);
  }
  return frames;
}

// Returns the frames at 200 times the rate, so that many belong to one interval of triggers.
std::vector<Frame> dense(std::vector<Frame> frames) {
  for (Frame& frame : frames) frame.time_ns = 1'000 * kSecond + (frame.time_ns - 1'000 * kSecond) / 200;
  return frames;
}

void expect_same(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  EXPECT_EQ(expected.size(), got.size());
  const auto [a, b] = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  EXPECT_TRUE(a == expected.end() && b == got.end()) << (a == expected.end() ? "nothing" : *a) << "\n, but got\n"
                                                     << (b == got.end() ? "nothing" : *b);
}

TEST(Absorb, ChangesNoTuple) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const std::vector<Frame> frames = traffic(seed);
    for (const size_t burst : {size_t{1}, size_t{7}, size_t{64}}) {
      const Outcome plain_outcome = run(frames, kParsers, burst, false), absorbed = run(frames, kParsers, burst, true);
      expect_same(plain_outcome.tuples, absorbed.tuples);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", bursts of " << burst;
      EXPECT_EQ(plain_outcome.packets, absorbed.packets);
      EXPECT_EQ(plain_outcome.wanted, absorbed.wanted);
      EXPECT_GT(absorbed.absorbed, 0u);
      EXPECT_EQ(plain_outcome.absorbed, 0u);
    }
  }
}

TEST(Absorb, ChangesNoTupleWhenQueriesComeAndGo) {
  for (uint32_t seed = 100; seed < 130; ++seed) {
    const std::vector<Frame> frames = traffic(seed);
    const size_t begin = frames.size() / 4, until = frames.size() * 3 / 4;
    for (const auto& [first, second] :
         {std::pair(kAll, kOfOneServer), {kOfOneServer, kAll}, {kOfSomeClients, kOfOneServer}}) {
      const Queries queries = {first, second, begin, until};
      const Outcome plain_outcome = run(frames, kParsers, 5, false, queries);
      const Outcome absorbed = run(frames, kParsers, 5, true, queries);
      expect_same(plain_outcome.tuples, absorbed.tuples);
      EXPECT_EQ(plain_outcome.wanted, absorbed.wanted);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", " << second << " joins " << first;
      EXPECT_GT(absorbed.absorbed, 0u);
    }
  }
}

// Queries overlap, and unwanted packets are interleaved with the others.
TEST(Absorb, ChangesNoTupleWhenQueriesSelectConnections) {
  for (uint32_t seed = 200; seed < 230; ++seed) {
    const std::vector<Frame> frames = traffic(seed);
    for (const uint64_t queries : {kOfOneServer, kOfSomeClients | kOfOneServer, kAll | kOfSomeClients}) {
      const Outcome plain_outcome = run(frames, kParsers, 16, false, {queries}),
                    absorbed = run(frames, kParsers, 16, true, {queries});
      expect_same(plain_outcome.tuples, absorbed.tuples);
      EXPECT_EQ(plain_outcome.wanted, absorbed.wanted);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", queries " << queries;
      EXPECT_GT(absorbed.absorbed, 0u);
    }
  }
}

// Returns triggers that are tested at the end of a window, when the order of packets within it no longer matters.
std::shared_ptr<const trigger::Program> triggers() {
  using trigger::GroupBy, trigger::Measure, trigger::Trigger;
  std::vector<Trigger> triggers;
  for (const Measure measure :
       {Measure::kPackets, Measure::kBytes, Measure::kPayloadBytes, Measure::kSyn, Measure::kFin, Measure::kRst,
        Measure::kRetransmittedBytes, Measure::kMissingBytes, Measure::kUnackedBytes}) {
    for (const GroupBy& group : {GroupBy{}, GroupBy::source(32, 128), GroupBy::flow()}) {
      Trigger trigger;
      trigger.id = static_cast<uint32_t>(triggers.size());
      trigger.group = group;
      trigger.every_ns = 10'000'000;
      // The condition holds if the value is positive, and its form delays the test until the window ends.
      trigger.when = trigger::above(
          trigger::apply(trigger::Op::kMultiply, trigger::value_of(measure), trigger::number(1)), trigger::number(0));
      triggers.push_back(std::move(trigger));
    }
  }
  std::string error;
  return trigger::Program::make(std::move(triggers), &error);
}

TEST(Absorb, ChangesNoEventOfATrigger) {
  for (const auto& parsers : {std::vector<std::string>{"trigger"}, {"trigger", "tcp_pkt_size"}}) {
    uint64_t packets = 0, absorbed_packets = 0;
    for (uint32_t seed = 300; seed < 308; ++seed) {
      const std::vector<Frame> frames = dense(traffic(seed));
      for (const Queries& queries : {Queries{kAll}, Queries{kAll | kOfSomeClients},
                                     Queries{kAll, kOfOneServer, frames.size() / 4, frames.size() * 3 / 4}}) {
        Outcome plain_outcome = run(frames, parsers, 64, false, queries, triggers()),
                absorbed = run(frames, parsers, 64, true, queries, triggers());
        // The groups of a window are in the order of their first packets.
        std::ranges::sort(plain_outcome.tuples);
        std::ranges::sort(absorbed.tuples);
        expect_same(plain_outcome.tuples, absorbed.tuples);
        EXPECT_EQ(plain_outcome.wanted, absorbed.wanted);
        ASSERT_FALSE(::testing::Test::HasFailure())
            << "seed " << seed << ", " << queries.second << " joins " << queries.first;
        EXPECT_GT(absorbed.tuples.size(), 1000u);
        packets += absorbed.packets;
        absorbed_packets += absorbed.absorbed;
      }
    }
    EXPECT_GT(absorbed_packets, packets / 50);
  }
}

// Makes SYNs from different clients. If `are_repeated` is true, each is sent again, and followed by a packet of its
// connection before the next SYN.
std::vector<Frame> syns(uint32_t count, bool are_repeated) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < count; ++i) {
    Conversation conversation({.client = "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250),
                               .server = "10.1.0.1",
                               .server_port = 50000});
    std::vector<Frame>& made = conversation.handshake().frames();
    frames.push_back(made[0]);
    if (are_repeated) frames.insert(frames.end(), {made[0], made[1 + i % 2]});
  }
  for (size_t i = 0; i < frames.size(); ++i) frames[i].time_ns = 1'000 * kSecond + static_cast<int64_t>(i) * 1000;
  return frames;
}

TEST(Absorb, CachesSynsForTriggers) {
  const std::vector<Frame> frames = syns(1000, false);
  // The first burst starts the intervals.
  EXPECT_EQ(run(frames, {"trigger"}, 64, true, {}, triggers()).absorbed, frames.size() - 64);
  // Other parsers see the connection that a SYN starts, and a query with endpoints may want it.
  EXPECT_EQ(run(frames, {"trigger", "tcp_pkt_size"}, 64, true, {}, triggers()).absorbed, 0u);
  EXPECT_EQ(run(frames, {"trigger"}, 64, true, {kAll | kOfSomeClients}, triggers()).absorbed, 0u);
}

// The server's port is the higher one, so only the SYN shows which side is the client.
TEST(Absorb, ACachedSynStartsItsConnection) {
  const std::vector<Frame> frames = syns(200, true);
  Outcome plain_outcome = run(frames, {"trigger"}, 64, false, {}, triggers()),
          absorbed = run(frames, {"trigger"}, 64, true, {}, triggers());
  std::ranges::sort(plain_outcome.tuples);
  std::ranges::sort(absorbed.tuples);
  expect_same(plain_outcome.tuples, absorbed.tuples);
  EXPECT_GE(absorbed.absorbed, 200u);
  EXPECT_GT(absorbed.tuples.size(), 200u);
}

TEST(Absorb, SkipsNothingForAParserOfEveryPacket) {
  const std::vector<Frame> frames = traffic(1);
  EXPECT_EQ(run(frames, {"tcp_conn_time", "http_get"}, 64, true).absorbed, 0u);
  EXPECT_EQ(run(frames, {"sample"}, 64, true).absorbed, 0u);
}

}  // namespace
}  // namespace tapline::testing
