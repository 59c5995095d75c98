#include "parsers/queues/departure_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "parsers/queues/queue_input.h"
#include "parsers/queues/testing/queue_simulator.h"

namespace tapline::queues {
namespace {

using testing::SimPacket;

constexpr uint64_t kSpeed = 100'000'000;
constexpr int64_t kNsPerByte = 80;
constexpr int64_t kLateNs = 3'000'000;  // the longest time between two reads
constexpr int64_t kMaxLateNs = 20'000'000;

class Passages final : public MatchSink {
 public:
  void pass(const Passage& passage) override { all.push_back(passage); }
  void never_left(const View&) override {}
  std::vector<Passage> all;
};

std::vector<Passage> corrected(const std::vector<Passage>& stamped, uint64_t speed, uint64_t* count = nullptr) {
  Passages sink;
  DepartureTimes times({.link_bits_per_second = speed, .max_late_ns = kMaxLateNs}, &sink);
  for (const Passage& passage : stamped) times.pass(passage);
  if (count != nullptr) *count = times.corrected();
  EXPECT_EQ(sink.all.size(), stamped.size());
  return sink.all;
}

std::vector<SimPacket> departed(uint32_t seed, double load = 0.5, double burst_share = 0.002) {
  std::vector<SimPacket> packets = testing::simulate({.packets = 5'000,
                                                      .load = load,
                                                      .burst_share = burst_share,
                                                      .ns_per_byte_thousandth = kNsPerByte * 1000,
                                                      .buffer_bytes = 500'000},
                                                     seed);
  std::erase_if(packets, [](const SimPacket& packet) { return packet.dropped; });
  return packets;
}

int64_t begins_ns(const SimPacket& packet) { return packet.departure_ns - packet.bytes * kNsPerByte; }

// Stamps packets like a receiver that reads all packets of a link at random times, at most kLateNs apart.
std::vector<Passage> read_together(const std::vector<SimPacket>& packets, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Passage> stamped;
  int64_t read_ns = 0;
  for (const SimPacket& packet : packets) {
    while (read_ns < packet.departure_ns) read_ns += 1 + random() % kLateNs;
    stamped.push_back(Passage::certain(packet.flow_key, packet.arrival_ns, read_ns, packet.bytes));
  }
  return stamped;
}

// Returns the departure times by definition: a packet leaves once it has arrived and the link has sent all packets that
// arrived before it.
std::vector<int64_t> by_definition(const std::vector<SimPacket>& packets) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < packets.size(); ++i) {
    int64_t latest_ns = packets[i].arrival_ns, transmission_ns = 0;
    for (size_t k = i; k-- > 0;) {
      transmission_ns += packets[k].bytes * kNsPerByte;
      latest_ns = std::max(latest_ns, packets[k].arrival_ns + transmission_ns);
    }
    times.push_back(latest_ns);
  }
  return times;
}

TEST(DepartureTimes, AreExactIfTheQueueEmptiesOften) {
  const std::vector<SimPacket> packets = departed(1);
  const std::vector<Passage> passages = corrected(read_together(packets, 2), kSpeed);
  const std::vector<int64_t> expected = by_definition(packets);
  size_t exact = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    ASSERT_LE(std::abs(begins_ns(packets[i]) - expected[i]), 1'000) << "the simulator rounds";
    exact += passages[i].departure_ns == expected[i];
  }
  EXPECT_GT(exact, packets.size() * 99 / 100);
}

TEST(DepartureTimes, LieBetweenTheTruthAndTheStamp) {
  for (const double load : {0.3, 0.6, 1.2}) {
    const std::vector<SimPacket> packets = departed(3, load, load > 1 ? 0.02 : 0.002);
    const std::vector<Passage> stamped = read_together(packets, 4);
    const std::vector<int64_t> truth = by_definition(packets);
    uint64_t count = 0;
    const std::vector<Passage> passages = corrected(stamped, kSpeed, &count);
    uint64_t differing = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      EXPECT_GE(passages[i].departure_ns, truth[i]);
      EXPECT_LE(passages[i].departure_ns, stamped[i].departure_ns);
      EXPECT_GE(passages[i].departure_ns, passages[i == 0 ? 0 : i - 1].departure_ns);
      EXPECT_EQ(passages[i].arrival_ns, stamped[i].arrival_ns);
      differing += passages[i].departure_ns != stamped[i].departure_ns;
    }
    EXPECT_EQ(count, differing);
    EXPECT_GT(count, packets.size() / 4);
  }
}

