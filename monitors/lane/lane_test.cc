// A lane with real parsers, a real engine and real batches; only the packets are the test's own.
#include "monitors/lane/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "monitors/lane/parser_stage.h"
#include "monitors/lane/report.h"
#include "monitors/output/batch_output.h"
#include "monitors/testing/frames.h"
#include "monitors/testing/view_parser.h"
#include "packet_io/base/clock.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;
constexpr uint8_t kSyn = tcp_flag::kSyn, kFin = tcp_flag::kFin, kAck = tcp_flag::kAck;

// Delivers its packets, `burst` at a time, then ends, or keeps idling if it is live.
class ListSource final : public PacketSource {
 public:
  struct Timed {
    int64_t time_ns;
    Bytes frame;
    uint8_t tap = 0;
  };
  explicit ListSource(std::vector<Timed> packets, size_t burst = kBurstPackets)
      : packets_(std::move(packets)), burst_(burst) {}

  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> out) override {
    if (next_ == packets_.size() && !is_live) return {0, true};
    size_t count = 0;
    while (count < std::min(out.size(), burst_) && next_ < packets_.size()) {
      const Timed& packet = packets_[next_++];
      auto bytes = static_cast<uint32_t>(packet.frame.size());
      out[count++] = {packet.frame.data(), bytes, bytes, packet.time_ns, LinkType::kEthernet, packet.tap};
    }
    if (count == 0 && ++idle_polls_ == stop_after_idle_polls && stop != nullptr) *stop = true;
    return {count, false};
  }
  Status status() const override { return failure; }
  Losses read_losses() override { return losses; }
  bool live() const override { return is_live; }
  std::optional<int64_t> idle_time_ns() const override { return idle_until_ns; }

  bool is_live = false;
  std::optional<int64_t> idle_until_ns;
  Losses losses;
  Status failure;
  std::atomic<bool>* stop = nullptr;
  int stop_after_idle_polls = 3;

 private:
  std::vector<Timed> packets_;
  size_t burst_;
  size_t next_ = 0;
  int idle_polls_ = 0;
};

class KeepingSink final : public BatchSink {
 public:
  explicit KeepingSink(std::vector<v1::TupleBatch>* kept) : kept_(kept) {}
  Status start(DeliveryListener* listener) override {
    listener_ = listener;
    return {};
  }
  Status prepare(uint32_t) override { return {}; }
  Sent send(uint32_t, std::string_view bytes, uint64_t ticket) override {
    EXPECT_TRUE(kept_->emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    listener_->on_delivery(ticket, true);
    return Sent::kTaken;
  }
  double fill() const override { return 0; }
  void poll() override {}
  void wait() override {}
  Status flush() override { return {}; }
  Status status() const override { return {}; }

 private:
  std::vector<v1::TupleBatch>* kept_;
  DeliveryListener* listener_ = nullptr;
};

QuerySpec query(const std::string& name, uint16_t to_port = 0) {
  QuerySpec spec{.name = name, .parsers = {"tcp_conn_time"}};
  if (to_port != 0) spec.match = ConnectionMatch({}, {*AddressPattern::parse("", to_port)});
  return spec;
}

class LaneTest : public testing::Test {
 protected:
  LaneOptions options_;
  Status Run(ListSource& source) {
    accounts_.assign(queries_.size(), {});
    std::vector<std::unique_ptr<Parser>> parsers;
    parsers.push_back(make_parser("tcp_conn_time"));
    parsers.push_back(make_parser("tcp_pkt_size"));
    parsers.push_back(view_parser());
    std::vector<const Schema*> schemas;
    for (const auto& parser : parsers) schemas.push_back(&parser->schema());
    BatchOutput output({.monitor_id = "m"}, queries_, schemas, &accounts_, std::make_unique<KeepingSink>(&batches_));
    EXPECT_TRUE(output.start().ok());
    Engine engine(std::move(parsers), &output);
    ParserStage stage(queries_, &engine, &output, &accounts_, !source.is_live);
    PacketCredits credits;
    Lane lane(options_, queries_, &source, &stage, &accounts_, &credits, &stop_);
    for (uint32_t i = 0; i < queries_.size(); ++i) {
      EXPECT_TRUE(output.prepare(i).ok());
      credits.reset(i, queries_[i].limit_packets.value_or(0));
      lane.add(i);
    }
    for (LaneCommand& command : commands_) lane.inbox().post(&command);
    Status status = lane.run();
    lane_accounting_ = lane.accounting();
    EXPECT_TRUE(lane_accounting_.balanced());
    taps_.assign(lane.taps().begin(), lane.taps().end());
    uint64_t received = 0;
    for (const TapAccounting& tap : taps_) {
      EXPECT_TRUE(tap.balanced());
      received += tap.received;
    }
    EXPECT_LE(received, lane_accounting_.received) << "and packets that a switch reports as lost";
    for (const Accounting& account : accounts_) EXPECT_TRUE(account.balanced());
    return status;
  }

