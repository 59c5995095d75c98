#include "multilog/node/node_server.h"

#include <grpcpp/alarm.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <semaphore>
#include <utility>

#include "multilog/node/local_peer.h"
#include "multilog/node/node_workers.h"
#include "multilog/node/snapshot_session.h"

namespace tapline::multilog {
namespace {

using AsyncService = v1::MultiLogNode::AsyncService;
using grpc::ServerContext;

// Each coordinator has two or three active calls, and each user one per pending query.
constexpr size_t kMaxCalls = 256;

// Time for which active calls may continue after the node begins to stop.
constexpr std::chrono::seconds kTimeout(1);

grpc::Status too_many() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "the node already serves " + std::to_string(kMaxCalls) + " calls; try again when one has ended"};
}

// The work that the network thread does once a gRPC operation has completed or failed.
class Step {
 public:
  virtual ~Step() = default;
  virtual void on_done(bool ok) = 0;
};

template <typename Call>
class StepOf final : public Step {
 public:
  StepOf(Call* call, void (Call::*done)(bool)) : call_(call), done_(done) {}
  void on_done(bool ok) override { (call_->*done_)(ok); }

 private:
  Call* call_;
  void (Call::*done_)(bool);
};

// The state that all calls share. Except for `workers`, only the network thread may use it.
struct Calls {
  explicit Calls(NodeService* answering) : node(answering), workers(kMaxCalls) {}

  NodeService* node;
  AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  size_t streams = 0;
  NodeWorkers workers;
  uint16_t own_users_port = 0;  // the port that refuses this host's other users; 0: there is none
};

// Returns the reason for a refusal, or nullopt if the caller is authorised.
std::optional<grpc::Status> refusal_of(const Calls& calls, const ServerContext& context) {
  if (calls.own_users_port == 0 || is_own_user(context.peer(), calls.own_users_port)) return {};
  return grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                      "without --token-file, the node serves only processes of its user and of root");
}

// Handles one unary call, then deletes itself; another object waits for the next call.
template <typename Request, typename Reply>
class UnaryCall {
 public:
  using Answer = grpc::Status (NodeService::*)(const Request&, Reply*);
  using Method = void (AsyncService::*)(ServerContext*, Request*, grpc::ServerAsyncResponseWriter<Reply>*,
                                        grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);

  UnaryCall(Calls* calls, Answer response, Method method) : calls_(calls), answer_(response), method_(method) {
    (calls->service.*method)(&context_, &request_, &writer_, calls->queue.get(), calls->queue.get(), &on_request_);
  }

 private:
  void on_request(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    ++calls_->streams;
    new UnaryCall(calls_, answer_, method_);
    if (const auto refusal = refusal_of(*calls_, context_)) return writer_.FinishWithError(*refusal, &finished_);
    const bool runs = calls_->workers.run([this] {
      const grpc::Status status = (calls_->node->*answer_)(request_, &reply_);
      writer_.Finish(reply_, status, &finished_);
    });
    if (!runs) writer_.FinishWithError(too_many(), &finished_);
  }
  void finished(bool) {
    --calls_->streams;
    delete this;
  }

  Calls* calls_;
  const Answer answer_;
  const Method method_;
  ServerContext context_;
  Request request_;
  Reply reply_;
  grpc::ServerAsyncResponseWriter<Reply> writer_{&context_};
  StepOf<UnaryCall> on_request_{this, &UnaryCall::on_request}, finished_{this, &UnaryCall::finished};
};

// A call with a stream of responses. Deletes itself once it has finished and gRPC has reported the end of the call, in
// either order.
template <typename Request, typename Reply>
class StreamingCall final : public NodeStream<Reply> {
 public:
  using Answer = grpc::Status (NodeService::*)(const Request&, NodeStream<Reply>*);
  using Method = void (AsyncService::*)(ServerContext*, Request*, grpc::ServerAsyncWriter<Reply>*,
                                        grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);

