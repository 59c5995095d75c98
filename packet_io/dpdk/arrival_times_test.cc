#include "packet_io/dpdk/arrival_times.h"

#include <gtest/gtest.h>
#include <linux/if_packet.h>

#include <vector>

namespace tapline {
namespace {

constexpr size_t kFrameBytes = 128, kFrames = 4;
constexpr int64_t kSecond = 1'000'000'000;

// A ring of frames: write() acts as the kernel, and take() as the driver.
class Ring {
 public:
  Ring() : memory_(kFrameBytes * kFrames) {}
  const uint8_t* memory() const { return memory_.data(); }
  void write(size_t frame, uint32_t second, uint32_t nanosecond, uint32_t bytes) {
    *at(frame) = {};
    at(frame)->tp_status = TP_STATUS_USER;
    at(frame)->tp_sec = second;
    at(frame)->tp_nsec = nanosecond;
    at(frame)->tp_snaplen = bytes;
  }
  void take(size_t frame) { at(frame)->tp_status = TP_STATUS_KERNEL; }

 private:
  tpacket2_hdr* at(size_t frame) { return reinterpret_cast<tpacket2_hdr*>(memory_.data() + frame * kFrameBytes); }
  std::vector<uint8_t> memory_;
};

TEST(ArrivalTimes, FollowsTheDriverAroundTheRing) {
  Ring ring;
  ArrivalTimes times(ring.memory(), kFrameBytes, kFrames);
  times.look(8);
  EXPECT_EQ(times.of(0, 60), std::nullopt) << "nothing waits";
  times.took(0);
  for (uint32_t packet = 0; packet < 3 * kFrames; packet += 2) {
    const size_t first = packet % kFrames, second = (packet + 1) % kFrames;
    ring.write(first, packet, 1, 60 + packet);
    ring.write(second, packet, 2, 70 + packet);
    times.look(8);
    EXPECT_EQ(times.of(0, 60 + packet), packet * kSecond + 1);
    EXPECT_EQ(times.of(1, 70 + packet), packet * kSecond + 2);
    EXPECT_EQ(times.of(2, 1), std::nullopt) << "there is no third packet";
    times.took(2);
    ring.take(first);
    ring.take(second);
  }
}

// A thread that is preempted between look() and the driver's poll receives many packets that have arrived in between.
TEST(ArrivalTimes, PacketsAfterTheScanHaveTheirArrivalTime) {
  Ring ring;
  ArrivalTimes times(ring.memory(), kFrameBytes, kFrames);
  ring.write(0, 1, 0, 60);
  times.look(8);
  ring.write(1, 2, 5, 61);
  ring.write(2, 3, 7, 62);
  for (size_t frame = 0; frame < 3; ++frame) ring.take(frame);
  EXPECT_EQ(times.of(0, 60), kSecond);
  EXPECT_EQ(times.of(1, 61), 2 * kSecond + 5);
  EXPECT_EQ(times.of(2, 66), 3 * kSecond + 7);
  EXPECT_EQ(times.of(1, 90), std::nullopt) << "the kernel has reused the slot";
  EXPECT_EQ(times.of(1, 61), 2 * kSecond + 5) << "other slots are unaffected";
}

TEST(ArrivalTimes, PacketsThatTheDriverLeavesAreReportedNextTime) {
  Ring ring;
  ArrivalTimes times(ring.memory(), kFrameBytes, kFrames);
  ring.write(0, 1, 0, 60);
  ring.write(1, 2, 0, 61);
  times.look(8);
  times.took(1);  // the driver had no buffer for the second packet
  ring.take(0);
  times.look(8);
  EXPECT_EQ(times.of(0, 61), 2 * kSecond);
}

TEST(ArrivalTimes, ATagThatTheDriverRestores) {
  Ring ring;
  ArrivalTimes times(ring.memory(), kFrameBytes, kFrames);
  ring.write(0, 1, 0, 60);
  times.look(8);
  EXPECT_EQ(times.of(0, 64), kSecond);
}

TEST(ArrivalTimes, AnUnexpectedPacketStopsTheScan) {
  Ring ring;
  ArrivalTimes times(ring.memory(), kFrameBytes, kFrames);
  ring.write(0, 1, 0, 60);
  times.look(8);
  EXPECT_EQ(times.of(0, 61), std::nullopt);
  EXPECT_EQ(times.of(0, 60), std::nullopt);
}

TEST(ArrivalTimes, HasNoRingWithoutASocket) {
  EXPECT_FALSE(ArrivalTimes::find({}, 0, kFrameBytes, kFrames).has_value());
}

}  // namespace
}  // namespace tapline
