// confluo_driver: does the same work as bench_multilog, but with Confluo's published code: the same rows, keys, filters
// and aggregates, source rings of the same size, and queries that fetch all of their rows. Prints JSON lines with the
// same names as bench_multilog.
//
//   ingest (the default)  --writers W --indexes I --filters F --aggregates A --records N --batch B
//   --queries             N records with 4 indexes and at least one filter; prints the rows and time of each query
//
// Unless --untouched is given, the memory that the log will take is touched before the measurement starts. It is
// allocated, written and freed, and jemalloc keeps it for Confluo if MALLOC_CONF is
// narenas:1,dirty_decay_ms:-1,muzzy_decay_ms:-1. Works around two defects of Confluo, at no cost in speed: a cursor
// refers to an expression that is destroyed when the query call returns, so the expression is kept here; a second
// trigger on an aggregate crashes, so there are no triggers.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "atomic_multilog.h"
#include "multilog/testing/paper_rows.h"

namespace {

using tapline::multilog::kPaperNet;
using tapline::multilog::kPaperPorts;
using tapline::multilog::make_paper_row;
using tapline::multilog::PaperRow;

constexpr uint64_t kBatch = 1024;
constexpr size_t kBatches = 16;
constexpr int kRounds = 7;
constexpr const char* kIndexes[] = {"src_ip", "dst_ip", "src_port", "dst_port"};

struct Arguments {
  uint64_t writers = 1, indexes = 0, filters = 0, aggregates = 0, records = 10000000, batch = kBatch;
  bool queries = false, untouched = false;
};

uint64_t clock_ns(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

std::vector<confluo::column_t> columns() {
  using Types = confluo::primitive_types;
  confluo::schema_builder builder;
  builder.add_column(Types::ULONG_TYPE(), "timestamp");
  builder.add_column(Types::UINT_TYPE(), "src_ip");
  builder.add_column(Types::UINT_TYPE(), "dst_ip");
  builder.add_column(Types::USHORT_TYPE(), "src_port");
  builder.add_column(Types::USHORT_TYPE(), "dst_port");
  builder.add_column(Types::UINT_TYPE(), "seq");
  builder.add_column(Types::UINT_TYPE(), "ack");
  builder.add_column(Types::USHORT_TYPE(), "window");
  builder.add_column(Types::USHORT_TYPE(), "bytes");
  builder.add_column(Types::UCHAR_TYPE(), "flags");
  builder.add_column(Types::UCHAR_TYPE(), "ttl");
  builder.add_column(Types::STRING_TYPE(20), "rest");
  return builder.get_columns();
}

// A multilog whose queries keep their expressions alive while their cursors are read.
class Log : public confluo::atomic_multilog {
 public:
  Log(const std::string& folder, task_pool& pool)
      : atomic_multilog("log", columns(), folder, confluo::storage::IN_MEMORY, ::confluo::archival::archival_mode::OFF,
                        pool) {}

  // Calls `take` with each row that satisfies the expression.
  template <typename Take>
  void query(const std::string& text, Take take) {
    const auto parsed = confluo::parser::parse_expression(text);
    const auto expression = confluo::parser::compile_expression(parsed, schema_);
    auto plan = planner_.plan(expression);
    drain(plan.execute(rt_.get()).get(), take);
  }

  template <typename Take>
  void stored_filter(const std::string& name, Take take) {
    static const confluo::parser::compiled_expression all;
    size_t id = 0;
    filter_map_.get(name, id);
    const auto range = filters_.at(id)->lookup_range(0, UINT64_MAX);
    std::unique_ptr<confluo::offset_cursor> offsets(
        new confluo::offset_iterator_cursor<confluo::monitor::filter::range_result::iterator>(range.begin(),
                                                                                              range.end(), rt_.get()));
    confluo::filter_record_cursor cursor(std::move(offsets), &data_log_, &schema_, all);
    drain(&cursor, take);
  }

 private:
  template <typename Take>
  static void drain(confluo::record_cursor* cursor, Take take) {
    for (; cursor->has_more(); cursor->advance()) take(static_cast<const uint8_t*>(cursor->get().data()));
  }
};

void define(Log* log, const Arguments& arguments) {
  for (uint64_t i = 0; i < arguments.indexes; ++i) log->add_index(kIndexes[i]);
  for (uint64_t i = 0; i < arguments.filters; ++i) {
    log->add_filter("f" + std::to_string(i), "src_ip==" + std::to_string(kPaperNet + i * 37 % 256) +
                                                 "&&dst_port==" + std::to_string(kPaperPorts[i % 10]));
  }
  for (uint64_t i = 0; i < arguments.aggregates; ++i)
    log->add_aggregate("a" + std::to_string(i), "f" + std::to_string(i % arguments.filters), "SUM(bytes)");
}

// Prepares batches that are appended in rotation; only the times of their rows are rewritten.
std::vector<confluo::record_batch> make_ring(uint64_t seed) {
  std::vector<confluo::record_batch> ring(kBatches);
  for (size_t i = 0; i < kBatches; ++i) {
    std::vector<PaperRow> rows;
    for (uint64_t j = 0; j < kBatch; ++j) rows.push_back(make_paper_row(i * kBatch + j, 0, seed));
    ring[i].nrecords = kBatch;
    ring[i].blocks = {{0, std::string(reinterpret_cast<const char*>(rows.data()), kBatch * sizeof(PaperRow)), kBatch}};
  }
  return ring;
}

void append(Log* log, confluo::record_batch* batch, uint64_t count) {
  const uint64_t now = clock_ns(CLOCK_REALTIME);
  confluo::record_block& block = batch->blocks[0];
  auto* rows = reinterpret_cast<PaperRow*>(&block.data[0]);
  for (uint64_t j = 0; j < count; ++j) rows[j].time_ns = now;
  if (count == kBatch) {
    block.time_block = static_cast<int64_t>(now) / confluo::record_batch_builder::TIME_BLOCK;
    log->append_batch(*batch);
    return;
  }
  for (uint64_t j = 0; j < count; ++j) log->append(&rows[j]);
}

// Touches memory for the rows, 16 bytes per row for each index (twice an entry, since Confluo's buckets double in
// size), and 256 MiB more.
void touch_memory(const Arguments& arguments) {
  constexpr size_t kPiece = size_t{1} << 20, kPage = 4096;
  const size_t bytes = arguments.records * (sizeof(PaperRow) + 16 * arguments.indexes) + (size_t{256} << 20);
  std::vector<char*> pieces;
  for (size_t offset = 0; offset < bytes; offset += kPiece) {
    pieces.push_back(static_cast<char*>(std::malloc(kPiece)));
    for (size_t i = 0; i < kPiece; i += kPage) static_cast<volatile char*>(pieces.back())[i] = 1;
  }
  for (char* piece : pieces) std::free(piece);
}

struct IngestResult {
  double wall_s, cpu_s;
};

IngestResult ingest(Log* log, const Arguments& arguments) {
  std::atomic<uint64_t> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < arguments.writers; ++i) {
    threads.emplace_back([&, i] {
      confluo::thread_manager::register_thread();
      std::vector<confluo::record_batch> ring = make_ring(i);
      ready.fetch_add(1);
      while (!go.load()) {
      }
      uint64_t done = 0;
      for (size_t turn = 0; done < arguments.records / arguments.writers; ++turn, done += arguments.batch)
        append(log, &ring[turn % kBatches], arguments.batch);
      confluo::thread_manager::deregister_thread();
    });
  }
  while (ready.load() < arguments.writers) {
  }
  const uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  go.store(true);
  for (auto& thread : threads) thread.join();
  return {static_cast<double>(clock_ns(CLOCK_MONOTONIC) - wall) / 1e9,
          static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e9};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Reads the first and last 8 bytes of each row, as bench_multilog does.
template <typename Run>
void measure_query(const char* name, uint64_t records, uint64_t* sum, Run run) {
  std::vector<double> times, cpu;
  uint64_t rows = 0;
  for (int i = 0; i < kRounds; ++i) {
    rows = 0;
    const uint64_t begin = clock_ns(CLOCK_MONOTONIC), used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    run([&](const uint8_t* row) {
      uint64_t first, last;
      std::memcpy(&first, row, 8);
      std::memcpy(&last, row + sizeof(PaperRow) - 8, 8);
      *sum += first + last;
      ++rows;
    });
    times.push_back(static_cast<double>(clock_ns(CLOCK_MONOTONIC) - begin) / 1e6);
    cpu.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - used) / 1e6);
  }
  std::printf("{\"query\": \"%s\", \"records\": %llu, \"rows\": %llu, \"ms\": %.4g, \"cpu_ms\": %.4g}\n", name,
              static_cast<unsigned long long>(records), static_cast<unsigned long long>(rows), median(times),
              median(cpu));
}

