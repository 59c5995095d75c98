#include "monitors/control/live_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

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
  // Returns the port inferred for a copy that was captured at this time, or 0 if it is unknown.
  int port_at(int64_t time_ns, uint64_t mac = kHost) {
    const Routes* current = feed.current();
    if (current == nullptr || current->of("s1") == nullptr) return 0;
    return current->of("s1")->port_of(mac, time_ns).number;
  }

  RouteFeed feed;
  LiveRoutes live{&feed};
};

TEST_F(LiveRoutesTest, AVersionIsValidOnceRoutesHaveSettled) {
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
  // Parts of a version are dropped when a newer version replaces it.
  first.set_version(2);
  live.change(first, kNow);
  EXPECT_EQ(live.change(routes(3, 5, false, kHost + 1), kNow)->count(), 1u);
}

TEST_F(LiveRoutesTest, AVersionHasPorts) {
  v1::RoutesCommand command = routes(1, 3);
  v1::SwitchPort* port = command.mutable_switches(0)->add_ports();
  port->set_number(3);
  port->set_bits_per_second(10'000'000'000);
  ASSERT_EQ(live.change(command, kNow)->message(), "");
  EXPECT_EQ(feed.current()->of("s1")->speeds(), (std::map<uint16_t, uint64_t>{{3, 10'000'000'000}}));
  EXPECT_EQ(feed.current()->of("s1")->input_port_of(kHost, kHost + 1, kNow + kSettle).number, 3);
  port->set_neighbour("s2");
  EXPECT_EQ(live.change(command, kNow)->message(),
            "port 3 of switch 's1' needs the neighbour's name and the neighbour's port, or neither");
}

TEST_F(LiveRoutesTest, ARefusedVersionLeavesNoRoutes) {
  live.change(routes(1, 3), kNow);
  for (const uint32_t port : {0u, 65536u}) {
    const auto answer = live.change(routes(2, port), kNow);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->version(), 2u);
    EXPECT_EQ(answer->message(), "the route to 02:00:00:00:00:01 at switch 's1' has port 0; port numbers start at 1");
    EXPECT_EQ(answer->kind(), "user");
    EXPECT_EQ(port_at(5 * kNow), 0);
  }
}

int64_t cpu_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Each part of a version, even the last, must take time only in proportion to its own routes, since the thread forwards
// events between parts.
TEST_F(LiveRoutesTest, NoPartOfALargeVersionTakesLong) {
  constexpr uint64_t kRoutes = 100'000, kInPart = 4096;
  for (uint64_t version = 1; version <= 3; ++version) {
    std::vector<int64_t> parts;
    int64_t total = 0;
    for (uint64_t first = 0; first < kRoutes; first += kInPart) {
      v1::RoutesCommand part = routes(version, 3, false, kHost + first);
      for (uint64_t next = first + 1; next < std::min(kRoutes, first + kInPart); ++next) {
        v1::Route* route = part.mutable_switches(0)->add_routes();
        route->set_mac(kHost + next);
        route->add_ports(static_cast<uint32_t>(3 + version % 2));
      }
      part.set_more(first + kInPart < kRoutes);
      const int64_t begin = cpu_ns();
      const auto answer = live.change(part, kNow);
      parts.push_back(cpu_ns() - begin);
      total += parts.back();
      if (answer) {
        EXPECT_EQ(answer->count(), kRoutes);
      }
    }
    const int64_t last = parts.back();
    std::sort(parts.begin(), parts.end());
    std::printf("100,000 routes: %.1f ms, longest part %.2f ms, last %.2f ms\n", static_cast<double>(total) / 1e6,
                static_cast<double>(parts.back()) / 1e6, static_cast<double>(last) / 1e6);
    EXPECT_LT(last, 3 * parts[parts.size() / 2]) << "the last part does the work of all";
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
