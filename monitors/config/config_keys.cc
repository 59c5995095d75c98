#include <cctype>

#include "monitors/config/config.h"

namespace tapline {
namespace {

std::string check_monitor_id(const std::string& text) {
  for (char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '_' || letter == '.') continue;
    return "'" + text + "' may contain only letters, digits, '-', '_' and '.'";
  }
  if (text.empty() || text.size() > 128) return "a name must have 1 to 128 characters";
  return "";
}

}  // namespace

ConfigTable table_of(MonitorConfig* config) {
  ConfigTable table;
  add_input_keys(&table, config);
  table.add_switch(&config->busy, "busy", "never sleep: for a dedicated core");
  table.add_choice(&config->duplicates, {"keep", "drop"}, "duplicates", "keep|drop",
                   "keep or drop packets that a second mirror has copied again");
  table.add_number(&config->view_horizon_ms, 1, 600'000, "view_horizon_ms",
                   "with several taps: maximum time between a packet's views, in milliseconds");
  table.add_number(&config->view_packets, 1024, 134'217'728, "view_packets",
                   "with several taps: max packets to remember, at 40 bytes each");
  table.add_number(&config->lanes, 1, 64, "lanes",
                   "receive queues of the port, each polled and parsed by a separate thread");
  table.add_list(&config->workers, "workers", "PARSERS[=N]",
                 "pipeline mode: N threads for these parsers (NAME or NAME+NAME…), separate for each group; other "
                 "parsers share one",
                 true);
  table.add_number(&config->ring_packets, 64, 1048576, "ring_packets",
                   "pipeline mode: packets that may wait for each worker");
  table.add_list(&config->parser, "parser", "NAME",
                 "parser to run over all packets, or NAME(ARGUMENT=VALUE,…); repeat or separate by commas", true);
  table.add_list(&config->plan, "plan", "FILE", "plan of a query (JSON); repeat for several queries", false);
  table.add_switch(&config->control, "control",
                   "accept commands that start and end queries, from an agent or as lines of JSON on standard input");
  table.add_switch(&config->marked_copies, "marked_copies",
                   "live capture: receive the copies of queues (AT) that switches mark by their destination address");
  table.add_text(&config->routes, "routes", "FILE",
                 "routes and ports of switches, as lines SWITCH MAC PORT[,PORT...] and SWITCH port PORT "
                 "BITS_PER_SECOND [NEIGHBOUR PORT], from which link_load and flow_rate infer the ports of "
                 "copies");
  table.add_list(&config->plugin, "plugin", "FILE", "shared object with parsers outside the tree; repeat for several",
                 false);
  table.add_text(&config->monitor_id, "monitor_id", "ID", "this monitor's name in plans and batches", check_monitor_id);
  add_hash_key(&table, &config->hash_key_file);
  table.add_choice(&config->output, {"json", "kafka", "null"}, "output", "json|kafka|null",
                   "tuples as lines on standard output, as batches, or nowhere");
  table.add_text(&config->brokers, "brokers", "HOST:PORT", "Kafka brokers, separated by commas");
  table.add_text(&config->broker_ca, "broker_ca", "FILE",
                 "CA certificates (PEM) that must have signed the brokers' certificates; enables TLS");
  table.add_text(&config->broker_certificate, "broker_certificate", "FILE",
                 "certificate with its chain (PEM) to present to brokers");
  table.add_text(&config->broker_key, "broker_key", "FILE", "the certificate's private key, as PEM");
  table.add_text(&config->broker_login_file, "broker_login_file", "FILE",
                 "log in to brokers (PLAIN) with USER:PASSWORD, the file's only line");
  table.add_list(&config->clear, "clear", "SERVICE",
                 "services whose connections beyond loopback may be unencrypted, in a trusted network (kafka, metrics)",
                 true);
  table.add_choice(&config->compression, {"lz4", "zstd", "none"}, "compression", "lz4|zstd|none",
                   "compression of batches for Kafka");
  table.add_number(&config->queue_mib, 1, 2047, "queue_mib", "max MiB of batches waiting for Kafka");
  table.add_number(&config->broker_timeout_s, 1, 600, "broker_timeout_s", "how long to try to reach Kafka, in seconds");
  table.add_number(&config->batch_rows, 1, 65536, "batch_rows", "max tuples in a batch");
  table.add_number(&config->flush_ms, 1, 60000, "flush_ms",
                   "max time that a tuple waits for its batch to fill, in milliseconds");
  table.add_number(&config->heartbeat_ms, 1, 60000, "heartbeat_ms",
                   "interval between watermarks while a query has no tuples, in milliseconds");
  table.add_choice(&config->status, {"text", "json"}, "status", "text|json",
                   "messages on standard error for people or for programs");
  add_metrics_keys(&table, &config->metrics, "address at which to serve Prometheus metrics, under /metrics");
  table.add_text(&config->headers_to, "headers_to", "DIR",
                 "also pass the headers of all packets to the MultiLog node that reads from this directory "
                 "(tapline-multilog --headers-from)");
  table.add_choice(&config->supervise, {"auto", "always", "never"}, "supervise", "auto|always|never",
                   "restart the process after a crash: only if there are plug-ins (auto), always, or never");
  table.add_number(&config->watchdog_ms, 50, 60000, "watchdog_ms",
                   "max time of one call to a plug-in, in milliseconds");
  table.add_choice(&config->hugepages, {"auto", "never"}, "hugepages", "auto|never",
                   "use hugepages if there are enough, or never");
  table.add_number(&config->memory_mib, 64, 1048576, "memory_mib", "MiB that DPDK may take for packet buffers");
  table.add_number(&config->max_connections, 1024, 67108864, "max_connections", "max connections tracked at a time");
  table.add_number(&config->idle_timeout_s, 1, 604800, "idle_timeout_s",
                   "time without packets after which a connection counts as ended, in seconds");
  table.add_number(&config->max_reassembly_mib, 1, 65536, "max_reassembly_mib", "max MiB of out-of-order stream data");
  return table;
}

}  // namespace tapline
