#include "monitors/lane/lane.h"

#include <map>

#include "monitors/lane/lane_fixture.h"
#include "monitors/lane/report.h"
#include "packet_io/base/clock.h"

namespace tapline {
namespace {

TEST_F(LaneTest, EachSecondIsAccountedForBeforeTheNext) {
  auto packets = connection(kStart, 40000);
  for (auto& packet : connection(kStart + kSecond, 40001)) packets.push_back(packet);
  for (auto& packet : connection(kStart + 5 * kSecond, 40002)) packets.push_back(packet);
  ListSource source(packets);  // all in one burst
  ASSERT_TRUE(Run(source).ok());
  std::map<int64_t, uint64_t> packets_by_watermark;
  for (const auto& batch : batches_) packets_by_watermark[batch.watermark_ns()] += batch.accounting().packets_in();
  EXPECT_EQ(packets_by_watermark[kStart + kSecond], 5u);
  EXPECT_EQ(packets_by_watermark[kStart + 5 * kSecond], 5u);
  EXPECT_EQ(accounts_[0].packets_in, 15u);
  expect_batches_add_up();
}

// A monitor that was paused finds a full queue, possibly followed by a gap: the packets that did not fit arrived after
// the queued packets and before the current ones.
TEST_F(LaneTest, LossesAreReportedBetweenEarlierAndLaterPackets) {
  std::vector<ListSource::Timed> packets;
  for (uint16_t i = 0; i < kBurstPackets; ++i) {
    const int64_t time_ns = kStart + i * kSecond / 16 + (i > 3 ? 3 * kSecond : 0);
    for (auto& packet : connection(time_ns, static_cast<uint16_t>(40000 + i))) packets.push_back(packet);
  }
  const int64_t waited_ns = packets.back().time_ns;
  const int64_t now_ns = kStart + 10 * kSecond;
  for (auto& packet : connection(now_ns, 50000)) packets.push_back(packet);
  ListSource source(packets);
  source.is_live = true;
  source.idle_until_ns = now_ns + kSecond / 2;
  source.losses.by_drop[index_of(Drop::kKernelMissed)] = 7;
  source.stop = &stop_;
  ASSERT_TRUE(Run(source).ok());
  uint64_t missed_packets = 0;
  for (const auto& batch : batches_) {
    for (const auto& drop : batch.accounting().dropped()) {
      if (drop.reason() != "kernel_missed") continue;
      EXPECT_GT(batch.watermark_ns(), waited_ns);
      EXPECT_LE(batch.watermark_ns(), now_ns);
      missed_packets += drop.count();
    }
  }
  EXPECT_EQ(missed_packets, 7u);
  expect_batches_add_up();
}

TEST_F(LaneTest, TheGreatestTimeIsHandled) {
  auto packets = connection(kStart, 40000);
  packets.push_back({kLatestTimeNs, tcp_frame({})});
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(accounts_[0].packets_in, 6u);
}

// If every packet arrives twice, each must count once, and the copies must be counted as dropped for the queries that
// would have received them.
TEST_F(LaneTest, DuplicatesAreDroppedOnRequest) {
  queries_ = {query("web", 80), query("db", 3306)};
  std::vector<ListSource::Timed> packets;
  for (const auto& packet : connection(kStart, 40000, 80)) packets.insert(packets.end(), 2, packet);
  options_.drop_duplicates = true;
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(lane_accounting_.matched, 5u);
  EXPECT_EQ(lane_accounting_.lost[index_of(Drop::kDuplicate)], 5u);
  EXPECT_EQ(accounts_[0].packets_out, 5u);
  EXPECT_EQ(accounts_[0].dropped[index_of(Drop::kDuplicate)], 5u);
  EXPECT_EQ(accounts_[1].packets_in, 0u);
  EXPECT_EQ(rows("web"), 3u);
}

// A packet in two fragments must count as one packet of the query, with the bytes of both.
TEST_F(LaneTest, FragmentsAreOnePacket) {
  queries_ = {query("web", 80)};
  auto packets = connection(kStart, 40000, 80);
  split(&packets, 1);
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(lane_accounting_.received, 6u);
  EXPECT_EQ(lane_accounting_.matched, 5u);
  EXPECT_EQ(lane_accounting_.merged, 1u);
  EXPECT_EQ(accounts_[0].packets_in, 5u);
  EXPECT_EQ(rows("web"), 3u);
}

TEST_F(LaneTest, EveryPacketIsAccountedFor) {
  queries_ = {query("web", 80), query("db", 3306)};
  auto packets = connection(kStart, 40000, 80);
  for (auto& packet : connection(kStart + kSecond, 40001, 3306)) packets.push_back(packet);
  for (auto& packet : connection(kStart + 2 * kSecond, 40002, 22)) packets.push_back(packet);
  packets.push_back({kStart + 3 * kSecond, arp_frame()});
  packets.push_back({kStart + 3 * kSecond, tcp_frame({}, 5)});
  packets.push_back({kStart + 3 * kSecond, Bytes(20, 8)});
  Bytes cut_bytes = tcp_frame({});
  cut_bytes.resize(30);  // within its IP header
  packets.push_back({kStart + 3 * kSecond, cut_bytes});
  ListSource source(packets);
  source.losses.by_drop[index_of(Drop::kCaptureTruncated)] = 1;
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(lane_accounting_.received, 15u + 4 + 1);
  EXPECT_EQ(lane_accounting_.matched, 10u);
  EXPECT_EQ(lane_accounting_.unmatched, 5u);
  EXPECT_EQ(lane_accounting_.undecodable[static_cast<int>(DecodeOutcome::kFragment)], 1u);
  EXPECT_EQ(lane_accounting_.undecodable[static_cast<int>(DecodeOutcome::kTruncated)], 1u);
  EXPECT_EQ(lane_accounting_.undecodable[static_cast<int>(DecodeOutcome::kNotIp)], 2u);
  EXPECT_EQ(accounts_[0].packets_out, 5u);
  EXPECT_EQ(accounts_[0].packets_in, 5u + 2 + 1) << "packets that can't be matched count, packets other than IP do not";
  EXPECT_EQ(rows("web"), 3u);
  EXPECT_EQ(rows("db"), 3u);
  expect_batches_add_up();
}

TEST_F(LaneTest, TheEndOfTheSourceEndsEveryQuery) {
  ListSource source(connection(kStart, 40000));
  ASSERT_TRUE(Run(source).ok());
  ASSERT_NE(end_of("q"), nullptr);
  EXPECT_EQ(end_of("q")->watermark_ns(), kStart + 4'000'000);
}

TEST_F(LaneTest, ACaptureWithoutPackets) {
  ListSource source({});
  ASSERT_TRUE(Run(source).ok());
  ASSERT_NE(end_of("q"), nullptr);
  EXPECT_EQ(end_of("q")->sequence(), 0u);
}

TEST_F(LaneTest, APacketLimitEndsOnlyItsQueryAndFlushesItsOpenConnections) {
  queries_ = {query("few"), query("all")};
  queries_[0].limit_packets = 3;
  auto packets = connection(kStart, 40000);
  for (auto& packet : connection(kStart + kSecond, 40001)) packets.push_back(packet);
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(accounts_[0].packets_out, 3u);
  EXPECT_EQ(accounts_[0].packets_in, 3u);
  EXPECT_EQ(accounts_[1].packets_out, 10u);
  EXPECT_EQ(rows("few"), 3u) << "syn, established, and one tuple for the open connection";
  EXPECT_EQ(rows("all"), 6u);
  ASSERT_NE(end_of("few"), nullptr);
  EXPECT_EQ(end_of("few")->watermark_ns(), kStart + 2'000'000) << "in the middle of a burst";
  expect_batches_add_up();
}

TEST_F(LaneTest, EndsTheLaneAfterItsLastQuery) {
  queries_[0].limit_packets = 2;
  ListSource source(connection(kStart, 40000));
  source.is_live = true;
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(lane_accounting_.received, 2u);
  EXPECT_NE(end_of("q"), nullptr);
}

TEST_F(LaneTest, ADurationStartsWithTheFirstPacketOfAnyQuery) {
  queries_ = {query("web", 80)};
  queries_[0].limit_duration_ns = 2 * kSecond;
  std::vector<ListSource::Timed> packets = {{kStart, arp_frame()}};
  for (auto& packet : connection(kStart + 2 * kSecond - 2'000'000, 40000)) packets.push_back(packet);
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(accounts_[0].packets_out, 2u) << "the packet at exactly two seconds is too late";
  ASSERT_NE(end_of("web"), nullptr);
  EXPECT_EQ(end_of("web")->watermark_ns(), kStart + 2 * kSecond - 1);
}

TEST_F(LaneTest, ADurationEndsOnAnIdleLink) {
  queries_[0].limit_duration_ns = kSecond;
  ListSource source({});
  source.is_live = true;
  source.idle_until_ns = 9'000'000'000'000'000'000;
  ASSERT_TRUE(Run(source).ok());
  EXPECT_NE(end_of("q"), nullptr);
}

TEST_F(LaneTest, ACaptureIsWatchedFromTheFirstPacketOfAnyQuery) {
  queries_.push_back(query("other", 81));
  auto packets = connection(kStart + 7, 40000);
  for (auto& packet : connection(kStart + 3 * kSecond, 40001, 81)) packets.push_back(packet);
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(watched_since(), std::vector<int64_t>{kStart + 7});
}

TEST_F(LaneTest, ALinkIsWatchedFromTheStartOfTheLane) {
  ListSource source(connection(kStart, 40000));
  source.is_live = true;
  source.stop = &stop_;
  const int64_t before_ns = wall_ns();
  ASSERT_TRUE(Run(source).ok());
  ASSERT_EQ(watched_since().size(), 1u);
  EXPECT_GE(watched_since()[0], before_ns);
  EXPECT_LE(watched_since()[0], wall_ns());
}

TEST_F(LaneTest, CopiesThatNoSwitchHasConfirmedAreNotWatched) {
  queries_[0].copies_unconfirmed = true;
  ListSource source(connection(kStart, 40000));
  source.is_live = true;
  source.stop = &stop_;
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(watched_since(), std::vector<int64_t>{TupleOutput::kNotWatched});
}

TEST_F(LaneTest, CopiesAreWatchedFromTheirFirstConfirmation) {
  queries_[0].copies_unconfirmed = true;
  for (int i = 0; i < 2; ++i) commands_.emplace_back(LaneCommand::Kind::kMirrored, 0u);
  ListSource source(connection(kStart, 40000));
  source.is_live = true;
  source.stop = &stop_;
  const int64_t before_ns = wall_ns();
  ASSERT_TRUE(Run(source).ok());
  ASSERT_EQ(watched_since().size(), 1u);
  EXPECT_GE(watched_since()[0], before_ns);
  EXPECT_LE(watched_since()[0], wall_ns());
}

TEST_F(LaneTest, StoppingFlushes) {
  auto packets = connection(kStart, 40000);
  packets.resize(3);
  ListSource source(packets, 1);
  source.is_live = true;
  source.stop = &stop_;
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(rows("q"), 3u) << "syn, established, and one tuple for the open connection";
  EXPECT_NE(end_of("q"), nullptr);
}

TEST_F(LaneTest, AFailedSourceIsAnErrorInsteadOfAnEnd) {
  ListSource source({});
  source.failure = Status::invalid("broken");
  EXPECT_EQ(Run(source).message(), "broken");
  EXPECT_EQ(end_of("q"), nullptr);
}

TEST_F(LaneTest, BurstSizesMakeNoDifference) {
  auto packets = connection(kStart, 40000);
  for (auto& packet : connection(kStart + kSecond, 40001)) packets.push_back(packet);
  queries_ = {query("few"), query("all")};
  queries_[0].limit_packets = 7;
  std::string first;
  for (size_t burst : {1, 2, 3, 7, 64}) {
    batches_.clear();
    ListSource source(packets, burst);
    ASSERT_TRUE(Run(source).ok());
    const std::string report = accounting_of(lane_accounting_, {}, {}, queries_, accounts_).DebugString();
    if (first.empty()) first = report;
    EXPECT_EQ(report, first) << burst;
  }
}

}  // namespace
}  // namespace tapline
