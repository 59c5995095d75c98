#include "monitors/plan/trigger_reader.h"

#include <gtest/gtest.h>

#include "monitors/plan/plan.h"
#include "parsers/trigger/program.h"

namespace tapline {
namespace {

constexpr const char* kTrigger =
    R"({"processor":3,"parser":"tcp_pkt_size","group":["src_ip"],"condition":{"threshold":50000},"every":"0.010s"})";

std::string plan_with(const std::string& trigger, const std::string& parsers = R"(["tcp_pkt_size","trigger"])",
                      const std::string& more = "") {
  return R"({"format":1,"query":"q1","epoch":2,"parsers":)" + parsers +
         R"(,"monitors":[{"id":"local-0"}],"triggers":[)" + trigger + "]" + more + "}";
}

Status read(const std::string& json, QuerySpec* spec) {
  v1::Plan plan;
  const Status status = parse_plan(json, "plan.json", &plan);
  return status.ok() ? read_plan(plan, "local-0", spec) : status;
}

std::string error_of(const std::string& json) {
  QuerySpec spec;
  return read(json, &spec).sentence();
}

std::string with(std::string from, std::string to) {
  std::string trigger = kTrigger;
  return trigger.replace(trigger.find(from), from.size(), to);
}

TEST(TriggerReader, MakesAProgram) {
  QuerySpec spec;
  const Status status = read(plan_with(kTrigger), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  ASSERT_NE(spec.triggers, nullptr);
  ASSERT_EQ(spec.triggers->channels().size(), 1u);
  EXPECT_EQ(spec.triggers->channels()[0].window_ns, 10'000'000);
  EXPECT_EQ(spec.triggers->channels()[0].by, trigger::GroupBy::source(32, 128));
  EXPECT_EQ(spec.triggers->compiled(0).id, 3u);
}

TEST(TriggerReader, AddressesOfAGroupAreShortenedToNetworks) {
  QuerySpec spec;
  const std::string trigger =
      with(R"("condition")", R"("networks":[{"field":"src_ip","ipv4":24,"ipv6":64}],"condition")");
  const Status status = read(plan_with(trigger), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  EXPECT_EQ(spec.triggers->channels()[0].by, trigger::GroupBy::source(24, 64));
}

TEST(TriggerReader, WrongNetworksAreNamed) {
  const auto error_with = [](const std::string& networks) {
    return error_of(plan_with(with(R"("condition")", R"("networks":[)" + networks + R"(],"condition")")));
  };
  const auto names = [&](const std::string& networks, const std::string& what) {
    const std::string error = error_with(networks);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  const std::string valid = R"({"field":"src_ip","ipv4":24,"ipv6":64})";
  EXPECT_EQ(error_with(valid), "ok");
  names(valid + "," + valid, "'src_ip' are given twice");
  names(R"({"field":"dst_ip","ipv4":24,"ipv6":64})", "'dst_ip' are given twice, or it is not in the group");
  names(R"({"field":"dst_port","ipv4":8,"ipv6":8})", "'dst_port' is no address");
  for (const char* bits : {R"("ipv4":0,"ipv6":64)", R"("ipv4":33,"ipv6":64)", R"("ipv4":24)", R"("ipv4":24,"ipv6":129)",
                           R"("ipv4":4294967295,"ipv6":4294967295)"}) {
    names(std::string(R"({"field":"src_ip",)") + bits + "}", "1 to 32 bits of IPv4 and 1 to 128 of IPv6");
  }
}

TEST(TriggerReader, APlanWithoutTriggersHasNoProgram) {
  QuerySpec spec;
  ASSERT_TRUE(read(plan_with(""), &spec).ok());
  EXPECT_EQ(spec.triggers, nullptr);
}

TEST(TriggerReader, WhatIsWrongIsNamed) {
  const auto names = [](const std::string& json, const std::string& what) {
    const std::string error = error_of(json);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  names(plan_with(kTrigger, R"(["tcp_pkt_size"])"), "do not include 'trigger'");
  names(plan_with(with("tcp_pkt_size", "http_get")), "trigger 3: the packets of 'http_get' can't be counted");
  names(plan_with(with("src_ip", "url")), "no groups by 'url'");
  names(plan_with(with("0.010s", "0.0105s")), "whole milliseconds");
  names(plan_with(with(R"("threshold")", R"("comparison":"BELOW","threshold")")), "must be > or >=");
  names(plan_with(with(R"({"threshold":50000})", R"({"comparison":"AT_LEAST"})")), "is true without packets");
  names(plan_with(with(R"("every")", R"("filter":{"nodes":[{"present":{"name":"url"}}]},"every")")), "url");
  names(plan_with(kTrigger, R"(["tcp_pkt_size","trigger"])", R"(,"sampling":{"mode":"FIXED","rate":0.5})"), "sampled");
}

TEST(TriggerReader, OneThreadCountsThePackets) {
  QuerySpec spec;
  ASSERT_TRUE(read(plan_with(kTrigger), &spec).ok());
  EXPECT_TRUE(check_triggers(spec, {}).ok());
  EXPECT_TRUE(check_triggers(spec, {.workers = {{{"trigger"}, 1}, {{"tcp_pkt_size"}, 2}}}).ok());
  EXPECT_FALSE(check_triggers(spec, {.lanes = 2, .workers = {}}).ok());
  EXPECT_FALSE(check_triggers(spec, {.workers = {{{"trigger"}, 2}}}).ok());
  EXPECT_TRUE(check_triggers({}, {.lanes = 2, .workers = {}}).ok());
}

}  // namespace
}  // namespace tapline
