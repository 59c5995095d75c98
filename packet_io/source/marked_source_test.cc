#include "packet_io/source/marked_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapline {
namespace {

using Frame = std::array<uint8_t, 14>;

// Delivers these frames as packets of tap 1.
class Frames final : public PacketSource {
 public:
  explicit Frames(std::vector<Frame> frames) : frames_(std::move(frames)) {}

  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> packets) override {
    for (size_t i = 0; i < frames_.size(); ++i)
      packets[i] = {.data = frames_[i].data(), .captured_bytes = 14, .wire_bytes = 14, .tap = 1};
    return {frames_.size(), true};
  }
  Status status() const override { return {}; }
  Losses read_losses() override { return {}; }
  Losses read_losses(uint8_t tap) override {
    EXPECT_LT(tap, 2);
    return {};
  }
  bool live() const override { return true; }

 private:
  std::vector<Frame> frames_;
};

Frame to(uint32_t mark) {
  return {
      0x02, 0x7a, 0x91, static_cast<uint8_t>(mark >> 16), static_cast<uint8_t>(mark >> 8), static_cast<uint8_t>(mark)};
}

TEST(MarkedSourceTest, MarksDecideTheTap) {
  CopyMarks marks(2);
  EXPECT_EQ(marks.bind(0x7fffff), 2);
  EXPECT_EQ(marks.bind(5), 4);
  EXPECT_EQ(marks.bind(0x7fffff), 2);
  Frame other_frame = to(10);
  other_frame[2] = 0x92;
  MarkedSource source(
      std::make_unique<Frames>(std::vector{to(0xfffffe), to(0xffffff), to(10), to(11), to(12), other_frame}), &marks);
  std::array<RawPacket, kBurstPackets> packets;
  ASSERT_EQ(source.poll(packets).packets, 6u);
  std::vector<int> taps;
  for (const RawPacket& packet : std::span(packets).first(6)) taps.push_back(packet.tap);
  EXPECT_EQ(taps, (std::vector<int>{2, 3, 4, 5, CopyMarks::unbound_tap(), 1}));
  for (uint8_t tap = 0; tap < kMaxTaps; ++tap) source.read_losses(tap);
}

TEST(MarkedSourceTest, RoomIsBounded) {
  CopyMarks marks(4);
  for (uint32_t queue = 1; queue <= marks.room(); ++queue) EXPECT_EQ(marks.bind(queue), 2 + 2 * queue);
  EXPECT_EQ(marks.bind(1000), std::nullopt);
  EXPECT_EQ(marks.tap_of(2000), CopyMarks::unbound_tap());
  EXPECT_EQ(marks.tap_of(2 * marks.room() + 1), CopyMarks::unbound_tap() - 2);
  EXPECT_TRUE(marks.bind(1).has_value());
}

}  // namespace
}  // namespace tapline
