#include "monitors/agent/lease.h"

#include <chrono>
#include <utility>

#include "packet_io/base/clock.h"

namespace tapline {
namespace {

constexpr std::chrono::seconds kMaxFinish{2};

}  // namespace

Lease::Lease(uint64_t id, const std::string& server, const LeaseAccess& access, const v1::AgentHello& hello,
             Inbox<LeaseEvent>* inbox)
    : id_(id), server_(server), credentials_(access.credentials), inbox_(inbox) {
  if (!access.authorization.empty()) context_.AddMetadata("authorization", access.authorization);
  v1::AgentMessage first;
  *first.mutable_hello() = hello;
  unsent_.push_back(std::move(first));
  thread_ = std::thread([this] { run(); });
}

Lease::~Lease() {
  context_.TryCancel();
  thread_.join();
}

void Lease::send(v1::AgentMessage message) {
  {
    const std::lock_guard lock(mutex_);
    if (finishing_ || broken_) return;
    if (unsent_.size() == kMaxUnsent) context_.TryCancel();
    unsent_.push_back(std::move(message));
  }
  changed_.notify_all();
}

void Lease::send(v1::MonitorStatus status) {
  v1::AgentMessage message;
  *message.mutable_status() = std::move(status);
  send(std::move(message));
}

bool Lease::try_send(const v1::EventBatch& events) {
  {
    const std::lock_guard lock(mutex_);
    if (unsent_.size() >= kMaxUnsentEvents) return false;
  }
  v1::MonitorStatus status;
  *status.mutable_events() = events;
  send(std::move(status));
  return true;
}

void Lease::finish() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kMaxFinish, [this] { return broken_; });
}

void Lease::run() {
  grpc::ChannelArguments arguments;
  // Disables the adaptive flow-control window, which would cost a ping for most messages.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto stub = v1::Registry::NewStub(grpc::CreateCustomChannel(server_, credentials_, arguments));
  // Waits until the connection is established or has failed.
  const auto stream = stub->Lease(&context_);
  std::thread writer([&] { write(stream.get()); });
  v1::AgentCommand command;
  while (stream->Read(&command)) inbox_->push({.lease = id_, .command = command, .at_ns = wall_ns()});
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  changed_.notify_all();
  writer.join();
  const grpc::Status status = stream->Finish();
  inbox_->push({.lease = id_,
                .lost = true,
                .cause = status.ok() ? "the control plane closed the lease" : status.error_message(),
                .refused = status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
                           status.error_code() == grpc::StatusCode::PERMISSION_DENIED});
}

void Lease::write(Stream* stream) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return broken_ || finishing_ || !unsent_.empty(); });
    if (broken_) return;
    if (unsent_.empty()) {
      lock.unlock();
      stream->WritesDone();
      return;
    }
    v1::AgentMessage message = std::move(unsent_.front());
    unsent_.pop_front();
    lock.unlock();
    const bool was_written = stream->Write(message);
    lock.lock();
    if (!was_written) return;
  }
}

}  // namespace tapline
