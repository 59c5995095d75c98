#include "parsers/trigger/filter_reader.h"

#include <gtest/gtest.h>

#include "conditions/expr/expression.h"
#include "parsers/testing/frames.h"

namespace tapline::trigger {
namespace {

using conditions::FieldType;
using tapline::testing::address;

v1::ConditionTree tree_of(const std::string& text) {
  const auto schema = conditions::Schema::make({{.name = "time_ns", .type = FieldType::kTime},
                                                {.name = "src_ip", .type = FieldType::kAddress},
                                                {.name = "dst_ip", .type = FieldType::kAddress},
                                                {.name = "src_port", .type = FieldType::kU16},
                                                {.name = "dst_port", .type = FieldType::kU16},
                                                {.name = "protocol", .type = FieldType::kU8},
                                                {.name = "vlan", .type = FieldType::kU32},
                                                {.name = "bytes", .type = FieldType::kU32}});
  const auto expression = conditions::Expression::compile(text, *schema);
  EXPECT_TRUE(expression.ok()) << expression.status().sentence();
  return expression->tree();
}

Filter filter_of(const std::string& text) {
  std::string error;
  const auto filter = read_filter(tree_of(text), &error);
  EXPECT_EQ(error, "");
  return filter.value_or(Filter{});
}

std::string error_of(const std::string& text) {
  std::string error;
  EXPECT_FALSE(read_filter(tree_of(text), &error)) << text;
  return error;
}

Sample sample(const std::string& src, const std::string& dst, uint16_t src_port = 0, uint16_t dst_port = 0) {
  Sample made_sample;
  made_sample.src_ip = address(src);
  made_sample.dst_ip = address(dst);
  made_sample.src_port = src_port;
  made_sample.dst_port = dst_port;
  made_sample.protocol = protocol::kTcp;
  return made_sample;
}

TEST(FilterReader, ATreeWithoutNodesAllowsEveryPacket) {
  std::string error;
  const auto filter = read_filter({}, &error);
  ASSERT_TRUE(filter) << error;
  EXPECT_TRUE(filter->matches(sample("10.0.0.1", "2001:db8::1")));
  EXPECT_TRUE(filter->src.empty());
}

TEST(FilterReader, PrefixesOfOneFieldAreAList) {
  const Filter filter = filter_of("src_ip in {10.1.0.0/16, 2001:db8::/32} or src_ip = 192.168.0.1");
  EXPECT_EQ(filter.src.size(), 3u);
  EXPECT_TRUE(filter.matches(sample("10.1.255.255", "1.1.1.1")));
  EXPECT_TRUE(filter.matches(sample("2001:db8::5", "::1")));
  EXPECT_TRUE(filter.matches(sample("192.168.0.1", "1.1.1.1")));
  EXPECT_FALSE(filter.matches(sample("10.2.0.0", "1.1.1.1")));
  EXPECT_FALSE(filter.matches(sample("192.168.0.2", "1.1.1.1")));
}

TEST(FilterReader, EveryIpv4AddressIsAPrefixOf32Bits) {
  const Filter filter = filter_of("dst_ip = 0.0.0.0/0");
  EXPECT_TRUE(filter.matches(sample("::1", "255.255.255.255")));
  EXPECT_FALSE(filter.matches(sample("::1", "2001:db8::1")));
}

TEST(FilterReader, ComparisonsOfAFieldAreIntersected) {
  const Filter ports = filter_of("dst_port in {80, 443, 8000..8080} and dst_port > 100 and not dst_port in 8010..9000");
  ASSERT_EQ(ports.dst_ports.size(), 2u);
  EXPECT_TRUE(ports.matches(sample("::1", "::1", 1, 443)));
  EXPECT_TRUE(ports.matches(sample("::1", "::1", 1, 8009)));
  EXPECT_FALSE(ports.matches(sample("::1", "::1", 1, 80)));
  EXPECT_FALSE(ports.matches(sample("::1", "::1", 1, 8010)));
  const Filter prefixes = filter_of("src_ip in {10.0.0.0/8, 11.0.0.0/8} and src_ip in {10.1.0.0/16, 12.0.0.0/8}");
  ASSERT_EQ(prefixes.src.size(), 1u);
  EXPECT_EQ(prefixes.src[0].bits, 112);
}

TEST(FilterReader, ProtocolAndVlan) {
  const Filter filter = filter_of("protocol = UDP and vlan in {0, 7..9}");
  EXPECT_EQ(filter.protocol, protocol::kUdp);
  EXPECT_EQ(filter.vlans, (std::vector<uint32_t>{7, 8, 9})) << "a packet without a tag has no vlan";
}

TEST(FilterReader, RejectsUnsupportedFormsWithAReason) {
  EXPECT_NE(error_of("src_ip = 10.0.0.1 or dst_ip = 10.0.0.1").find("joined by OR"), std::string::npos);
  EXPECT_NE(error_of("src_ip != 10.0.0.1").find("src_ip can only be compared with addresses or prefixes"),
            std::string::npos);
  EXPECT_NE(error_of("src_ip in 10.0.0.1..10.0.0.2").find("must be a prefix"), std::string::npos);
  EXPECT_NE(error_of("src_ip like 10.*.0.1").find("src_ip can only be compared with addresses or prefixes"),
            std::string::npos);
  EXPECT_NE(error_of("src_port = dst_port").find("does not compare one field with values"), std::string::npos);
  EXPECT_NE(error_of("protocol in {6, 17}").find("protocol must be compared with a single value"), std::string::npos);
  EXPECT_NE(error_of("vlan != 7").find("more than 4096 values of vlan"), std::string::npos);
  EXPECT_NE(error_of("dst_port < 10 and dst_port > 20").find("no packet"), std::string::npos);
  EXPECT_NE(error_of("bytes > 1000").find("bytes"), std::string::npos) << "packets have no such field to compare";
}

}  // namespace
}  // namespace tapline::trigger