std::string equals(const char* field, uint64_t value) { return std::string(field) + "==" + std::to_string(value); }

void run_queries(Log* log, const Arguments& arguments) {
  const uint32_t seven = kPaperNet + 7, nine = kPaperNet + 9;
  const std::string source_seven = equals("src_ip", seven), or_sign = "||", and_sign = "&&";
  const std::pair<const char*, std::string> queries[] = {
      {"one field", source_seven},
      {"two fields",
       source_seven + "&&dst_ip>=" + std::to_string(kPaperNet + 8) + "&&dst_ip<=" + std::to_string(kPaperNet + 11)},
      {"two fields, many", equals("src_port", 80) + and_sign + equals("dst_port", 443)},
      {"or", source_seven + or_sign + equals("dst_ip", nine)},
      {"two unindexed", "bytes>=100&&bytes<=199&&window<=655"},
      {"no match", equals("src_ip", 0x0a090909)},
      {"q1", source_seven + and_sign + equals("dst_ip", nine)},
      {"q2", equals("dst_ip", seven)},
      {"q3", source_seven + and_sign + equals("dst_port", 443)},
      {"q4", source_seven + and_sign + equals("src_port", 80) + and_sign + equals("dst_ip", nine) + and_sign +
                 equals("dst_port", 443)},
      {"q5", source_seven + or_sign + equals("dst_ip", seven)}};
  uint64_t sum = 0;
  for (const auto& [name, text] : queries)
    measure_query(name, arguments.records, &sum, [&, &text = text](auto take) { log->query(text, take); });
  measure_query("stored filter", arguments.records, &sum, [&](auto take) { log->stored_filter("f0", take); });
  std::fprintf(stderr, "checksum %llu\n", static_cast<unsigned long long>(sum % 1000));
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--queries" || name == "--untouched") {
      (name == "--queries" ? arguments.queries : arguments.untouched) = true;
      continue;
    }
    const uint64_t value = i + 1 < count ? std::strtoull(values[++i], nullptr, 10) : 0;
    uint64_t* option = name == "--writers"      ? &arguments.writers
                       : name == "--indexes"    ? &arguments.indexes
                       : name == "--filters"    ? &arguments.filters
                       : name == "--aggregates" ? &arguments.aggregates
                       : name == "--records"    ? &arguments.records
                       : name == "--batch"      ? &arguments.batch
                                                : nullptr;
    if (option == nullptr) {
      std::fprintf(stderr, "error: unknown argument %s\n", name.c_str());
      std::exit(2);
    }
    *option = value;
  }
  if (arguments.queries) arguments.indexes = 4, arguments.filters = std::max<uint64_t>(1, arguments.filters);
  if (arguments.writers < 1 || arguments.indexes > 4 || arguments.batch < 1 || arguments.batch > kBatch ||
      (arguments.aggregates > 0 && arguments.filters == 0)) {
    std::fprintf(stderr, "error: at least 1 writer, 0 to 4 indexes, batches of 1 to 1024, aggregates with filters\n");
    std::exit(2);
  }
  return arguments;
}

