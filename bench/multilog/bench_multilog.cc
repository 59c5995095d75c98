// bench_multilog: measures how fast a MultiLog takes records, on the paper's workload (Confluo §5.1): 54-byte records,
// addresses of a /24, ten ports, batches of 1024. The baseline, in the same run, copies the same records into memory
// that was touched before.
//
//   ingest (the default)  --writers W --indexes I --filters F --aggregates A --triggers T --records N
//   --queries             the same records with 4 indexes, then rows and time of each query, next to the time to fetch
//                         only the same rows from known addresses; and ingest while queries run
//   --rate R              R records a second are offered instead of as many as possible: CPU use of the writers
//   --untouched           nothing touches the log's memory before the clock starts (bench/confluo/run)
//   --layout              the measurements behind the layout: copies, columns, building postings, fetching rows
//   --restart DIRECTORY   N records with a journal, and the time to load them; the directory must be empty
//
// Filters are `src_ip == … && dst_port == …` (each matches 1 record in 2560); aggregates SUM(bytes) of filters, 1 ms
// buckets; triggers `SUM > …` on them, each evaluated every millisecond. Times are wall-clock, per batch.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "multilog/log/arena_pool.h"
#include "multilog/log/copy_rows.h"
#include "multilog/log/postings.h"
#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kBatch = 1024;
constexpr size_t kRowBytes = sizeof(PaperRow);
// Batches offered in rotation, which keeps records in the second-level cache, as from a NIC with DDIO.
constexpr size_t kBatches = 16;
constexpr int kRounds = 7;

struct Arguments {
  uint64_t writers = 1, indexes = 0, filters = 0, aggregates = 0, triggers = 0, records = 20000000, batch = kBatch;
  double rate = 0;
  bool queries = false, layout = false, untouched = false;
  std::string restart;
};

uint64_t clock_ns(clockid_t id = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

std::vector<PaperRow> make_rows(uint64_t seed) {
  std::vector<PaperRow> rows;
  for (uint64_t i = 0; i < kBatch * kBatches; ++i) rows.push_back(make_paper_row(i, 0, seed));
  return rows;
}

struct Line {
  std::string text;
  void add(const char* name, double value) {
    char buffer[96];
    std::snprintf(buffer, sizeof buffer, "%s\"%s\": %.6g", text.empty() ? "" : ", ", name, value);
    text += buffer;
  }
};

// Copies records, with the same time stamps, into touched huge pages, one thread per writer; returns records per
// second.
double copy_baseline(const Arguments& arguments, bool streaming) {
  const size_t bytes = std::min<size_t>(arguments.records, 20000000) / arguments.writers * kRowBytes;
  std::vector<uint8_t*> memory;
  std::vector<std::unique_ptr<ArenaPool>> pools;
  for (uint64_t i = 0; i < arguments.writers; ++i) {
    pools.push_back(std::make_unique<ArenaPool>(bytes, 1));
    memory.push_back(pools.back()->take());
  }
  std::atomic<uint64_t> ready{0};
  std::vector<uint64_t> took(arguments.writers);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < arguments.writers; ++i) {
    threads.emplace_back([&, i] {
      std::vector<PaperRow> rows = make_rows(i);
      ready.fetch_add(1);
      while (ready.load() < arguments.writers) {
      }
      const uint64_t begin = clock_ns();
      size_t turn = 0;
      for (size_t at = 0; at + kBatch * kRowBytes <= bytes; at += kBatch * kRowBytes, ++turn) {
        PaperRow* batch = rows.data() + turn % kBatches * kBatch;
        const uint64_t now = clock_ns(CLOCK_REALTIME);
        for (uint64_t j = 0; j < kBatch; ++j) batch[j].time_ns = now;
        if (streaming)
          copy_rows(memory[i] + at, bytes_of(batch), kBatch * kRowBytes);
        else
          std::memcpy(memory[i] + at, batch, kBatch * kRowBytes);
      }
      took[i] = clock_ns() - begin;
    });
  }
  for (auto& thread : threads) thread.join();
  return static_cast<double>(bytes / (kBatch * kRowBytes) * kBatch * arguments.writers) * 1e9 /
         static_cast<double>(*std::max_element(took.begin(), took.end()));
}