  StreamingCall(Calls* calls, Answer response, Method method) : calls_(calls), answer_(response), method_(method) {
    context_.AsyncNotifyWhenDone(&over_);
    (calls->service.*method)(&context_, &request_, &writer_, calls->queue.get(), calls->queue.get(), &on_request_);
  }

  bool write(const Reply& reply) override {
    writer_.Write(reply, &written_);
    has_written_.acquire();
    return taken_;
  }
  void write_last(Reply reply) override { last_ = std::move(reply); }
  bool is_cancelled() const override { return cancelled_; }

 private:
  void on_request(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    ++calls_->streams;
    new StreamingCall(calls_, answer_, method_);
    if (const auto refusal = refusal_of(*calls_, context_)) return writer_.Finish(*refusal, &finished_);
    if (!calls_->workers.run([this] { run(); })) writer_.Finish(too_many(), &finished_);
  }
  void run() {
    const grpc::Status status = (calls_->node->*answer_)(request_, this);
    if (status.ok() && last_) {
      writer_.WriteAndFinish(*last_, grpc::WriteOptions(), status, &finished_);
    } else {
      writer_.Finish(status, &finished_);
    }
  }
  void written(bool ok) {
    taken_ = ok;
    has_written_.release();
  }
  void over(bool) {
    cancelled_ = context_.IsCancelled();
    end();
  }
  void finished(bool) { end(); }
  void end() {
    if (--to_come_ > 0) return;
    --calls_->streams;
    delete this;
  }

  Calls* calls_;
  const Answer answer_;
  const Method method_;
  ServerContext context_;
  Request request_;
  grpc::ServerAsyncWriter<Reply> writer_{&context_};
  std::optional<Reply> last_;
  std::binary_semaphore has_written_{0};
  bool taken_ = false;
  std::atomic<bool> cancelled_ = false;
  int to_come_ = 2;
  StepOf<StreamingCall> on_request_{this, &StreamingCall::on_request}, written_{this, &StreamingCall::written},
      over_{this, &StreamingCall::over}, finished_{this, &StreamingCall::finished};
};

// One coordinator's stream: reads a command, writes the response, and reads the next command.
class SnapshotsCall {
 public:
  explicit SnapshotsCall(Calls* calls) : calls_(calls), session_(calls->node) {
    calls->service.RequestSnapshots(&context_, &stream_, calls->queue.get(), calls->queue.get(), &on_request_);
  }

 private:
  void on_request(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    ++calls_->streams;
    new SnapshotsCall(calls_);
    if (const auto refusal = refusal_of(*calls_, context_)) return stream_.Finish(*refusal, &finished_);
    written(true);
  }
  void written(bool ok) {
    if (!ok) return finish();
    stream_.Read(&command_, &read_);
  }
  void read(bool ok) {
    if (!ok) return finish();
    answer_.Clear();
    session_.execute(command_, &answer_);
    stream_.Write(answer_, &written_);
  }
  void finish() { stream_.Finish(grpc::Status::OK, &finished_); }
  void finished(bool) {
    --calls_->streams;
    delete this;
  }

  Calls* calls_;
  SnapshotSession session_;
  ServerContext context_;
  v1::SnapshotCommand command_;
  v1::SnapshotAnswer answer_;
  grpc::ServerAsyncReaderWriter<v1::SnapshotAnswer, v1::SnapshotCommand> stream_{&context_};
  StepOf<SnapshotsCall> on_request_{this, &SnapshotsCall::on_request}, read_{this, &SnapshotsCall::read},
      written_{this, &SnapshotsCall::written}, finished_{this, &SnapshotsCall::finished};
};

