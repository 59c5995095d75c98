// The node's calls over gRPC: one thread reads and writes the network and answers the coordinators' snapshots itself;
// every other call has a thread of its own while it lasts.
//
// One, because two that wait for the same connections wake each other at every message: gRPC's own pools of threads
// took three futexes and two rounds of epoll a message, and twice the CPU time. A snapshot stops what all nodes'
// readers see until the last of them has answered, so its answers wait for no thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>

#include "multilog/node/node_service.h"

namespace tapline::multilog {

class NodeServer {
 public:
  // On a TCP port of loopback without TLS only the user can tell who asks.
  enum class Callers { kAll, kOwnUser };

  // Nothing, if that address can't be listened on or the credentials don't fit each other.
  static std::unique_ptr<NodeServer> Listen(const std::string& address,
                                            const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                            NodeService* service, Callers callers = Callers::kAll);

  // Calls that last end soon, the others have a second; returns once none is left.
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
