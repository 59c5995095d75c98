// Tests packets that several taps show, and marked copies from queues.
#include <algorithm>
#include <span>

#include "monitors/lane/lane_fixture.h"

namespace tapline {
namespace {

// Returns two views of every packet, before and after a queue that delays it by 40 ms.
std::vector<ListSource::Timed> two_views(std::vector<ListSource::Timed> packets) {
  for (size_t i = 0, count = packets.size(); i < count; ++i) {
    packets.push_back({packets[i].time_ns + 40'000'000, packets[i].frame, 1});
  }
  std::stable_sort(packets.begin(), packets.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return packets;
}

TEST_F(LaneTest, APacketOfTwoTapsCountsOnce) {
  const auto once = connection(kStart, 40000);
  queries_ = {query("few"), query("all")};
  queries_[0].limit_packets = 3;
  queries_[1].parsers = {"tcp_conn_time", "tcp_pkt_size"};
  ListSource one(once);
  ASSERT_TRUE(Run(one).ok());
  const std::vector<Accounting> of_one(accounts_.begin(), accounts_.end());
  batches_.clear();
  options_.taps = 2;
  options_.views = ViewOptions();
  ListSource two(two_views(once));
  ASSERT_TRUE(Run(two).ok());
  EXPECT_EQ(std::vector<Accounting>(accounts_.begin(), accounts_.end()), of_one);
  EXPECT_EQ(lane_accounting_.received, 10u);
  EXPECT_EQ(lane_accounting_.repeated, 5u);
  EXPECT_EQ(taps_[0].passed, 5u);
  EXPECT_EQ(taps_[1].repeated, 5u);
  EXPECT_EQ(taps_[1].received, 5u);
  expect_batches_add_up();
}

TEST_F(LaneTest, PassesEveryViewToAParserThatWantsThem) {
  queries_ = {query("both")};
  queries_[0].parsers = {"tcp_conn_time", "views"};
  options_.taps = 2;
  options_.views = ViewOptions();
  ListSource source(two_views(connection(kStart, 40000)));
  ASSERT_TRUE(Run(source).ok());
  uint64_t views = 0, events = 0;
  for (const auto& batch : batches_) (batch.parser() == "views" ? views : events) += batch.rows();
  EXPECT_EQ(views, 10u);
  EXPECT_EQ(events, 3u);
  EXPECT_EQ(accounts_[0].packets_in, 5u) << "each packet counts once";
  EXPECT_EQ(accounts_[0].packets_out, 5u);
}

// A parser that asks for fragments must see each view of them, and every query must count the datagram once.
TEST_F(LaneTest, FragmentsAreViewsAndTheirDatagramIsOnePacket) {
  auto packets = connection(kStart, 40000);
  split(&packets, 1);
  queries_ = {query("plain"), query("views")};
  queries_[1].parsers = {"tcp_conn_time", "views"};
  options_.taps = 2;
  options_.views = ViewOptions();
  ListSource source(two_views(packets));
  ASSERT_TRUE(Run(source).ok());
  uint64_t views = 0;
  for (const auto& batch : batches_) views += batch.parser() == "views" ? batch.rows() : 0;
  EXPECT_EQ(views, 2 * 6 + 1u) << "six frames at two taps, and the datagram";
  EXPECT_EQ(rows("plain"), 3u);
  for (const Accounting& account : accounts_) EXPECT_EQ(account.packets_in, 5u);
  EXPECT_EQ(lane_accounting_.repeated, 6u);
  EXPECT_EQ(lane_accounting_.merged, 1u);
  expect_batches_add_up();
}

TEST_F(LaneTest, AQueryOfQueuesCountsTheFragmentsThatArrive) {
  auto packets = connection(kStart, 40000);
  split(&packets, 1);
  for (const int first_tap : {0, 2}) {
    batches_.clear();
    auto frames = two_views(packets);
    for (auto& frame : frames) frame.tap = static_cast<uint8_t>(frame.tap + first_tap);
    queries_ = {query("at"), query("plain")};
    queries_[0].parsers = {"views"};
    queries_[0].match.restrict_to_queues(uint64_t{1} << first_tap, uint64_t{2} << first_tap);
    options_.taps = 4;
    options_.views = ViewOptions();
    options_.first_marked_tap = 2;
    ListSource source(frames);
    ASSERT_TRUE(Run(source).ok());
    EXPECT_EQ(accounts_[0].packets_in, 6u);
    EXPECT_EQ(rows("at"), first_tap == 0 ? 13u : 12u) << "marked copies are not reassembled";
    expect_batches_add_up();
  }
}

// Every other frame adds both a fragment and a datagram to the burst that the parsers get.
TEST_F(LaneTest, ABurstMayConsistOfFragments) {
  std::vector<ListSource::Timed> packets;
  for (uint16_t i = 0; i < kBurstPackets / 2; ++i) {
    auto syn = connection(kStart + i * 100, static_cast<uint16_t>(40000 + i));
    syn.resize(1);
    split(&syn, 0);
    packets.insert(packets.end(), syn.begin(), syn.end());
  }
  queries_ = {query("all")};
  queries_[0].parsers = {"views"};
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(rows("all"), kBurstPackets + kBurstPackets / 2);
  EXPECT_EQ(accounts_[0].packets_in, kBurstPackets / 2);
  expect_batches_add_up();
}

TEST_F(LaneTest, ViewsGoToTheQueryThatWantsThePacket) {
  queries_ = {query("web", 80), query("other", 81)};
  for (QuerySpec& query : queries_) query.parsers = {"views"};
  options_.taps = 2;
  options_.views = ViewOptions();
  ListSource source(two_views(connection(kStart, 40000)));
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(rows("web"), 10u);
  EXPECT_EQ(rows("other"), 0u);
}

TEST_F(LaneTest, WithoutKnownPlacesEveryTapCounts) {
  options_.taps = 2;
  ListSource source(two_views(connection(kStart, 40000)));
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(accounts_[0].packets_in, 10u);
  EXPECT_EQ(taps_[0].passed, 5u);
  EXPECT_EQ(taps_[1].passed, 5u);
  EXPECT_EQ(taps_[1].received_bytes, taps_[0].received_bytes);
}

// Marked copies arrive at taps 2 and 3; the queue's query must receive both, and no other query may be affected.
TEST_F(LaneTest, MarkedCopiesChangeNoOtherQuery) {
  const auto once = connection(kStart, 40000);
  std::vector<ListSource::Timed> copied = once;
  for (const auto& packet : once) copied.push_back({packet.time_ns, packet.frame, 2});
  for (const auto& packet : once) copied.push_back({packet.time_ns + 1000, packet.frame, 3});
  std::stable_sort(copied.begin(), copied.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  options_.taps = 4;
  options_.first_marked_tap = 2;
  const auto rows_with = [this](const std::vector<ListSource::Timed>& packets) {
    batches_.clear();
    queries_ = {query("plain"), query("few"), query("at")};
    queries_[0].parsers = {"tcp_conn_time", "tcp_pkt_size"};
    queries_[1].limit_packets = 3;
    queries_[2].parsers = {"views"};
    for (QuerySpec& spec : std::span(queries_).first(2)) spec.match.ignore_taps(~uint64_t{0} << 2);
    queries_[2].match.restrict_to_queues(1 << 2, 1 << 3);
    ListSource source(packets);
    EXPECT_TRUE(Run(source).ok());
    expect_batches_add_up();
    return std::vector<Accounting>(accounts_.begin(), accounts_.end());
  };
  const auto without = rows_with(once);
  EXPECT_EQ(rows("at"), 0u);
  const auto all = rows_with(copied);
  EXPECT_EQ(all[0], without[0]);
  EXPECT_EQ(all[1], without[1]);
  EXPECT_EQ(rows("at"), 10u);
  EXPECT_EQ(all[2].packets_in, 5u) << "arrivals count";
  EXPECT_EQ(lane_accounting_.repeated, 10u);
  EXPECT_EQ(taps_[2].repeated, 5u);
}

TEST_F(LaneTest, PacketsForgottenEarlyAreReported) {
  options_.taps = 2;
  options_.views = ViewOptions{.max_packets = 4};
  std::vector<ListSource::Timed> packets;
  for (uint16_t i = 0; i < 4; ++i) {
    for (const auto& packet : connection(kStart, static_cast<uint16_t>(40000 + i))) packets.push_back(packet);
  }
  for (size_t i = 0; i < 20; ++i) packets.push_back({packets[i].time_ns + 40'000'000, packets[i].frame, 1});
  std::stable_sort(packets.begin(), packets.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  const uint64_t counted_twice = lane_accounting_.received - lane_accounting_.repeated - 20;
  EXPECT_GT(counted_twice, 0u);
  EXPECT_GE(lane_accounting_.forgotten_views, counted_twice);
}

}  // namespace
}  // namespace tapline
