#include "monitors/plan/plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "monitors/plan/monitor_taps.h"
#include "parsers/api/packet.h"

namespace tapline {
namespace {

Status parse(const std::string& json, QuerySpec* spec) {
  v1::Plan plan;
  const Status status = parse_plan(json, "plan.json", &plan);
  return status.ok() ? read_plan(plan, "local-0", spec) : status;
}

std::string plan_with(const std::string& further_text) {
  return R"({"format":1,"query":"q1","epoch":2,"parsers":["http_get","tcp-conn-time"],"topic":"t",)"
         R"("monitors":[{"id":"other"},{"id":"local-0","partition":3}])" +
         further_text + "}";
}

TEST(PlanTest, EveryFieldTakesEffect) {
  QuerySpec spec;
  Status status = parse(plan_with(R"(,"match":{"to":[{"prefix":"10.0.0.0/8","port":80,"last_port":89}],"vlans":[7]},)"
                                  R"("limit":{"duration":"1.5s"},"sampling":{"mode":"FIXED","rate":0.25})"),
                        &spec);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(spec.name, "q1");
  EXPECT_EQ(spec.epoch, 2u);
  EXPECT_EQ(spec.topic, "t");
  EXPECT_EQ(spec.partition, 3u);
  EXPECT_EQ(spec.parsers, (std::vector<std::string>{"http_get", "tcp_conn_time"}));
  EXPECT_EQ(spec.limit_duration_ns, 1'500'000'000);
  EXPECT_EQ(spec.limit_packets, std::nullopt);
  EXPECT_EQ(spec.sampling_rate, 0.25);
  Packet packet;
  packet.dst_port = 85;
  packet.vlan[0] = 7;
  const uint8_t ten[4] = {10, 1, 2, 3};
  packet.dst_ip = IpAddress::v4(ten);
  EXPECT_TRUE(spec.match.match(packet).wanted);
  packet.dst_port = 90;
  EXPECT_FALSE(spec.match.match(packet).wanted);
}

std::string filter_of(const std::string& parser, const std::string& field) {
  return R"(,"filters":[{"parsers":[")" + parser +
         R"("],"condition":{"nodes":[{"comparison":{"left":[{"field":{"name":")" + field +
         R"("}}],"order":"GREATER_OR_EQUAL","right":[{"literal":{"word":"500"}}]}}]}}])";
}

TEST(PlanTest, FiltersAreCompiledForTheirParsers) {
  QuerySpec spec;
  ASSERT_TRUE(parse(plan_with(filter_of("http_get", "status")), &spec).ok());
  ASSERT_EQ(spec.filters.size(), 1u);
  EXPECT_EQ(spec.filters[0].parser, "http_get");
  EXPECT_EQ(parse(plan_with(filter_of("http_get", "state")), &spec).message(),
            "filter for parser 'http_get': unknown field 'state'");
  EXPECT_EQ(parse(plan_with(filter_of("memcached_get", "status")), &spec).message(),
            "the plan has a filter for parser 'memcached_get', which the query does not run");
}

std::string plan_of_marked(const std::string& arguments) {
  return R"({"format":1,"query":"q1","parsers":["marked_packet"],"monitors":[{"id":"local-0"}],"arguments":[)" +
         arguments + "]}";
}

TEST(PlanTest, ArgumentsOfParsers) {
  QuerySpec defaults, configured;
  ASSERT_TRUE(parse(plan_of_marked(""), &defaults).ok());
  ASSERT_EQ(defaults.arguments.size(), 1u);
  EXPECT_EQ(defaults.arguments[0].values, (std::vector<std::string>{"46"}));
  ASSERT_TRUE(parse(plan_of_marked(R"({"parser":"marked_packet","name":"dscp","value":"10"})"), &configured).ok());
  EXPECT_EQ(configured.arguments[0].parser, "marked_packet");
  EXPECT_EQ(configured.arguments[0].values, (std::vector<std::string>{"10"}));
}

TEST(PlanTest, InvalidArgumentsAreRejected) {
  const auto message = [](const std::string& argument) {
    QuerySpec spec;
    return parse(plan_of_marked(argument), &spec).message();
  };
  EXPECT_EQ(message(R"({"parser":"http_get","name":"dscp","value":"10"})"),
            "the plan has an argument for parser 'http_get', which the query does not run");
  EXPECT_EQ(message(R"({"parser":"marked_packet","name":"ecn","value":"1"})"), "'marked_packet' has no argument 'ecn'");
  EXPECT_EQ(message(R"({"parser":"marked_packet","name":"dscp","value":"64"})"),
            "marked_packet: argument 'dscp' can't be '64': expected a whole number, 0 to 63");
}

