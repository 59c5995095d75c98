// One stream to a control plane, from its hello until it breaks.
//
// A reading thread connects and pushes received messages into the inbox, and finally the loss of the lease with its
// reason. A writing thread sends the messages that send() queued. Only the owner may call the functions. Only the
// destructor blocks.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "monitors/agent/inbox.h"
#include "monitors/agent/lease_access.h"
#include "schema/agent.grpc.pb.h"

namespace tapline {

struct LeaseEvent {
  // The lease to which the event belongs, since events of an abandoned lease may still arrive.
  uint64_t lease = 0;
  // True if the lease is lost and the reason is set; otherwise there is a command.
  bool lost = false;
  std::string cause{};
  // True if the token is missing or wrong, or the certificate names another host.
  bool refused = false;
  v1::AgentCommand command{};
  // Time of arrival, in nanoseconds since the epoch.
  int64_t at_ns = 0;
};

class Lease {
 public:
  // Maximum number of unsent messages. If the control plane reads so slowly that more would wait, the stream is
  // cancelled.
  static constexpr size_t kMaxUnsent = 4096;
  // Number of unsent messages at which try_send() rejects events.
  static constexpr size_t kMaxUnsentEvents = 64;

  Lease(uint64_t id, const std::string& server, const LeaseAccess& access, const v1::AgentHello& hello,
        Inbox<LeaseEvent>* inbox);
  // Cancels the stream, and waits for the threads.
  ~Lease();

  uint64_t id() const { return id_; }
  const std::string& server() const { return server_; }
  void send(v1::AgentMessage message);
  void send(v1::MonitorStatus status);
  // Queues the events. Returns false, and does nothing, while kMaxUnsentEvents messages are waiting, since other
  // messages are more important.
  bool try_send(const v1::EventBatch& events);
  // Sends the queued messages, ends the stream, and waits until the control plane has read all of it, for at most two
  // seconds.
  void finish();

 private:
  using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::AgentCommand>;

  void run();
  void write(Stream* stream);

  const uint64_t id_;
  const std::string server_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Inbox<LeaseEvent>* inbox_;
  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::AgentMessage> unsent_;
  bool finishing_ = false;
  bool broken_ = false;
  std::thread thread_;
};

}  // namespace tapline
