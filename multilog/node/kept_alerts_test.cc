#include "multilog/node/kept_alerts.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapline::multilog {
namespace {

constexpr size_t kCapacity = 4;

v1::NodeAlert alert_of(const std::string& trigger) {
  v1::NodeAlert alert;
  alert.set_trigger(trigger);
  return alert;
}

std::vector<uint64_t> numbers(const KeptAlerts& kept_alerts, uint64_t last_number) {
  std::vector<uint64_t> numbers;
  for (const v1::NodeAlert* next = kept_alerts.next(last_number); next != nullptr;
       next = kept_alerts.next(next->number()))
    numbers.push_back(next->number());
  return numbers;
}

TEST(KeptAlertsTest, AreNumberedAndOrdered) {
  KeptAlerts kept(kCapacity);
  EXPECT_EQ(kept.next(0), nullptr);
  kept.add(alert_of("a"));
  kept.add(alert_of("b"));
  kept.add(alert_of("a"));
  EXPECT_EQ(numbers(kept, 0), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(numbers(kept, 2), (std::vector<uint64_t>{3}));
  EXPECT_EQ(kept.next(2)->trigger_number(), 2);
  EXPECT_EQ(kept.next(1)->trigger_number(), 1);
  EXPECT_EQ(kept.last(), 3);
}

TEST(KeptAlertsTest, ATriggerEvictsOnlyItsAlerts) {
  KeptAlerts kept(kCapacity);
  kept.add(alert_of("quiet"));
  for (int i = 0; i < 1000; ++i) kept.add(alert_of("flood"));
  EXPECT_EQ(numbers(kept, 0), (std::vector<uint64_t>{1, 998, 999, 1000, 1001}));
  EXPECT_EQ(kept.next(1)->trigger_number(), 997);
  EXPECT_EQ(kept.lost(), 996);
}

TEST(KeptAlertsTest, ReceivedAlertsAreNotLosses) {
  KeptAlerts kept(kCapacity);
  for (int i = 0; i < 10; ++i) {
    kept.add(alert_of("a"));
    kept.taken(kept.last());
  }
  EXPECT_EQ(kept.lost(), 0);
  EXPECT_EQ(numbers(kept, 0).size(), kCapacity);
}

TEST(KeptAlertsTest, ARemovedTriggerLeavesNoAlerts) {
  KeptAlerts kept(kCapacity);
  kept.add(alert_of("a"));
  kept.add(alert_of("b"));
  kept.forget("a");
  kept.forget("missing");
  EXPECT_EQ(numbers(kept, 0), (std::vector<uint64_t>{2}));
  kept.add(alert_of("a"));
  EXPECT_EQ(kept.next(2)->number(), 3);
  EXPECT_EQ(kept.next(2)->trigger_number(), 1);
}

}  // namespace
}  // namespace tapline::multilog
