// bench_multilog: measures how fast a MultiLog ingests records, on the paper's workload (Confluo §5.1): 54-byte
// records, addresses from a /24, ten ports, batches of 1024. The baseline, in the same run, copies the same records
// into memory that has already been touched.
//
//   ingest (the default)  --writers W --indexes I --filters F --aggregates A --triggers T --records N
//   --queries             the same records with 4 indexes, then the rows and time of each query, and the time of only
//                         fetching the same rows from known addresses; and ingest while queries run
//   --rate R              offers R records per second instead of as many as possible, and measures the CPU use of the
//                         writers
//   --untouched           nothing touches the log's memory before the measurement (bench/confluo/run)
//   --layout              the measurements behind the layout: copies, columns, comparisons of keys, building postings
//   --restart DIRECTORY   N records with a journal, and the time to load them; the directory must be empty
//
// Filters are `src_ip == … && dst_port == …` (each matches 1 record in 2560). Aggregates are SUM(bytes) over filters,
// with 1 ms buckets. Triggers are `SUM > …` on the aggregates, each evaluated every millisecond. The rows of a batch
// have the same timestamp, the current time.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/multilog/workload.h"

namespace tapline::multilog {
namespace {

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    auto value = [&]() -> const char* {
      if (i + 1 < count) return values[++i];
      std::fprintf(stderr, "error: %s needs a value\n", name.c_str());
      std::exit(2);
    };
    if (name == "--writers")
      arguments.writers = std::strtoull(value(), nullptr, 10);
    else if (name == "--indexes")
      arguments.indexes = std::strtoull(value(), nullptr, 10);
    else if (name == "--filters")
      arguments.filters = std::strtoull(value(), nullptr, 10);
    else if (name == "--aggregates")
      arguments.aggregates = std::strtoull(value(), nullptr, 10);
    else if (name == "--triggers")
      arguments.triggers = std::strtoull(value(), nullptr, 10);
    else if (name == "--records")
      arguments.records = std::strtoull(value(), nullptr, 10);
    else if (name == "--batch")
      arguments.batch = std::strtoull(value(), nullptr, 10);
    else if (name == "--rate")
      arguments.rate = std::strtod(value(), nullptr);
    else if (name == "--json")
      continue;  // always
    else if (name == "--restart")
      arguments.restart = value();
    else if (name == "--queries")
      arguments.queries = true;
    else if (name == "--untouched")
      arguments.untouched = true;
    else if (name == "--layout")
      arguments.layout = true;
    else {
      std::fprintf(stderr,
                   "usage: bench_multilog [--writers W] [--indexes 0-4] [--filters F] [--aggregates A] [--triggers T] "
                   "[--records N]\n"
                   "                      [--batch 1-1024] [--rate RECORDS_PER_S] [--untouched] "
                   "[--queries | --layout] [--json]\nprints JSON lines\n");
      std::exit(name == "--help" ? 0 : 2);
    }
  }
  if (arguments.writers < 1 || arguments.writers > 16 || arguments.batch < 1 || arguments.batch > kBatch ||
      arguments.indexes > 4 || arguments.records < kBatch) {
    std::fprintf(stderr, "error: 1 to 16 writers, 0 to 4 indexes, batches of 1 to 1024, at least 1024 records\n");
    std::exit(2);
  }
  return arguments;
}

}  // namespace
}  // namespace tapline::multilog

int main(int count, char** values) {
  using namespace tapline::multilog;
  const Arguments arguments = parse(count, values);
  if (!arguments.restart.empty())
    run_restart(arguments);
  else if (arguments.layout)
    run_layout();
  else if (arguments.queries)
    run_queries(arguments);
  else
    run_ingest(arguments);
}
