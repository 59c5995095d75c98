#include "monitors/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
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
#include "monitors/plan/monitor_taps.h"
#include "monitors/plan/polled_times.h"
#include "monitors/plan/queries.h"
#include "monitors/plan/route_file.h"
#include "monitors/plan/trigger_reader.h"
#include "monitors/progress_thread.h"
#include "monitors/startup.h"
#include "packet_io/base/clock.h"
#include "packet_io/metrics/metrics_server.h"
#include "packet_io/source/marked_source.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Room for about 5,000 events, or 25 ms at 200,000 events per second.
constexpr size_t kEventRingBytes = 1 << 20;

// One run: lanes, each with a source and the stage that parses its packets.
class Monitor {
 public:
  Monitor(const MonitorConfig& config, MessageReporter* reporter, std::atomic<bool>* stop, MonitorPage* page)
      : config_(config), reporter_(reporter), stop_(stop), page_(page) {}

  Status run() {
    if (Status status = load_queries(config_, page_, &queries_); !status.ok()) return status;
    if (Status status = choose_layout(config_, queries_, &layout_); !status.ok()) return status;
    if (Status status = check_layout(config_, queries_, layout_, page_ != nullptr); !status.ok()) return status;
    if (Status status = bind_queries(&taps_, &queries_); !status.ok()) return status;
    sources_ = make_sources(config_, layout_.lanes, reporter_, page_);
    if (taps_.marks() != nullptr) {
      for (auto& source : sources_) source = std::make_unique<MarkedSource>(std::move(source), taps_.marks());
    }
    live_ = sources_[0]->live();
    if (!config_.headers_to.empty()) {
      tap_ = std::make_unique<HeaderTap>(
          config_.headers_to, config_.hash_keys.flows, std::vector(taps_.all().begin(), taps_.all().end()),
          [this](const std::string& message) { reporter_->warning(message); }, &sources_);
    }
    if (layout_.workers.empty()) {
      make_lanes();
    } else {
      make_pipeline();
    }
    for (uint32_t place : SetBits(queries_.taken)) {
      QuerySpec& spec = queries_.specs[place];
      reset_credits(place);
      spec.lanes = 0;
      for (const auto& unit : units_) spec.lanes += unit->serves(place);
      share_triggers(layout_.lanes, &spec);
    }
    metrics_ = std::make_unique<MonitorMetrics>(&queries_, taps_.all(), lanes_, units_, dispatch_.get());
    statistics_.renew(*metrics_);
    std::unique_ptr<MetricsServer> metrics_server;
    if (!config_.metrics.address.empty()) {
      Status status;
      metrics_server = MetricsServer::start(config_.metrics, {{"kafka", config_.broker_certificate}},
                                            collector_of(*metrics_), &status);
      if (!status.ok()) return status;
    }
    if (Status status = load_routes(config_.routes, &routes_); !status.ok()) return status;
    if (tap_ != nullptr) tap_->start();
    if (Status status = start(); !status.ok()) return status;
    for (uint32_t place : SetBits(queries_.taken)) {
      for (size_t i = 0; i < lanes_.size(); ++i) {
        if (page_ == nullptr || (page_->lanes[i].done >> place & 1) == 0) lanes_[i]->add(place);
      }
    }
    warn_of_polled_times();
    report_ready();
    Status status = run_lanes();
    // The port is stopped last, because packets in the other queues belong to its pool.
    for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) (*source)->stop();
    if (status.ok()) report();
    return status;
  }

 private:
  // Creates lanes that run to completion: each one parses the packets that it receives.
  void make_lanes() {
    for (auto& source : sources_) {
      ParserUnit& unit = make_unit(parsers_for(config_, queries_), layout_.lanes);
      make_lane(source.get(), &unit.stage(), &unit.accounts());
    }
  }

  // Creates one lane that receives packets, and workers that parse them.
  void make_pipeline() {
    PacketSource* source = sources_[0].get();
    std::vector<WorkerGroup> groups;
    for (const WorkerLayout& layout : layout_.covering(parsers_for(config_, queries_))) {
      WorkerGroup& group = groups.emplace_back();
      group.parsers = layout.parsers;
      for (uint32_t i = 0; i < layout.threads; ++i) {
        ParserUnit& unit = make_unit(layout.parsers, layout.threads);
        group.by_flow = unit.follows_flows();
        group.all_views = unit.wants_all_views();
        group.fragments = unit.wants_fragments();
        group.losses = unit.wants_losses();
        group.workers.push_back(std::make_unique<Worker>(&unit, source, config_.ring_packets, config_.busy));
      }
    }
    dispatch_ = std::make_unique<DispatchStage>(queries_.specs, std::move(groups), source, &dispatch_accounts_);
    make_lane(source, dispatch_.get(), &dispatch_accounts_);
  }

  ParserUnit& make_unit(const std::vector<std::string>& parsers, uint32_t sharing) {
    UnitPage* page = page_ == nullptr ? nullptr : &page_->units[units_.size()];
    BatchLedger* ledger = page == nullptr ? nullptr : &page->ledger;
    if (ledger != nullptr) forget(~queries_.taken, ledger);
    EventRing* events = make_event_ring();
    auto make_output = [this, ledger, events](std::span<const Schema* const> schemas, QueryAccounts* accounts) {
      return tapline::make_output(config_, queries_, static_cast<uint32_t>(units_.size()), live_, incarnation_, schemas,
                                  accounts, ledger, events);
    };
    EngineOptions options = engine_options_of(config_, sharing, page);
    options.postpones_work = live_;
    auto made = make_parsers(parsers);
    for (auto& parser : made) parser->set_taps(parser->schema().queues ? taps_.names() : taps_.configured_names());
    for (auto& parser : made) parser->set_routes(&routes_);
    // The statistics describe the whole process, so only one unit reports them.
    for (auto& parser : made) parser->set_statistics(units_.empty() ? &statistics_ : nullptr);
    units_.push_back(std::make_unique<ParserUnit>(queries_.specs, std::move(made), options, !live_, make_output, page));
    if (events != nullptr) {
      const Engine& engine = units_.back()->engine();
      event_sources_.push_back({events, {}});
      for (uint32_t i = 0; i < engine.parser_count(); ++i) {
        event_sources_.back().schemas.push_back(&engine.parser(i).schema());
      }
    }
    return *units_.back();
  }

  // Returns null if there is no controller: events then go only to the output, as ordinary tuples.
  EventRing* make_event_ring() {
    if (!config_.control) return nullptr;
    event_rings_.push_back(std::make_unique<EventRing>(kEventRingBytes, &bell_));
    return event_rings_.back().get();
  }

  void make_lane(PacketSource* source, PacketStage* stage, QueryAccounts* accounts) {
    const LaneOptions options{.busy = config_.busy,
                              .drop_duplicates = config_.duplicates == "drop",
                              .stay = config_.control,
                              .taps = static_cast<uint8_t>(taps_.all().size()),
                              .first_marked_tap = taps_.first_marked(),
                              .views = view_options_of(config_, taps_.configured()),
                              .hash_key = config_.hash_keys.flows,
                              .index = static_cast<uint32_t>(lanes_.size()),
                              .page = page_};
    lanes_.push_back(std::make_unique<Lane>(options, queries_.specs, source, stage, accounts, &credits_, stop_));
  }

  // Sets the initial credits of LIMIT Np. After a restart, they continue from the previous state.
  void reset_credits(uint32_t place) {
    const QuerySpec& spec = queries_.specs[place];
    uint64_t granted = spec.limit_packets.value_or(0), taken = spec.limit_spent;
    if (page_ != nullptr && page_->restarted() && spec.limit_leased) granted = page_->granted[place];
    if (page_ != nullptr) {
      page_->granted[place] = granted;
      for (const auto& unit : units_) taken += unit->accounts()[place].packets_out;
    }
    credits_.reset(place, granted, std::min(granted, taken));
  }

  void warn_of_polled_times() {
    for (uint32_t place : SetBits(queries_.taken)) {
      const auto warning = polled_times_warning(queries_.specs[place], sources_[0]->polled_times());
      if (warning) reporter_->warning(*warning);
    }
  }

  void report_ready() {
    if (page_ == nullptr || !page_->restarted()) {
      reporter_->ready();
    } else {
      reporter_->restarted(page_->worker - 1, (monotonic_ns() - page_->died_at_ns) / kNsPerMs);
    }
    if (page_ != nullptr) page_->phase.store(MonitorPage::Phase::kRunning);
  }

  // Starts a port last, since its ring begins to fill when it starts, and capture files first, so that errors in a file
  // are found before the wait for a broker.
  Status start() {
    Status status = live_ ? start_outputs() : start_sources();
    if (!status.ok()) return status;
    status = live_ ? start_sources() : start_outputs();
    if (status.ok() && dispatch_) dispatch_->start();
    return status;
  }

  Status start_sources() {
    Status status;
    for (size_t i = 0; i < sources_.size() && status.ok(); ++i) status = sources_[i]->start();
    return status;
  }

  Status start_outputs() {
    for (auto& unit : units_) {
      if (Status status = unit->output().start(); !status.ok()) return status;
      for (uint32_t place : SetBits(queries_.taken)) {
        if (!unit->serves(place)) continue;
        if (Status status = unit->output().prepare(place); !status.ok()) return status;
      }
    }
    return {};
  }

  // Runs all lanes, the first one on this thread. Returns the first failure.
  Status run_lanes() {
    std::vector<const LaneProgress*> progress;
    for (const auto& lane : lanes_) progress.push_back(&lane->progress());
    const uint64_t reported = live_ && config_.control ? incarnation_ : 0;
    ProgressThread progress_thread(progress, reported, interfaces_of(config_), reporter_,
                                   [this] { statistics_.renew(*metrics_); });
    std::vector<Status> ends(lanes_.size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < lanes_.size(); ++i) threads.emplace_back([this, i, &ends] { ends[i] = lanes_[i]->run(); });
    std::unique_ptr<ControlChannel> control;
    EventForwarder events(event_sources_, queries_.specs, config_.monitor_id, incarnation_,
                          [this](const v1::EventBatch& batch) { return reporter_->events(batch); });
    LiveQueries live_queries(config_.monitor_id, incarnation_, layout_, &taps_, &queries_, &credits_, lanes_, units_,
                             sources_[0]->polled_times(), page_, &events, &routes_, reporter_);
    if (config_.control) {
      control = std::make_unique<ControlChannel>(STDIN_FILENO, &bell_, &live_queries, reporter_, stop_);
    }
    ends[0] = lanes_[0]->run();
    for (std::thread& thread : threads) thread.join();
    control.reset();
    auto failed = std::find_if(ends.begin(), ends.end(), [](const Status& status) { return !status.ok(); });
    return failed == ends.end() ? Status() : *failed;
  }

  void report() {
    LaneAccounting lanes;
    QueryAccounts accounts(kMaxQueries);
    const std::span<const Tap> taps = taps_.all();
    std::vector<TapAccounting> tap_accounts(taps.size());
    for (const auto& lane : lanes_) {
      lanes += lane->accounting();
      for (size_t tap = 0; tap < taps.size(); ++tap) tap_accounts[tap] += lane->taps()[tap];
    }
    for (const auto& unit : units_) {
      for (size_t query = 0; query < kMaxQueries; ++query) accounts[query] += unit->accounts()[query];
    }
    // Omits queries that were reported when they ended.
    auto specs = std::make_unique<std::array<QuerySpec, kMaxQueries>>();
    for (uint32_t place : SetBits(queries_.taken)) (*specs)[place] = queries_.specs[place];
    reporter_->end(accounting_of(lanes, taps, tap_accounts, *specs, accounts),
                   accounting_summary(lanes, taps, tap_accounts, *specs, accounts));
  }

  const MonitorConfig& config_;
  MessageReporter* reporter_;
  std::atomic<bool>* stop_;
  MonitorPage* page_;  // null without a supervisor
  const uint64_t incarnation_ = static_cast<uint64_t>(wall_ns());
  Queries queries_;
  PacketCredits credits_;
  ThreadLayout layout_;
  bool live_ = false;
  MonitorTaps taps_{taps_of(config_), config_.marked_copies};
  std::vector<std::unique_ptr<PacketSource>> sources_;
  std::unique_ptr<HeaderTap> tap_;  // null if no node receives headers
  EventBell bell_;
  std::vector<std::unique_ptr<EventRing>> event_rings_;  // one ring per unit, if there is a controller
  std::vector<EventSource> event_sources_;
  RouteFeed routes_;
  std::vector<std::unique_ptr<ParserUnit>> units_;
  std::unique_ptr<MonitorMetrics> metrics_;
  StatisticsCache statistics_;
  // Used in pipeline mode only.
  QueryAccounts dispatch_accounts_ = QueryAccounts(kMaxQueries);
  std::unique_ptr<DispatchStage> dispatch_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

Status check_monitor(const MonitorConfig& config) {
  auto queries = std::make_unique<Queries>();
  Status status = load_queries(config, nullptr, queries.get());
  ThreadLayout layout;
  if (status.ok()) status = choose_layout(config, *queries, &layout);
  if (status.ok()) status = check_layout(config, *queries, layout, !config.plugin.empty());
  if (!status.ok()) return status;
  MonitorTaps taps(taps_of(config), config.marked_copies);
  return bind_queries(&taps, queries.get());
}

Status run_monitor(const MonitorConfig& config, MessageReporter* reporter, std::atomic<bool>* stop, MonitorPage* page) {
  return std::make_unique<Monitor>(config, reporter, stop, page)->run();
}

}  // namespace tapline
