#include "monitors/config/config.h"

#include <gtest/gtest.h>

#include <map>

#include "monitors/config/flags.h"
#include "packet_io/testing/capture_bytes.h"

namespace tapline {
namespace {

// A key with its default, another valid value, and an invalid one (empty if every value is valid).
struct KeyCase {
  const char* fallback;
  const char* other;
  const char* wrong;
};
const std::map<std::string, KeyCase> kCases = {
    {"pcap", {"[]", "a.pcap", ""}},
    {"interface", {"\"\"", "eth0", ""}},
    {"tap", {"[]", "sw1:2:arrivals=m0", "sw1:2:in=m0"}},
    {"merge_bound_us", {"1000", "0", "-1"}},
    {"vdev", {"\"\"", "net_null0", ""}},
    {"port", {"\"\"", "0000:03:00.0", ""}},
    {"marked_copies", {"false", "true", "yes"}},
    {"speed", {"\"max\"", "1x", "2x"}},
    {"busy", {"false", "true", "yes"}},
    {"duplicates", {"\"keep\"", "drop", "copy"}},
    {"view_horizon_ms", {"1000", "50", "0"}},
    {"view_packets", {"1048576", "4096", "1"}},
    {"lanes", {"1", "2", "0"}},
    {"workers", {"[]", "http_get=2", ""}},
    {"ring_packets", {"4096", "64", "1"}},
    {"parser", {"[]", "http_get", ""}},
    {"plan", {"[]", "plan.json", ""}},
    {"plugin", {"[]", "mine.so", ""}},
    {"control", {"false", "true", "on"}},
    {"monitor_id", {"\"local-0\"", "m-7", "a b"}},
    {"hash_key_file", {"\"\"", "hash.key", ""}},
    {"output", {"\"json\"", "kafka", "xml"}},
    {"brokers", {"\"\"", "localhost:9092", ""}},
    {"broker_ca", {"\"\"", "ca.pem", ""}},
    {"broker_certificate", {"\"\"", "own.pem", ""}},
    {"broker_key", {"\"\"", "own.key", ""}},
    {"broker_login_file", {"\"\"", "broker.login", ""}},
    {"clear", {"[]", "kafka", ""}},
    {"compression", {"\"lz4\"", "zstd", "gzip"}},
    {"queue_mib", {"64", "128", "0"}},
    {"broker_timeout_s", {"10", "3", "ten"}},
    {"batch_rows", {"4096", "1", "-1"}},
    {"flush_ms", {"100", "50", "1.5"}},
    {"heartbeat_ms", {"500", "250", "0"}},
    {"status", {"\"text\"", "json", "xml"}},
    {"metrics", {"\"\"", "127.0.0.1:9100", ""}},
    {"metrics_certificate", {"\"\"", "own.pem", ""}},
    {"metrics_key", {"\"\"", "own.key", ""}},
    {"metrics_token_file", {"\"\"", "token", ""}},
    {"headers_to", {"\"\"", "/dev/shm/tapline", ""}},
    {"routes", {"\"\"", "leaf1.routes", ""}},
    {"supervise", {"\"auto\"", "always", "yes"}},
    {"watchdog_ms", {"500", "1000", "10"}},
    {"hugepages", {"\"auto\"", "never", "always"}},
    {"memory_mib", {"256", "512", "1"}},
    {"max_connections", {"1048576", "2048", "5"}},
    {"idle_timeout_s", {"300", "60", "0"}},
    {"max_reassembly_mib", {"64", "1", "70000"}},
};

Status from_flags(const std::vector<std::string>& arguments, CommandLine* out) {
  return parse_command_line(arguments, out);
}

std::string dumped(MonitorConfig config) { return dump_yaml(table_of(&config)); }

std::string flag(std::string key) {
  for (char& letter : key) letter = letter == '_' ? '-' : letter;
  return "--" + key;
}

TEST(ConfigTest, EveryKeyHasACaseHere) {
  MonitorConfig config;
  const ConfigTable table = table_of(&config);
  ASSERT_EQ(table.keys().size(), kCases.size());
  for (const ConfigKey& key : table.keys()) EXPECT_TRUE(kCases.contains(std::string(key.name))) << key.name;
}

TEST(ConfigTest, Defaults) {
  std::string dump = dumped(MonitorConfig());
  for (const auto& [name, expected] : kCases) {
    EXPECT_NE(("\n" + dump).find("\n" + name + ": " + expected.fallback + "\n"), std::string::npos) << name << "\n"
                                                                                                    << dump;
  }
}

TEST(ConfigTest, EveryKeyFromYamlAndFromItsFlag) {
  for (const auto& [name, expected] : kCases) {
    MonitorConfig from_yaml;
    Status status = parse_yaml(name + ": " + expected.other, "f.yaml", table_of(&from_yaml));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_NE(from_yaml, MonitorConfig()) << name;
    EXPECT_EQ(table_of(&from_yaml).find(name)->get(), std::vector<std::string>{expected.other});

    CommandLine line;
    std::vector<std::string> arguments = {flag(name) + "=" + expected.other};
    ASSERT_TRUE(from_flags(arguments, &line).ok()) << name;
    EXPECT_EQ(line.config, from_yaml) << name;
  }
}

TEST(ConfigTest, InvalidValuesAreNamedWithTheirLine) {
  for (const auto& [name, expected] : kCases) {
    if (*expected.wrong == '\0') continue;
    MonitorConfig config;
    Status status = parse_yaml("# comment\n\n" + name + ": " + expected.wrong, "f.yaml", table_of(&config));
    EXPECT_EQ(status.code(), Code::kUsage) << name;
    EXPECT_EQ(status.message().find("f.yaml: line 3: '" + name + "'"), 0u) << status.message();
    CommandLine flags;
    EXPECT_EQ(from_flags({flag(name) + "=" + expected.wrong}, &flags).code(), Code::kUsage) << name;
  }
}

TEST(ConfigTest, DumpCanBeReadBack) {
  MonitorConfig all;
  for (const auto& [name, expected] : kCases) ASSERT_EQ(table_of(&all).find(name)->set(expected.other), "");
  all.pcap = {"a: b.pcap", "c,\"d\".pcap", "- x", "#y"};
  all.brokers = "true";
  for (const MonitorConfig& config : {all, MonitorConfig()}) {
    MonitorConfig back;
    Status status = parse_yaml(dumped(config), "dump", table_of(&back));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(back, config) << dumped(config);
  }
}

TEST(ConfigTest, RejectsUnknownAndRepeatedKeysAndOtherText) {
  MonitorConfig config;
  EXPECT_EQ(parse_yaml("\noutptu: json", "f.yaml", table_of(&config)).message(),
            "f.yaml: line 2: unknown key 'outptu'; did you mean 'output'?");
  EXPECT_NE(
      parse_yaml("busy: true\nbusy: false", "f.yaml", table_of(&config)).message().find("line 2: 'busy' is set twice"),
      std::string::npos);
  EXPECT_NE(parse_yaml("a: [", "f.yaml", table_of(&config)).message().find("is not YAML"), std::string::npos);
  EXPECT_FALSE(parse_yaml("- a", "f.yaml", table_of(&config)).ok());
  EXPECT_FALSE(parse_yaml("output: [json]", "f.yaml", table_of(&config)).ok());
  EXPECT_FALSE(load_yaml("/nowhere.yaml", table_of(&config)).ok());
  EXPECT_TRUE(parse_yaml("", "f.yaml", table_of(&config)).ok());
}

TEST(ConfigTest, FlagsOverrideTheFileInAnyOrder) {
  TempDir dir;
  std::string text = "output: null\nparser: [http_get, tcp_conn_time]\nspeed: 1x\n";
  std::string path = dir.write("f.yaml", Bytes(text.begin(), text.end()));
  CommandLine line;
  Status status = from_flags({"--output", "json", "--parser", "tcp_pkt_size", "--config", path, "--check"}, &line);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(line.action, CommandLine::Action::kCheck);
  EXPECT_EQ(line.config.output, "json");
  EXPECT_EQ(line.config.parser, std::vector<std::string>{"tcp_pkt_size"});
  EXPECT_EQ(line.config.speed, "1x");
}

TEST(ConfigTest, ListsFromFlags) {
  CommandLine line;
  ASSERT_TRUE(from_flags({"--parser", "a,b", "--parser=c", "--pcap", "x,y.pcap", "--pcap", "z", "--busy"}, &line).ok());
  EXPECT_EQ(line.config.parser, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(line.config.pcap, (std::vector<std::string>{"x,y.pcap", "z"}));
  EXPECT_TRUE(line.config.busy);
}

TEST(ConfigTest, CommasInParenthesesDoNotSeparateValues) {
  CommandLine line;
  ASSERT_TRUE(from_flags({"--parser", "a(x=1,y=2),b", "--parser", "c(z=3", "--parser", "d),e,"}, &line).ok());
  EXPECT_EQ(line.config.parser, (std::vector<std::string>{"a(x=1,y=2)", "b", "c(z=3", "d)", "e"}));
  MonitorConfig config;
  ASSERT_TRUE(parse_yaml("parser: ['a(x=1,y=2)', b]", "f.yaml", table_of(&config)).ok());
  EXPECT_EQ(config.parser, (std::vector<std::string>{"a(x=1,y=2)", "b"}));
}

TEST(ConfigTest, InvalidFlags) {
  CommandLine line;
  EXPECT_NE(from_flags({"--intreface", "x"}, &line).message().find("did you mean --interface?"), std::string::npos);
  EXPECT_FALSE(from_flags({"file.pcap"}, &line).ok());
  EXPECT_FALSE(from_flags({"--pcap"}, &line).ok());
  EXPECT_FALSE(from_flags({"--pcap", "--busy"}, &line).ok());
}

TEST(ConfigTest, HelpNamesEveryFlag) {
  MonitorConfig config;
  const ConfigTable table = table_of(&config);
  for (const ConfigKey& key : table.keys()) {
    EXPECT_NE(help_text().find("  " + flag(std::string(key.name))), std::string::npos) << key.name;
  }
}

TEST(ConfigTest, Validation) {
  MonitorConfig good_config;
  good_config.pcap = {"a.pcap"};
  good_config.parser = {"http_get"};
  EXPECT_TRUE(validate(good_config).ok());
  auto broken = [&](auto change) {
    MonitorConfig config = good_config;
    change(config);
    return validate(config).code();
  };
  EXPECT_EQ(broken([](auto& c) { c.pcap.clear(); }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.interface = "eth0"; }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.parser.clear(); }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.plan = {"p"}; }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.output = "kafka"; }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.pcap.clear(), c.interface = "eth0", c.speed = "1x"; }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.clear = {"kafka", "metric"}; }), Code::kUsage);
  EXPECT_EQ(broken([](auto& c) { c.metrics.address = "10.0.0.1:7402"; }), Code::kUsage);
}