// Creates an object for each kind of call. Each object waits for one call, creates its successor when the call arrives,
// and deletes itself at the end.
void wait_for_calls(Calls* calls) {
  const auto unary = [calls]<typename Request, typename Reply>(
                         grpc::Status (NodeService::*answer)(const Request&, Reply*),
                         typename UnaryCall<Request, Reply>::Method method) {
    new UnaryCall<Request, Reply>(calls, answer, method);
  };
  const auto streaming = [calls]<typename Request, typename Reply>(
                             grpc::Status (NodeService::*answer)(const Request&, NodeStream<Reply>*),
                             typename StreamingCall<Request, Reply>::Method method) {
    new StreamingCall<Request, Reply>(calls, answer, method);
  };
  unary(&NodeService::describe, &AsyncService::RequestDescribe);
  unary(&NodeService::set_up_capture, &AsyncService::RequestSetUpCapture);
  unary(&NodeService::define, &AsyncService::RequestDefine);
  unary(&NodeService::remove, &AsyncService::RequestRemove);
  unary(&NodeService::aggregate, &AsyncService::RequestAggregate);
  unary(&NodeService::explain, &AsyncService::RequestExplain);
  unary(&NodeService::endpoints, &AsyncService::RequestEndpoints);
  unary(&NodeService::freeze, &AsyncService::RequestFreeze);
  unary(&NodeService::unfreeze, &AsyncService::RequestUnfreeze);
  streaming(&NodeService::attach, &AsyncService::RequestAttach);
  streaming(&NodeService::query, &AsyncService::RequestQuery);
  streaming(&NodeService::pcapng, &AsyncService::RequestPcapng);
  new SnapshotsCall(calls);
}

}  // namespace

// The calls, and the completion queue that the network thread serves.
class NodeServer::Network {
 public:
  explicit Network(NodeService* service) : calls_(service) {}

  // Returns null on failure. The server must be destroyed before this object.
  std::unique_ptr<grpc::Server> listen(const std::string& address,
                                       const std::shared_ptr<grpc::ServerCredentials>& credentials, Callers callers) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, credentials, &port);
    builder.RegisterService(&calls_.service);
    calls_.queue = builder.AddCompletionQueue();
    auto server = builder.BuildAndStart();
    if (callers == Callers::kOwnUser) calls_.own_users_port = static_cast<uint16_t>(port);
    return server;
  }
  void serve() {
    wait_for_calls(&calls_);
    bool is_last = false;
    void* tag;
    for (bool ok; !is_last || calls_.streams > 0;) {
      calls_.queue->Next(&tag, &ok);
      if (tag == this) {
        is_last = true;
      } else {
        static_cast<Step*>(tag)->on_done(ok);
      }
    }
    drain();
  }
  // Adds an event to the queue that marks the end of new calls. REQUIRES: the server has been shut down, so that later
  // events in the queue belong to active calls.
  void takes_no_more() { no_more_calls_.Set(calls_.queue.get(), std::chrono::system_clock::now(), this); }

 private:
  // Makes the objects that still wait for calls delete themselves.
  void drain() {
    calls_.queue->Shutdown();
    void* tag;
    for (bool ok; calls_.queue->Next(&tag, &ok);) static_cast<Step*>(tag)->on_done(ok);
  }

  Calls calls_;
  grpc::Alarm no_more_calls_;
};

NodeServer::NodeServer(NodeService* service) : service_(service), network_(std::make_unique<Network>(service)) {}

std::unique_ptr<NodeServer> NodeServer::listen(const std::string& address,
                                               const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                               NodeService* service, Callers callers) {
  std::unique_ptr<NodeServer> made(new NodeServer(service));
  made->server_ = made->network_->listen(address, credentials, callers);
  if (made->server_ == nullptr) return nullptr;
  made->thread_ = std::thread([network = made->network_.get()] { network->serve(); });
  return made;
}

NodeServer::~NodeServer() {
  if (server_ == nullptr) return;
  service_->stop();
  server_->Shutdown(std::chrono::system_clock::now() + kTimeout);
  network_->takes_no_more();
  thread_.join();
}

}  // namespace tapline::multilog