TEST(PlanTest, FlowsOfAnotherMonitor) {
  QuerySpec spec;
  const std::string theirs = R"({"to":[{"prefix":"10.1.2.3/32"}])";
  Status status = parse(plan_with(R"(,"match":{"to":[{"port":80}],"except":)" + theirs + "}}"), &spec);
  ASSERT_TRUE(status.ok()) << status.message();
  Packet packet;
  packet.dst_port = 80;
  EXPECT_TRUE(spec.match.match(packet).wanted);
  const uint8_t ten[4] = {10, 1, 2, 3};
  packet.dst_ip = IpAddress::v4(ten);
  EXPECT_FALSE(spec.match.match(packet).wanted);
  status = parse(plan_with(R"(,"match":{"except":{"except":)" + theirs + "}}}"), &spec);
  EXPECT_FALSE(status.ok());
}

TEST(PlanTest, AReplacedPartKeepsItsName) {
  QuerySpec spec;
  const std::string plan =
      R"({"format":1,"query":"q1","epoch":2,"parsers":["http_get"],"monitors":[{"id":"other","host":"local-0","partition":3}]})";
  ASSERT_TRUE(parse(plan, &spec).ok());
  EXPECT_EQ(spec.monitor, "other");
  EXPECT_EQ(spec.partition, 3u);
}

TEST(PlanTest, CopiesOfSwitchesRequireConfirmation) {
  QuerySpec spec, mirrored;
  ASSERT_TRUE(parse(plan_with(""), &spec).ok());
  EXPECT_FALSE(spec.copies_unconfirmed);
  ASSERT_TRUE(parse(plan_with(R"(,"rules":[{"switch_id":"s1"}])"), &mirrored).ok());
  EXPECT_TRUE(mirrored.copies_unconfirmed);
}

TEST(PlanTest, SamplingModes) {
  for (const char* sampling : {"", R"(,"sampling":{"mode":"OFF","rate":0.5})", R"(,"sampling":{"mode":"AUTO"})"}) {
    QuerySpec spec;
    ASSERT_TRUE(parse(plan_with(sampling), &spec).ok());
    EXPECT_EQ(spec.sampling_rate, 1.0) << sampling;
  }
}

// A sample of the flows would give wrong rates.
TEST(PlanTest, ParsersThatMustSeeAllTrafficAreNotSampled) {
  const auto plan = [](const std::string& sampling) {
    return R"({"format":1,"query":"q1","parsers":["link_load"],"monitors":[{"id":"local-0"}],"sampling":)" + sampling +
           "}";
  };
  QuerySpec spec;
  EXPECT_TRUE(parse(plan(R"({"mode":"OFF"})"), &spec).ok());
  EXPECT_TRUE(parse(plan(R"({"mode":"FIXED","rate":1})"), &spec).ok());
  EXPECT_EQ(parse(plan(R"({"mode":"FIXED","rate":0.5})"), &spec).message(),
            "parser 'link_load' must see all flows, but the plan samples them");
  EXPECT_FALSE(parse(plan(R"({"mode":"AUTO","rate":1})"), &spec).ok());
}

std::string loads_plan(const std::string& query, const std::string& every_ns) {
  std::string json = R"({"format":1,"parsers":["link_load"],"monitors":[{"id":"local-0"}],"sampling":{"mode":"OFF"})";
  json += R"(,"arguments":[{"parser":"link_load","name":"every","unit":"ns","value":")";
  json += every_ns;
  json += R"("}],"query":")";
  json += query;
  json += R"("})";
  return json;
}

QuerySpec loads(const std::string& query, const std::string& every_ns) {
  QuerySpec spec;
  const Status status = parse(loads_plan(query, every_ns), &spec);
  EXPECT_TRUE(status.ok()) << status.message();
  return spec;
}

TEST(PlanTest, QueriesOfAMonitorShareTheIntervalOfAParser) {
  const QuerySpec slow = loads("q1", "1000000000"), fast = loads("q2", "1000000"), odd = loads("q3", "101000");
  EXPECT_TRUE(check_intervals(fast, fast).ok());
  EXPECT_EQ(check_intervals(fast, slow).message(),
            "parser 'link_load' already runs with every=1s on this monitor for another query, and all queries share its"
            " interval; use every=1s, or use another monitor");
  EXPECT_NE(check_intervals(slow, fast).message().find("every=1ms"), std::string::npos);
  EXPECT_NE(check_intervals(slow, odd).message().find("every=101us"), std::string::npos);
  QuerySpec other;
  ASSERT_TRUE(query_of_parsers({"flow_rate", "http_get"}, &other).ok());
  EXPECT_TRUE(check_intervals(other, slow).ok());
}

