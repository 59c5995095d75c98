#include "multilog/node/node_config.h"

#include <charconv>
#include <optional>

#include "packet_io/base/loopback.h"
#include "parsers/api/time.h"

namespace tapline::multilog {
namespace {

std::optional<double> rate_of(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() || !(rate > 0 && rate <= 1)) return std::nullopt;
  return rate;
}

std::string check_rate(const std::string& text) {
  return rate_of(text) ? "" : "'" + text + "' must be a number above 0 and at most 1";
}

std::string check_name(const std::string& text) {
  return !text.empty() && text.size() <= 128 ? "" : "a name must have 1 to 128 characters";
}

std::string check_filter(const std::string& text) {
  const auto filter =
      Expression::compile(text, HeaderLayout(HeaderLayout::kMaxFrameBytes, HeaderLayout::kMaxHops, true).schema());
  return filter.ok() ? "" : filter.status().to_string();
}

}  // namespace

ConfigTable table_of(NodeConfig* config) {
  ConfigTable table;
  add_input_keys(&table, config);
  table.add_text(&config->headers_from, "headers_from", "DIR",
                 "instead of an input: read headers from the monitor that writes to this directory of a tmpfs "
                 "(tapline-monitor --headers-to)");
  table.add_text(&config->filter, "filter", "EXPRESSION", "headers to keep; empty: all", check_filter);
  table.add_text(&config->sample, "sample", "RATE", "share of the flows whose headers are kept", check_rate);
  table.add_number(&config->frame_bytes, 0, HeaderLayout::kMaxFrameBytes, "frame_bytes",
                   "bytes of each frame to keep, for pcapng");
  table.add_number(
      &config->telemetry_hops, 0, HeaderLayout::kMaxHops, "telemetry_hops",
      "number of switches on a packet's path to keep, from in-band telemetry; 0: rows have no such fields");
  table.add_switch(
      &config->tap_names, "tap_names",
      "store the switch, port and side of each row's tap; implied by --tap; needed for headers from a monitor "
      "with taps");
  add_hash_key(&table, &config->hash_key_file);
  table.add_text(&config->node, "node", "NAME", "this node's name", check_name);
  table.add_number(&config->writers, 1, kMaxWriters, "writers", "threads that write the log");
  table.add_number(&config->memory_mib, 64, 1048576, "memory_mib", "max MiB of rows; then the oldest are evicted");
  table.add_list(&config->index, "index", "FIELD", "fields to index; repeat or separate by commas", true);
  table.add_text(&config->directory, "directory", "DIR", "directory for rows on disk; empty: in memory only");
  table.add_choice(&config->durability, {"memory", "interval", "commit"}, "durability", "memory|interval|commit",
                   "which rows survive a crash (requires --directory)");
  table.add_number(&config->retain_mib, 0, 1'000'000'000, "retain_mib", "max MiB on disk; 0: no limit");
  table.add_number(&config->retain_s, 0, 1'000'000'000, "retain_s", "max age of rows on disk, in seconds; 0: no limit");
  table.add_text(&config->listen, "listen", "HOST:PORT",
                 "address at which gRPC is served; unix:PATH for a socket file");
  table.add_text(&config->access.certificate, "tls_certificate", "FILE",
                 "serve gRPC over TLS with this certificate and its chain, as PEM");
  table.add_text(&config->access.key, "tls_key", "FILE", "the certificate's private key, as PEM");
  table.add_text(&config->access.tokens, "token_file", "FILE",
                 "accept only clients with one of these tokens, one per line, each of at least 16 characters");
  table.add_text(&config->access.client_ca, "tls_client_ca", "FILE",
                 "accept only clients with a certificate that these authorities (PEM) signed");
  table.add_list(&config->access.client_names, "tls_client_name", "NAME",
                 "accept only client certificates with this subject (CN) or DNS name; repeat for several", true);
  add_metrics_keys(&table, &config->metrics, "address at which to serve Prometheus metrics, under /metrics");
  table.add_list(&config->clear, "clear", "SERVICE",
                 "services whose connections beyond loopback may be unencrypted, in a trusted network (metrics)", true);
  table.add_choice(&config->status, {"text", "json"}, "status", "text|json",
                   "messages on standard error for people or for programs");
  table.add_choice(&config->hugepages, {"auto", "never"}, "hugepages", "auto|never",
                   "use hugepages if there are enough, or never");
  table.add_number(&config->packet_memory_mib, 64, 1048576, "packet_memory_mib",
                   "MiB that DPDK may take for packet buffers");
  return table;
}

namespace {

bool has_tap_names(const NodeConfig& config) { return config.tap_names || !config.tap.empty(); }

Status validate_source(const NodeConfig& config) {
  if (config.headers_from.empty()) return validate_input(config);
  if (!taps_of(config).empty()) return Status::usage("--headers-from can't be combined with another input");
  return {};
}

}  // namespace

Status validate(const NodeConfig& config) {
  if (Status status = validate_source(config); !status.ok()) return status;
  if (Status status = validate_access(config.access, config.listen); !status.ok()) return status;
  if (Status status = check_services(config.clear, {"metrics"}); !status.ok()) return status;
  if (Status status = validate_metrics(config.metrics, config.clear); !status.ok()) return status;
  const HeaderLayout layout(config.frame_bytes, config.telemetry_hops, has_tap_names(config));
  for (const std::string& field : config.index) {
    if (layout.schema().find(field) == nullptr)
      return Status::usage("--index: there is no field '" + field + "'; docs/reference/multilog-node.md lists them");
  }
  return {};
}

NodeOptions options_of(const NodeConfig& config) {
  NodeOptions options;
  options.name = config.node;
  options.writers = config.writers;
  options.frame_bytes = config.frame_bytes;
  options.telemetry_hops = config.telemetry_hops;
  options.tap_names = has_tap_names(config);
  if (config.headers_from.empty()) options.taps = taps_of(config);
  options.memory_bytes = size_t{config.memory_mib} << 20;
  options.indexes = config.index;
  options.storage.directory = config.directory;
  options.storage.durability = config.durability == "memory"     ? Durability::kMemory
                               : config.durability == "interval" ? Durability::kInterval
                                                                 : Durability::kGroupCommit;
  options.storage.retain_bytes = uint64_t{config.retain_mib} << 20;
  options.storage.retain_ns = uint64_t{config.retain_s} * kNsPerSecond;
  options.capture.hash_key = config.hash_keys.flows;
  options.capture.sampling_rate = *rate_of(config.sample);
  options.capture.filter = config.filter;
  options.headers_from = config.headers_from;
  return options;
}

}  // namespace tapline::multilog
