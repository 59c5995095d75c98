#include "parsers/trigger/alert_states.h"

#include <gtest/gtest.h>

namespace tapline::trigger {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr size_t kCapacity = 100;

struct Fixture {
  explicit Fixture(uint32_t after, int64_t cooldown_ns = 0) {
    Trigger trigger;
    trigger.group = GroupBy::source(32, 128);
    trigger.when = above(value_of(Measure::kBytes), number(0));
    trigger.every_ns = kMs;
    trigger.after = after;
    trigger.cooldown_ns = cooldown_ns;
    std::string error;
    program = Program::make({trigger}, &error);
    EXPECT_NE(program, nullptr) << error;
  }

  static AlertStates::Key key(uint64_t group) { return {0, EventScope::kGroup, {{group}}}; }
  bool meet(uint64_t group, int64_t window) {
    return states.meet(key(group), program->compiled(0), window * kMs, (window + 1) * kMs);
  }
  size_t left_after(int64_t window) {
    states.begin_forgetting();
    uint32_t work = UINT32_MAX;
    EXPECT_TRUE(states.forget(&work, *program, (window + 1) * kMs));
    return states.size();
  }

  std::shared_ptr<const Program> program;
  GroupHasher hasher;
  AlertStates states{hasher, kCapacity};
};

TEST(AlertStates, AnAlertBeginsAfterWindowsInARow) {
  Fixture f(3);
  EXPECT_FALSE(f.meet(1, 0));
  EXPECT_FALSE(f.meet(1, 1));
  EXPECT_FALSE(f.meet(1, 3)) << "window 2 did not meet the condition";
  EXPECT_FALSE(f.meet(1, 4));
  EXPECT_TRUE(f.meet(1, 5));
  EXPECT_TRUE(f.meet(1, 6));
  EXPECT_FALSE(f.meet(1, 8));
}

TEST(AlertStates, ACooldownCountsFromTheBeginningOfAnAlert) {
  Fixture f(1, 10 * kMs);
  EXPECT_TRUE(f.meet(1, 0));
  EXPECT_TRUE(f.meet(1, 1)) << "the same alert";
  EXPECT_FALSE(f.meet(1, 5));
  EXPECT_TRUE(f.meet(2, 5)) << "another group";
  EXPECT_FALSE(f.meet(1, 9));
  EXPECT_TRUE(f.meet(1, 10)) << "the condition is still met when the cooldown is over";
}

TEST(AlertStates, OnlyRecentGroupsTakeMemory) {
  Fixture f(2, 5 * kMs);
  for (uint64_t group = 0; group < kCapacity; ++group) f.meet(group, 0);
  EXPECT_EQ(f.left_after(0), kCapacity);
  EXPECT_TRUE(f.meet(0, 1));
  EXPECT_EQ(f.left_after(1), 1u);
  EXPECT_EQ(f.left_after(5), 1u) << "in its cooldown";
  EXPECT_EQ(f.left_after(6), 0u);
}

TEST(AlertStates, EvictionIsBoundedPerCall) {
  Fixture f(2);
  for (uint64_t group = 0; group < kCapacity; ++group) f.meet(group, 0);
  f.states.begin_forgetting();
  uint32_t work = kCapacity / 2;
  EXPECT_FALSE(f.states.forget(&work, *f.program, 9 * kMs));
  EXPECT_EQ(work, 0u);
  EXPECT_EQ(f.states.size(), kCapacity / 2);
  work = kCapacity;
  EXPECT_TRUE(f.states.forget(&work, *f.program, 9 * kMs));
  EXPECT_EQ(f.states.size(), 0u);
}

TEST(AlertStates, GroupsWithoutRoomAreCounted) {
  Fixture one(1, kMs), two(2);
  for (uint64_t group = 0; group < kCapacity; ++group) {
    one.meet(group, 0);
    two.meet(group, 0);
  }
  EXPECT_TRUE(one.meet(kCapacity, 0)) << "one window is enough for its alert";
  EXPECT_FALSE(two.meet(kCapacity, 0));
  EXPECT_FALSE(two.meet(kCapacity, 1));
  EXPECT_EQ(one.states.untracked(), 1u);
  EXPECT_EQ(two.states.untracked(), 2u);
  EXPECT_EQ(two.states.size(), kCapacity);
}

}  // namespace
}  // namespace tapline::trigger
