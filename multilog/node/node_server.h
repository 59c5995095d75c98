// The node's gRPC server: one thread reads from and writes to the network, and handles the coordinators' snapshots
// itself; every other call runs on its own thread (NodeWorkers).
//
// There is only one network thread because two threads that wait for the same connections wake each other at every
// message: gRPC's own thread pools needed three futex calls and two rounds of epoll per message, and twice the CPU
// time. A snapshot freezes the view of all nodes' readers until the last node has responded, so its responses must not
// wait for another thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>

#include "multilog/node/node_service.h"

namespace tapline::multilog {

class NodeServer {
 public:
  // The callers to accept. On a loopback TCP port without TLS, a caller can be identified only by its user.
  enum class Callers { kAll, kOwnUser };

  // Returns null if the node can't listen on the address, or if the certificate and key don't match.
  static std::unique_ptr<NodeServer> listen(const std::string& address,
                                            const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                            NodeService* service, Callers callers = Callers::kAll);

  // Ends long-running calls soon, and gives the others a second. Returns once all have ended.
  ~NodeServer();

 private:
  class Network;
  explicit NodeServer(NodeService* service);

  NodeService* service_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

}  // namespace tapline::multilog