TEST(PlanTest, IntervalsOutOfBoundsAreRefused) {
  for (const char* every_ns : {"0", "99000", "100500", "10000001000", "-1000000", "1e6", ""}) {
    QuerySpec spec;
    EXPECT_EQ(parse(loads_plan("q", every_ns), &spec).message(),
              "link_load: argument 'every' can't be '" + std::string(every_ns) +
                  "': expected a multiple of 1000, 100000 to 10000000000 ns");
  }
}

TEST(PlanTest, ThePlanHasTheLatestRateLimitOfThePipeline) {
  QuerySpec spec;
  ASSERT_TRUE(parse(plan_with(R"(,"sampling":{"mode":"AUTO","by_port":true,"limit":0.2})"), &spec).ok());
  EXPECT_EQ(spec.sampling_rate, 1.0);
  EXPECT_EQ(spec.pipeline_limit, 0.2);
  EXPECT_TRUE(spec.sampled_by_port);
  ASSERT_TRUE(parse(plan_with(R"(,"sampling":{"mode":"AUTO"})"), &spec).ok());
  EXPECT_EQ(spec.pipeline_limit, 1.0);
  EXPECT_FALSE(spec.sampled_by_port);
}

TEST(PlanTest, FormsOfStrings) {
  const auto plan_of = [](const std::string& parser, const std::string& field, const std::string& form) {
    return plan_with(R"(,"shapes":[{"parser":")" + parser + R"(","field":")" + field + R"(","form":)" + form + "}]");
  };
  QuerySpec spec;
  ASSERT_TRUE(parse(plan_of("http_get", "url", R"("TEMPLATE")"), &spec).ok());
  ASSERT_EQ(spec.shapes.size(), 1u);
  EXPECT_EQ(spec.shapes[0].field, "url");
  EXPECT_EQ(spec.shapes[0].form, TextForm::kTemplate);
  const auto message = [&](const std::string& json) { return parse(json, &spec).message(); };
  EXPECT_EQ(message(plan_of("sample", "url", R"("HASH")")),
            "the plan has a shape for parser 'sample', which the query does not run");
  EXPECT_EQ(message(plan_of("http_get", "status", R"("HASH")")), "'http_get' has no string field 'status'");
  EXPECT_EQ(message(plan_of("http_get", "nothing", R"("HASH")")), "'http_get' has no string field 'nothing'");
  EXPECT_EQ(message(plan_of("http_get", "url", "77")), "unknown form 77 for 'url'");
  EXPECT_FALSE(parse(plan_of("http_get", "url", R"("SHRED")"), &spec).ok());
}

TEST(PlanTest, ALeasedLimitMayStartAtZero) {
  QuerySpec spec;
  ASSERT_TRUE(parse(plan_with(R"(,"limit":{"leased":true})"), &spec).ok());
  EXPECT_EQ(spec.limit_packets, 0u);
  EXPECT_TRUE(spec.limit_leased);
  ASSERT_TRUE(parse(plan_with(R"(,"limit":{"packets":70,"leased":true,"spent":60})"), &spec).ok());
  EXPECT_EQ(spec.limit_packets, 70u);
  EXPECT_EQ(spec.limit_spent, 60u);
}

TEST(PlanTest, LimitInPackets) {
  QuerySpec spec;
  ASSERT_TRUE(parse(plan_with(R"(,"limit":{"packets":5000})"), &spec).ok());
  EXPECT_EQ(spec.limit_packets, 5000u);
}

struct InvalidCase {
  std::string json;
  std::string message;
};

