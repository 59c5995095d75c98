#include "sim/mirroring/port_queue.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tapline::mirroring {
namespace {

constexpr uint32_t kFrame = 1518;

// A packet is represented by the number of its input port.
using Queue = PortQueue<size_t>;

uint64_t outcome(const Queue& queue, Admission admission) {
  return queue.account().outcomes[static_cast<size_t>(admission)];
}

TEST(SharedBuffer, OnePortTakesItsShareOfTheMemory) {
  for (const double alpha : {0.25, 0.8, 2.0}) {
    SharedBuffer buffer(9'000'000, alpha);
    Queue queue(&buffer, Schedule::kFifo, 1);
    while (queue.enqueue(0, 0, kFrame) == Admission::kAdmitted) continue;
    EXPECT_NEAR(static_cast<double>(queue.bytes()), alpha / (1 + alpha) * 9e6, kFrame * (1 + alpha));
    EXPECT_EQ(outcome(queue, Admission::kThreshold), 1u);
  }
}

TEST(SharedBuffer, PortsThatFillTogetherGetEqualShares) {
  constexpr double kAlpha = 0.8;
  for (const size_t ports : {2u, 5u, 10u}) {
    SharedBuffer buffer(9'000'000, kAlpha);
    std::vector<Queue> queues(ports, Queue(&buffer, Schedule::kFifo, 1));
    for (int i = 0; i < 10'000; ++i) {
      for (Queue& queue : queues) queue.enqueue(0, 0, kFrame);
    }
    const double share = 9e6 * kAlpha / (1 + static_cast<double>(ports) * kAlpha);
    for (const Queue& queue : queues) EXPECT_NEAR(static_cast<double>(queue.bytes()), share, 2 * kFrame);
  }
}

// Choudhury and Hahne: a port that becomes busy finds free memory, since the other ports always leave some.
TEST(SharedBuffer, APortThatBecomesBusyLaterFindsMemory) {
  SharedBuffer buffer(1'000'000, 2);
  Queue first(&buffer, Schedule::kFifo, 1), second(&buffer, Schedule::kFifo, 1);
  for (int i = 0; i < 10'000; ++i) first.enqueue(0, 0, kFrame);
  EXPECT_EQ(second.enqueue(0, 0, kFrame), Admission::kAdmitted);
  EXPECT_EQ(first.enqueue(0, 0, kFrame), Admission::kThreshold);
}

TEST(SharedBuffer, APacketLargerThanTheFreeMemoryIsDropped) {
  SharedBuffer buffer(2000, 100);
  Queue queue(&buffer, Schedule::kFifo, 1);
  EXPECT_EQ(queue.enqueue(0, 0, kFrame), Admission::kAdmitted);
  EXPECT_EQ(queue.enqueue(0, 0, kFrame), Admission::kBufferFull);
}

TEST(PortQueue, TheLimitOfThePortIsLowerThanTheThreshold) {
  SharedBuffer buffer(9'000'000, 0.8);
  Queue queue(&buffer, Schedule::kFifo, 1, 32'768);
  for (int i = 0; i < 100; ++i) queue.enqueue(0, 0, kFrame);
  EXPECT_EQ(queue.packets(), 32'768u / kFrame);
  EXPECT_EQ(outcome(queue, Admission::kPortLimit), 100 - queue.packets());
}

TEST(PortQueue, FifoKeepsTheOrder) {
  SharedBuffer buffer(9'000'000, 0.8);
  Queue queue(&buffer, Schedule::kFifo, 3);
  for (const size_t input : {2u, 2u, 0u, 1u, 2u}) queue.enqueue(input, input, kFrame);
  for (const size_t input : {2u, 2u, 0u, 1u, 2u}) {
    size_t packet = 9;
    ASSERT_TRUE(queue.dequeue(&packet));
    EXPECT_EQ(packet, input);
  }
  size_t packet = 9;
  EXPECT_FALSE(queue.dequeue(&packet));
}

TEST(PortQueue, RoundRobinTakesOnePacketOfEachInputInTurn) {
  SharedBuffer buffer(9'000'000, 0.8);
  Queue queue(&buffer, Schedule::kRoundRobin, 3);
  for (const size_t input : {0u, 0u, 0u, 2u, 2u, 1u}) queue.enqueue(input, input, kFrame);
  for (const size_t input : {0u, 1u, 2u, 0u, 2u, 0u}) {
    size_t packet = 9;
    ASSERT_TRUE(queue.dequeue(&packet));
    EXPECT_EQ(packet, input);
  }
}

// Input i offers i + 1 packets for each packet that the port sends.
TEST(PortQueue, RoundRobinIsFairToInputsThatOfferMoreThanTheirShare) {
  constexpr size_t kInputs = 4;
  constexpr int kRounds = 20'000;
  for (const uint64_t limit : {uint64_t{32'768}, Queue::kNoLimit}) {
    SharedBuffer buffer(9'000'000, 0.8);
    Queue queue(&buffer, Schedule::kRoundRobin, kInputs, limit);
    uint64_t sent[kInputs] = {};
    for (int round = 0; round < kRounds; ++round) {
      for (size_t input = 0; input < kInputs; ++input) {
        for (size_t i = 0; i <= input; ++i) queue.enqueue(input, input, kFrame);
      }
      size_t packet = 0;
      ASSERT_TRUE(queue.dequeue(&packet));
      ++sent[packet];
    }
    for (const uint64_t packets : sent) EXPECT_NEAR(static_cast<double>(packets), kRounds / kInputs, 0.01 * kRounds);
    EXPECT_GT(queue.account().pushed_out, 0u);
  }
}

// With small packets, an input must get as many bytes as with large ones, not as many packets.
TEST(PortQueue, RoundRobinIsFairInBytes) {
  SharedBuffer buffer(9'000'000, 0.8);
  Queue queue(&buffer, Schedule::kRoundRobin, 2, 100 * kFrame);
  uint64_t sent_bytes[2] = {};
  for (int i = 0; i < 20'000; ++i) {
    queue.enqueue(0, 0, kFrame);
    for (int k = 0; k < 22; ++k) queue.enqueue(1, 1, 69);
    for (uint64_t bytes = 0; bytes < kFrame;) {
      size_t packet = 0;
      ASSERT_TRUE(queue.dequeue(&packet));
      sent_bytes[packet] += packet == 0 ? kFrame : 69;
      bytes += packet == 0 ? kFrame : 69;
    }
  }
  EXPECT_NEAR(static_cast<double>(sent_bytes[0]) / static_cast<double>(sent_bytes[1]), 1, 0.02);
}

// An input port that becomes busy late must get its share even though another port had filled the queue.
TEST(PortQueue, AnInputThatStartsLateGetsItsShare) {
  SharedBuffer buffer(9'000'000, 0.8);
  Queue queue(&buffer, Schedule::kRoundRobin, 2, 100 * kFrame);
  for (int i = 0; i < 200; ++i) queue.enqueue(0, 0, kFrame);
  uint64_t sent[2] = {};
  for (int i = 0; i < 1000; ++i) {
    queue.enqueue(0, 0, kFrame);
    queue.enqueue(1, 1, kFrame);
    size_t packet = 0;
    ASSERT_TRUE(queue.dequeue(&packet));
    ++sent[packet];
  }
  EXPECT_NEAR(static_cast<double>(sent[1]), 500, 10);
}

TEST(PortQueue, EveryPacketIsSentQueuedOrDroppedForOneReason) {
  std::mt19937 random(1);
  for (const Schedule schedule : {Schedule::kFifo, Schedule::kRoundRobin}) {
    SharedBuffer buffer(200'000, 0.8);
    std::vector<Queue> queues(3, Queue(&buffer, schedule, 4, 60'000));
    for (int i = 0; i < 100'000; ++i) {
      Queue& queue = queues[random() % queues.size()];
      if (random() % 3 == 0) {
        size_t packet;
        queue.dequeue(&packet);
      } else {
        const size_t input = random() % 4;
        queue.enqueue(input, input, 64 + static_cast<uint32_t>(random() % 1455));
      }
    }
    uint64_t bytes = 0;
    for (Queue& queue : queues) {
      const PortAccount& account = queue.account();
      const uint64_t outcomes = std::accumulate(std::begin(account.outcomes), std::end(account.outcomes), uint64_t{0});
      EXPECT_EQ(account.arrived, outcomes);
      EXPECT_GT(account.dropped(), 0u);
      EXPECT_EQ(account.pushed_out > 0, schedule == Schedule::kRoundRobin);
      bytes += queue.bytes();
      uint64_t left = 0;
      for (size_t packet; queue.dequeue(&packet);) ++left;
      EXPECT_EQ(account.sent, account.arrived - account.dropped());
      EXPECT_GT(left, 0u);
      EXPECT_EQ(queue.bytes(), 0u);
    }
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(buffer.used_bytes(), 0u);
  }
}

}  // namespace
}  // namespace tapline::mirroring