  uint64_t rows(const std::string& query) const {
    uint64_t rows = 0;
    for (const auto& batch : batches_) rows += batch.query() == query ? batch.rows() : 0;
    return rows;
  }
  // Without repetitions, in the order of the batches.
  std::vector<int64_t> watched_since() const {
    std::vector<int64_t> times;
    for (const auto& batch : batches_) times.push_back(batch.watched_since_ns());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }
  // The sums that readers compute must equal the lane's own at the end.
  void expect_batches_add_up() {
    for (size_t i = 0; i < queries_.size(); ++i) {
      uint64_t packets_in = 0, packets_out = 0, tuples_in = 0, dropped = 0, sequence = 0;
      for (const auto& batch : batches_) {
        if (batch.query() != queries_[i].name) continue;
        EXPECT_EQ(batch.sequence(), sequence++);
        packets_in += batch.accounting().packets_in();
        packets_out += batch.accounting().packets_out();
        tuples_in += batch.accounting().tuples_in();
        for (const auto& drop : batch.accounting().dropped()) {
          dropped += drop.unit() == v1::Dropped::PACKETS ? drop.count() : 0;
        }
      }
      EXPECT_EQ(packets_in, accounts_[i].packets_in);
      EXPECT_EQ(packets_in, packets_out + dropped);
      EXPECT_EQ(tuples_in, rows(queries_[i].name));
    }
  }
  const v1::TupleBatch* end_of(const std::string& query) const {
    const v1::TupleBatch* end = nullptr;
    for (const auto& batch : batches_) {
      if (batch.query() != query) continue;
      EXPECT_EQ(end, nullptr) << "nothing comes after the end";
      if (batch.end_of_stream()) end = &batch;
    }
    return end;
  }

  std::vector<QuerySpec> queries_ = {query("q")};
  // Posted before the lane runs.
  std::deque<LaneCommand> commands_;
  QueryAccounts accounts_;
  std::vector<v1::TupleBatch> batches_;
  LaneAccounting lane_accounting_;
  std::vector<TapAccounting> taps_;
  std::atomic<bool> stop_{false};
};

// A whole connection from `client_port`, one packet every millisecond.
std::vector<ListSource::Timed> connection(int64_t start_ns, uint16_t client_port, uint16_t server_port = 80) {
  TcpSegment out{.src_port = client_port, .dst_port = server_port};
  std::vector<ListSource::Timed> packets;
  auto add = [&](const TcpSegment& segment) {
    packets.push_back({start_ns + static_cast<int64_t>(packets.size()) * 1'000'000, tcp_frame(segment)});
  };
  out.flags = kSyn, out.seq = 100, out.ack = 0;
  add(out);
  TcpSegment in{out.dst_ip, server_port, out.src_ip, client_port, uint8_t(kSyn | kAck), 500, 101, {}};
  add(in);
  out.flags = kAck, out.seq = 101, out.ack = 501;
  add(out);
  out.flags = kFin | kAck;
  add(out);
  in.flags = kFin | kAck, in.seq = 501, in.ack = 102;
  add(in);
  return packets;
}

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

// A monitor that was paused finds a full queue, perhaps with a hole in it; the packets that did not fit came after
// those, and before the current ones.
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
  uint64_t missed = 0;
  for (const auto& batch : batches_) {
    for (const auto& drop : batch.accounting().dropped()) {
      if (drop.reason() != "kernel_missed") continue;
      EXPECT_GT(batch.watermark_ns(), waited_ns);
      EXPECT_LE(batch.watermark_ns(), now_ns);
      missed += drop.count();
    }
  }
  EXPECT_EQ(missed, 7u);
  expect_batches_add_up();
}

TEST_F(LaneTest, TheGreatestTimeIsHandled) {
  auto packets = connection(kStart, 40000);
  packets.push_back({kLatestTimeNs, tcp_frame({})});
  ListSource source(packets);
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(accounts_[0].packets_in, 6u);
}

// Every packet twice is every packet once, and the copies are counted for the queries that would have had them.
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