TEST(PlanTest, ErrorsAreNamed) {
  const InvalidCase wrongs[] = {
      {"{", "plan.json: is not a plan"},
      {plan_with(R"(,"colour":"red")"), "colour"},
      {R"({"format":2,"query":"q","parsers":["http_get"]})", "format 2"},
      {R"({"format":1,"parsers":["http_get"]})", "does not name a query"},
      {R"({"format":1,"query":"q"})", "does not name a parser"},
      {R"({"format":1,"query":"q","parsers":["htp_get"]})", "did you mean 'http_get'"},
      {R"({"format":1,"query":"q","parsers":["http_get"],"monitors":[{"id":"x"}]})", "no monitor 'local-0'"},
      {plan_with(R"(,"match":{"to":[{"prefix":"h1"}]})"), "'h1' is not an address"},
      {plan_with(R"(,"match":{"to":[{"port":70000}]})"), "70000"},
      {plan_with(R"(,"match":{"to":[{"port":80,"last_port":70000}]})"), "70000"},
      {plan_with(R"(,"match":{"to":[{"last_port":90}]})"), "first port"},
      {plan_with(R"(,"limit":{"duration":"-1s"})"), "positive"},
      {plan_with(R"(,"sampling":{"mode":"FIXED","rate":1.5})"), "sampling rate"},
      {plan_with(R"(,"sampling":{"mode":"AUTO","limit":-1})"), "limit"},
  };
  for (const InvalidCase& wrong : wrongs) {
    QuerySpec spec;
    Status status = parse(wrong.json, &spec);
    EXPECT_EQ(status.code(), Code::kInvalid) << wrong.json;
    EXPECT_NE(status.message().find(wrong.message), std::string::npos) << status.message();
  }
}

