// The latest copy of a value that one thread changes and others read. The writer never waits: update() does nothing
// while a reader holds the lock, so it must be called repeatedly.
#pragma once

#include <mutex>

namespace tapline {

template <typename T>
class Published {
 public:
  // Writer only. fill(&copy) must write the whole copy.
  template <typename Fill>
  void update(Fill fill) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) fill(&value_);
  }
  // Any thread.
  T get() const {
    std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_ = {};
};

}  // namespace tapline
