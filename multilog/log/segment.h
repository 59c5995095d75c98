// Up to 65,536 rows of one writer, and the data derived from them.
//
//   arena   | rows, packed | derived data, allocated from the front: postings of filters and indexes |
//   zones   min and max time of every 1024 rows
//
// Publication order. The writer copies rows, widens the zone maps, appends offsets to filters' postings (count last,
// release) and only then stores the log's tail (release). A reader loads the tail (acquire) and uses everything below
// it; postings may contain offsets beyond it, which the reader ignores. An index's postings become visible as a whole,
// by one release store of their pointer, at any time after the segment is full; until then, readers scan the rows. Rows
// never change once published.
//
// Writer only: rows beyond the tail, zone maps, filter postings. Any thread: allocate(), set_index().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "conditions/expr/chunk_program.h"
#include "multilog/base/conditions.h"
#include "multilog/log/postings.h"

namespace tapline::multilog {

inline constexpr uint32_t kMaxSegmentRows = 65536;
inline constexpr uint32_t kMaxIndexes = 64;
inline constexpr uint32_t kMaxFilters = 1024;

// The offsets of the rows that one filter selected in one segment.
struct FilterPostings {
  uint64_t filter = 0;                    // ID of the owning filter
  std::atomic<uint32_t> covered_from{0};  // rows before this offset were not examined
  std::atomic<uint32_t> count{0};
  std::atomic<const uint16_t*> offsets{nullptr};
  uint16_t* writable = nullptr;  // the writer's pointer to the offsets
  uint32_t capacity = 0;
};

class Segment {
 public:
  // `arena` contains rows and derived data; its owner takes it back once the segment has been destroyed. It may be null
  // for an archived segment, whose rows `source` fetches. `heap_account`, if not null, tracks all segments' memory
  // outside arenas.
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

  // Allocates memory for derived data, which lives as long as the segment. Returns null if there is no memory left.
  void* allocate(size_t bytes);

  void widen_zones(uint32_t offset, uint32_t count, uint64_t earliest, uint64_t latest);
  uint64_t zone_low(uint32_t zone) const { return zones_[zone].low.load(std::memory_order_relaxed); }
  uint64_t zone_high(uint32_t zone) const { return zones_[zone].high.load(std::memory_order_relaxed); }
  uint32_t zones() const { return (capacity_ + kChunkRows - 1) / kChunkRows; }
  // Return the minimum and maximum time of all rows so far.
  uint64_t min_time() const { return min_time_.load(std::memory_order_relaxed); }
  uint64_t max_time() const { return max_time_.load(std::memory_order_relaxed); }

  // Prefetch, in three steps, the data that a query will read. A query over many segments calls these functions for the
  // next segments, because each segment would otherwise cost half a dozen consecutive cache misses. Each step should be
  // called late enough for the previous step's data to have arrived.
  void prefetch_tables(uint64_t filter, std::span<const uint64_t> indexes) const;
  void prefetch_postings(uint64_t filter, std::span<const uint64_t> indexes) const;
  void prefetch_keys(uint64_t filter, std::span<const uint64_t> indexes) const;

  // Returns the filter's postings, or null if there are none.
  const FilterPostings* postings_of(uint64_t filter) const;
  // Writer: does the same, but if there are no postings, creates them for the rows starting at `offset`. Returns null
  // if there is no memory.
  FilterPostings* open_postings(uint64_t filter, uint32_t offset);
  // Writer: appends offsets. Returns false if there is no memory; the postings are then unchanged and must be
  // abandoned.
  bool append_postings(FilterPostings* postings, const uint32_t* offsets, uint32_t count);

  // Returns null until this segment's postings for the index with this ID are built.
  const Postings* index_of(uint64_t id) const {
    const Postings* postings = indexes_[id % kMaxIndexes].load(std::memory_order_acquire);
    return postings != nullptr && postings->index == id ? postings : nullptr;
  }
  void set_index(const Postings* postings) {
    indexes_[postings->index % kMaxIndexes].store(postings, std::memory_order_release);
  }

  // True once the segment is full and all indexes that existed then are built; only indexes that are added later still
  // change the segment.
  std::atomic<bool> complete{false};
  // Reads an archived segment's rows.
  class RowSource {
   public:
    virtual ~RowSource() = default;
    // Returns a buffer with the rows of the zones selected by the bits of `wanted`, at their positions, valid as long
    // as the pointer. Returns null if the rows can't be read.
    virtual std::shared_ptr<const uint8_t> rows(uint64_t wanted) = 0;
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
  std::atomic<uint64_t> min_time_{~uint64_t{0}}, max_time_{0};
  std::unique_ptr<std::atomic<FilterPostings*>[]> filters_;
  std::unique_ptr<std::atomic<const Postings*>[]> indexes_;
  std::mutex heap_mutex_;
  std::vector<std::unique_ptr<uint8_t[]>> heap_;
  size_t heap_bytes_ = 0;
  std::atomic<size_t>* const heap_account_;
};

}  // namespace tapline::multilog
