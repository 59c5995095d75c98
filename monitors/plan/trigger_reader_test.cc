#include "monitors/plan/trigger_reader.h"

#include <gtest/gtest.h>

#include "monitors/plan/plan.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/shared_triggers.h"

namespace tapline {
namespace {

constexpr const char* kTrigger =
    R"({"processor":3,"parser":"tcp_pkt_size","group":["src_ip"],"every":"0.010s",
        "when":[{"measure":"BYTES"},{"constant":50000},{"operator":"GREATER"}]})";

std::string plan_with(const std::string& trigger, const std::string& parsers = R"(["tcp_pkt_size","trigger"])",
                      const std::string& further_text = "") {
  return R"({"format":1,"query":"q1","epoch":2,"parsers":)" + parsers +
         R"(,"monitors":[{"id":"local-0"}],"triggers":[)" + trigger + "]" + further_text + "}";
}

std::string plan_for_two_monitors(const std::string& triggers) {
  std::string plan = plan_with(triggers);
  const std::string monitor = R"({"id":"local-0"})";
  return plan.replace(plan.find(monitor), monitor.size(), monitor + R"(,{"id":"local-1","partition":1})");
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

std::string with(std::string original, std::string replacement) {
  std::string trigger = kTrigger;
  return trigger.replace(trigger.find(original), original.size(), replacement);
}

TEST(TriggerReader, BuildsAProgram) {
  QuerySpec spec;
  const Status status = read(plan_with(kTrigger), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  ASSERT_NE(spec.triggers, nullptr);
  ASSERT_EQ(spec.triggers->channels().size(), 1u);
  EXPECT_EQ(spec.triggers->channels()[0].window_ns, 10'000'000);
  EXPECT_EQ(spec.triggers->channels()[0].by, trigger::GroupBy::source(32, 128));
  EXPECT_EQ(spec.triggers->compiled(0).id, 3u);
}

TEST(TriggerReader, WindowsMayOverlap) {
  QuerySpec spec;
  const std::string trigger = with(R"("when")", R"("window":"0.050s","when")");
  ASSERT_TRUE(read(plan_with(trigger), &spec).ok());
  EXPECT_EQ(spec.triggers->channels()[0].every_ns, 10'000'000);
  EXPECT_EQ(spec.triggers->channels()[0].window_ns, 50'000'000);
  EXPECT_NE(error_of(plan_with(with(R"("when")", R"("window":"0.025s","when")"))).find("not a multiple"),
            std::string::npos);
}

TEST(TriggerReader, AddressesOfAGroupAreShortenedToNetworks) {
  QuerySpec spec;
  const std::string trigger = with(R"("when")", R"("networks":[{"field":"src_ip","ipv4":24,"ipv6":64}],"when")");
  const Status status = read(plan_with(trigger), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  EXPECT_EQ(spec.triggers->channels()[0].by, trigger::GroupBy::source(24, 64));
}

TEST(TriggerReader, InvalidNetworksAreNamed) {
  const auto error_with = [](const std::string& networks) {
    return error_of(plan_with(with(R"("when")", R"("networks":[)" + networks + R"(],"when")")));
  };
  const auto names = [&](const std::string& networks, const std::string& expected) {
    const std::string error = error_with(networks);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  };
  const std::string valid = R"({"field":"src_ip","ipv4":24,"ipv6":64})";
  EXPECT_EQ(error_with(valid), "ok");
  names(valid + "," + valid, "'src_ip' are given twice");
  names(R"({"field":"dst_ip","ipv4":24,"ipv6":64})", "'dst_ip' are given twice, or 'dst_ip' is not in the group");
  names(R"({"field":"dst_port","ipv4":8,"ipv6":8})", "'dst_port' is not an address");
  for (const char* bits : {R"("ipv4":0,"ipv6":64)", R"("ipv4":33,"ipv6":64)", R"("ipv4":24)", R"("ipv4":24,"ipv6":129)",
                           R"("ipv4":4294967295,"ipv6":4294967295)"}) {
    names(std::string(R"({"field":"src_ip",)") + bits + "}", "1 to 32 for IPv4 and 1 to 128 for IPv6");
  }
}

constexpr const char* kExpression =
    R"({"processor":1,"parser":"packets","when":[{"measure":"RETRANSMITTED_BYTES"},{"measure":"PAYLOAD_BYTES"},
        {"operator":"DIVIDE"},{"constant":0.1},{"operator":"GREATER"}],
        "clear":[{"measure":"BURST"},{"constant":5},{"operator":"GREATER"}],"after":3,"cooldown":"2s","burst":"0.0001s",
        "every":"0.010s"})";

