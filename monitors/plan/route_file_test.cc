#include "monitors/plan/route_file.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

std::string error_of(std::string_view text) {
  const auto table = read_routes(text);
  return table.ok() ? "" : table.status().message();
}

TEST(RouteFile, HasARouteInEachLine) {
  const auto table = read_routes(
      "# routes of leaf1\n"
      "leaf1 02:00:00:00:00:01 3\n"
      "\n"
      "  leaf1\t0a:bc:DE:f0:12:34  4,65535 # by a hash\r\n"
      "leaf2 02:00:00:00:00:01 1");
  ASSERT_TRUE(table.ok()) << table.status().message();
  const std::vector<RouteRule>& rules = table->rules;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].switch_name, "leaf1");
  EXPECT_EQ(rules[0].mac, 0x020000000001u);
  EXPECT_EQ(rules[0].ports, std::vector<uint16_t>{3});
  EXPECT_EQ(rules[1].mac, 0x0abcdef01234u);
  EXPECT_EQ(rules[1].ports, (std::vector<uint16_t>{4, 65535}));
  EXPECT_EQ(rules[2].switch_name, "leaf2");
  EXPECT_FALSE(rules[2].changing);
}

TEST(RouteFile, HasPortsWithTheirSpeedsAndNeighbours) {
  const auto table = read_routes("leaf1 port 3 10000000000\nleaf1 port 4 0 spine1 7  # unknown speed\n");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_TRUE(table->rules.empty());
  ASSERT_EQ(table->ports.size(), 2u);
  EXPECT_EQ(table->ports[0].switch_name, "leaf1");
  EXPECT_EQ(table->ports[0].number, 3);
  EXPECT_EQ(table->ports[0].bits_per_second, 10'000'000'000u);
  EXPECT_EQ(table->ports[0].neighbour, "");
  EXPECT_EQ(table->ports[1].bits_per_second, 0u);
  EXPECT_EQ(table->ports[1].neighbour, "spine1");
  EXPECT_EQ(table->ports[1].neighbour_port, 7);
}

TEST(RouteFile, ErrorsOfPortsNameTheLine) {
  const std::string form =
      "line 1: expected SWITCH port PORT BITS_PER_SECOND [NEIGHBOUR PORT], for example leaf1 port 4 10000000000 spine1 "
      "7";
  for (const std::string line :
       {"leaf1 port", "leaf1 port 3", "leaf1 port 3 10 spine1", "leaf1 port 3 10 spine1 7 8"}) {
    EXPECT_EQ(error_of(line), form);
  }
  EXPECT_EQ(error_of("leaf1 port 0 10"), "line 1: '0' is not a port from 1 to 65535");
  EXPECT_EQ(error_of("leaf1 port 3 fast"), "line 1: 'fast' is not a speed in bits per second");
  EXPECT_EQ(error_of("leaf1 port 3 10 spine1 65536"), "line 1: '65536' is not a port from 1 to 65535");
}

TEST(RouteFile, ErrorsNameTheLine) {
  const std::string form = "expected SWITCH MAC PORT[,PORT...], for example leaf1 02:00:00:00:00:01 3";
  EXPECT_EQ(error_of("\nleaf1 02:00:00:00:00:01"), "line 2: " + form);
  EXPECT_EQ(error_of("leaf1 02:00:00:00:00:01 3 4"), "line 1: " + form);
  for (const std::string mac :
       {"02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "02:00:00:00:00:0g", "-2:00:00:00:00:01"}) {
    EXPECT_EQ(error_of("leaf1 " + mac + " 3"), "line 1: '" + mac + "' is not an Ethernet address; " + form);
  }
  for (const std::string port : {"0", "65536", "-1", "eth2", "3x"}) {
    EXPECT_EQ(error_of("leaf1 02:00:00:00:00:01 " + port), "line 1: '" + port + "' is not a port from 1 to 65535");
  }
}

}  // namespace
}  // namespace tapline
