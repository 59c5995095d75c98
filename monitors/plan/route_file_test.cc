#include "monitors/plan/route_file.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

std::string error_of(std::string_view text) {
  const auto rules = read_routes(text);
  return rules.ok() ? "" : rules.status().message();
}

TEST(RouteFile, HasARouteInEachLine) {
  const auto rules = read_routes(
      "# routes of leaf1\n"
      "leaf1 02:00:00:00:00:01 3\n"
      "\n"
      "  leaf1\t0a:bc:DE:f0:12:34  4,65535 # by a hash\r\n"
      "leaf2 02:00:00:00:00:01 1");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ASSERT_EQ(rules->size(), 3u);
  EXPECT_EQ((*rules)[0].switch_name, "leaf1");
  EXPECT_EQ((*rules)[0].mac, 0x020000000001u);
  EXPECT_EQ((*rules)[0].ports, std::vector<uint16_t>{3});
  EXPECT_EQ((*rules)[1].mac, 0x0abcdef01234u);
  EXPECT_EQ((*rules)[1].ports, (std::vector<uint16_t>{4, 65535}));
  EXPECT_EQ((*rules)[2].switch_name, "leaf2");
  EXPECT_FALSE((*rules)[2].changing);
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