// The share of a thread's wake-ups from sleeping a millisecond that come more than 100 us late.
class BareTimer {
 public:
  void start() {
    thread_ = std::thread([this] {
      uint64_t next = clock_ns() / 1000000 * 1000000;
      while (!stop_.load()) {
        next += 1000000;
        const timespec until{static_cast<time_t>(next / 1000000000), static_cast<long>(next % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        ++turns_;
        const uint64_t now = clock_ns();
        late_ += now > next + 100000;
        if (now > next + 1000000) next = now / 1000000 * 1000000;
      }
    });
  }
  double stop() {
    stop_.store(true);
    thread_.join();
    return turns_ == 0 ? 0 : static_cast<double>(late_) / static_cast<double>(turns_);
  }

 private:
  std::thread thread_;
  std::atomic<bool> stop_{false};
  uint64_t turns_ = 0, late_ = 0;
};

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "error: %s\n", status.to_string().c_str());
  std::exit(1);
}

std::unique_ptr<MultiLog> open_for(const Arguments& arguments, uint64_t records) {
  Options options(paper_schema());
  const size_t segments = records / kMaxSegmentRows + 4 * arguments.writers + 4;
  options.memory_bytes = segments * (size_t{4} << 20) / 7 * 8 + (size_t{64} << 20);
  if (!arguments.untouched) options.preallocate_bytes = segments * (size_t{4} << 20);
  options.when_full = Options::WhenFull::kRefuse;
  options.aggregate_bytes = size_t{2} << 30;
  auto log = MultiLog::open(std::move(options));
  check(log.status());
  return std::move(*log);
}

std::string numbered(const char* name, uint64_t number) {
  std::string text(name);
  return text.append(std::to_string(number));
}

void define(MultiLog* log, const Arguments& arguments) {
  constexpr const char* kIndexes[] = {"src_ip", "dst_ip", "src_port", "dst_port"};
  for (uint64_t i = 0; i < arguments.indexes; ++i) check(log->add_index(kIndexes[i]));
  for (uint64_t i = 0; i < arguments.filters; ++i) {
    check(log->add_filter(numbered("f", i), "src_ip == 10.0.1." + std::to_string(i * 37 % 256) +
                                                " && dst_port == " + std::to_string(kPaperPorts[i % 10])));
  }
  for (uint64_t i = 0; i < arguments.aggregates; ++i) {
    AggregateSpec spec{.name = numbered("a", i), .function = {.function = "SUM", .field = "bytes"}};
    if (arguments.filters > 0) spec.filter = numbered("f", i % arguments.filters);
    check(log->add_aggregate(spec));
  }
  for (uint64_t i = 0; i < arguments.triggers && arguments.aggregates > 0; ++i) {
    check(log->add_trigger(
        {.name = numbered("t", i), .aggregate = numbered("a", i % arguments.aggregates), .condition = "SUM > 100GB"}));
  }
}

struct Ingested {
  double wall_s = 0, cpu_s = 0, process_cpu_s = 0, rate = 0;
  uint64_t longest_append_ns = 0, dropped = 0;
};

