#include "multilog/node/node_workers.h"

#include <thread>
#include <utility>

namespace tapline::multilog {
namespace {

// Maximum number of threads that wait for a call. Idle threads are kept because creating a thread takes longer than
// most calls.
constexpr size_t kMaxIdle = 4;

}  // namespace

NodeWorkers::~NodeWorkers() {
  std::unique_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return threads_ == 0; });
}

bool NodeWorkers::run(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  if (idle_ > waiting_.size()) {
    waiting_.push_back(std::move(call));
    changed_.notify_one();
    return true;
  }
  if (threads_ == max_threads_) return false;
  waiting_.push_back(std::move(call));
  ++threads_;
  ++idle_;  // that thread takes this call
  std::thread(&NodeWorkers::work, this).detach();
  return true;
}

void NodeWorkers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    const std::function<void()> call = std::move(waiting_.front());
    waiting_.pop_front();
    --idle_;
    lock.unlock();
    call();
    lock.lock();
    ++idle_;
    if (idle_ > kMaxIdle + waiting_.size()) break;
  }
  --idle_;
  --threads_;
  changed_.notify_all();
}

}  // namespace tapline::multilog
