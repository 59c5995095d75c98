#include "monitors/agent/agent_config.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tapline {
namespace {

AgentConfig config_with(std::vector<std::string> control_plane) {
  AgentConfig config;
  config.name = "h1";
  config.interface = "eth1";
  config.control_plane = std::move(control_plane);
  return config;
}

TEST(AgentConfigTest, AControlPlaneBeyondLoopbackRequiresTlsOrClear) {
  EXPECT_TRUE(validate(config_with({"127.0.0.1:8481", "[::1]:8482"})).ok());
  AgentConfig config = config_with({"127.0.0.1:8481", "10.0.0.1:8481"});
  const Status refused_status = validate(config);
  EXPECT_EQ(refused_status.exit_code(), 2);
  EXPECT_NE(refused_status.message().find("--control-plane 10.0.0.1:8481"), std::string::npos)
      << refused_status.message();
  EXPECT_NE(refused_status.message().find("--control-plane-ca"), std::string::npos) << refused_status.message();
  config.clear = {"kafka"};
  EXPECT_FALSE(validate(config).ok());
  config.clear = {"control-plane"};
  EXPECT_TRUE(validate(config).ok());
  config.clear = {};
  config.control_plane_ca = "ca.pem";
  EXPECT_TRUE(validate(config).ok());
  config.clear = {"redis"};
  EXPECT_FALSE(validate(config).ok());
}

TEST(AgentConfigTest, TapsAreInterfacesThatTheMonitorReads) {
  AgentConfig config = config_with({"127.0.0.1:8481"});
  config.tap = {"sw1:1:arrivals=m0", "sw1:1:departures=m1"};
  EXPECT_TRUE(validate(config).ok());
  config.interface = "";
  EXPECT_TRUE(validate(config).ok());
  const std::vector<std::string> command = monitor_command(config, "127.0.0.1:9092", false);
  std::string taps;
  for (size_t i = 0; i + 1 < command.size(); ++i) {
    if (command[i] == "--tap") taps += command[i + 1] + " ";
  }
  EXPECT_EQ(taps, "sw1:1:arrivals=m0 sw1:1:departures=m1 ");
  EXPECT_EQ(std::count(command.begin(), command.end(), "--interface"), 0);
  const auto fault = [&config](auto change) {
    AgentConfig changed_config = config;
    change(changed_config);
    EXPECT_EQ(validate(changed_config).exit_code(), 2);
    return validate(changed_config).message();
  };
  EXPECT_NE(fault([](auto& c) { c.tap = {"sw1=a.pcap"}; }).find("not capture files"), std::string::npos);
  EXPECT_NE(fault([](auto& c) { c.tap[1] = "sw1:1:arrivals=m1"; }).find("given twice"), std::string::npos);
  EXPECT_NE(fault([](auto& c) { c.lanes = 2; }).find("--lanes"), std::string::npos);
  EXPECT_NE(fault([](auto& c) { c.vdev = "net_null0"; }).find("--vdev"), std::string::npos);
  EXPECT_NE(fault([](auto& c) { c.tap = {}; }).find("is required"), std::string::npos);
}

TEST(AgentConfigTest, AnIdentityIsACertificateAndItsKeyOverTls) {
  AgentConfig config = config_with({"10.0.0.1:8481"});
  config.control_plane_ca = "ca.pem";
  config.control_plane_certificate = "h1.pem";
  EXPECT_EQ(validate(config).exit_code(), 2);
  config.control_plane_key = "h1.key";
  EXPECT_TRUE(validate(config).ok());
  config.control_plane_certificate = "";
  EXPECT_EQ(validate(config).exit_code(), 2);
  config = config_with({"127.0.0.1:8481"});
  config.control_plane_certificate = "h1.pem";
  config.control_plane_key = "h1.key";
  EXPECT_NE(validate(config).message().find("--control-plane-ca"), std::string::npos) << "a certificate requires TLS";
}

TEST(AgentConfigTest, BrokersBeyondLoopbackRequireTlsOrClear) {
  AgentConfig config = config_with({"127.0.0.1:8481"});
  EXPECT_TRUE(check_brokers(config, "127.0.0.1:9092").ok());
  EXPECT_NE(check_brokers(config, "127.0.0.1:9092,k:1").message().find("k:1"), std::string::npos);
  config.broker_ca = "ca.pem";
  EXPECT_TRUE(check_brokers(config, "k:1").ok());
  config.broker_ca = "";
  config.clear = {"kafka"};
  EXPECT_TRUE(check_brokers(config, "k:1").ok());
}

// Returns true if `value` follows `flag` on the monitor's command line.
bool has(const AgentConfig& config, const std::string& flag, const std::string& value, bool logs_in = false) {
  const std::vector<std::string> words = monitor_command(config, "k:1", logs_in);
  const std::vector<std::string> wanted = {flag, value};
  return std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end();
}

TEST(AgentConfigTest, TheMonitorGetsTheSameSettings) {
  AgentConfig config = config_with({"127.0.0.1:8481"});
  EXPECT_FALSE(has(config, "--clear", "kafka"));
  config.clear = {"control-plane", "kafka"};
  EXPECT_TRUE(has(config, "--clear", "kafka"));
  EXPECT_FALSE(has(config, "--clear", "control-plane")) << "a monitor connects to no control plane";
}

TEST(AgentConfigTest, TheMonitorGetsTheFileOfItsLogin) {
  AgentConfig config = config_with({"127.0.0.1:8481"});
  EXPECT_TRUE(has(config, "--broker-login-file", "/proc/self/fd/4", true));
  EXPECT_FALSE(has(config, "--broker-login-file", "/proc/self/fd/4", false));
}

TEST(AgentConfigTest, TheMonitorGetsTheSettingsOfItsMetrics) {
  AgentConfig config = config_with({"127.0.0.1:8481"});
  config.metrics.address = "10.0.0.1:7402";
  EXPECT_NE(validate(config).message().find("--metrics-certificate"), std::string::npos);
  config.clear = {"metrics"};
  EXPECT_TRUE(validate(config).ok());
  EXPECT_TRUE(has(config, "--clear", "metrics"));
  EXPECT_TRUE(has(config, "--metrics", "10.0.0.1:7402"));
  config.clear = {};
  config.metrics = {"10.0.0.1:7402", "own.pem", "own.key", "metrics.token"};
  EXPECT_TRUE(validate(config).ok());
  EXPECT_TRUE(has(config, "--metrics-certificate", "own.pem"));
  EXPECT_TRUE(has(config, "--metrics-key", "own.key"));
  EXPECT_TRUE(has(config, "--metrics-token-file", "metrics.token"));
}

}  // namespace
}  // namespace tapline
