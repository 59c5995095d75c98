#include "monitors/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "monitors/base/clock.h"
#include "monitors/dpdk/port_source.h"
#include "monitors/lane/lane.h"
#include "monitors/lane/report.h"
#include "monitors/output/batch_output.h"
#include "monitors/output/json_output.h"
#include "monitors/output/kafka_sink.h"
#include "monitors/plan/plan.h"
#include "monitors/source/file_source.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);
constexpr int64_t kNsPerMs = 1'000'000;

Status LoadQueries(const MonitorConfig& config, std::vector<QuerySpec>* queries) {
  if (config.plan.empty()) return QueryOfParsers(config.parser, &queries->emplace_back());
  if (config.plan.size() > kMostQueries) return Status::User("more than 64 plans; run a second monitor for the rest");
  std::set<std::string> names;
  for (const std::string& path : config.plan) {
    if (Status status = LoadPlan(path, config.monitor_id, &queries->emplace_back()); !status.ok()) return status;
    if (!names.insert(queries->back().name).second) {
      return Status::User(path + ": query '" + queries->back().name + "' is already in another plan");
    }
  }
  return {};
}

// Every parser that some query names, once, and which queries want it.
struct ParserSet {
  std::vector<std::unique_ptr<Parser>> parsers;
  std::vector<const Schema*> schemas;
  std::vector<uint64_t> queries;
};

ParserSet MakeParsers(const std::vector<QuerySpec>& queries) {
  ParserSet set;
  for (size_t query = 0; query < queries.size(); ++query) {
    for (const std::string& name : queries[query].parsers) {
      auto at = std::find_if(set.schemas.begin(), set.schemas.end(), [&](const Schema* s) { return s->name == name; });
      size_t index = static_cast<size_t>(at - set.schemas.begin());
      if (at == set.schemas.end()) {
        set.parsers.push_back(make_parser(name));
        set.schemas.push_back(&set.parsers.back()->schema());
        set.queries.push_back(0);
      }
      set.queries[index] |= uint64_t{1} << query;
    }
  }
  return set;
}

std::unique_ptr<PacketSource> MakeSource(const MonitorConfig& config, Reporter* reporter) {
  auto warn = [reporter](const std::string& message) { reporter->Warning(message); };
  if (!config.pcap.empty()) {
    return std::make_unique<FileSource>(FileSourceOptions{config.pcap, config.speed == "1x", warn});
  }
  return std::make_unique<PortSource>(PortSourceOptions{.interface = config.interface,
                                                        .vdev = config.vdev,
                                                        .pci_address = config.port,
                                                        .may_use_hugepages = config.hugepages == "auto",
                                                        .memory_mib = config.memory_mib,
                                                        .warn = warn});
}

std::unique_ptr<BatchSink> MakeSink(const MonitorConfig& config, const std::vector<QuerySpec>& queries, bool live) {
  if (config.output == "null") return std::make_unique<NullSink>();
  KafkaOptions options;
  options.brokers = config.brokers;
  options.compression = config.compression;
  options.queue_mib = config.queue_mib;
  options.timeout_ms = config.broker_timeout_s * 1000;
  options.failure_is_error = !live;
  return std::make_unique<KafkaSink>(options, queries);
}

std::unique_ptr<TupleOutput> MakeOutput(const MonitorConfig& config, const std::vector<QuerySpec>& queries,
                                        const ParserSet& parsers, bool live, QueryAccounts* accounts) {
  if (config.output == "json") {
    return std::make_unique<JsonOutput>(STDOUT_FILENO, queries, parsers.schemas, accounts);
  }
  BatchOutputOptions options;
  options.monitor_id = config.monitor_id;
  options.incarnation = static_cast<uint64_t>(WallNs());
  options.max_rows = config.batch_rows;
  options.flush_after_ns = config.flush_ms * kNsPerMs;
  options.heartbeat_after_ns = config.heartbeat_ms * kNsPerMs;
  options.wait_for_room = !live;
  return std::make_unique<BatchOutput>(options, queries, parsers.schemas, accounts, MakeSink(config, queries, live));
}

std::unique_ptr<Engine> MakeEngine(const MonitorConfig& config, ParserSet* parsers, TupleOutput* output) {
  EngineOptions options;
  options.max_connections = config.max_connections;
  options.max_reassembly_bytes = uint64_t{config.max_reassembly_mib} << 20;
  auto engine = std::make_unique<Engine>(std::move(parsers->parsers), output, options);
  for (uint32_t i = 0; i < parsers->queries.size(); ++i) engine->set_parser_queries(i, parsers->queries[i]);
  return engine;
}

// Tells the progress of a lane twice a second while it exists.
class ProgressThread {
 public:
  ProgressThread(const LaneProgress& progress, Reporter* reporter)
      : thread_([this, &progress, reporter] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, kProgressEvery, [this] { return done_; })) Tell(progress, reporter);
        }) {}
  ~ProgressThread() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  static void Tell(const LaneProgress& progress, Reporter* reporter) {
    double fraction = progress.fraction.load(std::memory_order_relaxed);
    reporter->Progress(progress.packets.load(std::memory_order_relaxed), progress.bytes.load(std::memory_order_relaxed),
                       fraction < 0 ? std::nullopt : std::optional(fraction));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

// A port fills its ring from the moment it starts, so that what it flows into must be there before; of a file, what is
// wrong with it should be known before a broker is waited for.
Status StartBoth(PacketSource* source, TupleOutput* output) {
  Status status = source->live() ? output->Start() : source->Start();
  if (!status.ok()) return status;
  return source->live() ? source->Start() : output->Start();
}

}  // namespace

Status CheckMonitor(const MonitorConfig& config) {
  std::vector<QuerySpec> queries;
  return LoadQueries(config, &queries);
}

Status RunMonitor(const MonitorConfig& config, Reporter* reporter, const std::atomic<bool>* stop) {
  std::vector<QuerySpec> queries;
  if (Status status = LoadQueries(config, &queries); !status.ok()) return status;
  ParserSet parsers = MakeParsers(queries);
  QueryAccounts accounts(queries.size());
  auto source = MakeSource(config, reporter);
  auto output = MakeOutput(config, queries, parsers, source->live(), &accounts);
  auto engine = MakeEngine(config, &parsers, output.get());
  if (Status status = StartBoth(source.get(), output.get()); !status.ok()) return status;
  LaneOptions lane_options{config.busy, *HashKey::parse(config.hash_key)};
  auto lane = std::make_unique<Lane>(lane_options, queries, source.get(), engine.get(), output.get(), &accounts, stop);
  reporter->Ready();
  Status status;
  {
    ProgressThread progress(lane->progress(), reporter);
    status = lane->Run();
  }
  source->Stop();
  if (!status.ok()) return status;
  reporter->End(AccountingJson(lane->accounting(), queries, accounts),
                AccountingSummary(lane->accounting(), queries, accounts));
  return {};
}

}  // namespace tapline