TEST(ConfigTest, TapsAreFilesOrInterfaces) {
  const auto fault = [](const std::vector<std::string>& flags) {
    CommandLine line;
    std::vector<std::string> all = {"--parser", "http_get"};
    all.insert(all.end(), flags.begin(), flags.end());
    Status status = from_flags(all, &line);
    if (status.ok()) status = validate(line.config);
    return status.message();
  };
  EXPECT_EQ(fault({"--tap", "sw1:1:arrivals=a.pcapng#in", "--tap", "sw1:1:departures=a.pcapng#out"}), "");
  EXPECT_EQ(fault({"--tap", "sw1=m0", "--interface", "eth0"}), "");
  EXPECT_EQ(fault({"--pcap", "any-name", "--tap", "sw1=./another"}), "");
  EXPECT_EQ(fault({"--tap", "sw1=a.pcap", "--speed", "1x"}), "");
  EXPECT_NE(fault({"--tap", "sw1=m0", "--pcap", "a.pcap"}).find("several inputs"), std::string::npos);
  EXPECT_NE(fault({"--tap", "sw1=m0", "--tap", "sw2=a.pcap"}).find("./NAME"), std::string::npos);
  EXPECT_NE(fault({"--tap", "sw1=m0", "--tap", "sw1=m1"}).find("the tap sw1 is given twice"), std::string::npos);
  EXPECT_NE(fault({"--pcap", "a.pcap", "--pcap", "a.pcap"}).find("use each source for one tap only"),
            std::string::npos);
  EXPECT_EQ(fault({"--tap", "sw1:2:in=m0"}),
            "--tap: the tap 'sw1:2:in=m0': 'in' is not a side of a queue: use arrivals or departures");
}