// A receiver's flow control stops the link for 15 ms, five times the maximum delay of stamps.
TEST(DepartureTimes, ShowALinkThatWasStopped) {
  constexpr int64_t kStoppedNs = 15'000'000;
  std::vector<SimPacket> packets = departed(5);
  const size_t first = packets.size() / 2;
  const int64_t resumed_ns = begins_ns(packets[first]) + kStoppedNs;
  int64_t free_ns = resumed_ns;
  for (size_t i = first; i < packets.size(); ++i) {
    packets[i].departure_ns = std::max(packets[i].departure_ns, free_ns + packets[i].bytes * kNsPerByte);
    free_ns = packets[i].departure_ns;
  }
  const std::vector<Passage> passages = corrected(read_together(packets, 6), kSpeed);
  EXPECT_GE(passages[first].departure_ns, resumed_ns - kLateNs);
  for (size_t i = first; packets[i].arrival_ns < resumed_ns; ++i) {
    EXPECT_GE(passages[i].departure_ns, begins_ns(packets[i]) - kLateNs);
  }
}

// Of 2,000 packets that find the queue empty, one is stamped 19 ms late, and those behind it no earlier. Then 600
// packets fill the queue, and the link pauses for 12 ms after the first hundred.
TEST(DepartureTimes, FollowAPauseThatIsShorterThanTheLatestStamp) {
  constexpr int64_t kPauseNs = 12'000'000, kUsualNs = 1 << 22;  // most stamps are at most 3 ms late, below 2²² ns
  constexpr size_t kFirst = 2000, kPaused = kFirst + 100;
  std::vector<SimPacket> packets;
  int64_t arrival_ns = 0, free_ns = 0;
  for (size_t i = 0; i < kFirst + 600; ++i) {
    arrival_ns += i < kFirst ? 1'000'000 : 10'000;
    free_ns = std::max(free_ns, arrival_ns) + (i == kPaused ? kPauseNs : 0) + 700 * kNsPerByte;
    packets.push_back({.digest = i, .flow_key = 1, .arrival_ns = arrival_ns, .departure_ns = free_ns, .bytes = 700});
  }
  std::vector<Passage> stamped = read_together(packets, 6);
  size_t late = kFirst / 2;
  while (packets[late].arrival_ns < stamped[late - 1].departure_ns) ++late;
  const int64_t late_ns = packets[late].arrival_ns + 19'000'000;
  for (size_t i = late; stamped[i].departure_ns < late_ns; ++i) stamped[i].departure_ns = late_ns;
  const std::vector<Passage> passages = corrected(stamped, kSpeed);
  for (size_t i = kPaused; i < packets.size(); ++i) {
    const bool is_known = begins_ns(packets[i]) > begins_ns(packets[kPaused]) + 3 * kUsualNs;
    EXPECT_GE(passages[i].departure_ns, begins_ns(packets[i]) - (is_known ? kUsualNs : kPauseNs)) << i;
  }
}

