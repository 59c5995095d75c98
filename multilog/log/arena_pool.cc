#include "multilog/log/arena_pool.h"

#include <sys/mman.h>

#include <algorithm>

namespace tapline::multilog {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;

size_t rounded_up(size_t bytes) {
  const size_t page = bytes >= kHugePage / 2 ? kHugePage : kPage;
  return (bytes + page - 1) / page * page;
}

// Maps memory, on huge pages if `bytes` is a multiple of their size, and touches every page.
uint8_t* map_touched(size_t bytes) {
  const size_t extra = bytes % kHugePage == 0 ? kHugePage : 0;
  void* mapped =
      mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(mapped);
  if (extra > 0) {
    const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
    if (head > 0) munmap(begin, head);
    if (extra > head) munmap(begin + head + bytes, extra - head);
    begin += head;
    madvise(begin, bytes, MADV_HUGEPAGE);
  }
  for (size_t i = 0; i < bytes; i += kPage) static_cast<volatile uint8_t*>(begin)[i] = 0;
  return begin;
}

}  // namespace

ArenaPool::ArenaPool(size_t arena_bytes, size_t max_arenas)
    : arena_bytes_(rounded_up(arena_bytes)), max_arenas_(max_arenas), slots_(std::make_unique<Slot[]>(max_arenas)) {}

ArenaPool::~ArenaPool() {
  for (size_t i = 0; i < max_arenas_; ++i) {
    if (slots_[i].memory != nullptr) munmap(slots_[i].memory, arena_bytes_);
  }
}

bool ArenaPool::map(Slot* slot) {
  slot->memory = map_touched(arena_bytes_);
  return slot->memory != nullptr;
}

uint8_t* ArenaPool::take_in(State origin) {
  const size_t begin = hint_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < max_arenas_; ++i) {
    Slot& slot = slots_[(begin + i) % max_arenas_];
    uint8_t expected = origin;
    if (slot.state.load(std::memory_order_relaxed) != origin ||
        !slot.state.compare_exchange_strong(expected, origin == kFree ? kTaken : kMapping, std::memory_order_acquire))
      continue;
    if (origin == kUnmapped) {
      if (!map(&slot)) {
        slot.state.store(kUnmapped, std::memory_order_release);
        return nullptr;
      }
      slot.state.store(kTaken, std::memory_order_release);
    }
    hint_.store((begin + i + 1) % max_arenas_, std::memory_order_relaxed);
    taken_.fetch_add(1, std::memory_order_relaxed);
    return slot.memory;
  }
  return nullptr;
}

uint8_t* ArenaPool::take() {
  uint8_t* arena = take_in(kFree);
  return arena != nullptr ? arena : take_in(kUnmapped);
}

void ArenaPool::give(uint8_t* arena) {
  for (size_t i = 0; i < max_arenas_; ++i) {
    if (slots_[i].state.load(std::memory_order_acquire) != kTaken || slots_[i].memory != arena) continue;
    taken_.fetch_sub(1, std::memory_order_relaxed);
    slots_[i].state.store(kFree, std::memory_order_release);
    return;
  }
}

size_t ArenaPool::provision(size_t count) {
  size_t free = 0;
  for (size_t i = 0; i < max_arenas_ && free < count; ++i)
    free += slots_[i].state.load(std::memory_order_relaxed) == kFree;
  for (size_t i = 0; i < max_arenas_ && free < count; ++i) {
    uint8_t expected = kUnmapped;
    if (!slots_[i].state.compare_exchange_strong(expected, kMapping, std::memory_order_acquire)) continue;
    const bool mapped = map(&slots_[i]);
    slots_[i].state.store(mapped ? kFree : kUnmapped, std::memory_order_release);
    if (!mapped) break;
    ++free;
  }
  return free;
}

}  // namespace tapline::multilog
