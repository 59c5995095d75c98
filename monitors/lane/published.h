// The latest copy of something that one thread changes, for others to look at. The writer never waits: while somebody
// reads, it lets a chance pass and comes again soon.
#pragma once

#include <mutex>

namespace tapline {

template <typename T>
class Published {
 public:
  // For the one writer. fill(&copy) writes it anew.
  template <typename Fill>
  void Update(Fill fill) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) fill(&value_);
  }
  // Any thread.
  T Get() const {
    std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_ = {};
};

}  // namespace tapline
