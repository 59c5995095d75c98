// The workload that the parts of bench_multilog share: the paper's records, the log with its definitions, and ingest.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {

inline constexpr uint64_t kBatch = 1024;
inline constexpr size_t kRowBytes = sizeof(PaperRow);
// Number of batches, which are appended in rotation: few enough to stay in the second-level cache, so that reading
// records is as cheap as with a NIC's DDIO.
inline constexpr size_t kBatches = 16;

struct Arguments {
  uint64_t writers = 1, indexes = 0, filters = 0, aggregates = 0, triggers = 0, records = 20000000, batch = kBatch;
  double rate = 0;
  bool queries = false, layout = false, untouched = false;
  std::string restart;
};

uint64_t clock_ns(clockid_t id = CLOCK_MONOTONIC);
std::vector<PaperRow> make_rows(uint64_t seed);
// Exits with a message if the status is an error.
void check(const Status& status);
// Opens a log with memory for this number of records.
std::unique_ptr<MultiLog> open_for(const Arguments& arguments, uint64_t records);
// Adds the indexes, filters, aggregates and triggers.
void define(MultiLog* log, const Arguments& arguments);

struct IngestResult {
  double wall_s = 0, cpu_s = 0, process_cpu_s = 0, rate = 0;
  uint64_t longest_append_ns = 0, dropped = 0;
};

// Offers `records` records to the log, divided among the writers' threads, as fast as possible or at `rate` per second
// in total.
IngestResult ingest(MultiLog* log, const Arguments& arguments, uint64_t records,
                    const std::atomic<bool>* stop = nullptr);

// The benchmark's parts; each prints JSON lines.
void run_ingest(const Arguments& arguments);
void run_queries(Arguments arguments);
void run_restart(const Arguments& arguments);
void run_layout();

}  // namespace tapline::multilog
