// Marks the plug-in that is being called, so that a supervisor knows in which plug-in a lane has crashed or hangs.
//
// There is one writer, the lane's thread; any process that maps the mark may read it. All stores are relaxed: a reader
// either waits for a long time (the watchdog) or reads the memory of a dead process, whose stores have all happened.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapline {

struct CallMark {
  // 1 + the plug-in's index while its code runs; 0 otherwise, including during a callback into Tapline.
  std::atomic<uint32_t> plugin{0};
  // The number of calls that have begun, or continued after a callback; it distinguishes one long call from many short
  // ones.
  std::atomic<uint64_t> calls{0};
};

namespace internal {
inline thread_local CallMark own_call_mark;
inline thread_local CallMark* call_mark = nullptr;
}  // namespace internal

// Returns this thread's mark.
inline CallMark& call_mark() { return internal::call_mark != nullptr ? *internal::call_mark : internal::own_call_mark; }
// Makes this thread write to `mark` or, if it is null, to a mark that is never read. REQUIRES: `mark` outlives the
// thread's calls.
inline void set_call_mark(CallMark* mark) { internal::call_mark = mark; }

// Marks the thread as running the plug-in's code while this object exists.
class MarkedCall {
 public:
  explicit MarkedCall(uint32_t plugin_index) : mark_(call_mark()) {
    mark_.calls.store(mark_.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    mark_.plugin.store(plugin_index + 1, std::memory_order_relaxed);
  }
  ~MarkedCall() { mark_.plugin.store(0, std::memory_order_relaxed); }
  MarkedCall(const MarkedCall&) = delete;
  MarkedCall& operator=(const MarkedCall&) = delete;

 private:
  CallMark& mark_;
};

// Marks the thread as back in Tapline's code, within a marked call, while this object exists.
class UnmarkedCall {
 public:
  UnmarkedCall() : mark_(call_mark()), plugin_(mark_.plugin.load(std::memory_order_relaxed)) {
    mark_.plugin.store(0, std::memory_order_relaxed);
  }
  ~UnmarkedCall() {
    mark_.calls.store(mark_.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    mark_.plugin.store(plugin_, std::memory_order_relaxed);
  }
  UnmarkedCall(const UnmarkedCall&) = delete;
  UnmarkedCall& operator=(const UnmarkedCall&) = delete;

 private:
  CallMark& mark_;
  uint32_t plugin_;
};

}  // namespace tapline
