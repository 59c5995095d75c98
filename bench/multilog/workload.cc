#include "bench/multilog/workload.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tapline::multilog {
namespace {

std::string numbered(const char* name, uint64_t number) {
  std::string text(name);
  return text.append(std::to_string(number));
}

}  // namespace

uint64_t clock_ns(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

std::vector<PaperRow> make_rows(uint64_t seed) {
  std::vector<PaperRow> rows;
  for (uint64_t i = 0; i < kBatch * kBatches; ++i) rows.push_back(make_paper_row(i, 0, seed));
  return rows;
}

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
  options.when_full = Options::OverflowPolicy::kRefuse;
  options.aggregate_bytes = size_t{2} << 30;
  auto log = MultiLog::open(std::move(options));
  check(log.status());
  return std::move(*log);
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

IngestResult ingest(MultiLog* log, const Arguments& arguments, uint64_t records, const std::atomic<bool>* stop) {
  std::vector<std::thread> threads;
  std::vector<IngestResult> each(arguments.writers);
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
  IngestResult all;
  all.process_cpu_s = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process_cpu_before) / 1e9;
  for (const IngestResult& one : each) {
    all.wall_s = std::max(all.wall_s, one.wall_s);
    all.cpu_s += one.cpu_s;
    all.rate += one.rate;
    all.dropped += one.dropped;
    all.longest_append_ns = std::max(all.longest_append_ns, one.longest_append_ns);
  }
  return all;
}

}  // namespace tapline::multilog