// Offers `records` on each writer's thread, as fast as possible, or at `rate` records per second in total.
Ingested ingest(MultiLog* log, const Arguments& arguments, uint64_t records, const std::atomic<bool>* stop = nullptr) {
  std::vector<std::thread> threads;
  std::vector<Ingested> each(arguments.writers);
  std::atomic<uint64_t> ready{0};
  uint64_t process_cpu_before = 0;
  std::vector<Writer*> writers;
  for (uint64_t i = 0; i < arguments.writers; ++i)
    writers.push_back(log->writer(static_cast<uint32_t>(i)) != nullptr ? log->writer(static_cast<uint32_t>(i))
                                                                       : *log->add_writer());
  for (uint64_t i = 0; i < arguments.writers; ++i) {
    threads.emplace_back([&, i] {
      std::vector<PaperRow> rows = make_rows(i);
      const uint64_t mine = records / arguments.writers;
      if (ready.fetch_add(1) + 1 == arguments.writers) process_cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
      while (ready.load() < arguments.writers) {
      }
      const uint64_t begin = clock_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
      uint64_t done = 0, spun = 0;
      for (size_t turn = 0; done < mine && (stop == nullptr || !stop->load(std::memory_order_relaxed));
           ++turn, done += arguments.batch) {
        if (arguments.rate > 0) {
          const uint64_t due = begin + static_cast<uint64_t>(static_cast<double>(done) * 1e9 *
                                                             static_cast<double>(arguments.writers) / arguments.rate);
          const uint64_t wait = clock_ns();
          if (due > wait) {
            const timespec until{static_cast<time_t>(due / 1000000000), static_cast<long>(due % 1000000000)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
          }
        }
        PaperRow* batch = rows.data() + turn % kBatches * kBatch;
        const uint64_t now = clock_ns(CLOCK_REALTIME);
        for (uint64_t j = 0; j < arguments.batch; ++j) batch[j].time_ns = now;
        const AppendResult result = writers[i]->append(bytes_of(batch), arguments.batch);
        each[i].dropped += result.dropped;
        each[i].longest_append_ns = std::max(each[i].longest_append_ns, clock_ns(CLOCK_REALTIME) - now);
      }
      each[i].wall_s = static_cast<double>(clock_ns() - begin) / 1e9;
      each[i].cpu_s = static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu - spun) / 1e9;
      each[i].rate = static_cast<double>(done) / each[i].wall_s;
    });
  }
  for (auto& thread : threads) thread.join();
  Ingested all;
  all.process_cpu_s = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process_cpu_before) / 1e9;
  for (const Ingested& one : each) {
    all.wall_s = std::max(all.wall_s, one.wall_s);
    all.cpu_s += one.cpu_s;
    all.rate += one.rate;
    all.dropped += one.dropped;
    all.longest_append_ns = std::max(all.longest_append_ns, one.longest_append_ns);
  }
  return all;
}

void run_ingest(const Arguments& arguments) {
  const double copy = copy_baseline(arguments, false), stream = copy_baseline(arguments, true);
  const auto log = open_for(arguments, arguments.records);
  for (uint64_t i = 0; i < arguments.writers; ++i) (void)log->add_writer().ok();
  define(log.get(), arguments);
  BareTimer bare;
  bare.start();
  const auto before = log->statistics();
  const auto triggers_before = log->trigger_statistics();
  const Ingested ingested = ingest(log.get(), arguments, arguments.records);
  const auto after = log->statistics();
  const auto triggers = log->trigger_statistics();
  const double bare_late = bare.stop();
  Line line;
  line.add("writers", static_cast<double>(arguments.writers));
  line.add("indexes", static_cast<double>(arguments.indexes));
  line.add("filters", static_cast<double>(arguments.filters));
  line.add("aggregates", static_cast<double>(arguments.aggregates));
  line.add("triggers", static_cast<double>(arguments.triggers));
  line.add("batch", static_cast<double>(arguments.batch));
  line.add("million_records_per_s", ingested.rate / 1e6);
  line.add("million_records_per_cpu_s", static_cast<double>(arguments.records) / ingested.cpu_s / 1e6);
  line.add("million_records_per_process_cpu_s", static_cast<double>(arguments.records) / ingested.process_cpu_s / 1e6);
  line.add("copy_million_records_per_s", copy / 1e6);
  line.add("streaming_copy_million_records_per_s", stream / 1e6);
  line.add("of_copy", ingested.rate / copy);
  line.add("wall_s", ingested.wall_s);
  line.add("writer_cpu", ingested.cpu_s / ingested.wall_s);
  line.add("longest_append_us", static_cast<double>(ingested.longest_append_ns) / 1e3);
  line.add("dropped", static_cast<double>(ingested.dropped));
  if (arguments.triggers > 0) {
    const double turns = static_cast<double>(std::max<uint64_t>(1, after.wakeups - before.wakeups));
    const double cpu = static_cast<double>(after.trigger_cpu_ns - before.trigger_cpu_ns);
    const double evaluations = static_cast<double>(triggers.evaluations - triggers_before.evaluations);
    line.add("trigger_turns", turns);
    line.add("trigger_us_per_turn", cpu / turns / 1e3);
    line.add("trigger_ns_per_evaluation", cpu / std::max(1.0, evaluations));
    line.add("trigger_cpu", cpu / 1e9 / ingested.wall_s);
    line.add("late_share", static_cast<double>(after.late_wakeups - before.late_wakeups) / turns);
    line.add("bare_timer_late_share", bare_late);
  }
  std::printf("{%s}\n", line.text.c_str());
}

