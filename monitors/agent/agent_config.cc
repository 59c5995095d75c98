#include "monitors/agent/agent_config.h"

#include <algorithm>
#include <cctype>

#include "monitors/agent/monitor_child.h"
#include "packet_io/base/loopback.h"

namespace tapline {
namespace {

std::string check_name(const std::string& text) {
  const bool is_right =
      !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.';
      });
  return is_right ? "" : "'" + text + "' is not a valid host name: use 1 to 64 lower-case letters, digits, '-' and '.'";
}

}  // namespace

ConfigTable table_of(AgentConfig* config) {
  ConfigTable table;
  table.add_text(&config->name, "name", "NAME", "name of this host in the inventory", check_name);
  table.add_list(&config->control_plane, "control_plane", "HOST:PORT",
                 "addresses at which control planes accept agents; the agent finds the leader", true);
  table.add_text(&config->control_plane_ca, "control_plane_ca", "FILE",
                 "CA certificates (PEM) that must have signed the control planes' certificates; enables TLS");
  table.add_text(&config->control_plane_certificate, "control_plane_certificate", "FILE",
                 "certificate that names this host, with its chain (PEM), to present to control planes");
  table.add_text(&config->control_plane_key, "control_plane_key", "FILE", "the certificate's private key, as PEM");
  table.add_text(&config->token_file, "token_file", "FILE",
                 "file whose first line is the token that control planes require");
  table.add_text(&config->interface, "interface", "IF", "network interface that receives mirrored packets");
  add_tap_key(&table, &config->tap);
  table.add_text(&config->monitor, "monitor", "FILE",
                 "path of tapline-monitor; default: in the folder of this program");
  table.add_text(&config->vdev, "vdev", "DEV",
                 "instead of an interface: DPDK virtual device that receives mirrored packets, for example "
                 "net_memif0,role=client");
  table.add_list(&config->plugin, "plugin", "FILE", "plug-ins that the monitor loads", true);
  table.add_number(&config->lanes, 1, 32, "lanes", "the monitor's polling threads");
  table.add_choice(&config->hugepages, {"auto", "never"}, "hugepages", "auto|never",
                   "use hugepages if there are enough, or never");
  table.add_number(&config->memory_mib, 64, 1048576, "memory_mib", "MiB that the monitor may take for packet buffers");
  table.add_number(&config->max_connections, 1024, 1'073'741'824, "max_connections",
                   "max connections that the monitor tracks at a time");
  table.add_number(&config->capacity_mbps, 1, 1'000'000, "capacity_mbps",
                   "max mirrored traffic that the monitor accepts, in Mb/s");
  table.add_text(&config->multilog, "multilog", "HOST:PORT",
                 "address at which the control plane reaches this host's MultiLog node, if the host has one");
  table.add_text(&config->broker_ca, "broker_ca", "FILE",
                 "CA certificates (PEM) that must have signed the brokers' certificates; enables TLS for the monitor");
  table.add_text(&config->broker_certificate, "broker_certificate", "FILE",
                 "certificate with its chain (PEM) that the monitor presents to brokers");
  table.add_text(&config->broker_key, "broker_key", "FILE", "the certificate's private key, as PEM");
  table.add_list(&config->clear, "clear", "SERVICE",
                 "services whose connections beyond loopback may be unencrypted, in a trusted network "
                 "(control-plane, kafka, metrics)",
                 true);
  add_metrics_keys(&table, &config->metrics,
                   "address at which the monitor serves Prometheus metrics, under /metrics, while it runs");
  table.add_number(&config->idle_s, 1, 86'400, "idle_s", "seconds after which a monitor without queries is stopped");
  table.add_choice(&config->status, {"text", "json"}, "status", "text|json",
                   "messages on standard error for people or for programs");
  return table;
}

namespace {

Status validate_packets(const AgentConfig& config) {
  const InputConfig input = input_of(config);
  const bool interfaces = !interfaces_of(input).empty();
  if (!files_of(input).empty())
    return Status::usage("--tap " + files_of(input)[0] + ": an agent's monitor watches interfaces, not capture files");
  if (interfaces == !config.vdev.empty())
    return Status::usage("one source of mirrored packets is required: --interface, --tap or --vdev");
  if (config.lanes > 1 && interfaces_of(input).size() > 1)
    return Status::usage("--lanes requires a single interface; a single lane merges several interfaces");
  return validate_input(input);
}

}  // namespace

InputConfig input_of(const AgentConfig& config) {
  return {.interface = config.interface, .tap = config.tap, .vdev = config.vdev};
}

Status validate(const AgentConfig& config) {
  if (config.name.empty()) return Status::usage("--name is required: the name of this host in the inventory");
  if (Status status = validate_packets(config); !status.ok()) return status;
  if (config.control_plane.empty()) return Status::usage("--control-plane HOST:PORT is required");
  if (Status status = check_services(config.clear, {"control-plane", "kafka", "metrics"}); !status.ok()) return status;
  for (const std::string& server : config.control_plane) {
    if (!config.control_plane_ca.empty()) break;
    Status status = check_clear(config.clear, "control-plane", "--control-plane", server,
                                "--control-plane-ca FILE and --token-file FILE");
    if (!status.ok()) return status;
  }
  if (!config.token_file.empty() && config.control_plane_ca.empty())
    return Status::usage("--token-file needs --control-plane-ca: a token must not be sent unencrypted");
  if (config.control_plane_certificate.empty() != config.control_plane_key.empty() ||
      (config.control_plane_ca.empty() && !config.control_plane_key.empty()))
    return Status::usage(
        "--control-plane-certificate and --control-plane-key require each other and --control-plane-ca");
  if (config.broker_certificate.empty() != config.broker_key.empty() ||
      (config.broker_ca.empty() && !config.broker_key.empty()))
    return Status::usage("--broker-certificate and --broker-key require each other and --broker-ca");
  return validate_metrics(config.metrics, config.clear);
}

Status check_brokers(const AgentConfig& config, const std::string& brokers) {
  if (!config.broker_ca.empty()) return {};
  return check_clear(config.clear, "kafka", "the control plane's brokers:", brokers, "--broker-ca FILE");
}

std::vector<std::string> monitor_command(const AgentConfig& config, const std::string& brokers, bool logs_in) {
  std::vector<std::string> command = {config.monitor,
                                      "--control",
                                      "--marked-copies",
                                      "--supervise",
                                      "always",
                                      "--output",
                                      "kafka",
                                      "--brokers",
                                      brokers,
                                      "--monitor-id",
                                      config.name,
                                      "--hash-key-file",
                                      MonitorChild::secret_file(0),
                                      "--lanes",
                                      std::to_string(config.lanes),
                                      "--hugepages",
                                      config.hugepages,
                                      "--memory-mib",
                                      std::to_string(config.memory_mib),
                                      "--max-connections",
                                      std::to_string(config.max_connections)};
  if (!config.vdev.empty()) command.insert(command.end(), {"--vdev", config.vdev});
  if (!config.interface.empty()) command.insert(command.end(), {"--interface", config.interface});
  for (const std::string& tap : config.tap) command.insert(command.end(), {"--tap", tap});
  if (logs_in) command.insert(command.end(), {"--broker-login-file", MonitorChild::secret_file(1)});
  if (!config.broker_ca.empty()) command.insert(command.end(), {"--broker-ca", config.broker_ca});
  if (!config.broker_key.empty()) {
    command.insert(command.end(),
                   {"--broker-certificate", config.broker_certificate, "--broker-key", config.broker_key});
  }
  for (const std::string& service : config.clear) {
    if (service != "control-plane") command.insert(command.end(), {"--clear", service});
  }
  const MetricsConfig& metrics = config.metrics;
  if (!metrics.address.empty()) command.insert(command.end(), {"--metrics", metrics.address});
  if (!metrics.key.empty())
    command.insert(command.end(), {"--metrics-certificate", metrics.certificate, "--metrics-key", metrics.key});
  if (!metrics.tokens.empty()) command.insert(command.end(), {"--metrics-token-file", metrics.tokens});
  for (const std::string& plugin : config.plugin) command.insert(command.end(), {"--plugin", plugin});
  return command;
}

}  // namespace tapline
