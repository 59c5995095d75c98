#include "packet_io/source/merged_source.h"

#include <gtest/gtest.h>

#include <deque>

namespace tapline {
namespace {

// A port whose packets and clock the test controls.
class Port final : public PacketSource {
 public:
  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> packets) override {
    size_t count = 0;
    for (; count < packets.size() && !arriving.empty(); ++count) {
      packets[count] = {.time_ns = arriving.front()};
      arriving.pop_front();
    }
    return {count, ended && arriving.empty() && count == 0};
  }
  Status status() const override { return {}; }
  using PacketSource::read_losses;
  Losses read_losses() override { return losses; }
  bool live() const override { return true; }
  std::optional<int64_t> idle_time_ns() const override { return idle_ns; }

  std::deque<int64_t> arriving;
  std::optional<int64_t> idle_ns;
  bool ended = false;
  Losses losses;
};

class MergedSourceTest : public testing::Test {
 protected:
  MergedSourceTest() {
    std::vector<std::unique_ptr<PacketSource>> sources;
    for (Port*& port : ports_) {
      auto made = std::make_unique<Port>();
      port = made.get();
      sources.push_back(std::move(made));
    }
    merged_ = std::make_unique<MergedSource>(std::move(sources));
  }

  // Polls until no packet is returned: "0:5 1:7" means packets of taps 0 and 1 at times 5 and 7.
  std::string poll(size_t room = kBurstPackets) {
    std::string seen;
    std::vector<RawPacket> packets(room);
    for (PacketSource::Burst got = merged_->poll(packets); got.packets > 0; got = merged_->poll(packets)) {
      for (size_t i = 0; i < got.packets; ++i) {
        seen += (seen.empty() ? "" : " ") + std::to_string(packets[i].tap) + ":" + std::to_string(packets[i].time_ns);
      }
    }
    return seen;
  }

  Port* ports_[2];
  std::unique_ptr<MergedSource> merged_;
};

TEST_F(MergedSourceTest, PacketsAreOrderedByTime) {
  ports_[0]->arriving = {1, 4, 5, 9};
  ports_[1]->arriving = {2, 3, 5, 8};
  ports_[0]->idle_ns = ports_[1]->idle_ns = 20;
  EXPECT_EQ(poll(3), "0:1 1:2 1:3 0:4 0:5 1:5 1:8 0:9");
  EXPECT_EQ(merged_->idle_time_ns(), 20);
}

TEST_F(MergedSourceTest, APacketWaitsUntilNoEarlierOneCanArrive) {
  ports_[0]->arriving = {10, 30};
  EXPECT_EQ(poll(), "") << "nothing is known about the other port";
  ports_[1]->idle_ns = 9;
  EXPECT_EQ(poll(), "");
  EXPECT_EQ(merged_->idle_time_ns(), 9);
  ports_[1]->arriving = {9};
  EXPECT_EQ(poll(), "1:9");
  ports_[1]->idle_ns = 20;
  EXPECT_EQ(poll(), "0:10");
  ports_[0]->idle_ns = ports_[1]->idle_ns = 40;
  EXPECT_EQ(poll(), "0:30");
  EXPECT_EQ(merged_->late_packets(0) + merged_->late_packets(1), 0u);
}

TEST_F(MergedSourceTest, APacketBeyondTheBoundIsLateAndCounted) {
  ports_[0]->arriving = {10};
  ports_[0]->idle_ns = ports_[1]->idle_ns = 20;
  EXPECT_EQ(poll(), "0:10");
  ports_[1]->arriving = {7, 11};
  EXPECT_EQ(poll(), "1:7 1:11") << "returned with its own time";
  EXPECT_EQ(merged_->late_packets(1), 1u);
  EXPECT_EQ(merged_->late_packets(0), 0u);
}

TEST_F(MergedSourceTest, EndsWhenAllSourcesHaveEndedAndKeepsLossesPerTap) {
  ports_[0]->ended = true;
  ports_[1]->arriving = {5};
  EXPECT_EQ(poll(), "1:5");
  std::array<RawPacket, 4> packets;
  EXPECT_FALSE(merged_->poll(packets).ended);
  ports_[1]->ended = true;
  EXPECT_TRUE(merged_->poll(packets).ended);
  ports_[1]->losses.by_drop[index_of(Drop::kKernelMissed)] = 3;
  EXPECT_EQ(merged_->read_losses().by_drop[index_of(Drop::kKernelMissed)], 3u);
  EXPECT_EQ(merged_->read_losses(0).by_drop[index_of(Drop::kKernelMissed)], 0u);
  EXPECT_EQ(merged_->read_losses(1).by_drop[index_of(Drop::kKernelMissed)], 3u);
}

}  // namespace
}  // namespace tapline
