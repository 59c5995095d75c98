// Tests that a lane reports its source's losses before the windows that may contain them can end.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "monitors/lane/lane_fixture.h"
#include "packet_io/base/clock.h"

namespace tapline {
namespace {

constexpr int64_t kMs = 1'000'000;

// Loses packets with each burst after the first, of one packet each.
class LossySource final : public PacketSource {
 public:
  LossySource(ListSource packets, uint64_t losses_per_poll)
      : packets_(std::move(packets)), losses_per_poll_(losses_per_poll) {}

  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> out) override {
    if (polls_++ > 0) losses_.by_drop[index_of(Drop::kKernelMissed)] += losses_per_poll_;
    return packets_.poll(out);
  }
  Status status() const override { return {}; }
  Losses read_losses() override {
    ++reads;
    return losses_;
  }
  bool live() const override { return packets_.is_live; }
  std::optional<int64_t> idle_time_ns() const override { return packets_.idle_time_ns(); }

  int reads = 0;

 private:
  ListSource packets_;
  uint64_t losses_per_poll_;
  Losses losses_;
  int polls_ = 0;
};

// Records what it receives, in order.
class RecordingStage final : public PacketStage {
 public:
  struct Record {
    LostPackets lost;  // or the packet's time
    int64_t time_ns = 0;
  };

  explicit RecordingStage(bool wants_losses) : wants_losses_(wants_losses) {}
  void add_query(uint32_t) override {}
  void process(std::span<Packet> packets) override {
    for (const Packet& packet : packets) records.push_back({{}, packet.time_ns});
  }
  bool wants_losses() const override { return wants_losses_; }
  void lose(const LostPackets& lost) override { records.push_back({lost, 0}); }
  void advance(int64_t) override {}
  void begin_end(uint64_t) override {}
  bool continue_end() override { return true; }
  uint64_t done(uint64_t queries) const override { return queries; }
  void tick(int64_t) override {}
  Status finish() override { return {}; }
  Status status() const override { return {}; }

  std::vector<Record> records;

 private:
  bool wants_losses_;
};

ListSource::Timed packet_at(int64_t time_ns) { return {time_ns, tcp_frame({.src_port = 1000, .dst_port = 80})}; }

class LaneLossesTest : public ::testing::Test {
 protected:
  std::vector<RecordingStage::Record> run(LossySource* source, bool wants_losses = true) {
    const std::vector<QuerySpec> queries = {query("q")};
    QueryAccounts accounts(1);
    RecordingStage stage(wants_losses);
    PacketCredits credits;
    Lane lane({}, queries, source, &stage, &accounts, &credits, &stop_);
    lane.add(0);
    EXPECT_TRUE(lane.run().ok());
    EXPECT_TRUE(lane.accounting().balanced());
    return stage.records;
  }

  std::atomic<bool> stop_{false};
};

TEST_F(LaneLossesTest, AreReportedBeforeTheMillisecondEnds) {
  LossySource source(
      ListSource({packet_at(kStart), packet_at(kStart + 500'000), packet_at(kStart + kMs), packet_at(kStart + 5 * kMs)},
                 1),
      2);
  const auto records = run(&source);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[1].time_ns, kStart + 500'000);
  // Two polls lost packets after the first packet: the one for the second, and the one for the third.
  EXPECT_EQ(records[2].lost.packets, 4u);
  EXPECT_EQ(records[2].lost.from_ns, kStart);
  EXPECT_EQ(records[2].lost.until_ns, kStart + kMs);
  EXPECT_EQ(records[3].time_ns, kStart + kMs);
  EXPECT_EQ(records[4].lost.packets, 2u);
  EXPECT_EQ(records[4].lost.from_ns, kStart + kMs);
  EXPECT_EQ(records[4].lost.until_ns, kStart + 5 * kMs);
}

TEST_F(LaneLossesTest, OfALiveSourceHaveWallClockTimes) {
  const int64_t before_ns = wall_ns();
  ListSource packets({packet_at(before_ns), packet_at(before_ns + kMs)}, 1);
  packets.is_live = true;
  packets.stop = &stop_;
  LossySource source(std::move(packets), 3);
  const auto records = run(&source);
  ASSERT_GE(records.size(), 3u);
  EXPECT_EQ(records[1].lost.packets, 3u);
  EXPECT_GE(records[1].lost.from_ns, before_ns);
  EXPECT_LE(records[1].lost.from_ns, records[1].lost.until_ns);
  EXPECT_LE(records[1].lost.until_ns, wall_ns());
}

TEST_F(LaneLossesTest, OfAnUndecodablePacketHaveItsTime) {
  ListSource::Timed truncated = packet_at(kStart + 10);
  truncated.frame.resize(20);
  LossySource source(ListSource({packet_at(kStart), truncated, packet_at(kStart + 20)}, 1), 0);
  const auto records = run(&source);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].lost.packets, 1u);
  EXPECT_EQ(records[1].lost.from_ns, kStart + 10);
  EXPECT_EQ(records[1].lost.until_ns, kStart + 10);
}

// Reading them costs system calls.
TEST_F(LaneLossesTest, AreNotReadEachMillisecondIfNobodyWantsThem) {
  std::vector<ListSource::Timed> packets;
  for (int i = 0; i < 100; ++i) packets.push_back(packet_at(kStart + i * kMs));
  LossySource unwanted(ListSource(packets, 1), 1), wanted(ListSource(packets, 1), 1);
  EXPECT_EQ(run(&unwanted, false).size(), packets.size());
  EXPECT_EQ(run(&wanted, true).size(), 2 * packets.size() - 1);
  EXPECT_LT(unwanted.reads, 50);
  EXPECT_GE(wanted.reads, 100);
}

}  // namespace
}  // namespace tapline
