// Runs many MultiLog nodes in one process, each with its own log, threads and endpoint, for `tapline bench drill`. This
// measures a snapshot's cost per node without the interference of 128 processes on one host.
//
//   bench_nodes FOLDER CAPTURE FIRST COUNT MEMORY_MIB
//
// COUNT nodes, numbered N from FIRST, listen on the sockets FOLDER/hN until SIGTERM. Each contains the capture's
// packets.
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "multilog/node/node_config.h"
#include "multilog/node/node_server.h"
#include "packet_io/source/file_source.h"

namespace tapline::multilog {
namespace {

// A node, whose members must be destroyed in reverse order of declaration.
struct Node {
  std::unique_ptr<HostNode> host;
  std::unique_ptr<NodeService> service;
  std::unique_ptr<NodeServer> server;
};

void fail(const std::string& message) {
  std::fprintf(stderr, "bench_nodes: %s\n", message.c_str());
  std::exit(1);
}

// Starts a node with the same settings as nodes in separate processes, and starts reading the capture into its log.
Node start(const std::string& folder, const std::string& capture, const std::string& name, uint32_t memory_mib) {
  NodeConfig config;
  config.node = name;
  config.writers = 1;
  config.memory_mib = memory_mib;
  config.frame_bytes = 0;
  auto host = HostNode::make(options_of(config));
  if (!host.ok()) fail(host.status().to_string());
  Node node;
  node.host = std::move(*host);
  node.service = std::make_unique<NodeService>(node.host.get());
  const std::string address = "unix:" + folder + "/" + name;
  node.server = NodeServer::listen(address, grpc::InsecureServerCredentials(), node.service.get());
  if (node.server == nullptr) fail(address + ": can't listen there");
  FileSource source(FileSourceOptions{{capture}, false, [](const std::string&) {}, 0});
  const std::atomic<bool> stop{false};
  if (const auto status = source.start(); !status.ok()) fail(status.message());
  node.host->run(&source, &stop);
  return node;
}

int main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 5) fail("usage: bench_nodes FOLDER CAPTURE FIRST COUNT MEMORY_MIB");
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int first = std::atoi(arguments[2].c_str()), count = std::atoi(arguments[3].c_str());
  const auto memory_mib = static_cast<uint32_t>(std::atoi(arguments[4].c_str()));
  std::vector<Node> nodes;
  for (int i = first; i < first + count; ++i)
    nodes.push_back(start(arguments[0], arguments[1], "h" + std::to_string(i), memory_mib));
  int signal;
  sigwait(&signals, &signal);
  for (Node& node : nodes) node.host->stop_writers();
  std::_Exit(0);  // since waiting a second for each server would take two minutes
}

}  // namespace
}  // namespace tapline::multilog

int main(int argc, char** argv) { return tapline::multilog::main({argv + 1, argv + argc}); }
