#include "monitors/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "monitors/base/clock.h"
#include "monitors/dpdk/port_source.h"
#include "monitors/lane/lane.h"
#include "monitors/lane/parser_unit.h"
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

// The places for queries of this process, and how far each query's LIMIT has got.
struct Queries {
  std::array<QuerySpec, kMostQueries> specs = {};
  PacketCredits credits;
  uint32_t count = 0;
};

Status LoadQueries(const MonitorConfig& config, Queries* queries) {
  if (config.plan.empty()) {
    queries->count = 1;
    return QueryOfParsers(config.parser, &queries->specs[0]);
  }
  if (config.plan.size() > kMostQueries) return Status::User("more than 64 plans; run a second monitor for the rest");
  std::set<std::string> names;
  for (const std::string& path : config.plan) {
    QuerySpec& spec = queries->specs[queries->count++];
    if (Status status = LoadPlan(path, config.monitor_id, &spec); !status.ok()) return status;
    if (!names.insert(spec.name).second) {
      return Status::User(path + ": query '" + spec.name + "' is already in another plan");
    }
  }
  for (uint32_t i = 0; i < queries->count; ++i) {
    queries->credits.Reset(i, queries->specs[i].limit_packets.value_or(0));
    queries->specs[i].lanes = config.lanes;
  }
  return {};
}

// Every parser that some query names, once.
std::vector<std::unique_ptr<Parser>> MakeParsers(const Queries& queries) {
  std::vector<std::unique_ptr<Parser>> parsers;
  for (uint32_t query = 0; query < queries.count; ++query) {
    for (const std::string& name : queries.specs[query].parsers) {
      auto same = [&](const std::unique_ptr<Parser>& parser) { return parser->schema().name == name; };
      if (std::none_of(parsers.begin(), parsers.end(), same)) parsers.push_back(make_parser(name));
    }
  }
  return parsers;
}

// One for each lane.
std::vector<std::unique_ptr<PacketSource>> MakeSources(const MonitorConfig& config, Reporter* reporter) {
  auto warn = [reporter](const std::string& message) { reporter->Warning(message); };
  std::vector<std::unique_ptr<PacketSource>> sources;
  if (!config.pcap.empty()) {
    sources.push_back(std::make_unique<FileSource>(FileSourceOptions{config.pcap, config.speed == "1x", warn}));
    return sources;
  }
  auto port = std::make_shared<Port>(PortOptions{.interface = config.interface,
                                                 .vdev = config.vdev,
                                                 .pci_address = config.port,
                                                 .queues = static_cast<uint16_t>(config.lanes),
                                                 .may_use_hugepages = config.hugepages == "auto",
                                                 .memory_mib = config.memory_mib,
                                                 .warn = warn});
  for (uint16_t queue = 0; queue < config.lanes; ++queue) sources.push_back(std::make_unique<PortSource>(port, queue));
  return sources;
}

std::unique_ptr<BatchSink> MakeSink(const MonitorConfig& config, std::span<const QuerySpec> queries, bool live) {
  if (config.output == "null") return std::make_unique<NullSink>();
  KafkaOptions options;
  options.brokers = config.brokers;
  options.compression = config.compression;
  options.queue_mib = config.queue_mib;
  options.timeout_ms = config.broker_timeout_s * 1000;
  options.failure_is_error = !live;
  return std::make_unique<KafkaSink>(options, queries);
}

// Of the unit with this number.
std::unique_ptr<TupleOutput> MakeOutput(const MonitorConfig& config, const Queries& queries, uint32_t unit, bool live,
                                        uint64_t incarnation, std::span<const Schema* const> schemas,
                                        QueryAccounts* accounts) {
  if (config.output == "json") {
    return std::make_unique<JsonOutput>(STDOUT_FILENO, queries.specs, queries.count > 1, schemas, accounts);
  }
  BatchOutputOptions options;
  options.monitor_id = config.monitor_id;
  options.incarnation = incarnation;
  options.lane = unit;
  options.max_rows = config.batch_rows;
  options.flush_after_ns = config.flush_ms * kNsPerMs;
  options.heartbeat_after_ns = config.heartbeat_ms * kNsPerMs;
  options.wait_for_room = !live;
  return std::make_unique<BatchOutput>(options, queries.specs, schemas, accounts,
                                       MakeSink(config, queries.specs, live));
}

EngineOptions EngineOptionsOf(const MonitorConfig& config) {
  EngineOptions options;
  options.max_connections = std::max(1u, config.max_connections / config.lanes);
  options.max_reassembly_bytes = (uint64_t{config.max_reassembly_mib} << 20) / config.lanes;
  return options;
}

