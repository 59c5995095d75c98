// An Atomic MultiLog (Confluo, NSDI'19 §3): an append-only store of packet headers that keeps filters, aggregates and
// triggers up to date with each row, and evaluates queries about any of them.
//
//   writers ──append──▶ a log each ──▶ filters ──▶ aggregates ──▶ triggers ──▶ alerts
//                          └──▶ segments, indexes ──▶ queries, disk
//
// Every read sees a prefix of each writer's rows. Reads with the same Snapshot see the same prefix in rows, indexes,
// filters and aggregates (log/writer_log.h). Rows of different writers are ordered only by their timestamps.
//
//   auto log = MultiLog::open(options);                   // on the heap; close() or destruction stops its threads
//   Writer* writer = *log->add_writer();                   // one per thread
//   writer->append(rows, count);
//   log->add_filter("web", "dst_port in {80, 443}");
//   log->add_aggregate({.name = "bytes", .filter = "web", .function = {.function = "SUM", .field = "bytes"}});
//   log->add_trigger({.name = "burst", .aggregate = "bytes", .condition = "SUM > 1MB", .window_ns = 10'000'000});
//   Cursor rows = *log->query({.expression = "src_ip in 10.1.3.0/24", .time_low = t, .time_high = t + 1'000'000});
//
// Any thread may call any function, but a Writer belongs to one thread at a time, and so does a Cursor.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "multilog/query/query.h"
#include "multilog/query/snapshot.h"
#include "multilog/storage/storage.h"
#include "multilog/trigger/trigger.h"
#include "packet_io/base/status.h"

namespace tapline::multilog {

struct Options {
  explicit Options(Schema s) : schema(std::move(s)) {}
  Schema schema;
  // The limit on the memory for rows and for data derived from them. Aggregates have a separate limit, aggregate_bytes.
  size_t memory_bytes = size_t{1} << 30;
  size_t aggregate_bytes = size_t{256} << 20;
  // The number of bytes to touch on opening, so that writers cause no page faults; a background thread touches the rest
  // ahead of need.
  size_t preallocate_bytes = 0;
  // The number of rows per segment: 64 to 65536, a multiple of 64.
  uint32_t segment_rows = kMaxSegmentRows;
  // The policy when memory is full and nothing can be archived: drop the oldest rows, or refuse new rows (and count
  // them).
  enum class OverflowPolicy : uint8_t { kDropOldest, kRefuse };
  OverflowPolicy when_full = OverflowPolicy::kDropOldest;
  UserFunctions user_functions;
  // Disk storage. If there is no directory, everything stays in memory.
  StorageOptions storage;
  // If false, the caller must run evaluate_triggers() and maintain() (for tests).
  bool background_threads = true;
};

struct AggregateSpec {
  std::string name;
  // The name of a stored filter; if empty, all rows.
  std::string filter = {};
  FunctionSpec function = {};
  // The width of a bucket, in event time.
  uint64_t bucket_ns = 1000000;
  // The number of buckets kept ready; values of older buckets are computed from the rows.
  uint32_t buckets = 256;
  // The names of the outputs (SEQ, TS); if empty, the function's own. Filters refer to an output as OUTPUT or
  // NAME.OUTPUT, and to the first one also as NAME.
  std::vector<std::string> outputs = {};
};

struct QuerySpec {
  std::string expression = {};
  // The name of a stored filter whose rows are searched; if empty, all rows are searched.
  std::string filter = {};
  // Further conditions on the result, for nested queries.
  std::vector<std::string> within = {};
  // A further condition, as a tree; an empty tree is true for all rows.
  Tree condition = {};
  // The caller's scope, as a further condition; an empty tree means all rows. If there is a scope, `condition` must not
  // name aggregates, because their values include rows outside the scope.
  Tree scope = {};
  uint64_t time_low = 0, time_high = kAllTime;  // both inclusive
};

struct AggregateValue {
  std::vector<std::string> names;
  std::vector<Number> values;
  std::vector<Group> groups;
  // The number of segments that could not be read, so their rows are missing from the value.
  uint64_t unreadable = 0;
  // A state that can be merged with states of the same function from other logs; set if it was requested and there are
  // no groups.
  std::vector<uint64_t> state;
  const Number& operator[](std::string_view name) const;
};

struct FreezeToken {
  uint64_t id = 0;
  // Each writer's tail, by writer number.
  std::vector<uint64_t> tails;
};

class MultiLogImpl;

class Writer {
 public:
  // Appends contiguous rows of schema.row_bytes() each.
  AppendResult append(const uint8_t* rows, uint64_t count) { return log_->append(rows, count); }
  // Returns the total number of rows that this writer has appended, which is the position of the next row.
  uint64_t tail() const { return log_->tail(); }
  uint64_t dropped() const { return log_->dropped(); }
  uint32_t number() const { return log_->number(); }
  // Waits until all rows appended so far are as durable as the mode guarantees (group commit: synced). Returns an error
  // if that is not possible.
  Status commit();
  // Returns the number of rows that would survive a crash of the machine.
  uint64_t durable() const;

