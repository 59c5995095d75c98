#include "multilog/node/node_config.h"

#include <charconv>
#include <optional>

#include "packet_io/base/loopback.h"
#include "parsers/api/time.h"

namespace tapline::multilog {
namespace {

std::optional<double> RateOf(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() || !(rate > 0 && rate <= 1)) return std::nullopt;
  return rate;
}

std::string CheckRate(const std::string& text) {
  return RateOf(text) ? "" : "'" + text + "' is not a share of flows, above 0 and at most 1";
}

std::string CheckName(const std::string& text) {
  return !text.empty() && text.size() <= 128 ? "" : "a name of 1 to 128 letters is needed";
}

std::string CheckFilter(const std::string& text) {
  const auto filter =
      Expression::Compile(text, HeaderLayout(HeaderLayout::kMostFrameBytes, HeaderLayout::kMostHops, true).schema());
  return filter.ok() ? "" : filter.status().ToString();
}

}  // namespace

ConfigTable TableOf(NodeConfig* config) {
  ConfigTable table;
  AddInputKeys(&table, config);
  table.AddText(&config->headers_from, "headers_from", "DIR",
                "instead of an input: headers from the monitor that writes to this directory of a tmpfs "
                "(tapline-monitor --headers-to)");
  table.AddText(&config->filter, "filter", "EXPRESSION", "which headers are kept; empty: all", CheckFilter);
  table.AddText(&config->sample, "sample", "RATE", "share of the flows whose headers are kept", CheckRate);
  table.AddNumber(&config->frame_bytes, 0, HeaderLayout::kMostFrameBytes, "frame_bytes",
                  "how much of each frame is kept as it came, for pcapng");
  table.AddNumber(&config->telemetry_hops, 0, HeaderLayout::kMostHops, "telemetry_hops",
                  "how many switches of a packet's way to keep, from in-band telemetry; 0: rows have no such fields");
  table.AddSwitch(&config->tap_names, "tap_names",
                  "rows have the switch, port and side of their tap; implied by --tap, for headers of a monitor with "
                  "taps");
  AddHashKey(&table, &config->hash_key_file);
  table.AddText(&config->node, "node", "NAME", "this node's name", CheckName);
  table.AddNumber(&config->writers, 1, kMaxWriters, "writers", "threads that write the log");
  table.AddNumber(&config->memory_mib, 64, 1048576, "memory_mib", "MiB that rows may take before the oldest go");
  table.AddList(&config->index, "index", "FIELD", "fields to index; repeat or separate by commas", true);
  table.AddText(&config->directory, "directory", "DIR", "where rows are kept on disk; empty: in memory only");
  table.AddChoice(&config->durability, {"memory", "interval", "commit"}, "durability", "memory|interval|commit",
                  "with a directory: what a crash may take");
  table.AddNumber(&config->retain_mib, 0, 1'000'000'000, "retain_mib", "most MiB on disk; 0: no bound");
  table.AddNumber(&config->retain_s, 0, 1'000'000'000, "retain_s", "oldest rows on disk, in seconds; 0: no bound");
  table.AddText(&config->listen, "listen", "HOST:PORT", "where gRPC is served; unix:PATH for a socket file");
  table.AddText(&config->access.certificate, "tls_certificate", "FILE",
                "TLS with this certificate, and what it was signed with, as PEM");
  table.AddText(&config->access.key, "tls_key", "FILE", "the certificate's private key, as PEM");
  table.AddText(&config->access.tokens, "token_file", "FILE",
                "who asks must have one of these tokens, a line each of 16 letters or more");
  table.AddText(&config->access.client_ca, "tls_client_ca", "FILE",
                "who asks must show a certificate that these authorities signed (PEM)");
  table.AddList(&config->access.client_names, "tls_client_name", "NAME",
                "and whose subject (CN) or DNS name is this; repeat for several", true);
  AddMetricsKeys(&table, &config->metrics, "where to serve Prometheus metrics, at /metrics");
  table.AddList(&config->clear, "clear", "SERVICE",
                "the network is your own: speak without TLS with this beyond loopback, too (metrics)", true);
  table.AddChoice(&config->status, {"text", "json"}, "status", "text|json",
                  "messages on standard error for people or for programs");
  table.AddChoice(&config->hugepages, {"auto", "never"}, "hugepages", "auto|never",
                  "use hugepages where there are enough, or never");
  table.AddNumber(&config->packet_memory_mib, 64, 1048576, "packet_memory_mib",
                  "MiB that DPDK may take for packet buffers");
  return table;
}

namespace {

bool HasTapNames(const NodeConfig& config) { return config.tap_names || !config.tap.empty(); }

Status ValidateSource(const NodeConfig& config) {
  if (config.headers_from.empty()) return ValidateInput(config);
  if (!TapsOf(config).empty()) return Status::Usage("several inputs: --headers-from is one, and the only one");
  return {};
}

}  // namespace

Status Validate(const NodeConfig& config) {
  if (Status status = ValidateSource(config); !status.ok()) return status;
  if (Status status = ValidateAccess(config.access, config.listen); !status.ok()) return status;
  if (Status status = CheckServices(config.clear, {"metrics"}); !status.ok()) return status;
  if (Status status = ValidateMetrics(config.metrics, config.clear); !status.ok()) return status;
  const HeaderLayout layout(config.frame_bytes, config.telemetry_hops, HasTapNames(config));
  for (const std::string& field : config.index) {
    if (layout.schema().Find(field) == nullptr)
      return Status::Usage("--index: there is no field '" + field + "'; docs/reference/multilog-node.md has them");
  }
  return {};
}

NodeOptions OptionsOf(const NodeConfig& config) {
  NodeOptions options;
  options.name = config.node;
  options.writers = config.writers;
  options.frame_bytes = config.frame_bytes;
  options.telemetry_hops = config.telemetry_hops;
  options.tap_names = HasTapNames(config);
  if (config.headers_from.empty()) options.taps = TapsOf(config);
  options.memory_bytes = size_t{config.memory_mib} << 20;
  options.indexes = config.index;
  options.storage.directory = config.directory;
  options.storage.durability = config.durability == "memory"     ? Durability::kMemory
                               : config.durability == "interval" ? Durability::kInterval
                                                                 : Durability::kGroupCommit;
  options.storage.retain_bytes = uint64_t{config.retain_mib} << 20;
  options.storage.retain_ns = uint64_t{config.retain_s} * kNsPerSecond;
  options.capture.hash_key = config.hash_keys.flows;
  options.capture.sampling_rate = *RateOf(config.sample);
  options.capture.filter = config.filter;
  options.headers_from = config.headers_from;
  return options;
}

}  // namespace tapline::multilog