struct QueryCase {
  const char* name;
  QuerySpec spec;
};

std::vector<QueryCase> query_cases() {
  return {{"one field", {.expression = "src_ip == 10.0.1.7"}},
          {"two fields", {.expression = "src_ip == 10.0.1.7 && dst_ip in 10.0.1.8/30"}},
          {"two fields, many", {.expression = "src_port == 80 && dst_port == 443"}},
          {"or", {.expression = "src_ip == 10.0.1.7 || dst_ip == 10.0.1.9"}},
          {"two unindexed", {.expression = "bytes >= 100 && bytes <= 199 && window <= 655"}},
          {"no match", {.expression = "src_ip == 10.9.9.9"}},
          {"stored filter", {.filter = "f0"}},
          {"q1", {.expression = "src_ip == 10.0.1.7 && dst_ip == 10.0.1.9"}},
          {"q2", {.expression = "dst_ip == 10.0.1.7"}},
          {"q3", {.expression = "src_ip == 10.0.1.7 && dst_port == 443"}},
          {"q4", {.expression = "src_ip == 10.0.1.7 && src_port == 80 && dst_ip == 10.0.1.9 && dst_port == 443"}},
          {"q5", {.expression = "src_ip == 10.0.1.7 || dst_ip == 10.0.1.7"}}};
}

uint64_t fetch_all(const MultiLog& log, const QuerySpec& spec, uint64_t* sum) {
  auto cursor = log.query(spec);
  check(cursor.status());
  for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
    for (const uint8_t* row : rows) *sum += load_as<uint64_t>(row) + load_as<uint64_t>(row + kRowBytes - 8);
  }
  return cursor->statistics().rows;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<const uint8_t*> addresses_of(const MultiLog& log, const QuerySpec& spec) {
  std::vector<const uint8_t*> all;
  auto cursor = log.query(spec);
  for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next())
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

// Reads rows from known addresses, as many ahead as a Cursor returns at a time.
void fetch_only(const std::vector<const uint8_t*>& all, uint64_t* sum) {
  for (size_t at = 0; at < all.size(); at += Cursor::kBatchRows) {
    const size_t end = std::min(all.size(), at + Cursor::kBatchRows);
    for (size_t row = at; row < end; ++row) {
      __builtin_prefetch(all[row]);
      __builtin_prefetch(all[row] + kRowBytes - 1);
    }
    for (size_t row = at; row < end; ++row)
      *sum += load_as<uint64_t>(all[row]) + load_as<uint64_t>(all[row] + kRowBytes - 8);
  }
}

// Measures memory access alone: the same rows in the same order.
double measure_fetch(const MultiLog& log, const QuerySpec& spec, uint64_t* sum) {
  const std::vector<const uint8_t*> all = addresses_of(log, spec);
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t begin = clock_ns();
    fetch_only(all, sum);
    times.push_back(static_cast<double>(clock_ns() - begin) / 1e6);
  }
  return median(times);
}

void measure_query(const MultiLog& log, const QueryCase& query, uint64_t records, uint64_t* sum) {
  std::vector<double> times, cpu;
  uint64_t rows = 0;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t begin = clock_ns(), used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    rows = fetch_all(log, query.spec, sum);
    times.push_back(static_cast<double>(clock_ns() - begin) / 1e6);
    cpu.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - used) / 1e6);
  }
  std::printf(
      "{\"query\": \"%s\", \"records\": %llu, \"rows\": %llu, \"ms\": %.4g, \"cpu_ms\": %.4g, \"least_ms\": %.4g, "
      "\"fetch_ms\": %.4g}\n",
      query.name, static_cast<unsigned long long>(records), static_cast<unsigned long long>(rows), median(times),
      median(cpu), *std::min_element(times.begin(), times.end()), measure_fetch(log, query.spec, sum));
}

// Divides each rate by the baseline of the same turn, because other load on the machine affects both.
double lost(const std::vector<double>& with, const std::vector<double>& without) {
  std::vector<double> ratios;
  for (size_t turn = 0; turn < with.size(); ++turn) ratios.push_back(with[turn] / without[turn]);
  return 1 - median(ratios);
}

