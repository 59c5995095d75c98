#include "parsers/trigger/named_groups.h"

#include <gtest/gtest.h>

#include "parsers/testing/frames.h"

namespace tapline::trigger {
namespace {

using tapline::testing::address;

Prefix host(const std::string& text) { return {address(text), 128}; }

Filter filter_of(std::vector<Prefix> sources, std::vector<PortRange> ports = {}) {
  Filter filter;
  filter.src = std::move(sources);
  filter.dst_ports = std::move(ports);
  return filter;
}

std::vector<std::string> sources(const GroupBy& group_by, const Filter& filter) {
  std::vector<std::string> texts;
  for (const GroupKey& key : named_groups(group_by, filter)) {
    texts.push_back(tapline::testing::to_string(key.src_ip()) + ":" + std::to_string(key.dst_port()));
  }
  return texts;
}

TEST(NamedGroupsTest, EachCombinationOfValuesIsAGroup) {
  GroupBy group_by = GroupBy::source(32, 128);
  group_by.dst_port = true;
  const Filter filter = filter_of({host("10.0.0.1"), host("2001:db8::1")}, {{80, 80}, {443, 443}});
  EXPECT_EQ(sources(group_by, filter),
            (std::vector<std::string>{"10.0.0.1:80", "10.0.0.1:443", "2001:db8::1:80", "2001:db8::1:443"}));
}

TEST(NamedGroupsTest, NetworksNameTheGroupsThatContainThem) {
  const Filter filter = filter_of({host("10.0.0.1"), {address("10.0.0.128"), 96 + 25}, {address("10.0.1.0"), 96 + 24}});
  EXPECT_EQ(sources(GroupBy::source(24, 64), filter), (std::vector<std::string>{"10.0.0.0:0", "10.0.1.0:0"}));
  EXPECT_TRUE(named_groups(GroupBy::source(25, 64), filter).empty()) << "a network has several groups";
}

TEST(NamedGroupsTest, AFieldWithoutSingleValuesNamesNone) {
  GroupBy group_by = GroupBy::source(32, 128);
  group_by.dst_port = true;
  EXPECT_TRUE(named_groups(group_by, filter_of({host("10.0.0.1")})).empty());
  EXPECT_TRUE(named_groups(group_by, filter_of({host("10.0.0.1")}, {{80, 81}})).empty());
  EXPECT_TRUE(named_groups({}, filter_of({host("10.0.0.1")})).empty());
  EXPECT_TRUE(named_groups(GroupBy::flow(), filter_of({host("10.0.0.1")})).empty());
}

TEST(NamedGroupsTest, TheirNumberIsBounded) {
  GroupBy group_by;
  group_by.dst_port = true;
  Filter filter;
  for (uint16_t port = 0; port < kMaxNamedGroups; ++port) filter.dst_ports.push_back({port, port});
  EXPECT_EQ(named_groups(group_by, filter).size(), kMaxNamedGroups);
  filter.dst_ports.push_back({2000, 2000});
  EXPECT_TRUE(named_groups(group_by, filter).empty());
}

}  // namespace
}  // namespace tapline::trigger
