// Up to 65,536 rows of one writer, and what was derived from them.
//
//   arena   | rows, packed | derived data, handed out from the front: postings of filters and indexes |
//   zones   least and greatest time of each 1024 rows
//
// Publication order. The writer copies rows, widens zones, appends offsets to the postings of filters (count last,
// release) and only then stores the log's tail (release). A reader loads the tail (acquire) and uses what lies below
// it; postings may hold offsets beyond it, which it drops. The postings of an index appear at once, by one release
// store of their pointer, any time after the segment is full: until then readers scan the rows. Rows never change once
// published.
//
// Writer only: rows beyond the tail, zones, filter postings. Any thread: Allocate, SetIndex.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "multilog/expr/chunk_program.h"
#include "multilog/log/postings.h"

namespace tapline::multilog {

inline constexpr uint32_t kMaxSegmentRows = 65536;
inline constexpr uint32_t kMaxIndexes = 64;
inline constexpr uint32_t kMaxFilters = 1024;

// Offsets of the rows of one segment that one filter selected.
struct FilterPostings {
  uint64_t filter = 0;                    // whose they are
  std::atomic<uint32_t> covered_from{0};  // rows before this offset were not looked at
  std::atomic<uint32_t> count{0};
  std::atomic<const uint16_t*> offsets{nullptr};
  uint16_t* writable = nullptr;  // the writer's view of offsets
  uint32_t capacity = 0;
};

class Segment {
 public:
  // `arena` holds rows and derived data and is given back by whoever took it, after the segment is gone. It may be null
  // for a segment whose rows are elsewhere (an archived one: `reader` brings them). `heap_account`, if not null, is
  // kept at what lies outside the arenas of all segments.
  Segment(uint64_t first, uint32_t capacity, uint32_t row_bytes, uint8_t* arena, size_t arena_bytes,
          std::atomic<size_t>* heap_account);
  virtual ~Segment();
  Segment(const Segment&) = delete;

  uint64_t first() const { return first_; }
  uint32_t capacity() const { return capacity_; }
  uint32_t row_bytes() const { return row_bytes_; }
  uint8_t* rows() const { return arena_; }
  uint8_t* arena() const { return arena_; }
  const uint8_t* row(uint32_t offset) const { return arena_ + size_t{offset} * row_bytes_; }

  // For derived data; lives as long as the segment. Null if there is no memory.
  void* Allocate(size_t bytes);

  void WidenZones(uint32_t offset, uint32_t count, uint64_t least, uint64_t greatest);
  uint64_t ZoneLow(uint32_t zone) const { return zones_[zone].low.load(std::memory_order_relaxed); }
  uint64_t ZoneHigh(uint32_t zone) const { return zones_[zone].high.load(std::memory_order_relaxed); }
  uint32_t zones() const { return (capacity_ + kChunkRows - 1) / kChunkRows; }
  // Over all rows so far.
  uint64_t least_time() const { return least_.load(std::memory_order_relaxed); }
  uint64_t greatest_time() const { return greatest_.load(std::memory_order_relaxed); }

  // Brings into the cache, step by step, what a query will look at: a query over many segments calls these for segments
  // ahead, for each would cost it half a dozen cache misses in a row. REQUIRES for each step that the one before has
  // been done for long enough.
  void PrefetchTables(uint64_t filter, std::span<const uint64_t> indexes) const;
  void PrefetchPostings(uint64_t filter, std::span<const uint64_t> indexes) const;
  void PrefetchKeys(uint64_t filter, std::span<const uint64_t> indexes) const;

  // Null if the filter never looked at this segment.
  const FilterPostings* PostingsOf(uint64_t filter) const;
  // Writer: the same, made if need be, from offset `at` on. Null without memory.
  FilterPostings* OpenPostings(uint64_t filter, uint32_t at);
  // Writer. False without memory: the postings then stay as they were and must be abandoned.
  bool AppendPostings(FilterPostings* postings, const uint32_t* offsets, uint32_t count);

  // Null until the index `id` is built here.
  const Postings* IndexOf(uint64_t id) const {
    const Postings* postings = indexes_[id % kMaxIndexes].load(std::memory_order_acquire);
    return postings != nullptr && postings->index == id ? postings : nullptr;
  }
  void SetIndex(const Postings* postings) {
    indexes_[postings->index % kMaxIndexes].store(postings, std::memory_order_release);
  }

  // Full, and all indexes of that time are built: nothing will be changed any more but indexes added later.
  std::atomic<bool> complete{false};
  // Archived segments: where their rows are.
  class RowSource {
   public:
    virtual ~RowSource() = default;
    // The rows of the zones that `wanted` has bits for, at their places in a buffer that lives as long as the pointer.
    // Null if they can't be read.
    virtual std::shared_ptr<const uint8_t> Rows(uint64_t wanted) = 0;
  };
  std::unique_ptr<RowSource> source;

 private:
  struct Zone {
    std::atomic<uint64_t> low{~uint64_t{0}}, high{0};
  };
  const uint64_t first_;
  const uint32_t capacity_;
  const uint32_t row_bytes_;
  uint8_t* const arena_;
  const size_t arena_bytes_;
  std::atomic<size_t> used_;
  std::unique_ptr<Zone[]> zones_;
  std::atomic<uint64_t> least_{~uint64_t{0}}, greatest_{0};
  std::unique_ptr<std::atomic<FilterPostings*>[]> filters_;
  std::unique_ptr<std::atomic<const Postings*>[]> indexes_;
  std::mutex heap_mutex_;
  std::vector<std::unique_ptr<uint8_t[]>> heap_;
  size_t heap_bytes_ = 0;
  std::atomic<size_t>* const heap_account_;
};

}  // namespace tapline::multilog