TEST(ConfigTest, TapsKeepTheirOrder) {
  InputConfig input;
  input.pcap = {"a", "b"};
  input.tap = {"sw1=c.pcap", "sw0=d.pcap"};
  std::string sources;
  for (const Tap& tap : taps_of(input)) sources += tap.source + " ";
  EXPECT_EQ(sources, "a b c.pcap d.pcap ");
  EXPECT_EQ(files_of(input).size(), 4u);
  EXPECT_TRUE(interfaces_of(input).empty());
}

TEST(ConfigTest, MetricsBeyondLoopbackRequireTlsAndATokenOrClear) {
  const MetricsConfig near{"127.0.0.1:7402", "", "", ""}, far{"10.0.0.1:7402", "", "", ""};
  EXPECT_TRUE(validate_metrics({}, {}).ok());
  EXPECT_TRUE(validate_metrics(near, {}).ok());
  EXPECT_TRUE(validate_metrics({"127.0.0.1:7402", "c", "k", ""}, {}).ok());
  EXPECT_TRUE(validate_metrics({"10.0.0.1:7402", "c", "k", "t"}, {}).ok());
  EXPECT_TRUE(validate_metrics(far, {"metrics"}).ok());
  EXPECT_EQ(
      validate_metrics(far, {"kafka"}).message(),
      "--metrics 10.0.0.1:7402: the address is not on loopback; it requires --metrics-certificate FILE, --metrics-key "
      "FILE and --metrics-token-file FILE; in a trusted network, --clear metrics permits it unencrypted");
  EXPECT_EQ(validate_metrics({"10.0.0.1:7402", "c", "k", ""}, {}).exit_code(), 2) << "any client would get a response";
  EXPECT_EQ(validate_metrics({"127.0.0.1:7402", "", "", "t"}, {}).exit_code(), 2) << "an unencrypted token";
  EXPECT_EQ(validate_metrics({"127.0.0.1:7402", "c", "", ""}, {}).exit_code(), 2);
  EXPECT_EQ(validate_metrics({"127.0.0.1:7402", "", "k", ""}, {}).exit_code(), 2);
  EXPECT_EQ(validate_metrics({"", "c", "k", ""}, {}).exit_code(), 2) << "a certificate without an address";
}

}  // namespace
}  // namespace tapline