// Measures ingest in turns: alone; while an idle loop occupies the other core; while a thread only fetches the rows of
// the queries, from known addresses; while it runs one query after another. The second shows the cost of two busy
// cores, the third that of any reader of these rows in the same memory.
void measure_ingest_meanwhile(MultiLog* log, const Arguments& arguments, uint64_t more, uint64_t* sum) {
  constexpr int kTurns = 9;
  constexpr int kWays = 4;
  std::vector<double> alone, beside, fetching, with;
  uint64_t asked = 0;
  std::vector<QueryCase> queries;
  std::vector<std::vector<const uint8_t*>> addresses;
  for (QueryCase& query : query_cases()) {
    if (std::string(query.name) == "two unindexed") continue;
    addresses.push_back(addresses_of(*log, query.spec));
    queries.push_back(std::move(query));
  }
  auto ingest_more = [&] { return ingest(log, arguments, more / kTurns / kWays).rate / 1e6; };
  auto ingest_while = [&](auto&& work) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
      while (!stop.load()) work(stop);
    });
    const double rate = ingest_more();
    stop.store(true);
    other.join();
    return rate;
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    alone.push_back(ingest_more());
    beside.push_back(ingest_while([](const std::atomic<bool>&) {}));
    fetching.push_back(ingest_while([&](const std::atomic<bool>& stop) {
      for (size_t i = 0; i < addresses.size() && !stop.load(); ++i) fetch_only(addresses[i], sum);
    }));
    with.push_back(ingest_while([&](const std::atomic<bool>& stop) {
      for (size_t i = 0; i < queries.size() && !stop.load(); ++i) {
        fetch_all(*log, queries[i].spec, sum);
        ++asked;
      }
    }));
  }
  std::printf(
      "{\"ingest_alone\": %.4g, \"ingest_beside_idle_loop\": %.4g, \"ingest_beside_fetch\": %.4g, "
      "\"ingest_with_queries\": %.4g, \"lost\": %.4g, \"lost_beyond_idle_loop\": %.4g, \"lost_beyond_fetch\": %.4g, "
      "\"queries_meanwhile\": %llu, \"checksum\": %llu}\n",
      median(alone), median(beside), median(fetching), median(with), lost(with, alone), lost(with, beside),
      lost(with, fetching), static_cast<unsigned long long>(asked), static_cast<unsigned long long>(*sum % 1000));
}

void run_queries(Arguments arguments) {
  arguments.indexes = 4;
  arguments.filters = std::max<uint64_t>(arguments.filters, 1);
  // The comparison with Confluo needs the queries alone.
  const uint64_t more = arguments.untouched ? 0 : 90000000;
  const auto log = open_for(arguments, arguments.records + more);
  for (uint64_t i = 0; i < arguments.writers; ++i) (void)log->add_writer().ok();
  define(log.get(), arguments);
  ingest(log.get(), arguments, arguments.records);
  uint64_t sum = 0;
  for (const QueryCase& query : query_cases()) measure_query(*log, query, arguments.records, &sum);
  if (more > 0) measure_ingest_meanwhile(log.get(), arguments, more, &sum);
}

void run_restart(const Arguments& arguments) {
  for (const bool archived : {false, true}) {
    Options options(paper_schema());
    options.storage.directory = arguments.restart + (archived ? "/archived" : "/journal");
    options.memory_bytes = archived ? size_t{128} << 20 : arguments.records * 72 + (size_t{256} << 20);
    check(posix_file_system()->make_directory(arguments.restart));
    auto log = MultiLog::open(options);
    check(log.status());
    check((*log)->add_index("src_ip"));
    Writer* writer = *(*log)->add_writer();
    std::vector<PaperRow> rows = make_rows(0);
    const uint64_t write_begin = clock_ns();
    for (uint64_t done = 0; done < arguments.records;) {
      const AppendResult result = writer->append(bytes_of(rows.data() + done / kBatch % kBatches * kBatch), kBatch);
      done += result.accepted;
      if (result.dropped > 0) check((*log)->maintain());
    }
    check((*log)->close());
    const double write_s = static_cast<double>(clock_ns() - write_begin) / 1e9;
    log->reset();
    const uint64_t begin = clock_ns();
    auto again = MultiLog::open(options);
    check(again.status());
    const double load_ms = static_cast<double>(clock_ns() - begin) / 1e6;
    std::printf(
        "{\"restart\": \"%s\", \"records\": %llu, \"journal_records\": %llu, \"write_s\": %.4g, \"load_ms\": %.4g}\n",
        archived ? "mostly archived" : "journal", static_cast<unsigned long long>((*again)->writer(0)->tail()),
        static_cast<unsigned long long>((*again)->recovery().journal_rows), write_s, load_ms);
  }
}

