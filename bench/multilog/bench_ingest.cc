// Compares ingest into a log with copying the same records into memory.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "bench/multilog/workload.h"
#include "multilog/log/arena_pool.h"
#include "multilog/log/copy_rows.h"

namespace tapline::multilog {
namespace {

struct Line {
  std::string text;
  void add(const char* name, double value) {
    char buffer[96];
    std::snprintf(buffer, sizeof buffer, "%s\"%s\": %.6g", text.empty() ? "" : ", ", name, value);
    text += buffer;
  }
};

// Returns the rate, in records per second, of only stamping and copying the records into touched huge pages, with one
// thread per writer. `streaming` selects non-temporal stores instead of memcpy().
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
      for (size_t offset = 0; offset + kBatch * kRowBytes <= bytes; offset += kBatch * kRowBytes, ++turn) {
        PaperRow* batch = rows.data() + turn % kBatches * kBatch;
        const uint64_t now = clock_ns(CLOCK_REALTIME);
        for (uint64_t j = 0; j < kBatch; ++j) batch[j].time_ns = now;
        if (streaming)
          copy_rows(memory[i] + offset, bytes_of(batch), kBatch * kRowBytes);
        else
          std::memcpy(memory[i] + offset, batch, kBatch * kRowBytes);
      }
      took[i] = clock_ns() - begin;
    });
  }
  for (auto& thread : threads) thread.join();
  return static_cast<double>(bytes / (kBatch * kRowBytes) * kBatch * arguments.writers) * 1e9 /
         static_cast<double>(*std::max_element(took.begin(), took.end()));
}

// Measures the share of wake-ups after a sleep of one millisecond that are more than 100 µs late.
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

}  // namespace

void run_ingest(const Arguments& arguments) {
  const double copy = copy_baseline(arguments, false), stream = copy_baseline(arguments, true);
  const auto log = open_for(arguments, arguments.records);
  for (uint64_t i = 0; i < arguments.writers; ++i) (void)log->add_writer().ok();
  define(log.get(), arguments);
  BareTimer bare;
  bare.start();
  const auto previous_statistics = log->statistics();
  const auto triggers_before = log->trigger_statistics();
  const IngestResult ingested = ingest(log.get(), arguments, arguments.records);
  const auto later_statistics = log->statistics();
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
    const double turns =
        static_cast<double>(std::max<uint64_t>(1, later_statistics.wakeups - previous_statistics.wakeups));
    const double cpu = static_cast<double>(later_statistics.trigger_cpu_ns - previous_statistics.trigger_cpu_ns);
    const double evaluations = static_cast<double>(triggers.evaluations - triggers_before.evaluations);
    line.add("trigger_turns", turns);
    line.add("trigger_us_per_turn", cpu / turns / 1e3);
    line.add("trigger_ns_per_evaluation", cpu / std::max(1.0, evaluations));
    line.add("trigger_cpu", cpu / 1e9 / ingested.wall_s);
    line.add("late_share",
             static_cast<double>(later_statistics.late_wakeups - previous_statistics.late_wakeups) / turns);
    line.add("bare_timer_late_share", bare_late);
  }
  std::printf("{%s}\n", line.text.c_str());
}

}  // namespace tapline::multilog
