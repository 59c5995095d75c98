#include "monitors/control/live_routes.h"

#include <gtest/gtest.h>

#include <string>

namespace tapline {
namespace {

constexpr uint64_t kHost = 0x02'00'00'00'00'01;
constexpr int64_t kNow = 1'000'000, kSettle = 500;

v1::RoutesCommand routes(uint64_t version, uint32_t port, bool changing = false, uint64_t mac = kHost) {
  v1::RoutesCommand command;
  command.set_version(version);
  command.set_settle_ns(kSettle);
  v1::SwitchRoutes* at_switch = command.add_switches();
  at_switch->set_name("s1");
  v1::Route* route = at_switch->add_routes();
  route->set_mac(mac);
  route->add_ports(port);
  route->set_changing(changing);
  return command;
}

struct LiveRoutesTest : testing::Test {
  // The port for a copy that was captured at this time; 0: unknown.
  int port_at(int64_t time_ns, uint64_t mac = kHost) {
    const Routes* current = feed.current();
    if (current == nullptr || current->of("s1") == nullptr) return 0;
    return current->of("s1")->port_of(mac, time_ns).number;
  }

  RouteFeed feed;
  LiveRoutes live{&feed};
};

TEST_F(LiveRoutesTest, AVersionCountsAfterTheTimeToSettle) {
  const auto answer = live.change(routes(7, 3), kNow);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->version(), 7u);
  EXPECT_EQ(answer->count(), 1u);
  EXPECT_EQ(answer->message(), "");
  EXPECT_EQ(port_at(kNow + kSettle - 1), 0);
  EXPECT_EQ(port_at(kNow + kSettle), 3);
}

TEST_F(LiveRoutesTest, AChangeIsAnnouncedAndConfirmed) {
  live.change(routes(1, 3), kNow);
  live.change(routes(2, 3, true), 2 * kNow);
  EXPECT_EQ(port_at(5 * kNow), 0);
  live.change(routes(3, 4), 3 * kNow);
  EXPECT_EQ(port_at(3 * kNow + kSettle - 1), 0);
  EXPECT_EQ(port_at(3 * kNow + kSettle), 4);
}

TEST_F(LiveRoutesTest, AVersionMayComeInParts) {
  v1::RoutesCommand first = routes(1, 3);
  first.set_more(true);
  EXPECT_FALSE(live.change(first, kNow));
  EXPECT_EQ(feed.current(), nullptr);
  const auto answer = live.change(routes(1, 4, false, kHost + 1), kNow);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->count(), 2u);
  EXPECT_EQ(port_at(2 * kNow), 3);
  EXPECT_EQ(port_at(2 * kNow, kHost + 1), 4);
  // Parts of a version that another one replaced are dropped.
  first.set_version(2);
  live.change(first, kNow);
  EXPECT_EQ(live.change(routes(3, 5, false, kHost + 1), kNow)->count(), 1u);
}

TEST_F(LiveRoutesTest, ARefusedVersionLeavesNoRoutes) {
  live.change(routes(1, 3), kNow);
  for (const uint32_t port : {0u, 65536u}) {
    const auto answer = live.change(routes(2, port), kNow);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->version(), 2u);
    EXPECT_EQ(answer->message(), "the route to 02:00:00:00:00:01 at switch 's1' has port 0; ports count from 1");
    EXPECT_EQ(answer->kind(), "user");
    EXPECT_EQ(port_at(5 * kNow), 0);
  }
}

TEST_F(LiveRoutesTest, VersionZeroForgetsTheRoutes) {
  live.change(routes(1, 3), kNow);
  v1::RoutesCommand forget;
  EXPECT_FALSE(live.change(forget, 2 * kNow));
  EXPECT_EQ(feed.current(), nullptr);
  live.change(routes(2, 3), 3 * kNow);
  EXPECT_EQ(port_at(3 * kNow), 0);
}

}  // namespace
}  // namespace tapline
