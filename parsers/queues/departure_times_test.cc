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
constexpr int64_t kLateNs = 4'000'000;

std::vector<View> corrected(const std::vector<View>& stamped, const DepartureTimesOptions& options,
                            uint64_t* count = nullptr) {
  DepartureTimes times(options);
  std::vector<View> views;
  const auto keep = [&](const View& view) { views.push_back(view); };
  for (const View& view : stamped) times.add(view, keep);
  times.finish(keep);
  EXPECT_TRUE(times.empty());
  if (count != nullptr) *count = times.corrected();
  return views;
}

// The definition: of the packets stamped before this one's time is over, each allows a time.
std::vector<int64_t> by_definition(const std::vector<View>& stamped, int64_t late_ns) {
  std::vector<int64_t> times;
  int64_t previous_ns = INT64_MIN / 4;
  int64_t now_ns = INT64_MIN / 4;
  size_t seen = 0;
  for (size_t i = 0; i < stamped.size(); ++i) {
    // The packet whose stamp ends its wait still counts.
    while (seen < stamped.size() && (seen <= i || now_ns - stamped[i].time_ns < late_ns)) {
      now_ns = std::max(now_ns, stamped[seen].time_ns);
      ++seen;
    }
    int64_t latest_ns = stamped[i].time_ns, transmission_ns = 0;
    for (size_t k = i + 1; k < seen; ++k) {
      transmission_ns += stamped[k].bytes * kNsPerByte;
      latest_ns = std::min(latest_ns, stamped[k].time_ns - transmission_ns);
    }
    previous_ns = std::max({previous_ns, latest_ns, stamped[i].time_ns - late_ns});
    times.push_back(previous_ns);
  }
  return times;
}