 private:
  friend class MultiLogImpl;
  Writer(MultiLogImpl* owner, WriterLog* log) : owner_(owner), log_(log) {}
  MultiLogImpl* owner_;
  WriterLog* log_;
};

class MultiLog {
 public:
  // Opens a log. If a directory is given, loads its content; recovery() reports what was found and what was missing.
  static Result<std::unique_ptr<MultiLog>> open(Options options);
  virtual ~MultiLog() = default;
  // Stops the threads and, if the log is durable, makes all published rows durable. Idempotent.
  virtual Status close() = 0;

  // Adds one of at most kMaxWriters writers. A loaded log's writers come first, by number, and must not be added again:
  // use writer(0), writer(1) and so on.
  virtual Result<Writer*> add_writer() = 0;
  virtual Writer* writer(uint32_t number) = 0;
  virtual uint32_t writers() const = 0;

  virtual Status add_filter(const std::string& name, const std::string& expression) = 0;
  virtual Status add_filter(const std::string& name, const Tree& condition) = 0;
  virtual Status remove_filter(const std::string& name) = 0;
  virtual Status add_aggregate(const AggregateSpec& spec) = 0;
  virtual Status remove_aggregate(const std::string& name) = 0;
  virtual Status add_trigger(const TriggerSpec& spec) = 0;
  virtual Status remove_trigger(const std::string& name) = 0;
  // Indexes a field of any width, or one element of a list ("path[2]"). Backfills before it returns; queries are
  // correct before, during and after the call.
  virtual Status add_index(const std::string& field) = 0;
  virtual Status remove_index(const std::string& field) = 0;
  virtual std::vector<std::string> filters() const = 0;
  // All named definitions, by kind; filters and aggregates in the order in which they were added.
  struct Definitions {
    std::vector<std::pair<std::string, std::string>> filters;  // name, expression
    std::vector<AggregateSpec> aggregates;
    std::vector<TriggerSpec> triggers;
  };
  virtual Definitions definitions() const = 0;
  virtual std::vector<std::string> indexes() const = 0;

  // Returns a consistent state to read: the frozen tails during a freeze, otherwise the current ones.
  virtual Snapshot take_snapshot() const = 0;
  Result<Cursor> query(const QuerySpec& spec) const { return query(spec, take_snapshot()); }
  virtual Result<Cursor> query(const QuerySpec& spec, Snapshot snapshot) const = 0;
  virtual Result<std::string> explain(const QuerySpec& spec) const = 0;
  // Computes an aggregate over the query's rows.
  Result<AggregateValue> aggregate(const QuerySpec& spec, const FunctionSpec& function) const {
    return aggregate(spec, function, take_snapshot());
  }
  virtual Result<AggregateValue> aggregate(const QuerySpec& spec, const FunctionSpec& function, Snapshot snapshot,
                                           bool with_states = false) const = 0;
  // Reads a stored aggregate over the rows that have arrived since it was added, with times in [time_low, time_high].
  virtual Result<AggregateValue> read_aggregate(const std::string& name, uint64_t time_low = 0,
                                                uint64_t time_high = kAllTime) const = 0;
  virtual Result<AggregateValue> read_aggregate(const std::string& name, const Snapshot& snapshot,
                                                uint64_t time_low = 0, uint64_t time_high = kAllTime) const = 0;

  // Atomically freezes the tails that readers see, for at most `expiry_ns` and at most an hour (Confluo's Algorithm 1,
  // host side); writers continue. Returns kFrozen if the tails are already frozen. unfreeze() returns true if they
  // stayed frozen until then. If it returns false, rows may have become visible in the meantime, and the coordinator's
  // snapshot is void.
  virtual Result<FreezeToken> freeze(uint64_t expiry_ns) = 0;
  virtual Result<bool> unfreeze(uint64_t token) = 0;

  // Makes the trigger thread pass each alert to `callback`, which must not call trigger functions. The latest 1024
  // alerts are also kept for take_alerts().
  virtual void on_alert(std::function<void(const Alert&)> callback) = 0;
  virtual std::vector<Alert> take_alerts() = 0;
  virtual uint64_t lost_alerts() const = 0;
  virtual TriggerStatistics trigger_statistics() = 0;

  // Evaluates triggers, for use without background threads. Returns the time at which the next one is due, on the same
  // clock as `now_ns`.
  virtual uint64_t evaluate_triggers(uint64_t now_ns) = 0;
  // Does one round of the storage thread's work: memory, disk and retention.
  virtual Status maintain() = 0;

  struct Statistics {
    uint64_t appended = 0, dropped = 0;
    uint64_t removed = 0;  // rows evicted by retention or for lack of memory
    size_t segment_bytes = 0, heap_bytes = 0, aggregate_bytes = 0;
    // Timed wake-ups of the trigger thread. A wake-up is late if it happens more than 100 µs after its deadline.
    uint64_t late_wakeups = 0, wakeups = 0;
    uint64_t trigger_cpu_ns = 0;
    uint64_t freezes = 0;
    uint64_t frozen_ns = 0;  // total duration of completed freezes
    bool frozen = false;
  };
  virtual Statistics statistics() const = 0;
  virtual const RecoveryReport& recovery() const = 0;
  // Returns the storage thread's last error, or success once it has succeeded again.
  virtual Status storage_status() const = 0;
  virtual const Schema& schema() const = 0;
};

}  // namespace tapline::multilog