TEST(PlanTest, GoldenPlansAreRead) {
  for (const char* name : {"top_k.plan.json", "diff_group.plan.json"}) {
    v1::Plan plan;
    QuerySpec spec;
    Status status = load_plan(std::filesystem::path(TAPLINE_SOURCE_DIR) / "schema/golden" / name, &plan);
    if (status.ok()) status = read_plan(plan, "local-0", &spec);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// A plan from a later version may contain a restriction that this monitor does not know and would therefore ignore.
TEST(PlanTest, APlanWithUnknownFieldsIsRefused) {
  v1::Plan plan;
  ASSERT_TRUE(parse_plan(plan_with(""), "plan.json", &plan).ok());
  QuerySpec spec;
  EXPECT_TRUE(read_plan(plan, "local-0", &spec).ok());
  v1::Match* match = plan.mutable_match();
  match->GetReflection()->MutableUnknownFields(match)->AddVarint(1000, 1);
  EXPECT_NE(read_plan(plan, "local-0", &spec).message().find("does not know"), std::string::npos);
}

TEST(PlanTest, MissingFile) {
  v1::Plan plan;
  EXPECT_NE(load_plan("/nowhere/plan.json", &plan).message().find("/nowhere/plan.json"), std::string::npos);
}

TEST(PlanTest, AQueryOfParsersSelectsEverythingOnce) {
  QuerySpec spec;
  ASSERT_TRUE(query_of_parsers({"http-get", "http_get"}, &spec).ok());
  EXPECT_EQ(spec.parsers, std::vector<std::string>{"http_get"});
  EXPECT_TRUE(spec.match.match(Packet()).wanted);
  EXPECT_FALSE(query_of_parsers({"nothing"}, &spec).ok());
}

TEST(PlanTest, ParsersOfQueuesNeedBothSides) {
  QuerySpec spec;
  ASSERT_TRUE(query_of_parsers({"tcp_pkt_size", "queue_flows"}, &spec).ok());
  const Tap arrivals = {"sw1", "2", TapSide::kArrivals, "m0", false};
  const Tap departures = {"sw1", "2", TapSide::kDepartures, "m1", false};
  const Tap elsewhere = {"sw1", "3", TapSide::kDepartures, "m2", false};
  EXPECT_TRUE(MonitorTaps({departures, elsewhere, arrivals}).bind(&spec).ok());
  EXPECT_TRUE(spec.match.wants_all());
  EXPECT_EQ(MonitorTaps({arrivals, elsewhere}).bind(&spec).message(),
            "parser 'queue_flows' requires taps on both sides of a port's queue: --tap SWITCH:PORT:arrivals=SOURCE and"
            " --tap SWITCH:PORT:departures=SOURCE; given: sw1:2:arrivals, sw1:3:departures");
  // Without taps on sides of queues, packets may carry telemetry from switches.
  EXPECT_TRUE(MonitorTaps({}).bind(&spec).ok());
  EXPECT_TRUE(MonitorTaps({Tap{"sw1", "2", TapSide::kUnknown, "m0", false}}).bind(&spec).ok());
  QuerySpec other;
  ASSERT_TRUE(query_of_parsers({"tcp_pkt_size"}, &other).ok());
  EXPECT_TRUE(MonitorTaps({}).bind(&other).ok());
}

std::string queue_plan(const std::string& parsers, const std::string& further_text) {
  return R"({"format":1,"query":"q1","parsers":[)" + parsers + R"(],"monitors":[{"id":"local-0"}])" + further_text +
         "}";
}

Status read(const std::string& json, QuerySpec* spec) {
  v1::Plan plan;
  Status status = parse_plan(json, "plan.json", &plan);
  return status.ok() ? read_plan(plan, "local-0", spec) : status;
}

TEST(PlanTest, QueuesRestrictTheQueryToTheirTaps) {
  QuerySpec spec;
  ASSERT_TRUE(read(queue_plan(R"("queue_flows")", R"(,"queues":[{"switch_name":"sw1","port":"2"}])"), &spec).ok());
  const Tap arrivals = {"sw1", "2", TapSide::kArrivals, "m0", false};
  const Tap departures = {"sw1", "2", TapSide::kDepartures, "m1", false};
  const Tap elsewhere = {"sw1", "3", TapSide::kArrivals, "m2", false};
  ASSERT_TRUE(MonitorTaps({elsewhere, departures, arrivals}).bind(&spec).ok());
  Packet packet;
  EXPECT_FALSE(spec.match.match(packet).wanted);
  for (packet.tap = 1; packet.tap <= 2; ++packet.tap) EXPECT_TRUE(spec.match.match(packet).wanted);
  packet.tap = 2;
  packet.repeated_view = true;
  EXPECT_TRUE(spec.match.counts(packet));
  packet.tap = 1;
  packet.repeated_view = false;
  EXPECT_FALSE(spec.match.counts(packet));
  EXPECT_FALSE(spec.match.wants_all());
}

TEST(PlanTest, MarkedCopiesBelongToQueriesOfTheirQueue) {
  MonitorTaps taps({{.source = "mirror0"}}, true);
  const auto bind = [&](const std::string& queues, QuerySpec* spec) {
    Status status = read(queue_plan(R"("queue_flows")", R"(,"queues":[)" + queues + "]"), spec);
    return status.ok() ? taps.bind(spec) : status;
  };
  QuerySpec one, both, plain;
  ASSERT_TRUE(bind(R"({"switch_name":"sw1","port":"2","mark":7})", &one).ok());
  ASSERT_TRUE(
      bind(R"({"switch_name":"sw2","port":"1","mark":9},{"switch_name":"sw1","port":"2","mark":7})", &both).ok());
  ASSERT_TRUE(query_of_parsers({"tcp_pkt_size"}, &plain).ok());
  ASSERT_TRUE(taps.bind(&plain).ok());
  const auto wanted = [](const QuerySpec& spec, uint8_t tap) {
    Packet packet;
    packet.tap = tap;
    return spec.match.match(packet).wanted;
  };
  const uint8_t arrivals = taps.marks()->tap_of(14), departures = taps.marks()->tap_of(15);
  const uint8_t other = taps.marks()->tap_of(18), unbound = taps.marks()->tap_of(20);
  for (uint8_t tap : {arrivals, departures}) {
    EXPECT_TRUE(wanted(one, tap));
    EXPECT_TRUE(wanted(both, tap));
    EXPECT_FALSE(wanted(plain, tap));
    EXPECT_EQ(taps.names()[tap].switch_name, "sw1");
    EXPECT_EQ(taps.names()[tap].port, "2");
  }
  EXPECT_FALSE(wanted(one, other));
  EXPECT_TRUE(wanted(both, other));
  for (const QuerySpec* spec : {&one, &both, &plain}) EXPECT_FALSE(wanted(*spec, unbound));
  EXPECT_FALSE(wanted(one, 0));
  EXPECT_TRUE(wanted(plain, 0));
  EXPECT_TRUE(plain.match.wants_all());

  Status full;
  for (uint32_t mark = 100; full.ok() && mark < 200; ++mark) {
    QuerySpec spec;
    full = bind(R"({"switch_name":"sw3","port":"1","mark":)" + std::to_string(mark) + "}", &spec);
  }
  EXPECT_NE(full.message().find("cannot measure another one"), std::string::npos) << full.message();
  QuerySpec high;
  const Status too_high = bind(R"({"switch_name":"sw3","port":"1","mark":8388608})", &high);
  EXPECT_NE(too_high.message().find("2^23"), std::string::npos) << too_high.message();
  QuerySpec refused_spec;
  ASSERT_TRUE(
      read(queue_plan(R"("queue_flows")", R"(,"queues":[{"switch_name":"sw1","port":"2","mark":7}])"), &refused_spec)
          .ok());
  EXPECT_NE(MonitorTaps({{.source = "mirror0"}}).bind(&refused_spec).message().find("--marked-copies"),
            std::string::npos);
}

TEST(PlanTest, AQueueWithoutATapIsRejected) {
  const Tap arrivals = {"sw1", "2", TapSide::kArrivals, "m0", false};
  const Tap departures = {"sw1", "3", TapSide::kDepartures, "m1", false};
  const auto message = [&](const std::string& port) {
    QuerySpec spec;
    EXPECT_TRUE(
        read(queue_plan(R"("queue_flows")", R"(,"queues":[{"switch_name":"sw1","port":")" + port + R"("}])"), &spec)
            .ok());
    return MonitorTaps({arrivals, departures}).bind(&spec).message();
  };
  EXPECT_EQ(message("2"),
            "AT sw1:2: this monitor has no departures tap at sw1:2; add --tap sw1:2:departures=SOURCE; given:"
            " sw1:2:arrivals, sw1:3:departures");
  EXPECT_NE(message("3").find("no arrivals tap at sw1:3"), std::string::npos);
  EXPECT_NE(message("4").find("no tap at sw1:4"), std::string::npos);
}

TEST(PlanTest, ParsersOfQueuesReportSomeFlows) {
  QuerySpec spec;
  const std::string reported = R"(,"reported":{"from":[{"prefix":"10.0.0.0/8"}],"to":[{"port":80}]})";
  ASSERT_TRUE(read(queue_plan(R"("queue_flows","queue_depth")", reported), &spec).ok());
  EXPECT_TRUE(spec.match.wants_all()) << "all flows are measured";
  TupleHeader header;
  EXPECT_TRUE(spec.reports(header)) << "a whole queue";
  const uint8_t inside[] = {10, 1, 2, 3}, outside[] = {11, 1, 2, 3};
  header.src_ip = IpAddress::v4(inside);
  header.dst_ip = IpAddress::v4(outside);
  header.dst_port = 80;
  EXPECT_TRUE(spec.reports(header));
  header.dst_port = 81;
  EXPECT_FALSE(spec.reports(header));
  header.dst_port = 5;
  header.src_port = 80;
  EXPECT_FALSE(spec.reports(header)) << "the server is in FROM";
  std::swap(header.src_ip, header.dst_ip);
  EXPECT_TRUE(spec.reports(header)) << "in the other direction";
}

TEST(PlanTest, OnlyParsersOfQueuesAcceptQueues) {
  const auto message = [](const std::string& parsers, const std::string& further_text) {
    QuerySpec spec;
    return read(queue_plan(parsers, further_text), &spec).message();
  };
  for (const char* more : {R"(,"queues":[{"switch_name":"sw1","port":"2"}])", R"(,"reported":{})"}) {
    EXPECT_NE(message(R"("queue_flows","tcp_pkt_size")", more).find("'tcp_pkt_size' does not measure queues"),
              std::string::npos);
  }
  EXPECT_EQ(message(R"("queue_flows")", R"(,"queues":[{"switch_name":"sw1"}])"), "a queue needs a switch and a port");
}

TEST(PlanTest, QueuesAreNotSampled) {
  const auto plan = [](const std::string& sampling) {
    return R"({"format":1,"query":"q1","parsers":["queue_depth"],"monitors":[{"id":"local-0"}],"sampling":)" +
           sampling + "}";
  };
  QuerySpec spec;
  EXPECT_TRUE(parse(plan(R"({"mode":"OFF"})"), &spec).ok());
  EXPECT_FALSE(parse(plan(R"({"mode":"FIXED","rate":0.5})"), &spec).ok());
  EXPECT_FALSE(parse(plan(R"({"mode":"AUTO","rate":1})"), &spec).ok());
}

TEST(PlanTest, AQueueIsMeasuredByOneThread) {
  ThreadLayout layout;
  const std::vector<std::string> parsers = {"queue_flows"};
  ASSERT_TRUE(parse_workers(std::vector<std::string>{"queue_flows=2"}, &layout).ok());
  EXPECT_FALSE(layout.check(parsers).ok());
  ThreadLayout one;
  ASSERT_TRUE(parse_workers(std::vector<std::string>{"queue_flows", "tcp_pkt_size=2"}, &one).ok());
  EXPECT_TRUE(one.check(parsers).ok());
}

}  // namespace
}  // namespace tapline