TEST(DepartureTimes, EqualTheDefinition) {
  std::mt19937 random(1);
  const auto below = [&](uint32_t bound) { return static_cast<int64_t>(random() % bound); };
  for (int run = 0; run < 300; ++run) {
    std::vector<View> stamped;
    int64_t now_ns = 0;
    const bool reordered = run % 2 == 1;
    for (uint32_t i = 0; i < 200; ++i) {
      if (below(4) == 0) now_ns += below(run % 3 == 0 ? 200'000 : 2'000'000);
      const int64_t stamp_ns = now_ns - (reordered ? below(100'000) : 0);
      stamped.push_back({.time_ns = stamp_ns, .bytes = static_cast<uint32_t>(60 + below(1'455)), .tag = i});
    }
    const std::vector<View> views = corrected(stamped, {kSpeed, kLateNs});
    const std::vector<int64_t> expected = by_definition(stamped, kLateNs);
    ASSERT_EQ(views.size(), expected.size());
    for (uint32_t i = 0; i < views.size(); ++i) {
      ASSERT_EQ(views[i].tag, i);
      ASSERT_EQ(views[i].time_ns, expected[i]) << "run " << run << ", packet " << i;
    }
  }
}

// A receiver that reads all packets of a link at random times, at most 3 ms apart.
std::vector<View> read_together(const std::vector<SimPacket>& packets, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<View> stamped;
  int64_t read_ns = 0;
  for (const SimPacket& packet : packets) {
    while (read_ns < packet.departure_ns) read_ns += 1 + random() % 3'000'000;
    stamped.push_back({packet.digest, packet.flow_key, read_ns, packet.bytes, true});
  }
  return stamped;
}

std::vector<SimPacket> departed(uint32_t seed) {
  std::vector<SimPacket> packets = testing::simulate(
      {.packets = 20'000, .load = 0.8, .ns_per_byte_thousandth = kNsPerByte * 1000, .buffer_bytes = 500'000}, seed);
  std::erase_if(packets, [](const SimPacket& packet) { return packet.dropped; });
  return packets;
}

TEST(DepartureTimes, LieBetweenTheTruthAndTheStamp) {
  const std::vector<SimPacket> packets = departed(2);
  const std::vector<View> stamped = read_together(packets, 3);
  uint64_t count = 0;
  const std::vector<View> views = corrected(stamped, {kSpeed, kLateNs}, &count);
  uint64_t differing = 0;
  int64_t stamps_late_ns = 0, still_late_ns = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    EXPECT_GE(views[i].time_ns, packets[i].departure_ns);
    EXPECT_LE(views[i].time_ns, stamped[i].time_ns);
    differing += views[i].time_ns != stamped[i].time_ns;
    stamps_late_ns += stamped[i].time_ns - packets[i].departure_ns;
    still_late_ns += views[i].time_ns - packets[i].departure_ns;
  }
  EXPECT_EQ(count, differing);
  EXPECT_LT(still_late_ns, stamps_late_ns / 2);
}

// While the link never pauses, the last packet that a read finds is late by less than its transmission.
TEST(DepartureTimes, AreRightByOneTransmissionOnABusyLink) {
  std::vector<SimPacket> packets(5'000);
  int64_t now_ns = 1'000'000'000;
  for (size_t i = 0; i < packets.size(); ++i) {
    packets[i].bytes = 60 + static_cast<uint32_t>(i * 7919 % 1'455);
    packets[i].departure_ns = now_ns += packets[i].bytes * kNsPerByte;
  }
  const std::vector<View> views = corrected(read_together(packets, 4), {kSpeed, kLateNs});
  for (size_t i = 0; i + 100 < packets.size(); ++i) {
    EXPECT_GE(views[i].time_ns, packets[i].departure_ns);
    EXPECT_LE(views[i].time_ns, packets[i].departure_ns + 1'514 * kNsPerByte);
  }
}

TEST(DepartureTimes, MoveByABoundedTimeIfTheGivenSpeedIsTooLow) {
  const std::vector<View> stamped = read_together(departed(5), 6);
  for (const uint64_t speed : {uint64_t{1}, kSpeed / 100}) {
    const std::vector<View> views = corrected(stamped, {speed, kLateNs});
    ASSERT_EQ(views.size(), stamped.size());
    for (size_t i = 0; i < views.size(); ++i) {
      EXPECT_LE(views[i].time_ns, stamped[i].time_ns);
      EXPECT_GE(views[i].time_ns, stamped[i].time_ns - kLateNs);
      EXPECT_GE(views[i].time_ns, views[i == 0 ? 0 : i - 1].time_ns);
    }
  }
}

TEST(DepartureTimes, ReleaseTheOldestIfThereIsNoRoom) {
  std::vector<View> stamped(1'000);
  for (uint32_t i = 0; i < stamped.size(); ++i) stamped[i] = {.time_ns = 1'000, .bytes = 100, .tag = i};
  const std::vector<View> views = corrected(stamped, {kSpeed, kLateNs, 16});
  ASSERT_EQ(views.size(), stamped.size());
  for (uint32_t i = 0; i < views.size(); ++i) EXPECT_EQ(views[i].tag, i);
}

class Waits final : public MatchSink {
 public:
  void pass(const Passage& passage) override { waits_ns.push_back(passage.delay_ns()); }
  void never_left(const View&) override {}
  std::vector<int64_t> waits_ns;
};

// Waits of packets whose departures are read together, as queue parsers measure them.
std::vector<int64_t> waits_of(const std::vector<SimPacket>& packets, uint64_t speed) {
  struct Event {
    View view;
    bool departure;
  };
  std::vector<Event> events;
  for (const View& view : read_together(packets, 7)) events.push_back({view, true});
  for (const SimPacket& packet : packets) {
    events.push_back({{packet.digest, packet.flow_key, packet.arrival_ns, packet.bytes, true}, false});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.view.time_ns < b.view.time_ns; });
  Waits sink;
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
  return sink.waits_ns;
}

TEST(DepartureTimes, MakeWaitsMoreAccurate) {
  const std::vector<SimPacket> packets = departed(8);
  const std::vector<int64_t> as_stamped = waits_of(packets, 0), as_corrected = waits_of(packets, kSpeed);
  ASSERT_EQ(as_corrected.size(), packets.size());
  int64_t stamped_ns = 0, corrected_ns = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    const int64_t truth_ns = packets[i].departure_ns - packets[i].arrival_ns;
    stamped_ns += std::abs(as_stamped[i] - truth_ns);
    corrected_ns += std::abs(as_corrected[i] - truth_ns);
  }
  EXPECT_LT(corrected_ns, stamped_ns / 2);
}

}  // namespace
}  // namespace tapline::queues
