#include "monitors/plan/trigger_reader.h"

#include <gtest/gtest.h>

#include "monitors/plan/plan.h"
#include "parsers/trigger/program.h"

namespace tapline {
namespace {

constexpr const char* kTrigger =
    R"({"processor":3,"parser":"tcp_pkt_size","group":["src_ip"],"condition":{"threshold":50000},"every":"0.010s"})";

std::string PlanWith(const std::string& trigger, const std::string& parsers = R"(["tcp_pkt_size","trigger"])",
                     const std::string& more = "") {
  return R"({"format":1,"query":"q1","epoch":2,"parsers":)" + parsers +
         R"(,"monitors":[{"id":"local-0"}],"triggers":[)" + trigger + "]" + more + "}";
}

Status Read(const std::string& json, QuerySpec* spec) {
  v1::Plan plan;
  const Status status = ParsePlan(json, "plan.json", &plan);
  return status.ok() ? ReadPlan(plan, "local-0", spec) : status;
}

std::string ErrorOf(const std::string& json) {
  QuerySpec spec;
  return Read(json, &spec).Sentence();
}

std::string With(std::string from, std::string to) {
  std::string trigger = kTrigger;
  return trigger.replace(trigger.find(from), from.size(), to);
}

TEST(TriggerReader, MakesAProgram) {
  QuerySpec spec;
  const Status status = Read(PlanWith(kTrigger), &spec);
  ASSERT_TRUE(status.ok()) << status.Sentence();
  ASSERT_NE(spec.triggers, nullptr);
  ASSERT_EQ(spec.triggers->channels().size(), 1u);
  EXPECT_EQ(spec.triggers->channels()[0].window_ns, 10'000'000);
  EXPECT_EQ(spec.triggers->channels()[0].by, trigger::GroupBy::source(32, 128));
  EXPECT_EQ(spec.triggers->compiled(0).id, 3u);
}

TEST(TriggerReader, APlanWithoutTriggersHasNoProgram) {
  QuerySpec spec;
  ASSERT_TRUE(Read(PlanWith(""), &spec).ok());
  EXPECT_EQ(spec.triggers, nullptr);
}

TEST(TriggerReader, WhatIsWrongIsNamed) {
  const auto names = [](const std::string& json, const std::string& what) {
    const std::string error = ErrorOf(json);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  names(PlanWith(kTrigger, R"(["tcp_pkt_size"])"), "do not include 'trigger'");
  names(PlanWith(With("tcp_pkt_size", "http_get")), "trigger 3: the packets of 'http_get' can't be counted");
  names(PlanWith(With("src_ip", "url")), "no groups by 'url'");
  names(PlanWith(With("0.010s", "0.0105s")), "whole milliseconds");
  names(PlanWith(With(R"("threshold")", R"("comparison":"BELOW","threshold")")), "must be > or >=");
  names(PlanWith(With(R"({"threshold":50000})", R"({"comparison":"AT_LEAST"})")), "holds without packets");
  names(PlanWith(With(R"("every")", R"("filter":{"nodes":[{"present":{"name":"url"}}]},"every")")), "url");
  names(PlanWith(kTrigger, R"(["tcp_pkt_size","trigger"])", R"(,"sampling":{"mode":"FIXED","rate":0.5})"), "sampled");
}

TEST(TriggerReader, OneThreadCountsThePackets) {
  QuerySpec spec;
  ASSERT_TRUE(Read(PlanWith(kTrigger), &spec).ok());
  EXPECT_TRUE(CheckTriggers(spec, {}).ok());
  EXPECT_TRUE(CheckTriggers(spec, {.workers = {{{"trigger"}, 1}, {{"tcp_pkt_size"}, 2}}}).ok());
  EXPECT_FALSE(CheckTriggers(spec, {.lanes = 2, .workers = {}}).ok());
  EXPECT_FALSE(CheckTriggers(spec, {.workers = {{{"trigger"}, 2}}}).ok());
  EXPECT_TRUE(CheckTriggers({}, {.lanes = 2, .workers = {}}).ok());
}

}  // namespace
}  // namespace tapline
