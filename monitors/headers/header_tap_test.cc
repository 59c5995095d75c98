// Tests a tap and a node in one process, with sources that the test controls step by step.
#include "monitors/headers/header_tap.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline {
namespace {

using multilog::FeedReader;
using multilog::FeedSettings;

// Returns `frames` one by one, then nothing.
class SteppedSource final : public PacketSource {
 public:
  Status start() override { return Status(); }
  Burst poll(std::span<RawPacket> packets) override {
    if (next_ == frames.size()) return {};
    packets[0] = frames[next_++].raw();
    return {.packets = 1};
  }
  Status status() const override { return Status(); }
  Losses read_losses() override { return {}; }
  bool live() const override {
    if (const auto step = std::exchange(on_live, nullptr)) step();
    return true;
  }

  std::vector<testing::Frame> frames;
  mutable std::function<void()> on_live;  // called once, when the lane begins to use a capture

 private:
  size_t next_ = 0;
};

class HeaderTapTest : public ::testing::Test {
 protected:
  HeaderTapTest() {
    std::string name = ::testing::TempDir() + "tapline-tap-XXXXXX";
    directory_ = mkdtemp(name.data());
    for (SteppedSource*& source : stepped_) {
      auto made = std::make_unique<SteppedSource>();
      source = made.get();
      sources_.push_back(std::move(made));
    }
    tap_ = std::make_unique<HeaderTap>(
        directory_, HashKey{}, std::vector<Tap>{Tap{.source = "a"}}, [this](const std::string&) { ++warnings_; },
        &sources_);
  }
  ~HeaderTapTest() override {
    for (auto& source : sources_) source->stop();
    tap_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::unique_ptr<FeedReader> open(FeedSettings settings) {
    auto opened = FeedReader::open(directory_, std::move(settings));
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  size_t poll(size_t lane) {
    std::array<RawPacket, kBurstPackets> burst;
    return sources_[lane]->poll(burst).packets;
  }
  // Returns true if the tap has warned by the end of this time, during which `lane` polls.
  bool warns_within(std::chrono::milliseconds time, std::optional<size_t> lane = std::nullopt) {
    for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
      if (warnings_ != 0) return true;
      if (lane) poll(*lane);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  std::string directory_;
  std::array<SteppedSource*, 2> stepped_;
  std::vector<std::unique_ptr<PacketSource>> sources_;
  std::atomic<int> warnings_{0};
  std::unique_ptr<HeaderTap> tap_;
};

TEST_F(HeaderTapTest, PacketsThatPassWithoutANodeAreCounted) {
  for (uint16_t port = 1; port <= 3; ++port) stepped_[0]->frames.push_back(testing::tcp_frame({.src_port = port}, 5));
  EXPECT_EQ(poll(0), 1u);
  const auto node = open({.rings = 2});
  tap_->start();
  while (poll(0) != 0) continue;
  EXPECT_EQ(node->totals().packets, 3u);
  EXPECT_EQ(node->totals().dropped, (std::map<std::string, uint64_t>{{"node_absent", 1}}));
  EXPECT_EQ(warnings_, 0);
}

// If the tap freed the capture, the lane would write to freed memory.
TEST_F(HeaderTapTest, TheTapKeepsACaptureThatALaneHasBegunToUse) {
  auto node = open({.rings = 2});
  stepped_[0]->on_live = [&] {
    node.reset();
    node = open({.rings = 1});  // too few rings for two lanes, so the tap leaves the old rings and warns
    EXPECT_FALSE(warns_within(std::chrono::milliseconds(500)));
  };
  tap_->start();
  poll(0);
  EXPECT_TRUE(warns_within(std::chrono::seconds(20), 0));
}

}  // namespace
}  // namespace tapline