// Raises Confluo's memory limit from 1 GB to 64 GiB, in a file to which it points CONFLUO_CONF.
void lift_memory_limit(const std::string& folder) {
  std::ofstream(folder + "/confluo.conf") << "max_memory: " << (uint64_t{64} << 30) << "\n";
  setenv("CONFLUO_CONF", (folder + "/confluo.conf").c_str(), 1);
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = parse(count, values);
  char folder[] = "/tmp/confluo-driver-XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }
  lift_memory_limit(folder);
  if (!arguments.untouched) touch_memory(arguments);
  task_pool pool;
  // Deliberately leaked: freeing its buckets takes a long time, and the process is about to exit.
  auto* log = new Log(folder, pool);
  define(log, arguments);
  const IngestResult ingested = ingest(log, arguments);
  const double records = static_cast<double>(arguments.records) / 1e6;
  if (arguments.queries) {
    run_queries(log, arguments);
  } else {
    std::printf(
        "{\"writers\": %llu, \"indexes\": %llu, \"filters\": %llu, \"aggregates\": %llu, \"batch\": %llu, "
        "\"million_records_per_s\": %.6g, \"million_records_per_process_cpu_s\": %.6g}\n",
        static_cast<unsigned long long>(arguments.writers), static_cast<unsigned long long>(arguments.indexes),
        static_cast<unsigned long long>(arguments.filters), static_cast<unsigned long long>(arguments.aggregates),
        static_cast<unsigned long long>(arguments.batch), records / ingested.wall_s, records / ingested.cpu_s);
  }
  std::fflush(stdout);
  std::system(("rm -r " + std::string(folder)).c_str());
  std::_Exit(0);
}
