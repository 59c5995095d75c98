// tapline-multilog: captures packets, keeps their headers, and serves queries over gRPC.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "multilog/node/node_config.h"
#include "multilog/node/node_metrics.h"
#include "multilog/node/node_server.h"
#include "packet_io/base/loopback.h"
#include "packet_io/base/reporter.h"
#include "packet_io/config/hash_key_file.h"
#include "packet_io/config/program.h"
#include "packet_io/dpdk/port_source.h"
#include "packet_io/metrics/metrics_server.h"
#include "packet_io/source/file_source.h"
#include "parsers/api/time.h"

namespace tapline::multilog {
namespace {

std::string help() {
  NodeConfig defaults;
  return "Usage: tapline-multilog (--pcap FILE… | --interface IF | --tap TAP… | --vdev DEV | --port PCI | "
         "--headers-from DIR)\n"
         "\nKeeps the headers of packets in a MultiLog and answers queries about them over gRPC.\n" +
         help_of(table_of(&defaults), kServiceActions) +
         "\nAfter the last packet of capture files, it continues to serve queries. SIGTERM and SIGINT end it cleanly; "
         "a second signal exits immediately.\nExit codes: 0 success, 1 failure, 2 usage error.\n";
}

std::unique_ptr<PacketSource> make_source(const NodeConfig& config, Reporter* reporter) {
  if (!config.headers_from.empty()) return nullptr;
  const auto warn = [reporter](const std::string& message) { reporter->warning(message); };
  const int64_t bound_ns = config.merge_bound_us * kNsPerUs;
  if (const auto files = files_of(config); !files.empty())
    return std::make_unique<FileSource>(FileSourceOptions{files, config.speed == "1x", warn, 0, bound_ns});
  PortOptions options = {.vdev = config.vdev,
                         .pci_address = config.port,
                         .queues = 1,
                         .may_use_hugepages = config.hugepages == "auto",
                         .memory_mib = config.packet_memory_mib,
                         .warn = warn};
  const auto interfaces = interfaces_of(config);
  if (interfaces.size() > 1) return merge_interfaces(std::move(options), interfaces, bound_ns);
  if (!interfaces.empty()) options.interface = interfaces[0];
  return std::make_unique<PortSource>(std::make_shared<Port>(std::move(options)), 0);
}

Status capture(HostNode* node, PacketSource* source, Reporter* reporter, const std::atomic<bool>& stop_requested) {
  node->run(source, &stop_requested);
  Status status = source->status();
  if (!status.ok()) reporter->error(status);
  source->stop();
  return status;
}

// Serves the node. If there is no source, a monitor delivers the headers.
Status serve(const NodeConfig& config, HostNode* node, PacketSource* source, Reporter* reporter,
             const std::atomic<bool>& stop_requested) {
  std::shared_ptr<grpc::ServerCredentials> credentials;
  const auto warn = [reporter](const std::string& message) { reporter->warning(message); };
  if (Status status = make_credentials(config.access, warn, &credentials); !status.ok()) return status;
  NodeService service(node);
  const auto callers =
      serves_only_own_user(config.access, config.listen) ? NodeServer::Callers::kOwnUser : NodeServer::Callers::kAll;
  const std::unique_ptr<NodeServer> server = NodeServer::listen(config.listen, credentials, &service, callers);
  if (server == nullptr)
    return Status::resources("--listen " + config.listen + ": can't listen there; is the address in use?" +
                             (config.access.key.empty() ? "" : " Does --tls-key match --tls-certificate?"));
  Status started;
  std::unique_ptr<MetricsServer> metrics;
  if (!config.metrics.address.empty())
    metrics =
        MetricsServer::start(config.metrics, {{"multilog", config.access.certificate}}, metrics_of(node), &started);
  if (started.ok() && source != nullptr) started = source->start();
  if (!started.ok()) return started;
  reporter->ready();
  const Status status = source == nullptr ? Status() : capture(node, source, reporter, stop_requested);
  while (!stop_requested.load()) usleep(50'000);
  node->stop_writers();
  return status;
}

Status run(const NodeConfig& config, Reporter* reporter) {
  const std::atomic<bool>& stop_requested = handle_stop_signals();
  for (const std::string& service : config.clear) reporter->warning(clear_warning(service));
  auto node = HostNode::make(options_of(config));
  if (!node.ok()) return node.status();
  for (const Status& problem : (*node)->log().recovery().problems) reporter->warning(problem.sentence());
  const std::unique_ptr<PacketSource> source = make_source(config, reporter);
  if (Status status = serve(config, node->get(), source.get(), reporter, stop_requested); !status.ok()) return status;
  return (*node)->log().close();
}

Status act(const std::string& action, NodeConfig* config, Reporter* reporter) {
  if (action == "help") return print(help());
  if (action == "version") return print("tapline-multilog " TAPLINE_VERSION "\n");
  if (action == "dump") return print(dump_yaml(table_of(config)));
  Status status = validate(*config);
  if (status.ok()) status = read_hash_keys(config->hash_key_file, &config->hash_keys);
  return status.ok() && action.empty() ? run(*config, reporter) : status;
}

int main(int argc, char** argv) {
  // The node's files and sockets give access to other users' packets, so only this user may open them.
  umask(S_IRWXG | S_IRWXO);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  NodeConfig config;
  std::string action;
  Status status = parse_arguments(arguments, kServiceActions, table_of(&config), &action);
  Reporter reporter(STDERR_FILENO, config.status == "json" ? Reporter::Format::kJson : Reporter::Format::kText);
  if (status.ok()) status = act(action, &config, &reporter);
  if (!status.ok()) reporter.error(status);
  return status.exit_code();
}

}  // namespace
}  // namespace tapline::multilog

int main(int argc, char** argv) { return tapline::multilog::main(argc, argv); }
