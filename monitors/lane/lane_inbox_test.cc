#include "monitors/lane/lane_inbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tapline {
namespace {

using Kind = LaneCommand::Kind;

TEST(LaneInboxTest, CommandsArriveInTheOrderOfPosting) {
  LaneInbox inbox;
  LaneCommand first(Kind::kAdd, 1), second(Kind::kEnd, 1), third(Kind::kAdd, 2);
  for (LaneCommand* command : {&first, &second, &third}) inbox.post(command);
  std::vector<const LaneCommand*> taken;
  inbox.take([&](LaneCommand& command) { taken.push_back(&command); });
  EXPECT_EQ(taken, (std::vector<const LaneCommand*>{&first, &second, &third}));
  EXPECT_FALSE(first.answered());
  inbox.take([&](LaneCommand&) { FAIL() << "taken twice"; });
}

// Also runs under ThreadSanitizer. A poster frees its command as soon as it is done.
TEST(LaneInboxTest, EachCommandIsExecutedOnceAndInOrder) {
  constexpr uint32_t kPosters = 3, kCommands = 300;
  LaneInbox inbox;
  std::vector<std::thread> posters;
  for (uint32_t poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&inbox, poster] {
      for (uint32_t i = 0; i < kCommands; ++i) {
        auto command = std::make_unique<LaneCommand>(Kind::kAdd, poster * kCommands + i);
        inbox.post(command.get());
        while (!command->answered()) std::this_thread::yield();
      }
    });
  }
  uint32_t next[kPosters] = {};
  for (uint32_t taken = 0; taken < kPosters * kCommands;) {
    inbox.take([&](LaneCommand& command) {
      const uint32_t poster = command.query / kCommands;
      EXPECT_EQ(command.query % kCommands, next[poster]++);
      ++taken;
      command.answer();
    });
  }
  for (std::thread& poster : posters) poster.join();
}

}  // namespace
}  // namespace tapline
