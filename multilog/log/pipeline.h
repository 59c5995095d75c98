// The current filters, aggregates and indexes, which writers apply to each row, as one immutable object. Writers load
// it at the start of each piece of at most 1024 rows. It is replaced as a whole when a definition is added or removed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conditions/expr/chunk_program.h"
#include "conditions/expr/row_dispatch.h"
#include "multilog/aggregate/buckets.h"
#include "multilog/aggregate/function.h"
#include "multilog/base/conditions.h"

namespace tapline::multilog {

inline constexpr uint32_t kMaxWriters = 64;
inline constexpr uint64_t kNotYet = ~uint64_t{0};

struct Filter {
  uint64_t id = 0;
  std::string name;
  Expression expression;
  // True if the filter selects every row, so no postings are kept.
  bool everything = false;
  // By writer: the position of the first row that the filter has examined, or kNotYet. The writer stores the position
  // before its tail (release).
  std::array<std::atomic<uint64_t>, kMaxWriters> covered_from;
  std::atomic<uint64_t> lost_postings{0};

  Filter() {
    for (auto& position : covered_from) position.store(kNotYet, std::memory_order_relaxed);
  }
};

struct Aggregate {
  uint64_t id = 0;
  std::string name;
  FunctionSpec spec;
  std::shared_ptr<const AggregateFunction> function;
  const GroupedFunction* grouped = nullptr;  // the same function, if it is grouped
  std::shared_ptr<Filter> filter;
  uint64_t bucket_ns = 0;
  uint32_t slots = 0;
  std::vector<std::string> outputs;

  struct PerWriter {
    std::unique_ptr<Buckets> buckets;
    // The position at which folding began.
    std::atomic<uint64_t> covered_from{kNotYet};
    // Writer only: the state over all time, kept if a filter compares with it.
    std::vector<uint64_t> running;
    bool has_running = false;
  };
  // Created for all existing writers before a pipeline that refers to the aggregate is published, and for later writers
  // before they first append.
  std::array<std::atomic<PerWriter*>, kMaxWriters> per_writer{};
  std::vector<std::unique_ptr<PerWriter>> owned;  // guarded by the control mutex
};

// An index on a field, or on one part of a field wider than 8 bytes; all parts of such a field are indexed together.
struct Index {
  uint64_t id = 0;
  // The field as the request names it: "dst_ip", "path[2]".
  std::string field;
  uint32_t part = 0;
  Column column;

  // Returns the index's name in archived segments.
  std::string name() const { return part == 0 ? field : field + "#" + std::to_string(part); }
};

struct Pipeline {
  explicit Pipeline(const Schema& schema) : program(schema), dispatch(schema), sets(schema) {}

  struct Stage {
    std::shared_ptr<Filter> filter;
    uint32_t number = 0;  // the filter's number in the program
    // True if the filter depends on aggregates, so rows are processed one by one.
    bool dependent = false;
    // True if the filter is in `sets`.
    bool is_set = false;
    std::vector<std::shared_ptr<Aggregate>> aggregates;
    // This stage's aggregates that filters refer to.
    std::vector<std::shared_ptr<Aggregate>> live;
  };
  struct IndexStage {
    Index index;
    uint32_t column = 0;  // the column's number in the program
  };
  // The pipeline's unique number, never 0.
  uint64_t serial = 0;
  ChunkProgram program;
  // Finds the stages whose filters may match a row; used for pieces of a few rows.
  RowDispatch dispatch;
  // Finds the stages whose filters are sets of keys and match a row; used for larger pieces if there are many such
  // filters.
  RowDispatch sets;
  uint32_t time_column = 0;
  std::vector<Stage> stages;
  bool has_dependent = false;
  std::vector<IndexStage> indexes;
  // By AggregateRef::aggregate: the aggregate, or null if no filter refers to it.
  std::vector<std::shared_ptr<Aggregate>> references;
};

}  // namespace tapline::multilog
