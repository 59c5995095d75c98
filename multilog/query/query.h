// Runs queries over a snapshot: streams the rows that satisfy an expression within a time range.
//
// In each segment, uses the cheapest method:
//   stored   the postings of a stored filter that is part of the query
//   index    for each clause of the disjunctive normal form: the indexed comparison with the fewest rows, intersected
//            with the other indexed ones; the other comparisons are checked on the rows; clauses are united as bitmaps
//   scan     1024 rows at a time, by columns (expr/chunk_program.h)
//   skip     if zone maps or an index show that there are no matches
// Rows are ordered by writer, then by position; the order of the writers is arbitrary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conditions/expr/chunk_program.h"
#include "multilog/base/conditions.h"
#include "multilog/query/snapshot.h"

namespace tapline::multilog {

inline constexpr uint64_t kAllTime = ~uint64_t{0};

// A compiled query. Immutable. Segments that the stored filter's postings do not cover are scanned for `expression`,
// the complete condition.
struct QueryPlan {
  Schema schema;
  std::shared_ptr<const Expression> expression;
  // The filter whose postings provide the rows, and the additional condition to check on these rows (null if there is
  // none).
  std::shared_ptr<Filter> stored;
  std::shared_ptr<const Expression> residual;
  uint64_t time_low = 0, time_high = kAllTime;  // both inclusive
  // The normal form; unset if there are too many clauses.
  std::optional<std::vector<Clause>> clauses;
  // The clauses for index look-ups: comparisons of indexed fields wider than 8 bytes are split into comparisons of the
  // fields' parts.
  std::vector<Clause> lookups;
  std::vector<Index> indexes;
  Expression::Values values;
  ChunkProgram program;
  // By writer number: the first position to read. If the vector is empty, all rows are read.
  std::vector<uint64_t> from;

  explicit QueryPlan(const Schema& s) : schema(s), program(schema) {}
};

Result<std::shared_ptr<QueryPlan>> make_plan(const Schema& schema, std::shared_ptr<const Expression> expression,
                                             uint64_t time_low, uint64_t time_high, std::vector<Index> indexes,
                                             Expression::Values values);
// Returns true if the two normal forms are the same.
bool same_clauses(const std::vector<Clause>& a, const std::vector<Clause>& b);

struct QueryStatistics {
  uint64_t segments = 0, skipped = 0, by_filter = 0, by_index = 0, scanned = 0;
  uint64_t rows = 0;
  // The number of segments that could not be read, so their rows are missing from the result.
  uint64_t unreadable = 0;
};

// Finds the matching rows of one segment. For one thread only.
class SegmentMatcher {
 public:
  explicit SegmentMatcher(std::shared_ptr<const QueryPlan> plan);

  enum class Way : uint8_t { kSkip, kStored, kIndex, kScan, kUnreadable };
  // Puts the ascending offsets of the segment's matching rows in [begin, end) into `out`, which is cleared first. Sets
  // `rows` to the rows' memory, which `keep` may own.
  Way match(Segment* segment, uint32_t begin, uint32_t end, std::vector<uint16_t>* out, const uint8_t** rows,
            std::shared_ptr<const uint8_t>* keep);
  // Returns the method that match() would choose; `rows` is the approximate number of rows that it would check.
  Way estimate(const Segment* segment, uint32_t begin, uint32_t end, uint64_t* rows);
  // Prefetches this segment's offsets that match() will read.
  void prefetch_offsets(const Segment& segment) const;

 private:
  struct Choice {
    const Leaf* leaf;
    const Postings* postings;
    uint64_t count;
  };
  using Bits = std::vector<uint64_t>;

  const Postings* usable(const Leaf& leaf, const Segment& segment) const;
  bool choose(const Clause& clause, const Segment& segment);
  bool by_stored(Segment* segment, uint32_t begin, uint32_t end, std::vector<uint16_t>* out);
  bool candidates_of_archived(Segment* segment, uint32_t begin, uint32_t end, std::vector<uint16_t>* out,
                              std::shared_ptr<const uint8_t>* keep);
  void by_index(const Segment& segment, std::vector<uint16_t>* out);
  void clause_offsets(const Segment& segment, const Clause& clause, std::vector<uint16_t>* out);
  void intersect_with(const Choice& choice, std::vector<uint16_t>* offsets);
  void scan(const Segment& segment, const uint8_t* rows, uint32_t begin, uint32_t end, std::vector<uint16_t>* out);
  void verify(const Clause& clause, size_t done, const uint8_t* rows, std::vector<uint16_t>* offsets);
  void keep_within_time(const Segment& segment, const uint8_t* rows, std::vector<uint16_t>* offsets) const;
  uint64_t wanted_zones(const Segment& segment, const std::vector<uint16_t>* offsets, uint32_t begin,
                        uint32_t end) const;
  std::shared_ptr<const QueryPlan> plan_;
  ChunkScratch scratch_;
  Bits bits_, other_bits_;
  // The marks, which are all 0 between calls.
  Bits marks_;
  std::vector<uint16_t> part_, both_;
  // The choices for the clause that was examined last.
  std::vector<Choice> choices_;
  std::vector<const Leaf*> rest_;
};

// Iterates over the rows that match a query.
class Cursor {
 public:
  Cursor(Snapshot snapshot, std::shared_ptr<const QueryPlan> plan);

  static constexpr size_t kBatchRows = 256;
  // Returns the next rows, at most kBatchRows, which are already prefetched; empty at the end. The span is valid until
  // the next call; pointers to rows in memory (not archived) are valid as long as the cursor lives.
  std::span<const uint8_t* const> next();
  // Returns the writer whose log contains the last batch's rows. position(i) is the i-th row's position in that log.
  uint32_t writer() const { return writer_; }
  uint64_t position(size_t i) const { return positions_[i]; }

  const QueryStatistics& statistics() const { return statistics_; }
  const Snapshot& snapshot() const { return snapshot_; }

 private:
  // Moves to the next segment of this writer or, if `may_change`, of the next writer. Returns false if there is none.
  bool next_segment(bool may_change);
  void prefetch_segments(const Snapshot::View& view) const;
  void count(SegmentMatcher::Way way);

  Snapshot snapshot_;
  std::shared_ptr<const QueryPlan> plan_;
  SegmentMatcher matcher_;
  size_t view_ = 0;
  uint64_t position_ = 0;
  bool in_view_ = false;
  std::vector<uint16_t> offsets_;
  size_t next_ = 0;
  uint64_t segment_first_ = 0;
  uint32_t writer_ = 0;
  const uint8_t* rows_ = nullptr;
  std::shared_ptr<const uint8_t> keep_;
  std::vector<const uint8_t*> batch_;
  std::vector<uint64_t> positions_;
  // Indexes that the query may use.
  std::vector<uint64_t> index_ids_;
  QueryStatistics statistics_;
};

// Returns the plan and its estimated cost, as readable text.
std::string explain(const Snapshot& snapshot, std::shared_ptr<const QueryPlan> plan);

}  // namespace tapline::multilog
