// One writer's log: segments in order, and the tail, which is the number of rows.
//
// Publication protocol. A writer takes rows in pieces of at most 1024. For each piece, in this order:
//   1. copies the rows after the tail, widens the zone maps, keeps the keys of indexed columns
//   2. appends to the filters' postings, then changes the aggregates' buckets (each marked with the new tail)
//   3. stores tail_ (release)
// A reader loads tail_ (acquire) and then sees all earlier changes to rows, zone maps, postings, buckets and directory.
// It uses nothing beyond the tail: it cuts rows and postings there, and ignores buckets that are ahead of it. So
// everything that it reads shows the same prefix of this writer's rows. Writers share nothing that is written per row:
// a writer that is stopped at any point delays neither other writers nor any reader, and its rows since its last store
// stay invisible until it continues. Readers may not rely on an order between rows of different writers, except by
// their timestamps.
//
// Only the writer thread may call append(), and only the storage thread may call remove_before() and replace(). Any
// thread may call the other functions, but must hold a pin while it uses a segment.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "conditions/expr/chunk_program.h"
#include "multilog/base/conditions.h"
#include "multilog/base/doorbell.h"
#include "multilog/log/arena_pool.h"
#include "multilog/log/epochs.h"
#include "multilog/log/pipeline.h"
#include "multilog/log/postings.h"
#include "multilog/log/segment.h"

namespace tapline::multilog {

struct AppendResult {
  uint64_t accepted = 0;
  // The number of rows at the end of the batch that were refused for lack of memory. They are included in dropped().
  uint64_t dropped = 0;
};

class WriterLog {
 public:
  // Shared by all writers of a MultiLog.
  struct Shared {
    const Schema* schema;
    ArenaPool* arenas;
    Epochs* epochs;
    std::atomic<const Pipeline*>* pipeline;
    uint32_t segment_rows;
    // The number of bytes of derived data outside arenas.
    std::atomic<size_t>* heap_bytes;
    // Rung when a writer has taken memory for a segment, or has found none.
    Doorbell* storage;
  };
  WriterLog(const Shared& shared, uint32_t number, uint64_t first);
  ~WriterLog();
  WriterLog(const WriterLog&) = delete;

  // Writer: appends contiguous rows.
  AppendResult append(const uint8_t* rows, uint64_t count);

  // Returns the tail. Positions count from the writer's first row.
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  uint64_t first() const { return first_.load(std::memory_order_acquire); }
  uint32_t number() const { return number_; }
  uint32_t segment_rows() const { return shared_.segment_rows; }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // Returns the latest time among all rows.
  uint64_t newest_time() const { return newest_time_.load(std::memory_order_acquire); }
  // Returns the segment that contains the row at `position`, or null if it was removed or is unreadable.
  Segment* segment_at(uint64_t position) const;
  // Does the same without accessing the segment, so the result may be a later segment in the same slot.
  const Segment* peek_at(uint64_t position) const;

  // Storage thread: hides the rows before `position` from later readers, and frees their segments once earlier readers
  // have finished. REQUIRES: a segment begins at `position`.
  void remove_before(uint64_t position);
  // Storage thread: makes later readers see `replacement` (null: nothing) instead of the current segment, which is
  // freed after its last reader.
  void replace(uint64_t position, std::unique_ptr<Segment> replacement);
  // Appends a loaded segment, or null for one that can't be read. Must precede the first append().
  void load(std::unique_ptr<Segment> segment, uint64_t first, uint32_t rows);

 private:
  static constexpr size_t kDirectoryBlock = 1024;
  using Directory = std::array<std::atomic<Segment*>, kDirectoryBlock>;
  struct KeyBuffer {
    uint64_t index = 0;
    std::vector<uint8_t> keys;
    uint32_t count = 0;
  };
  struct Seal {
    Segment* segment = nullptr;
    std::vector<Index> indexes;
    std::vector<KeyBuffer> keys;
    size_t next = 0;
  };

  bool open_segment();
  void put(uint64_t number, Segment* segment);
  std::atomic<Segment*>* place_of(uint64_t number) const;
  void append_piece(const Pipeline& pipeline, const uint8_t* rows, uint32_t count);
  void keep_keys(const Pipeline& pipeline, uint32_t count);
  void open_stages(const Pipeline& pipeline);
  void run_filters(const Pipeline& pipeline, uint64_t version, uint64_t earliest, uint64_t latest);
  void run_filters_by_row(const Pipeline& pipeline, uint64_t version);
  void find_sets(const Pipeline& pipeline);
  bool is_new(uint32_t stage);
  void run_dependent(const Pipeline& pipeline);
  Number value_of(const Pipeline& pipeline, const AggregateRef& reference, const uint8_t* row);
  void fold_running(const Aggregate& aggregate, const uint8_t* row);
  void keep_postings(const Pipeline::Stage& stage, const ChunkBits& selected);
  void keep_offsets(const Pipeline::Stage& stage, const uint32_t* offsets, uint32_t count);
  void begin_seal(const Pipeline& pipeline);
  void seal_step();
  void finish_seal();
  void build_index(const Index& index, const KeyBuffer* keys, Segment* segment);
  void free_segment(Segment* segment);

  const Shared shared_;
  const uint32_t number_;
  alignas(64) std::atomic<uint64_t> tail_;
  std::atomic<uint64_t> newest_time_{0};
  alignas(64) std::atomic<uint64_t> first_;
  std::atomic<uint64_t> dropped_{0};
  std::array<std::atomic<Directory*>, 1024> directories_{};

  // The members below are for the writer only.
  uint64_t next_;
  Segment* segment_ = nullptr;
  uint32_t offset_ = 0;  // position in segment_
  // The serial of the pipeline whose filters have postings in segment_; 0: none yet.
  uint64_t opened_ = 0;
  ChunkScratch scratch_;
  std::vector<ChunkBits> dependent_bits_;
  // By stage: the rows that find_sets() found; valid only if found_in_ equals search_.
  std::vector<ChunkBits> set_bits_;
  std::vector<uint64_t> found_in_;
  uint64_t search_ = 0;
  std::vector<KeyBuffer> keys_;
  Seal seal_;
  std::vector<KeyBuffer> spare_keys_;
  PostingsBuilder builder_;
};

// Builds an index's postings for a whole segment, from `keys` or, if it is null, from the rows. Returns null if there
// is no memory.
const Postings* build_postings(const Schema& schema, const Index& index, const uint8_t* rows, uint32_t count,
                               const void* keys, PostingsBuilder* builder, Segment* segment);

}  // namespace tapline::multilog
