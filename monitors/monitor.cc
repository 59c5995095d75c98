#include "monitors/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "monitors/control/live_queries.h"
#include "monitors/events/event_forwarder.h"
#include "monitors/headers/header_tap.h"
#include "monitors/lane/dispatch_stage.h"
#include "monitors/lane/lane.h"
#include "monitors/lane/parser_unit.h"
#include "monitors/lane/report.h"
#include "monitors/metrics/monitor_collector.h"
#include "monitors/metrics/statistics_cache.h"
#include "monitors/output/batch_output.h"
#include "monitors/output/json_output.h"
#include "monitors/output/kafka_sink.h"
#include "monitors/plan/plan.h"
#include "monitors/plan/queries.h"
#include "packet_io/base/clock.h"
#include "packet_io/dpdk/interface.h"
#include "packet_io/dpdk/port_source.h"
#include "packet_io/metrics/metrics_server.h"
#include "packet_io/source/file_source.h"
#include "parsers/api/bits.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);
// Some 5,000 events: 25 ms' worth of 200,000 events a second.
constexpr size_t kEventRingBytes = 1 << 20;

// Restores the queries that a dead process had at its end.
Status ResumeQueries(const MonitorConfig& config, const MonitorPage& page, Queries* queries) {
  for (uint32_t place = 0; place < kMostQueries; ++place) {
    const std::string_view bytes = page.plans[place].plan();
    if (bytes.empty()) continue;
    queries->taken |= uint64_t{1} << place;
    v1::Plan plan;
    if (!plan.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return Status::Internal("the plan that the last process left is damaged");
    Status status = ReadPlan(plan, config.monitor_id, &queries->specs[place]);
    if (!status.ok()) return status;
    if (page.pipeline_limits[place] > 0) queries->specs[place].pipeline_limit = page.pipeline_limits[place];
    if (page.copies_confirmed[place]) queries->specs[place].copies_unconfirmed = false;
  }
  return {};
}

Status LoadQueries(const MonitorConfig& config, MonitorPage* page, Queries* queries) {
  if (page != nullptr && page->restarted() && config.parser.empty()) return ResumeQueries(config, *page, queries);
  if (!config.parser.empty()) {
    queries->taken = 1;
    return QueryOfParsers(config.parser, &queries->specs[0]);
  }
  if (config.plan.size() > kMostQueries)
    return Status::Invalid("more than 64 plans; run a second monitor for the rest");
  std::set<std::string> names;
  uint32_t place = 0;
  for (const std::string& path : config.plan) {
    QuerySpec& spec = queries->specs[place];
    v1::Plan plan;
    if (Status status = LoadPlan(path, &plan); !status.ok()) return status;
    if (Status status = ReadPlan(plan, config.monitor_id, &spec); !status.ok())
      return {status.code(), path + ": " + status.message()};
    if (page != nullptr && !page->plans[place].Set(plan.SerializeAsString()))
      return Status::Invalid(path + ": is too long a plan");
    // There are no confirmations for a plan from a file.
    spec.copies_unconfirmed = false;
    if (page != nullptr) page->copies_confirmed[place] = true;
    queries->taken |= uint64_t{1} << place++;
    if (!names.insert(spec.name).second) {
      return Status::Invalid(path + ": query '" + spec.name + "' is already in another plan");
    }
  }
  return {};
}

// Every parser that some query names, once; if queries may be added later, every parser there is.
std::vector<std::string> ParsersFor(const MonitorConfig& config, const Queries& queries) {
  std::vector<std::string> parsers;
  if (config.control) {
    return parser_names();
  }
  for (uint32_t place : SetBits(queries.taken)) {
    for (const std::string& name : queries.specs[place].parsers) {
      if (std::find(parsers.begin(), parsers.end(), name) == parsers.end()) parsers.push_back(name);
    }
  }
  return parsers;
}

std::vector<std::unique_ptr<Parser>> MakeParsers(const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<Parser>> parsers;
  for (const std::string& name : names) parsers.push_back(make_parser(name));
  return parsers;
}

// Takes the layout of the flags, or else that of the plans, which must agree.
Status ChooseLayout(const MonitorConfig& config, const Queries& queries, ThreadLayout* layout) {
  layout->lanes = config.lanes;
  if (Status status = ParseWorkers(config.workers, layout); !status.ok()) return Status::Usage(status.message());
  if (!layout->is_default()) return {};
  for (uint32_t place : SetBits(queries.taken)) {
    const ThreadLayout& asked = queries.specs[place].threads;
    if (asked.is_default() || asked == *layout) continue;
    if (!layout->is_default()) {
      return Status::Invalid("the plans ask for different threads (lanes, workers); --lanes or --workers decides");
    }
    *layout = asked;
  }
  return {};
}

Status CheckLayout(const MonitorConfig& config, const ThreadLayout& layout, bool supervised) {
  if (supervised && !layout.workers.empty()) {
    return Status::Invalid("a supervised monitor, as one with plug-ins is, has lanes only: no workers");
  }
  if (supervised && layout.lanes > kMostSupervisedLanes) {
    return Status::Invalid("a supervised monitor, as one with plug-ins is, has at most " +
                           std::to_string(kMostSupervisedLanes) + " lanes");
  }
  if (layout.lanes > 1 && !layout.workers.empty()) {
    return Status::Invalid("lanes and workers exclude each other: pipeline mode has one receive queue");
  }
  if (layout.lanes > 1 && !FilesOf(config).empty()) {
    return Status::Invalid("capture files are read in order: by one lane");
  }
  if (layout.lanes > 1 && InterfacesOf(config).size() > 1) {
    return Status::Invalid(
        "several interfaces are merged in the order of time: by one lane; --workers uses more cores");
  }
  if (config.output == "json" && !layout.is_default()) {
    return Status::Invalid("--output json is written by one thread: not by several lanes, or workers");
  }
  return {};
}

PortOptions PortOptionsOf(const MonitorConfig& config, uint32_t lanes,
                          const std::function<void(const std::string&)>& warn) {
  return {.vdev = config.vdev,
          .pci_address = config.port,
          .queues = static_cast<uint16_t>(lanes),
          .may_use_hugepages = config.hugepages == "auto",
          .memory_mib = config.memory_mib,
          .warn = warn};
}

// Makes one source per lane.
std::vector<std::unique_ptr<PacketSource>> MakeSources(const MonitorConfig& config, uint32_t lanes, Reporter* reporter,
                                                       const MonitorPage* page) {
  auto warn = [reporter](const std::string& message) { reporter->Warning(message); };
  std::vector<std::unique_ptr<PacketSource>> sources;
  const int64_t bound_ns = config.merge_bound_us * kNsPerUs;
  if (const auto files = FilesOf(config); !files.empty()) {
    const uint64_t skip_packets = page == nullptr ? 0 : page->lanes[0].polled;
    sources.push_back(
        std::make_unique<FileSource>(FileSourceOptions{files, config.speed == "1x", warn, skip_packets, bound_ns}));
    return sources;
  }
  PortOptions options = PortOptionsOf(config, lanes, warn);
  const auto interfaces = InterfacesOf(config);
  if (interfaces.size() > 1) {
    sources.push_back(MergeInterfaces(std::move(options), interfaces, bound_ns));
    return sources;
  }
  if (!interfaces.empty()) options.interface = interfaces[0];
  auto port = std::make_shared<Port>(options);
  for (uint16_t queue = 0; queue < lanes; ++queue) sources.push_back(std::make_unique<PortSource>(port, queue));
  return sources;
}

// Packets count once where their taps are known to be places in one network.
std::optional<ViewOptions> ViewOptionsOf(const MonitorConfig& config, std::span<const Tap> taps) {
  const bool known = std::any_of(taps.begin(), taps.end(), [](const Tap& tap) { return tap.has_switch(); });
  if (taps.size() < 2 || !known) return std::nullopt;
  return ViewOptions{config.view_horizon_ms * kNsPerMs, config.view_packets, static_cast<uint32_t>(taps.size())};
}

std::unique_ptr<BatchSink> MakeSink(const MonitorConfig& config, std::span<const QuerySpec> queries, bool live) {
  if (config.output == "null") return std::make_unique<NullSink>();
  KafkaOptions options;
  options.brokers = config.brokers;
  options.ca = config.broker_ca;
  options.certificate = config.broker_certificate;
  options.key = config.broker_key;
  options.user = config.broker_login.user;
  options.password = config.broker_login.password;
  options.compression = config.compression;
  options.queue_mib = config.queue_mib;
  options.timeout_ms = config.broker_timeout_s * 1000;
  options.failure_is_error = !live;
  if (live) options.delivery_timeout_ms = 0;
  return std::make_unique<KafkaSink>(options, queries);
}

// Makes the output of the unit with this number.
std::unique_ptr<TupleOutput> MakeOutput(const MonitorConfig& config, const Queries& queries, uint32_t unit, bool live,
                                        uint64_t incarnation, std::span<const Schema* const> schemas,
                                        QueryAccounts* accounts, BatchLedger* ledger, EventRing* events) {
  if (config.output == "json") {
    return std::make_unique<JsonOutput>(STDOUT_FILENO, queries.specs,
                                        config.control || !std::has_single_bit(queries.taken), schemas, accounts, live,
                                        ledger, config.hash_keys.texts);
  }
  BatchOutputOptions options;
  options.monitor_id = config.monitor_id;
  options.incarnation = incarnation;
  options.lane = unit;
  options.max_rows = config.batch_rows;
  options.flush_after_ns = config.flush_ms * kNsPerMs;
  options.heartbeat_after_ns = config.heartbeat_ms * kNsPerMs;
  options.wait_for_room = !live;
  options.ledger = ledger;
  options.abandoned = &queries.abandoned;
  options.events = events;
  options.hash_key = config.hash_keys.texts;
  return std::make_unique<BatchOutput>(options, queries.specs, schemas, accounts,
                                       MakeSink(config, queries.specs, live));
}

// The options of each of `sharing` engines that share the flows.
EngineOptions EngineOptionsOf(const MonitorConfig& config, uint32_t sharing, UnitPage* page) {
  EngineOptions options;
  options.live_flows = page == nullptr ? nullptr : page->live_flows.data();
  options.max_connections = std::max(1u, config.max_connections / sharing);
  options.idle_timeout_ns = config.idle_timeout_s * kNsPerSecond;
  options.max_reassembly_bytes = (uint64_t{config.max_reassembly_mib} << 20) / sharing;
  return options;
}

// Reports the progress of all lanes twice a second while it exists and once more at its end, and renews the figures for
// monitor_stats.
class ProgressThread {
 public:
  // `incarnation` is reported with the interfaces' arrivals; 0: these are not reported.
  ProgressThread(std::vector<const LaneProgress*> lanes, uint64_t incarnation, std::vector<std::string> interfaces,
                 MessageReporter* reporter, std::function<void()> renew)
      : lanes_(std::move(lanes)),
        incarnation_(incarnation),
        interfaces_(std::move(interfaces)),
        packets_before_(Counted().value_or(0)),
        thread_([this, reporter, renew] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, kProgressEvery, [this] { return done_; })) {
            Tell(reporter);
            if (incarnation_ != 0) TellCopies(reporter);
            renew();
          }
          Tell(reporter);
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
  void Tell(MessageReporter* reporter) const {
    uint64_t packets = 0, bytes = 0;
    for (const LaneProgress* lane : lanes_) {
      packets += lane->packets.load(std::memory_order_relaxed);
      bytes += lane->bytes.load(std::memory_order_relaxed);
    }
    // Only capture files have an end, and one lane.
    double fraction = lanes_[0]->fraction.load(std::memory_order_relaxed);
    reporter->Progress(packets, bytes, fraction < 0 ? std::nullopt : std::optional(fraction));
  }

  // Returns the packets on all interfaces; nothing if there are none, or one of them does not count.
  std::optional<uint64_t> Counted() const {
    uint64_t packets = 0;
    for (const std::string& interface : interfaces_) {
      const std::optional<uint64_t> here = PacketsOn(interface);
      if (!here) return std::nullopt;
      packets += *here;
    }
    return interfaces_.empty() ? std::nullopt : std::optional(packets);
  }

  // Packets that are not IP are never mirrored. A frame may be several packets that GRO has merged: the interface knows
  // how many.
  void TellCopies(MessageReporter* reporter) const {
    LaneProgress::Arrived all = lanes_[0]->arrived.Get();
    for (const LaneProgress* lane : std::span(lanes_).subspan(1)) {
      const LaneProgress::Arrived arrived = lane->arrived.Get();
      all = {all.packets + arrived.packets, all.not_ip + arrived.not_ip, std::min(all.until_ns, arrived.until_ns)};
    }
    const uint64_t counted = Counted().value_or(packets_before_) - packets_before_;
    if (all.until_ns > 0) reporter->Copies(incarnation_, std::max(all.packets, counted) - all.not_ip, all.until_ns);
  }

  std::vector<const LaneProgress*> lanes_;
  const uint64_t incarnation_;
  const std::vector<std::string> interfaces_;
  const uint64_t packets_before_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

// One run: lanes, each with a source and the stage that parses its packets.
class Monitor {
 public:
  Monitor(const MonitorConfig& config, MessageReporter* reporter, std::atomic<bool>* stop, MonitorPage* page)
      : config_(config), reporter_(reporter), stop_(stop), page_(page) {}

  Status Run() {
    if (Status status = LoadQueries(config_, page_, &queries_); !status.ok()) return status;
    if (Status status = ChooseLayout(config_, queries_, &layout_); !status.ok()) return status;
    if (Status status = CheckLayout(config_, layout_, page_ != nullptr); !status.ok()) return status;
    sources_ = MakeSources(config_, layout_.lanes, reporter_, page_);
    live_ = sources_[0]->live();
    if (!config_.headers_to.empty()) {
      tap_ = std::make_unique<HeaderTap>(
          config_.headers_to, config_.hash_keys.flows, taps_,
          [this](const std::string& message) { reporter_->Warning(message); }, &sources_);
    }
    if (layout_.workers.empty()) {
      MakeLanes();
    } else {
      MakePipeline();
    }
    for (uint32_t place : SetBits(queries_.taken)) {
      QuerySpec& spec = queries_.specs[place];
      ResetCredits(place);
      spec.lanes = 0;
      for (const auto& unit : units_) spec.lanes += unit->Serves(place);
    }
    metrics_ = std::make_unique<MonitorMetrics>(&queries_, taps_, lanes_, units_, dispatch_.get());
    statistics_.Renew(*metrics_);
    std::unique_ptr<MetricsServer> metrics_server;
    if (!config_.metrics.address.empty()) {
      Status status;
      metrics_server = MetricsServer::Start(config_.metrics, {{"kafka", config_.broker_certificate}},
                                            CollectorOf(*metrics_), &status);
      if (!status.ok()) return status;
    }
    if (tap_ != nullptr) tap_->Start();
    if (Status status = Start(); !status.ok()) return status;
    for (uint32_t place : SetBits(queries_.taken)) {
      for (size_t i = 0; i < lanes_.size(); ++i) {
        if (page_ == nullptr || (page_->lanes[i].done >> place & 1) == 0) lanes_[i]->Add(place);
      }
    }
    TellReady();
    Status status = RunLanes();
    // Stop the port last: the other queues hold packets of its pool.
    for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) (*source)->Stop();
    if (status.ok()) Report();
    return status;
  }

 private:
  // Run to completion: each lane parses what it receives.
  void MakeLanes() {
    for (auto& source : sources_) {
      ParserUnit& unit = MakeUnit(ParsersFor(config_, queries_), layout_.lanes);
      MakeLane(source.get(), &unit.stage(), &unit.accounts());
    }
  }

  // One lane receives, workers parse.
  void MakePipeline() {
    PacketSource* source = sources_[0].get();
    std::vector<WorkerGroup> groups;
    for (const WorkerLayout& layout : layout_.Covering(ParsersFor(config_, queries_))) {
      WorkerGroup& group = groups.emplace_back();
      group.parsers = layout.parsers;
      for (uint32_t i = 0; i < layout.threads; ++i) {
        ParserUnit& unit = MakeUnit(layout.parsers, layout.threads);
        group.by_flow = unit.follows_flows();
        group.all_views = unit.wants_all_views();
        group.workers.push_back(std::make_unique<Worker>(&unit, source, config_.ring_packets, config_.busy));
      }
    }
    dispatch_ = std::make_unique<DispatchStage>(queries_.specs, std::move(groups), source, &dispatch_accounts_);
    MakeLane(source, dispatch_.get(), &dispatch_accounts_);
  }

  ParserUnit& MakeUnit(const std::vector<std::string>& parsers, uint32_t sharing) {
    UnitPage* page = page_ == nullptr ? nullptr : &page_->units[units_.size()];
    BatchLedger* ledger = page == nullptr ? nullptr : &page->ledger;
    if (ledger != nullptr) Forget(~queries_.taken, ledger);
    EventRing* events = MakeEventRing();
    auto make_output = [this, ledger, events](std::span<const Schema* const> schemas, QueryAccounts* accounts) {
      return MakeOutput(config_, queries_, static_cast<uint32_t>(units_.size()), live_, incarnation_, schemas, accounts,
                        ledger, events);
    };
    auto made = MakeParsers(parsers);
    // The figures are those of the whole process, so only one unit reports them.
    for (auto& parser : made) parser->set_statistics(units_.empty() ? &statistics_ : nullptr);
    units_.push_back(std::make_unique<ParserUnit>(queries_.specs, std::move(made),
                                                  EngineOptionsOf(config_, sharing, page), !live_, make_output, page));
    if (events != nullptr) {
      const Engine& engine = units_.back()->engine();
      event_sources_.push_back({events, {}});
      for (uint32_t i = 0; i < engine.parser_count(); ++i) {
        event_sources_.back().schemas.push_back(&engine.parser(i).schema());
      }
    }
    return *units_.back();
  }

  // Without a controller there is nobody to tell of events; their tuples go into the output as all others.
  EventRing* MakeEventRing() {
    if (!config_.control) return nullptr;
    event_rings_.push_back(std::make_unique<EventRing>(kEventRingBytes, &bell_));
    return event_rings_.back().get();
  }

  void MakeLane(PacketSource* source, PacketStage* stage, QueryAccounts* accounts) {
    const LaneOptions options{.busy = config_.busy,
                              .drop_duplicates = config_.duplicates == "drop",
                              .stay = config_.control,
                              .taps = static_cast<uint8_t>(taps_.size()),
                              .views = ViewOptionsOf(config_, taps_),
                              .hash_key = config_.hash_keys.flows,
                              .index = static_cast<uint32_t>(lanes_.size()),
                              .page = page_};
    lanes_.push_back(std::make_unique<Lane>(options, queries_.specs, source, stage, accounts, &credits_, stop_));
  }

  // Resumes LIMIT Np where it was.
  void ResetCredits(uint32_t place) {
    const QuerySpec& spec = queries_.specs[place];
    uint64_t granted = spec.limit_packets.value_or(0), taken = spec.limit_spent;
    if (page_ != nullptr && page_->restarted() && spec.limit_leased) granted = page_->granted[place];
    if (page_ != nullptr) {
      page_->granted[place] = granted;
      for (const auto& unit : units_) taken += unit->accounts()[place].packets_out;
    }
    credits_.Reset(place, granted, std::min(granted, taken));
  }

  void TellReady() {
    if (page_ == nullptr || !page_->restarted()) {
      reporter_->Ready();
    } else {
      reporter_->Restarted(page_->worker - 1, (MonotonicNs() - page_->died_at_ns) / kNsPerMs);
    }
    if (page_ != nullptr) page_->phase.store(MonitorPage::Phase::kRunning);
  }

  // A port fills its ring from the moment it starts, so the stages it feeds must exist before; errors in a file should
  // be known before waiting for a broker.
  Status Start() {
    Status status = live_ ? StartOutputs() : StartSources();
    if (!status.ok()) return status;
    status = live_ ? StartSources() : StartOutputs();
    if (status.ok() && dispatch_) dispatch_->Start();
    return status;
  }

  Status StartSources() {
    Status status;
    for (size_t i = 0; i < sources_.size() && status.ok(); ++i) status = sources_[i]->Start();
    return status;
  }

  Status StartOutputs() {
    for (auto& unit : units_) {
      if (Status status = unit->output().Start(); !status.ok()) return status;
      for (uint32_t place : SetBits(queries_.taken)) {
        if (!unit->Serves(place)) continue;
        if (Status status = unit->output().Prepare(place); !status.ok()) return status;
      }
    }
    return {};
  }

  // Runs the first lane on this thread. The monitor fails with the first failure.
  Status RunLanes() {
    std::vector<const LaneProgress*> progress;
    for (const auto& lane : lanes_) progress.push_back(&lane->progress());
    const uint64_t told = live_ && config_.control ? incarnation_ : 0;
    ProgressThread progress_thread(progress, told, InterfacesOf(config_), reporter_,
                                   [this] { statistics_.Renew(*metrics_); });
    std::vector<Status> ends(lanes_.size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < lanes_.size(); ++i) threads.emplace_back([this, i, &ends] { ends[i] = lanes_[i]->Run(); });
    std::unique_ptr<ControlChannel> control;
    EventForwarder events(event_sources_, queries_.specs, config_.monitor_id, incarnation_,
                          [this](const v1::EventBatch& batch) { return reporter_->Events(batch); });
    LiveQueries live_queries(config_.monitor_id, incarnation_, layout_, &queries_, &credits_, lanes_, units_, page_,
                             &events, reporter_);
    if (config_.control) {
      control = std::make_unique<ControlChannel>(STDIN_FILENO, &bell_, &live_queries, reporter_, stop_);
    }
    ends[0] = lanes_[0]->Run();
    for (std::thread& thread : threads) thread.join();
    control.reset();
    auto failed = std::find_if(ends.begin(), ends.end(), [](const Status& status) { return !status.ok(); });
    return failed == ends.end() ? Status() : *failed;
  }

  void Report() {
    LaneAccounting lanes;
    QueryAccounts accounts(kMostQueries);
    std::vector<TapAccounting> tap_accounts(taps_.size());
    for (const auto& lane : lanes_) {
      lanes += lane->accounting();
      for (size_t tap = 0; tap < taps_.size(); ++tap) tap_accounts[tap] += lane->taps()[tap];
    }
    for (const auto& unit : units_) {
      for (size_t query = 0; query < kMostQueries; ++query) accounts[query] += unit->accounts()[query];
    }
    // Queries that were reported when they ended are left out.
    auto specs = std::make_unique<std::array<QuerySpec, kMostQueries>>();
    for (uint32_t place : SetBits(queries_.taken)) (*specs)[place] = queries_.specs[place];
    reporter_->End(AccountingOf(lanes, taps_, tap_accounts, *specs, accounts),
                   AccountingSummary(lanes, taps_, tap_accounts, *specs, accounts));
  }

  const MonitorConfig& config_;
  MessageReporter* reporter_;
  std::atomic<bool>* stop_;
  MonitorPage* page_;  // null without a supervisor
  const uint64_t incarnation_ = static_cast<uint64_t>(WallNs());
  Queries queries_;
  PacketCredits credits_;
  ThreadLayout layout_;
  bool live_ = false;
  const std::vector<Tap> taps_ = TapsOf(config_);
  std::vector<std::unique_ptr<PacketSource>> sources_;
  std::unique_ptr<HeaderTap> tap_;  // null if no node gets headers
  EventBell bell_;
  std::vector<std::unique_ptr<EventRing>> event_rings_;  // one per unit, if there is a controller
  std::vector<EventSource> event_sources_;
  std::vector<std::unique_ptr<ParserUnit>> units_;
  std::unique_ptr<MonitorMetrics> metrics_;
  StatisticsCache statistics_;
  // Pipeline mode only.
  QueryAccounts dispatch_accounts_ = QueryAccounts(kMostQueries);
  std::unique_ptr<DispatchStage> dispatch_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

Status CheckMonitor(const MonitorConfig& config) {
  auto queries = std::make_unique<Queries>();
  Status status = LoadQueries(config, nullptr, queries.get());
  ThreadLayout layout;
  if (status.ok()) status = ChooseLayout(config, *queries, &layout);
  return status.ok() ? CheckLayout(config, layout, !config.plugin.empty()) : status;
}

Status RunMonitor(const MonitorConfig& config, MessageReporter* reporter, std::atomic<bool>* stop, MonitorPage* page) {
  return std::make_unique<Monitor>(config, reporter, stop, page)->Run();
}

}  // namespace tapline