TEST(DepartureTimes, OldStampDelaysExpire) {
  StampDelay delay(1'000);
  EXPECT_EQ(delay.longest_ns(), 0);
  delay.observe(10'000, 70);
  delay.observe(10'500, 30);
  EXPECT_EQ(delay.longest_ns(), 70);
  delay.observe(11'000, 20);
  EXPECT_EQ(delay.longest_ns(), 70);
  delay.observe(12'000, 10);
  EXPECT_EQ(delay.longest_ns(), 20);
  delay.observe(90'000, 5);
  EXPECT_EQ(delay.longest_ns(), 5);
}

TEST(DepartureTimes, MoveByABoundedTimeIfTheGivenSpeedIsWrong) {
  const std::vector<Passage> stamped = read_together(departed(7), 8);
  for (const uint64_t speed : {uint64_t{1}, kSpeed / 100, kSpeed * 100, uint64_t{1'000'000'000'000}}) {
    const std::vector<Passage> passages = corrected(stamped, speed);
    for (size_t i = 0; i < passages.size(); ++i) {
      EXPECT_LE(passages[i].departure_ns, stamped[i].departure_ns);
      EXPECT_GE(passages[i].departure_ns, stamped[i].departure_ns - kMaxLateNs);
      EXPECT_GE(passages[i].departure_ns, passages[i == 0 ? 0 : i - 1].departure_ns);
      EXPECT_GE(passages[i].departure_ns, passages[i].arrival_ns);
    }
  }
}

// The bound holds after a stop of the link or of the switch, and for any packet length in a damaged capture.
TEST(DepartureTimes, NeverMoveByMoreThanTheMaximum) {
  std::mt19937 random(9);
  std::vector<Passage> stamped;
  int64_t now_ns = 0;
  for (int i = 0; i < 10'000; ++i) {
    now_ns += random() % 200'000'000;
    Passage passage = Passage::certain(1, now_ns - random() % 200'000'000, now_ns, random());
    if (i % 3 == 1) passage.arrival_known = false;
    if (i % 3 != 0) {
      passage.earliest_ns = passage.arrival_ns - random() % 1'000'000;
      passage.latest_ns = std::min<int64_t>(passage.arrival_ns + random() % 1'000'000, now_ns);
    }
    stamped.push_back(passage);
  }
  const std::vector<Passage> passages = corrected(stamped, kSpeed);
  for (size_t i = 0; i < passages.size(); ++i) {
    EXPECT_LE(passages[i].departure_ns, stamped[i].departure_ns);
    EXPECT_GE(passages[i].departure_ns, stamped[i].departure_ns - kMaxLateNs);
    EXPECT_LE(passages[i].earliest_ns, passages[i].latest_ns);
    EXPECT_LE(passages[i].latest_ns, passages[i].departure_ns);
    EXPECT_EQ(passages[i].arrival_known, stamped[i].arrival_known);
    EXPECT_EQ(passages[i].is_certain(), stamped[i].is_certain());
  }
}

// Returns the waits that queue parsers measure if several departures are read at a time.
std::vector<int64_t> waits_of(const std::vector<SimPacket>& packets, uint64_t speed) {
  struct Event {
    View view;
    bool departure;
  };
  std::vector<Event> events;
  const std::vector<Passage> stamped = read_together(packets, 7);
  for (size_t i = 0; i < packets.size(); ++i) {
    View view = {packets[i].digest, packets[i].flow_key, packets[i].arrival_ns, packets[i].bytes, true};
    events.push_back({view, false});
    view.time_ns = stamped[i].departure_ns;
    events.push_back({view, true});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.view.time_ns < b.view.time_ns; });
  Passages sink;
  QueueInput input(QueueSource::kTaps, {{.offset_ns = 0}, {.link_bits_per_second = speed}}, &sink);
  for (const Event& event : events) {
    input.advance(event.view.time_ns);
    event.departure ? input.depart(event.view) : input.arrive(event.view);
  }
  EXPECT_FALSE(input.idle());
  input.finish();
  EXPECT_TRUE(input.idle());
  EXPECT_EQ(input.matches().matched, packets.size());
  EXPECT_EQ(input.matches().never_left, 0u);
  EXPECT_EQ(input.matches().late, 0u);
  std::vector<int64_t> waits_ns;
  for (const Passage& passage : sink.all) waits_ns.push_back(passage.delay_ns());
  return waits_ns;
}

TEST(DepartureTimes, MakeWaitsMoreAccurate) {
  const std::vector<SimPacket> packets = departed(8);
  const std::vector<int64_t> as_stamped = waits_of(packets, 0), as_corrected = waits_of(packets, kSpeed);
  ASSERT_EQ(as_corrected.size(), packets.size());
  int64_t stamped_ns = 0, corrected_ns = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    const int64_t truth_ns = begins_ns(packets[i]) - packets[i].arrival_ns;
    stamped_ns += std::abs(as_stamped[i] - truth_ns);
    corrected_ns += std::abs(as_corrected[i] - truth_ns);
  }
  EXPECT_LT(corrected_ns, stamped_ns / 20);
}

}  // namespace
}  // namespace tapline::queues
