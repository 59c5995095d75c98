// Threads for calls that take long or block: one per active call, up to a limit.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace tapline::multilog {

class NodeWorkers {
 public:
  explicit NodeWorkers(size_t max_threads) : max_threads_(max_threads) {}
  // Waits until all calls have returned.
  ~NodeWorkers();

  // Runs the call on an idle thread or a new one. Returns false, without running it, if the maximum number of calls is
  // already active.
  bool run(std::function<void()> call);

 private:
  void work();

  const size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // calls for idle threads to take; never more than idle_
  size_t threads_ = 0;
  size_t idle_ = 0;
  bool ended_ = false;
};

}  // namespace tapline::multilog
