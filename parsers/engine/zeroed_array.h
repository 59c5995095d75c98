#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace tapline {

// An array of pages that read as zero and cost nothing until they are touched, for tables that are sized for the worst
// case. Large arrays ask the kernel for huge pages: random look-ups in pages of 4 KiB would miss the TLB more often
// than the data cache.
class ZeroedArray {
 public:
  // Throws std::bad_alloc if the address space is not available.
  explicit ZeroedArray(size_t bytes) : bytes_(bytes == 0 ? 1 : bytes) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    if (bytes_ >= kHugeFrom) madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  ~ZeroedArray() { munmap(data_, bytes_); }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;

  // Touches the first pages, up to `bytes`, so that their first use causes no page fault.
  void populate(size_t bytes) const {
    constexpr size_t kPage = 4096;
    for (size_t offset = 0; offset < std::min(bytes, bytes_); offset += kPage) {
      volatile std::byte* byte = data() + offset;
      *byte = *byte;
    }
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  static constexpr size_t kHugeFrom = 8 << 20;

  void* data_;
  size_t bytes_;
};

}  // namespace tapline