// Measures the building blocks in nanoseconds per row, as the minimum of several rounds.
void run_layout() {
  constexpr size_t kRows = 4 * kMaxSegmentRows;
  const std::vector<PaperRow> rows = make_rows(1);
  ArenaPool pool(kRows * 64, 2);
  uint8_t* to = pool.take();
  const Schema schema = paper_schema();
  auto measure = [](const char* name, size_t count, auto&& run) {
    uint64_t least = ~uint64_t{0};
    for (int i = 0; i < 9; ++i) {
      const uint64_t begin = clock_ns();
      run();
      least = std::min(least, clock_ns() - begin);
    }
    std::printf("{\"step\": \"%s\", \"ns_per_row\": %.3f}\n", name,
                static_cast<double>(least) / static_cast<double>(count));
  };
  auto batches = [&](auto&& copy) {
    for (size_t at = 0; at < kRows; at += kBatch) copy(at, bytes_of(rows.data() + at % (kBatch * kBatches)));
  };
  measure("copy rows, memcpy", kRows, [&] {
    batches([&](size_t at, const uint8_t* from) { std::memcpy(to + at * kRowBytes, from, kBatch * kRowBytes); });
  });
  measure("copy rows, past the cache", kRows, [&] {
    batches([&](size_t at, const uint8_t* from) { copy_rows(to + at * kRowBytes, from, kBatch * kRowBytes); });
  });
  measure("all columns apart", kRows, [&] {
    batches([&](size_t at, const uint8_t* from) {
      for (const Field& field : schema.fields()) {
        uint8_t* column = to + field.column.offset * kRows + at * field.column.bytes;
        switch (field.column.bytes) {
          case 1:
            for (size_t i = 0; i < kBatch; ++i) column[i] = from[i * kRowBytes + field.column.offset];
            break;
          case 2:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 2 * i, from + i * kRowBytes + field.column.offset, 2);
            break;
          case 4:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 4 * i, from + i * kRowBytes + field.column.offset, 4);
            break;
          case 8:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 8 * i, from + i * kRowBytes + field.column.offset, 8);
            break;
          default:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 20 * i, from + i * kRowBytes + field.column.offset, 20);
            break;
        }
      }
    });
  });
  std::vector<uint8_t> keys(kRows * 8);
  measure("one column of 4 bytes", kRows, [&] {
    batches([&](size_t at, const uint8_t* from) {
      extract_keys(schema.find("src_ip")->column, from, kRowBytes, kBatch, keys.data() + at * 4);
    });
  });
  for (const simd::Kernels* kernels : simd::available()) {
    uint64_t bits[kBatch / 64];
    measure((std::string("compare 4-byte keys, ") + kernels->name).c_str(), kRows, [&] {
      batches([&](size_t at, const uint8_t*) {
        kernels->range32(keys.data() + at * 4, kBatch, ~uint64_t{0}, kPaperNet + 7, 0, bits);
      });
    });
  }
  PostingsBuilder builder;
  std::vector<std::vector<uint8_t>> blocks;
  auto build = [&](const char* name, const char* field) {
    const Column& column = schema.find(field)->column;
    std::vector<uint8_t> all(size_t{kMaxSegmentRows} * column.key_bytes());
    for (size_t at = 0; at < kMaxSegmentRows; at += kBatch)
      extract_keys(column, bytes_of(rows.data() + at % (kBatch * kBatches)), kRowBytes, kBatch,
                   all.data() + at * column.key_bytes());
    measure(name, kMaxSegmentRows, [&] {
      size_t next = 0;
      builder.build(all.data(), column.key_bytes(), kMaxSegmentRows, nullptr, [&](size_t bytes) {
        if (blocks.size() <= next) blocks.emplace_back(size_t{1} << 20);
        return blocks[next].resize(std::max(bytes, blocks[next].size())), blocks[next++].data();
      });
    });
  };
  build("postings, 10 ports", "dst_port");
  build("postings, addresses of a /24", "src_ip");
  build("postings, random 32 bits", "ack");
}

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
