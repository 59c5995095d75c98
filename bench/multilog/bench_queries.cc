// Measures each query's rows and time, compared with fetching the same rows from known addresses; and ingest while
// queries run.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "bench/multilog/workload.h"

namespace tapline::multilog {
namespace {

constexpr int kRounds = 7;

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

// Reads rows from known addresses, prefetching as many as a Cursor returns at a time.
void fetch_only(const std::vector<const uint8_t*>& all, uint64_t* sum) {
  for (size_t first = 0; first < all.size(); first += Cursor::kBatchRows) {
    const size_t end = std::min(all.size(), first + Cursor::kBatchRows);
    for (size_t row = first; row < end; ++row) {
      __builtin_prefetch(all[row]);
      __builtin_prefetch(all[row] + kRowBytes - 1);
    }
    for (size_t row = first; row < end; ++row)
      *sum += load_as<uint64_t>(all[row]) + load_as<uint64_t>(all[row] + kRowBytes - 8);
  }
}

// Returns the median time, in milliseconds, of accessing the query's rows in memory without querying them.
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

// Returns the median share of the rate that is lost. Each rate is divided by the baseline of the same round, because
// other load on the machine affects both.
double lost(const std::vector<double>& rates, const std::vector<double>& without) {
  std::vector<double> ratios;
  for (size_t turn = 0; turn < rates.size(); ++turn) ratios.push_back(rates[turn] / without[turn]);
  return 1 - median(ratios);
}

// Measures ingest in rounds: alone; while a thread spins on the other core; while that thread fetches the queries' rows
// from known addresses; and while it runs one query after another. The second measurement of a round shows the cost of
// two busy cores; the third, the cost of any reader of these rows in the same memory.
void measure_concurrent_ingest(MultiLog* log, const Arguments& arguments, uint64_t more, uint64_t* sum) {
  constexpr int kTurns = 9;
  constexpr int kWays = 4;
  std::vector<double> alone, concurrent, fetching, with;
  uint64_t query_count = 0;
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
    concurrent.push_back(ingest_while([](const std::atomic<bool>&) {}));
    fetching.push_back(ingest_while([&](const std::atomic<bool>& stop) {
      for (size_t i = 0; i < addresses.size() && !stop.load(); ++i) fetch_only(addresses[i], sum);
    }));
    with.push_back(ingest_while([&](const std::atomic<bool>& stop) {
      for (size_t i = 0; i < queries.size() && !stop.load(); ++i) {
        fetch_all(*log, queries[i].spec, sum);
        ++query_count;
      }
    }));
  }
  std::printf(
      "{\"ingest_alone\": %.4g, \"ingest_beside_idle_loop\": %.4g, \"ingest_beside_fetch\": %.4g, "
      "\"ingest_with_queries\": %.4g, \"lost\": %.4g, \"lost_beyond_idle_loop\": %.4g, \"lost_beyond_fetch\": %.4g, "
      "\"queries_meanwhile\": %llu, \"checksum\": %llu}\n",
      median(alone), median(concurrent), median(fetching), median(with), lost(with, alone), lost(with, concurrent),
      lost(with, fetching), static_cast<unsigned long long>(query_count), static_cast<unsigned long long>(*sum % 1000));
}

}  // namespace

void run_queries(Arguments arguments) {
  arguments.indexes = 4;
  arguments.filters = std::max<uint64_t>(arguments.filters, 1);
  // With --untouched, for the comparison with Confluo, only the queries are measured.
  const uint64_t more = arguments.untouched ? 0 : 90000000;
  const auto log = open_for(arguments, arguments.records + more);
  for (uint64_t i = 0; i < arguments.writers; ++i) (void)log->add_writer().ok();
  define(log.get(), arguments);
  ingest(log.get(), arguments, arguments.records);
  uint64_t sum = 0;
  for (const QueryCase& query : query_cases()) measure_query(*log, query, arguments.records, &sum);
  if (more > 0) measure_concurrent_ingest(log.get(), arguments, more, &sum);
}

}  // namespace tapline::multilog