TEST(TriggerReader, AnExpressionIsParsed) {
  QuerySpec spec;
  const Status status = read(plan_with(kExpression, R"(["packets","trigger"])"), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  const trigger::Program::Compiled& compiled = spec.triggers->compiled(0);
  EXPECT_TRUE(compiled.condition.uses(trigger::Measure::kRetransmittedBytes));
  EXPECT_TRUE(compiled.condition.uses(trigger::Measure::kPayloadBytes));
  ASSERT_TRUE(compiled.clear.has_value());
  EXPECT_TRUE(compiled.clear->uses(trigger::Measure::kBurst));
  EXPECT_EQ(compiled.after, 3u);
  EXPECT_EQ(compiled.cooldown_ns, 2'000'000'000);
  EXPECT_EQ(spec.triggers->channels()[0].burst_bin_ns, 12'500);
  EXPECT_TRUE(spec.triggers->needs_tcp());
}

TEST(TriggerReader, DistinctValuesAndQuantilesAreRead) {
  QuerySpec spec;
  const std::string trigger = R"({"processor":1,"parser":"packets","every":"0.010s","when":[{"measure":"FLOWS"},
      {"measure":"DISTINCT_DST_PORT"},{"operator":"ADD"},{"quantile":{"measure":"RTT_NS","share":0.99}},
      {"operator":"GREATER"}]})";
  const Status status = read(plan_with(trigger, R"(["packets","trigger"])"), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  EXPECT_EQ(spec.triggers->channels()[0].sketches, trigger::kind_of(trigger::Measure::kFlows) |
                                                       trigger::kind_of(trigger::Measure::kDistinctDstPorts) |
                                                       trigger::kind_of(trigger::Measure::kRttQuantile));
  EXPECT_TRUE(spec.triggers->needs_tcp());
}

TEST(TriggerReader, InvalidStepsAreNamed) {
  const auto error_with = [](const std::string& steps) {
    return error_of(plan_with(R"({"processor":1,"parser":"packets","every":"0.010s","when":[)" + steps + "]}",
                              R"(["packets","trigger"])"));
  };
  const std::string sum = R"({"measure":"BYTES"},{"constant":5},{"operator":"GREATER"})";
  EXPECT_EQ(error_with(sum), "ok");
  EXPECT_NE(error_with("{}").find("its condition has an empty step"), std::string::npos);
  EXPECT_NE(error_with(R"({"measure":77})").find("unknown measure 77"), std::string::npos);
  EXPECT_NE(error_with(R"({"operator":77})").find("unknown operator 77"), std::string::npos);
  const std::string end = R"(,{"constant":5},{"operator":"GREATER"})";
  EXPECT_NE(
      error_with(R"({"quantile":{"measure":"SYN","share":0.5}})" + end).find("a quantile of a measure that has none"),
      std::string::npos);
  EXPECT_NE(error_with(R"({"quantile":{"measure":"BYTES","share":1}})" + end).find("above 0 and below 1"),
            std::string::npos);
  EXPECT_NE(error_with(R"({"constant":"Infinity"})").find("not a finite number"), std::string::npos);
  EXPECT_NE(error_with(R"({"measure":"BYTES"})").find("must be a comparison"), std::string::npos);
  EXPECT_NE(error_with(sum + "," + sum).find("must be a comparison"), std::string::npos);
}

TEST(TriggerReader, APlanWithoutTriggersHasNoProgram) {
  QuerySpec spec;
  ASSERT_TRUE(read(plan_with(""), &spec).ok());
  EXPECT_EQ(spec.triggers, nullptr);
}

TEST(TriggerReader, ErrorsAreNamed) {
  const auto names = [](const std::string& json, const std::string& expected) {
    const std::string error = error_of(json);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  };
  names(plan_with(kTrigger, R"(["tcp_pkt_size"])"), "do not include 'trigger'");
  names(plan_with(with("tcp_pkt_size", "http_get")), "trigger 3: the packets of 'http_get' can't be counted");
  names(plan_with(with("src_ip", "url")), "can't be grouped by 'url'");
  names(plan_with(with("0.010s", "0.0105s")), "whole milliseconds");
  names(plan_with(with(R"({"operator":"GREATER"})", "")), "must be a comparison");
  names(plan_with(with(R"("every")", R"("filter":{"nodes":[{"present":{"name":"url"}}]},"every")")), "url");
  names(plan_with(kTrigger, R"(["tcp_pkt_size","trigger"])", R"(,"sampling":{"mode":"FIXED","rate":0.5})"), "sampled");
}

TEST(TriggerReader, GroupsMayFallSilent) {
  QuerySpec spec;
  const Status status = read(plan_with(with("GREATER", "LESS")), &spec);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(TriggerReader, LanesShareTriggersAndWorkersDoNot) {
  QuerySpec spec;
  ASSERT_TRUE(read(plan_with(kTrigger), &spec).ok());
  EXPECT_TRUE(check_triggers(spec, {}).ok());
  EXPECT_TRUE(check_triggers(spec, {.workers = {{{"trigger"}, 1}, {{"tcp_pkt_size"}, 2}}}).ok());
  EXPECT_TRUE(check_triggers(spec, {.lanes = 2, .workers = {}}).ok());
  EXPECT_FALSE(check_triggers(spec, {.workers = {{{"trigger"}, 2}}}).ok());
  EXPECT_TRUE(check_triggers({}, {.workers = {{{"trigger"}, 2}}}).ok());
  share_triggers(2, &spec);
  EXPECT_FALSE(spec.shared_triggers->has_one_lane());
  share_triggers(1, &spec);
  EXPECT_TRUE(spec.shared_triggers->has_one_lane());
}

TEST(TriggerReader, SeveralMonitorsComputePartialValues) {
  const std::string partial = with(R"("when")", R"("partial":true,"when")");
  EXPECT_NE(error_of(plan_for_two_monitors(kTrigger)).find("packets of one monitor"), std::string::npos);
  QuerySpec spec;
  const Status status = read(plan_for_two_monitors(partial), &spec);
  ASSERT_TRUE(status.ok()) << status.sentence();
  EXPECT_TRUE(spec.triggers->partial());
  EXPECT_EQ(spec.interval_ns({.name = "trigger"}), 10'000'000);
  share_triggers(2, &spec);
  EXPECT_EQ(spec.shared_triggers, nullptr) << "each lane computes its own values";
}

TEST(TriggerReader, APlanMayBoundGroups) {
  QuerySpec spec;
  const std::string parsers = R"(["tcp_pkt_size","trigger"])";
  ASSERT_TRUE(read(plan_with(kTrigger), &spec).ok());
  EXPECT_EQ(spec.triggers->max_groups(), trigger::Program::kMaxGroups);
  ASSERT_TRUE(read(plan_with(kTrigger, parsers, R"(,"triggerGroups":500)"), &spec).ok());
  EXPECT_EQ(spec.triggers->max_groups(), 500u);
  for (const uint32_t lanes : {1u, 2u}) {
    share_triggers(lanes, &spec);
    EXPECT_EQ(spec.shared_triggers->max_groups(), 500u) << "also for triggers that replace these";
  }
  const std::string error = error_of(plan_with(kTrigger, parsers, R"(,"triggerGroups":131073)"));
  EXPECT_NE(error.find("more than 131072 groups"), std::string::npos) << error;
}

TEST(TriggerReader, PartialTriggersHaveNoAlerts) {
  const std::string partial = R"("partial":true,"when")";
  EXPECT_NE(error_of(plan_for_two_monitors(with(R"("when")", R"("after":2,)" + partial))).find("no alerts"),
            std::string::npos);
  EXPECT_NE(error_of(plan_with(with(R"("when")", partial) + "," + kTrigger)).find("only some triggers are partial"),
            std::string::npos);
}

}  // namespace
}  // namespace tapline
