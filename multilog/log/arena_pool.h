// Memory for segments: arenas of one size, on huge pages and touched in advance. A writer's first touch of a 4 KiB page
// would take about 30 times as long as copying rows into it.
//
// Any thread may call take() and give(), which don't lock: an arena changes hands by a compare-and-swap of its state.
// An arena that was never used is mapped by provision() (on the storage thread, ahead of need) or, failing that, by
// take(). At most `max_arenas` exist.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "packet_io/base/status.h"

namespace tapline::multilog {

class ArenaPool {
 public:
  // `arena_bytes` is rounded up to whole pages (huge pages at 1 MiB and above).
  ArenaPool(size_t arena_bytes, size_t max_arenas);
  ~ArenaPool();
  ArenaPool(const ArenaPool&) = delete;

  // Returns null if all arenas are taken or the system has no more memory.
  uint8_t* take();
  void give(uint8_t* arena);
  // Maps arenas until `count` of them are free or there are max_arenas(). Returns the number of free arenas, at most
  // `count`.
  size_t provision(size_t count);

  size_t arena_bytes() const { return arena_bytes_; }
  size_t max_arenas() const { return max_arenas_; }
  size_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  enum State : uint8_t { kUnmapped, kMapping, kFree, kTaken };
  struct Slot {
    std::atomic<uint8_t> state{kUnmapped};
    uint8_t* memory = nullptr;  // written before the state becomes kFree or kTaken (release), read after (acquire)
  };
  uint8_t* take_in(State origin);
  bool map(Slot* slot);

  const size_t arena_bytes_;
  const size_t max_arenas_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<size_t> taken_{0};
  std::atomic<size_t> hint_{0};
};

}  // namespace tapline::multilog