// Tells the progress of all lanes twice a second while it exists.
class ProgressThread {
 public:
  ProgressThread(std::vector<const LaneProgress*> lanes, Reporter* reporter)
      : lanes_(std::move(lanes)), thread_([this, reporter] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, kProgressEvery, [this] { return done_; })) Tell(reporter);
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
  void Tell(Reporter* reporter) const {
    uint64_t packets = 0, bytes = 0;
    for (const LaneProgress* lane : lanes_) {
      packets += lane->packets.load(std::memory_order_relaxed);
      bytes += lane->bytes.load(std::memory_order_relaxed);
    }
    // Only capture files have an end, and one lane.
    double fraction = lanes_[0]->fraction.load(std::memory_order_relaxed);
    reporter->Progress(packets, bytes, fraction < 0 ? std::nullopt : std::optional(fraction));
  }

  std::vector<const LaneProgress*> lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

// One run: lanes, each with a source and what parses its packets.
class Monitor {
 public:
  Monitor(const MonitorConfig& config, Reporter* reporter, const std::atomic<bool>* stop)
      : config_(config), reporter_(reporter), stop_(stop) {}

  Status Run() {
    if (Status status = LoadQueries(config_, &queries_); !status.ok()) return status;
    Make();
    if (Status status = Start(); !status.ok()) return status;
    for (uint32_t query = 0; query < queries_.count; ++query) {
      for (auto& lane : lanes_) lane->Add(query);
    }
    reporter_->Ready();
    Status status = RunLanes();
    // The port last: the other queues hold packets of its pool.
    for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) (*source)->Stop();
    if (status.ok()) Report();
    return status;
  }

 private:
  void Make() {
    sources_ = MakeSources(config_, reporter_);
    const bool live = sources_[0]->live();
    const auto incarnation = static_cast<uint64_t>(WallNs());
    const LaneOptions lane_options{config_.busy, false, *HashKey::parse(config_.hash_key)};
    for (uint32_t i = 0; i < sources_.size(); ++i) {
      auto make_output = [&, i](std::span<const Schema* const> schemas, QueryAccounts* accounts) {
        return MakeOutput(config_, queries_, i, live, incarnation, schemas, accounts);
      };
      units_.push_back(std::make_unique<ParserUnit>(queries_.specs, MakeParsers(queries_), EngineOptionsOf(config_),
                                                    !live, make_output));
      ParserUnit& unit = *units_.back();
      lanes_.push_back(std::make_unique<Lane>(lane_options, queries_.specs, sources_[i].get(), &unit.stage(),
                                              &unit.accounts(), &queries_.credits, stop_));
    }
  }

  // A port fills its ring from the moment it starts, so that what it flows into must be there before; of a file, what is
  // wrong with it should be known before a broker is waited for.
  Status Start() {
    const bool live = sources_[0]->live();
    Status status = live ? StartOutputs() : StartSources();
    if (!status.ok()) return status;
    return live ? StartSources() : StartOutputs();
  }

  Status StartSources() {
    Status status;
    for (size_t i = 0; i < sources_.size() && status.ok(); ++i) status = sources_[i]->Start();
    return status;
  }

  Status StartOutputs() {
    for (auto& unit : units_) {
      if (Status status = unit->output().Start(); !status.ok()) return status;
      for (uint32_t query = 0; query < queries_.count; ++query) {
        if (Status status = unit->output().Prepare(query); !status.ok()) return status;
      }
    }
    return {};
  }

  // The first lane on this thread. The first failure is the monitor's.
  Status RunLanes() {
    std::vector<const LaneProgress*> progress;
    for (const auto& lane : lanes_) progress.push_back(&lane->progress());
    ProgressThread progress_thread(progress, reporter_);
    std::vector<Status> ends(lanes_.size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < lanes_.size(); ++i) threads.emplace_back([this, i, &ends] { ends[i] = lanes_[i]->Run(); });
    ends[0] = lanes_[0]->Run();
    for (std::thread& thread : threads) thread.join();
    auto failed = std::find_if(ends.begin(), ends.end(), [](const Status& status) { return !status.ok(); });
    return failed == ends.end() ? Status() : *failed;
  }

  void Report() {
    LaneAccounting lanes;
    QueryAccounts accounts(kMostQueries);
    for (const auto& lane : lanes_) lanes += lane->accounting();
    for (const auto& unit : units_) {
      for (size_t query = 0; query < kMostQueries; ++query) accounts[query] += unit->accounts()[query];
    }
    const std::span<const QuerySpec> specs(queries_.specs.data(), queries_.count);
    reporter_->End(AccountingJson(lanes, specs, accounts), AccountingSummary(lanes, specs, accounts));
  }

  const MonitorConfig& config_;
  Reporter* reporter_;
  const std::atomic<bool>* stop_;
  Queries queries_;
  std::vector<std::unique_ptr<PacketSource>> sources_;
  std::vector<std::unique_ptr<ParserUnit>> units_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

Status CheckMonitor(const MonitorConfig& config) {
  auto queries = std::make_unique<Queries>();
  return LoadQueries(config, queries.get());
}

Status RunMonitor(const MonitorConfig& config, Reporter* reporter, const std::atomic<bool>* stop) {
  return std::make_unique<Monitor>(config, reporter, stop)->Run();
}

}  // namespace tapline
