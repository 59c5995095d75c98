// bench_conformance: repeats Confluo's Figure 9(a). Appends batches of 32 headers, each of which names the switches on
// its packet's path, to a MultiLog that checks each header against rules: for each forbidden switch S, a filter `path
// contains S`, a COUNT over it, and a trigger that is evaluated every millisecond. Prints the writer's CPU time per
// batch in microseconds (median of 5 runs), as JSON lines.
//
// Rows are like those of tapline-multilog with 5 hops and without frames; one packet in 10,000 traverses a forbidden
// switch.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "multilog/headers/header_row.h"
#include "multilog/multilog.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kHops = 5, kBatch = 32, kBatches = 512, kSwitches = 320, kForbidden = 1000;
constexpr uint64_t kRows = 1'000'000;
constexpr int kRounds = 5;

uint64_t now_ns(clockid_t id = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::vector<uint8_t> make_rows(const Schema& schema) {
  std::mt19937 random(1);
  std::vector<uint8_t> rows(size_t{kBatch} * kBatches * schema.row_bytes());
  const Field* path = schema.find("path");
  const Field* bytes = schema.find("bytes");
  for (size_t i = 0; i < size_t{kBatch} * kBatches; ++i) {
    uint8_t* row = rows.data() + i * schema.row_bytes();
    const uint32_t length = 1500;
    std::memcpy(row + bytes->column.offset, &length, sizeof length);
    for (uint32_t hop = 0; hop < kHops; ++hop) {
      const bool violates = hop == 2 && random() % 10'000 == 0;
      const uint32_t id = violates ? kForbidden + random() % 100 : 1 + random() % kSwitches;
      std::memcpy(row + path->element(hop).offset, &id, sizeof id);
    }
    row[schema.presence_offset() + path->column.presence_bit / 8] |=
        static_cast<uint8_t>(1 << path->column.presence_bit % 8);
  }
  return rows;
}

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

void add_check(MultiLog* log, uint32_t number) {
  const std::string name = "check" + std::to_string(number);
  require(log->add_filter(name, "path contains " + std::to_string(kForbidden + number)));
  require(log->add_aggregate({.name = name + "_count", .filter = name, .function = {.function = "COUNT"}}));
  require(
      log->add_trigger({.name = name, .aggregate = name + "_count", .condition = "COUNT > 0", .period_ns = 1'000'000}));
}

// Returns the writer's CPU time per batch, in microseconds.
double measure(uint32_t checks) {
  Options options(HeaderLayout(0, kHops).schema());
  options.memory_bytes = size_t{512} << 20;
  options.preallocate_bytes = size_t{320} << 20;
  const Schema schema = options.schema;
  std::vector<uint8_t> rows = make_rows(schema);
  auto log = std::move(*MultiLog::open(std::move(options)));
  Writer* writer = *log->add_writer();
  for (uint32_t i = 0; i < checks; ++i) add_check(log.get(), i);
  const uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (uint64_t row = 0; row < kRows; row += kBatch) {
    uint8_t* batch = rows.data() + row / kBatch % kBatches * kBatch * schema.row_bytes();
    const uint64_t now = now_ns();
    for (uint32_t i = 0; i < kBatch; ++i)
      std::memcpy(batch + i * schema.row_bytes() + schema.time().offset, &now, sizeof now);
    writer->append(batch, kBatch);
  }
  return static_cast<double>(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e3 / (kRows / kBatch);
}

}  // namespace
}  // namespace tapline::multilog

int main() {
  using namespace tapline::multilog;
  for (const uint32_t checks : {0, 1, 2, 5, 10, 20, 40, 60, 80, 100}) {
    std::vector<double> micros;
    for (int round = 0; round < kRounds; ++round) micros.push_back(measure(checks));
    std::sort(micros.begin(), micros.end());
    std::printf("{\"checks\": %u, \"us_per_batch\": %.3f, \"least_us\": %.3f, \"most_us\": %.3f}\n", checks,
                micros[kRounds / 2], micros.front(), micros.back());
    std::fflush(stdout);
  }
}
