// Sends packets of many kinds through a queue between two taps that lose some packets. The queue changes the fields
// that a switch changes. Matched packets must be equal, and lost ones must be counted. TAPLINE_QUEUE_PACKETS is the
// number of packets for each loss rate (default: 60,000).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "parsers/api/packet_digest.h"
#include "parsers/queues/packet_identity.h"
#include "parsers/queues/tap_matcher.h"
#include "parsers/queues/testing/queue_simulator.h"
#include "parsers/testing/harness.h"

namespace tapline::queues {
namespace {

using tapline::testing::Frame;
using tapline::testing::kTestKey;

constexpr size_t kIpV4Identification = 18, kIpV4Fragment = 20, kIpV4Ttl = 22, kIpV4Protocol = 23;
constexpr size_t kIpV6Length = 18, kIpV6NextHeader = 20, kIpV6HopLimit = 21, kIpV6Fragment = 54;
constexpr int64_t kStart = 1'000'000'000'000;

void set_16(Frame* frame, size_t offset, uint16_t value) {
  frame->bytes[offset] = static_cast<uint8_t>(value >> 8);
  frame->bytes[offset + 1] = static_cast<uint8_t>(value);
}

bool is_v6(const Frame& frame) { return frame.bytes[14] >> 4 == 6; }

std::string text_of(uint32_t number) { return "number " + std::to_string(number); }

// Returns a random packet of one of the kinds that a matcher has to tell apart. Some packets equal earlier ones, byte
// for byte.
Frame random_frame(uint32_t number, std::mt19937& random) {
  const auto port = static_cast<uint16_t>(1000 + random() % 8);
  const auto few_number = static_cast<uint32_t>(random() % 4);
  const std::string payload = text_of(number), few = text_of(few_number);
  const uint8_t ack = tcp_flag::kAck;
  Frame frame;
  switch (random() % 8) {
    case 0:
      return tapline::testing::tcp_frame({.src_port = port, .seq = number, .flags = ack, .payload = payload}, 0);
    case 1:
      return tapline::testing::tcp_frame({.src_port = port, .ack = few_number + 1, .flags = ack}, 0);
    case 2:
      return tapline::testing::udp_frame({.src_port = port, .payload = few}, 0);
    case 3:
      return tapline::testing::udp_frame({.src = "2001:db8::1", .dst = "2001:db8::2", .src_port = port, .payload = few},
                                         0);
    case 4:
      return tapline::testing::tcp_frame({.src = "2001:db8::1",
                                          .dst = "2001:db8::2",
                                          .src_port = port,
                                          .seq = number,
                                          .flags = ack,
                                          .payload = payload},
                                         0);
    case 5:
      frame = tapline::testing::udp_frame({.src_port = port, .payload = few}, 0);
      set_16(&frame, kIpV4Identification, static_cast<uint16_t>(number % 65'535 + 1));
      return frame;
    case 6: {  // a fragment, unlike all others of its datagram
      frame = tapline::testing::udp_frame(
          {.src = "2001:db8::1", .dst = "2001:db8::2", .src_port = 1000, .payload = "12345678"}, 0);
      frame.bytes[kIpV6NextHeader] = protocol::kFragment;
      frame.bytes[kIpV6Length + 1] = static_cast<uint8_t>(frame.bytes[kIpV6Length + 1] + 8);
      const uint8_t header[8] = {protocol::kUdp, 0, 0, 1};  // more fragments follow
      frame.bytes.insert(frame.bytes.begin() + kIpV6Fragment, header, header + 8);
      set_16(&frame, kIpV6Fragment + 2, static_cast<uint16_t>(number % 8 << 3 | 1));
      set_16(&frame, kIpV6Fragment + 4, static_cast<uint16_t>(number / 8 >> 16));
      set_16(&frame, kIpV6Fragment + 6, static_cast<uint16_t>(number / 8));
      return frame;
    }
    default:
      frame = tapline::testing::udp_frame({.src_port = 1000, .payload = "12345678"}, 0);
      set_16(&frame, kIpV4Identification, static_cast<uint16_t>(number / 8 % 65'535 + 1));
      set_16(&frame, kIpV4Fragment, static_cast<uint16_t>(0x2000 | number % 8));
      return frame;
  }
}

// Returns the frame as a switch forwards it: with a lower hop limit, and sometimes a congestion mark and a VLAN tag.
Frame forwarded(Frame frame, std::mt19937& random) {
  --frame.bytes[is_v6(frame) ? kIpV6HopLimit : kIpV4Ttl];
  if (random() % 2 == 0) frame.bytes[15] |= is_v6(frame) ? 0x30 : 0x03;
  const uint8_t tag[] = {0x81, 0, 0, 7};
  if (random() % 2 == 0) frame.bytes.insert(frame.bytes.begin() + 12, tag, tag + 4);
  return frame;
}

View view_of(const Frame& frame, int64_t time_ns, uint32_t tag) {
  Packet packet;
  const FlowHasher hasher(kTestKey);
  const DecodeOutcome outcome = decode(frame.raw(), hasher, &packet);
  EXPECT_TRUE(outcome == DecodeOutcome::kOk || outcome == DecodeOutcome::kFragment);
  return {digest_of(packet, kTestKey), 1, time_ns, packet.wire_bytes, is_identified(packet), tag};
}

// One side of the queue has tags, and the capture truncates each packet after 96 bytes.
TEST(Digests, CoverWhatBothTruncatedViewsShow) {
  const std::string payload(500, 'x');
  for (const std::string& data : {payload, payload + "y", payload.substr(0, 40)}) {
    const Frame frame = tapline::testing::udp_frame({.src_port = 7, .payload = data}, 0);
    Frame tagged = frame;
    const uint8_t tag[] = {0x81, 0, 0, 7};
    std::vector<uint64_t> digests;
    for (int tags = 0; tags <= 2; ++tags) {
      Frame truncated = tagged;
      if (truncated.bytes.size() > 96) {
        truncated.wire_bytes = static_cast<uint32_t>(truncated.bytes.size());
        truncated.bytes.resize(96);
      }
      digests.push_back(view_of(truncated, 0, 0).digest);
      tagged.bytes.insert(tagged.bytes.begin() + 12, tag, tag + 4);
    }
    EXPECT_EQ(digests[1], digests[0]) << data.size();
    EXPECT_EQ(digests[2], digests[0]) << data.size();
  }
}

TEST(Digests, CoverTheVerificationTagOfSctp) {
  Frame frame = tapline::testing::udp_frame({.src_port = 7, .payload = "a chunk of data"}, 0);
  frame.bytes[kIpV4Protocol] = 132;
  const uint64_t digest = view_of(frame, 0, 0).digest;
  constexpr size_t kTag = 14 + 20 + 4;
  for (size_t i = kTag; i < kTag + 4; ++i) {
    Frame changed = frame;
    ++changed.bytes[i];
    EXPECT_NE(view_of(changed, 0, 0).digest, digest) << i;
  }
}

struct Event {
  View view;
  bool departure;
};

struct Crossing {
  std::string bytes;
  int64_t arrival_ns, departure_ns;
  bool arrival_seen, departure_seen;
};

// Packets arrive every 1 µs on average and wait for up to 100 µs; views are delivered up to 50 µs late.
struct Traffic {
  Traffic(uint32_t packets, double lost, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<std::pair<int64_t, Event>> delivered;
    int64_t arrival_ns = kStart, departure_ns = kStart;
    for (uint32_t i = 0; i < packets; ++i) {
      arrival_ns += 1 + random() % 2000;
      departure_ns = std::max(departure_ns + 1, arrival_ns + static_cast<int64_t>(random() % 100'000));
      const Frame frame = random_frame(i, random);
      const bool arrival_seen = uniform(random) >= lost, departure_seen = uniform(random) >= lost;
      const auto late = [&] { return static_cast<int64_t>(random() % 50'000); };
      if (arrival_seen) delivered.push_back({arrival_ns + late(), {view_of(frame, arrival_ns, i), false}});
      if (departure_seen)
        delivered.push_back({departure_ns + late(), {view_of(forwarded(frame, random), departure_ns, i), true}});
      crossings.push_back({std::string(frame.bytes.begin(), frame.bytes.end()), arrival_ns, departure_ns, arrival_seen,
                           departure_seen});
    }
    std::stable_sort(delivered.begin(), delivered.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [time_ns, event] : delivered) events.push_back(event);
  }
  std::vector<Crossing> crossings;
  std::vector<Event> events;
};

class KeptMatches final : public MatchSink {
 public:
  void pass(const Passage& passage) override { passages.push_back(passage); }
  void never_left(const View&) override { ++left_behind; }
  std::vector<Passage> passages;
  uint64_t left_behind = 0;
  uint64_t in_queue = 0;  // packets in the queue at the end
};

MatchStatistics match(const Traffic& traffic, bool fifo, KeptMatches* kept) {
  MatchOptions options;
  options.offset_ns = 0;
  options.fifo = fifo;
  options.max_delay_ns = 1'000'000;
  TapMatcher matcher(options, kept);
  for (const Event& event : traffic.events) event.departure ? matcher.depart(event.view) : matcher.arrive(event.view);
  matcher.finish();
  const MatchStatistics& statistics = matcher.statistics();
  kept->in_queue = matcher.in_queue();
  EXPECT_EQ(statistics.matched + statistics.never_came, statistics.departures);
  EXPECT_EQ(statistics.matched + statistics.never_left + statistics.evicted + kept->in_queue, statistics.arrivals);
  EXPECT_EQ(kept->left_behind, statistics.never_left);
  return statistics;
}

const auto kPackets = static_cast<uint32_t>(testing::count_of("TAPLINE_QUEUE_PACKETS", 60'000));

class Views : public ::testing::TestWithParam<double> {};

// Without FIFO order, matched arrivals keep their original times, which identify the packets.
TEST_P(Views, PacketsThatDifferNeverMatch) {
  const Traffic traffic(kPackets, GetParam(), 1);
  std::map<int64_t, size_t> arrivals;
  for (size_t i = 0; i < traffic.crossings.size(); ++i) arrivals[traffic.crossings[i].arrival_ns] = i;
  std::map<uint64_t, std::string> packets;  // by digest, in order of arrival
  for (const Event& event : traffic.events) {
    const std::string& bytes = traffic.crossings[event.view.tag].bytes;
    ASSERT_EQ(packets.emplace(event.view.digest, bytes).first->second, bytes);
  }
  KeptMatches kept;
  match(traffic, false, &kept);
  size_t matched = 0;
  for (const Passage& passage : kept.passages) {
    if (!passage.arrival_known) continue;
    // A packet whose arrival was lost may match the arrival of an equal one. If the time of that arrival is out of
    // bounds, it is moved to the nearest bound.
    if (!passage.is_certain() && (passage.arrival_ns == passage.earliest_ns || passage.delay_ns() == 0)) continue;
    const auto arrival = arrivals.find(passage.arrival_ns);
    ASSERT_NE(arrival, arrivals.end());
    ASSERT_EQ(traffic.crossings[arrival->second].bytes, traffic.crossings[passage.tag].bytes);
    // If the match is certain, both are the same packet.
    if (passage.is_certain()) {
      ASSERT_EQ(arrival->second, passage.tag);
    }
    ++matched;
  }
  EXPECT_GT(matched, traffic.crossings.size() / 2);
}

TEST_P(Views, BoundsOfDelaysHold) {
  const Traffic traffic(kPackets, GetParam(), 2);
  KeptMatches kept;
  const MatchStatistics statistics = match(traffic, true, &kept);
  for (const Passage& passage : kept.passages) {
    const int64_t arrival_ns = traffic.crossings[passage.tag].arrival_ns;
    ASSERT_LE(passage.earliest_ns, arrival_ns);
    ASSERT_GE(passage.latest_ns, arrival_ns);
    if (passage.is_certain()) {
      ASSERT_EQ(passage.arrival_ns, arrival_ns);
    }
  }
  const auto seen = [&](bool arrival, bool is_departure) {
    return static_cast<uint64_t>(
        std::count_if(traffic.crossings.begin(), traffic.crossings.end(), [&](const Crossing& crossing) {
          return crossing.arrival_seen == arrival && crossing.departure_seen == is_departure;
        }));
  };
  // The loss of one of several equal packets may be attributed to the next of them instead: an arrival whose departure
  // was lost then matches a departure whose arrival was lost. Such pairs are missing from both counts.
  EXPECT_GE(statistics.matched, seen(true, true));
  EXPECT_LE(statistics.never_came, seen(false, true));
  const uint64_t paired = seen(false, true) - statistics.never_came;
  EXPECT_EQ(statistics.never_left + statistics.evicted + kept.in_queue, seen(true, false) - paired);
  EXPECT_EQ(statistics.matched, seen(true, true) + paired);
  EXPECT_LE(paired, statistics.ambiguous);
  EXPECT_GT(statistics.ambiguous, 0u);
  if (GetParam() == 0) {
    EXPECT_EQ(statistics.never_came, 0u);
    EXPECT_EQ(statistics.matched, traffic.crossings.size());
  } else {
    EXPECT_GT(statistics.never_came, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, Views, ::testing::Values(0, 0.01, 0.1));

}  // namespace
}  // namespace tapline::queues
