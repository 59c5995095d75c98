#include <cctype>

#include "monitors/config/config.h"

namespace tapline {
namespace {

std::string CheckMonitorId(const std::string& text) {
  for (char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '_' || letter == '.') continue;
    return "'" + text + "' may have letters, digits, '-', '_' and '.' only";
  }
  if (text.empty() || text.size() > 128) return "a name of 1 to 128 letters is needed";
  return "";
}

}  // namespace

ConfigTable TableOf(MonitorConfig* config) {
  ConfigTable table;
  AddInputKeys(&table, config);
  table.AddSwitch(&config->busy, "busy", "never sleep: for a core of its own");
  table.AddChoice(&config->duplicates, {"keep", "drop"}, "duplicates", "keep|drop",
                  "packets that a second mirror shows again");
  table.AddNumber(&config->view_horizon_ms, 1, 600'000, "view_horizon_ms",
                  "several taps: how long after its first view a packet is recognised in another tap, in milliseconds");
  table.AddNumber(&config->view_packets, 1024, 134'217'728, "view_packets",
                  "several taps: packets that are remembered for that, 40 bytes of memory each");
  table.AddNumber(&config->lanes, 1, 64, "lanes",
                  "receive queues of the port, each polled and parsed by a thread of its own");
  table.AddList(&config->workers, "workers", "PARSERS[=N]",
                "pipeline mode: N threads for these parsers (NAME or NAME+NAME…), each group its own; parsers "
                "that are not named share one",
                true);
  table.AddNumber(&config->ring_packets, 64, 1048576, "ring_packets",
                  "pipeline mode: packets that may wait for each worker");
  table.AddList(&config->parser, "parser", "NAME", "parser to run over all packets; repeat or separate by commas",
                true);
  table.AddList(&config->plan, "plan", "FILE", "plan of a query (JSON); repeat for several queries", false);
  table.AddSwitch(&config->control, "control",
                  "take queries, and end them, while it runs: from an agent, or as lines of JSON on standard input");
  table.AddList(&config->plugin, "plugin", "FILE", "shared object with parsers outside the tree; repeat for several",
                false);
  table.AddText(&config->monitor_id, "monitor_id", "ID", "this monitor's name in plans and batches", CheckMonitorId);
  AddHashKey(&table, &config->hash_key_file);
  table.AddChoice(&config->output, {"json", "kafka", "null"}, "output", "json|kafka|null",
                  "tuples as lines on standard output, as batches, or nowhere");
  table.AddText(&config->brokers, "brokers", "HOST:PORT", "Kafka brokers, separated by commas");
  table.AddText(&config->broker_ca, "broker_ca", "FILE",
                "speak TLS with brokers whose certificates these authorities signed (PEM)");
  table.AddText(&config->broker_certificate, "broker_certificate", "FILE",
                "and show them this certificate, and what it was signed with, as PEM");
  table.AddText(&config->broker_key, "broker_key", "FILE", "the certificate's private key, as PEM");
  table.AddText(&config->broker_login_file, "broker_login_file", "FILE",
                "log in to brokers (PLAIN) with USER:PASSWORD, the file's only line");
  table.AddList(&config->clear, "clear", "SERVICE",
                "the network is your own: speak without TLS with these beyond loopback, too (kafka, metrics)", true);
  table.AddChoice(&config->compression, {"lz4", "zstd", "none"}, "compression", "lz4|zstd|none",
                  "of batches on their way to Kafka");
  table.AddNumber(&config->queue_mib, 1, 2047, "queue_mib", "most MiB of batches waiting for Kafka");
  table.AddNumber(&config->broker_timeout_s, 1, 600, "broker_timeout_s", "how long to try to reach Kafka, in seconds");
  table.AddNumber(&config->batch_rows, 1, 65536, "batch_rows", "most tuples in a batch");
  table.AddNumber(&config->flush_ms, 1, 60000, "flush_ms",
                  "longest that a tuple waits for its batch to fill, in milliseconds");
  table.AddNumber(&config->heartbeat_ms, 1, 60000, "heartbeat_ms",
                  "how often an idle query's time is told, in milliseconds");
  table.AddChoice(&config->status, {"text", "json"}, "status", "text|json",
                  "messages on standard error for people or for programs");
  AddMetricsKeys(&table, &config->metrics, "where to serve Prometheus metrics, at /metrics");
  table.AddText(&config->headers_to, "headers_to", "DIR",
                "also give the headers of all packets to the MultiLog node that reads from this directory "
                "(tapline-multilog --headers-from)");
  table.AddChoice(&config->supervise, {"auto", "always", "never"}, "supervise", "auto|always|never",
                  "start anew when the process dies: where there are plug-ins, always, or never");
  table.AddNumber(&config->watchdog_ms, 50, 60000, "watchdog_ms",
                  "how long a plug-in may take for one call, in milliseconds");
  table.AddChoice(&config->hugepages, {"auto", "never"}, "hugepages", "auto|never",
                  "use hugepages where there are enough, or never");
  table.AddNumber(&config->memory_mib, 64, 1048576, "memory_mib", "MiB that DPDK may take for packet buffers");
  table.AddNumber(&config->max_connections, 1024, 67108864, "max_connections", "most connections followed at a time");
  table.AddNumber(&config->idle_timeout_s, 1, 604800, "idle_timeout_s",
                  "a connection without packets for this long is over");
  table.AddNumber(&config->max_reassembly_mib, 1, 65536, "max_reassembly_mib", "most MiB of stream data out of order");
  return table;
}

}  // namespace tapline