// A packet in two fragments is one packet of the query, with the bytes of both.
TEST_F(LaneTest, FragmentsAreOnePacket) {
  queries_ = {query("web", 80)};
  auto packets = connection(kStart, 40000, 80);
  ListSource::Timed second = packets[1];
  Bytes whole = packets[1].frame;
  whole.resize(14 + 40, 0);
  Bytes first(whole.begin(), whole.begin() + 14 + 20 + 16), rest(whole.begin(), whole.begin() + 14 + 20);
  rest.insert(rest.end(), whole.begin() + 14 + 20 + 16, whole.end());
  first[14 + 3] = 36;
  first[14 + 6] = 0x20;
  rest[14 + 3] = 24;
  rest[14 + 7] = 2;
  packets[1].frame = first;
  second.frame = rest;
  packets.insert(packets.begin() + 2, second);
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
  Bytes cut = tcp_frame({});
  cut.resize(30);  // within its IP header
  packets.push_back({kStart + 3 * kSecond, cut});
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
  EXPECT_EQ(rows("few"), 3u) << "syn, established, and that it was still open";
  EXPECT_EQ(rows("all"), 6u);
  ASSERT_NE(end_of("few"), nullptr);
  EXPECT_EQ(end_of("few")->watermark_ns(), kStart + 2'000'000) << "in the middle of a burst";
  expect_batches_add_up();
}

TEST_F(LaneTest, WhenAllQueriesHaveEndedTheLaneEnds) {
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
  EXPECT_EQ(rows("q"), 3u) << "syn, established, and that it was still open";
  EXPECT_NE(end_of("q"), nullptr);
}

TEST_F(LaneTest, AFailedSourceIsAnErrorInsteadOfAnEnd) {
  ListSource source({});
  source.failure = Status::invalid("broken");
  EXPECT_EQ(Run(source).message(), "broken");
  EXPECT_EQ(end_of("q"), nullptr);
}

// Every packet of the connections as two taps show it, before and after a queue that delays it by 40 ms.
std::vector<ListSource::Timed> two_views(std::vector<ListSource::Timed> packets) {
  for (size_t i = 0, count = packets.size(); i < count; ++i) {
    packets.push_back({packets[i].time_ns + 40'000'000, packets[i].frame, 1});
  }
  std::stable_sort(packets.begin(), packets.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return packets;
}

TEST_F(LaneTest, APacketSeenByTwoTapsCountsOnce) {
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

TEST_F(LaneTest, AParserCanRequestEveryView) {
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

TEST_F(LaneTest, WithoutKnownTapsEveryTapCounts) {
  options_.taps = 2;
  ListSource source(two_views(connection(kStart, 40000)));
  ASSERT_TRUE(Run(source).ok());
  EXPECT_EQ(accounts_[0].packets_in, 10u);
  EXPECT_EQ(taps_[0].passed, 5u);
  EXPECT_EQ(taps_[1].passed, 5u);
  EXPECT_EQ(taps_[1].received_bytes, taps_[0].received_bytes);
}

// Marked copies come to tap 2 and 3; the queue's query has both, and all others are as without them.
TEST_F(LaneTest, MarkedCopiesChangeNoOtherQuery) {
  const auto once = connection(kStart, 40000);
  std::vector<ListSource::Timed> copied = once;
  for (const auto& packet : once) copied.push_back({packet.time_ns, packet.frame, 2});
  for (const auto& packet : once) copied.push_back({packet.time_ns + 1000, packet.frame, 3});
  std::stable_sort(copied.begin(), copied.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  options_.taps = 4;
  options_.first_marked_tap = 2;
  const auto with = [this](const std::vector<ListSource::Timed>& packets) {
    batches_.clear();
    queries_ = {query("plain"), query("few"), query("at")};
    queries_[0].parsers = {"tcp_conn_time", "tcp_pkt_size"};
    queries_[1].limit_packets = 3;
    queries_[2].parsers = {"views"};
    for (QuerySpec& each : std::span(queries_).first(2)) each.match.ignore_taps(~uint64_t{0} << 2);
    queries_[2].match.restrict_to_queues(1 << 2, 1 << 3);
    ListSource source(packets);
    EXPECT_TRUE(Run(source).ok());
    expect_batches_add_up();
    return std::vector<Accounting>(accounts_.begin(), accounts_.end());
  };
  const auto without = with(once);
  EXPECT_EQ(rows("at"), 0u);
  const auto all = with(copied);
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

TEST_F(LaneTest, ResultsDoNotDependOnBursts) {
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
