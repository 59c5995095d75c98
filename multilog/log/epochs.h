// Epoch-based reclamation: frees objects once no reader can still see them.
//
//   reader     pin = enter()  … reads pointers, follows them …  ~Pin
//   remover    unlinks an object, retire(free it), and occasionally collect()
//
// Publication order: the unlinking store precedes the increment of epoch_ in retire(), which precedes the reads of the
// slots in collect(). enter() writes its slot, then issues a full fence, then reads pointers. So a reader that
// collect() did not see can't find the object. Entering is wait-free while fewer than kSlots pins are held (beyond that
// it spins); it never waits for a remover, and removers never wait for a reader: objects in use are freed later.
// retire() and collect() exclude each other with a lock, which writers never take.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tapline::multilog {

class Epochs {
 public:
  static constexpr size_t kSlots = 256;

  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Pin() {
      if (slot_ != nullptr) slot_->store(0, std::memory_order_release);
    }

   private:
    friend class Epochs;
    explicit Pin(std::atomic<uint64_t>* slot) : slot_(slot) {}
    std::atomic<uint64_t>* slot_ = nullptr;
  };

  Pin enter() {
    static std::atomic<size_t> threads{0};
    thread_local size_t hint = threads.fetch_add(7, std::memory_order_relaxed);
    while (true) {
      for (size_t i = 0; i < kSlots; ++i) {
        std::atomic<uint64_t>& slot = slots_[(hint + i) % kSlots].epoch;
        uint64_t free = 0;
        if (slot.load(std::memory_order_relaxed) == 0 &&
            slot.compare_exchange_strong(free, epoch_.load(std::memory_order_acquire), std::memory_order_seq_cst)) {
          hint = (hint + i) % kSlots;
          return Pin(&slot);
        }
      }
      std::this_thread::yield();
    }
  }

  void retire(std::function<void()> free) {
    const std::lock_guard lock(mutex_);
    retired_.push_back({epoch_.fetch_add(1, std::memory_order_seq_cst), std::move(free)});
  }

  // Frees all objects that no reader can see any more. Returns the number of objects that can't be freed yet.
  size_t collect() {
    const std::lock_guard lock(mutex_);
    uint64_t oldest = epoch_.load(std::memory_order_seq_cst);
    for (Slot& slot : slots_) {
      const uint64_t epoch = slot.epoch.load(std::memory_order_seq_cst);
      if (epoch != 0 && epoch < oldest) oldest = epoch;
    }
    while (!retired_.empty() && retired_.front().epoch < oldest) {
      retired_.front().free();
      retired_.pop_front();
    }
    return retired_.size();
  }

  // REQUIRES: there are no readers.
  ~Epochs() {
    for (RetiredObject& retired : retired_) retired.free();
  }

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch{0};  // 0: free
  };
  struct RetiredObject {
    uint64_t epoch;
    std::function<void()> free;
  };
  std::atomic<uint64_t> epoch_{1};
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;
  std::deque<RetiredObject> retired_;
};

}  // namespace tapline::multilog
