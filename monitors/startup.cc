#include "monitors/startup.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "monitors/output/batch_output.h"
#include "monitors/output/json_output.h"
#include "monitors/output/kafka_sink.h"
#include "monitors/plan/plan.h"
#include "monitors/plan/trigger_reader.h"
#include "packet_io/base/clock.h"
#include "packet_io/dpdk/interface.h"
#include "packet_io/dpdk/port_source.h"
#include "packet_io/source/file_source.h"
#include "parsers/api/bits.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

// Restores the queries that a crashed process was running.
Status resume_queries(const MonitorConfig& config, const MonitorPage& page, Queries* queries) {
  for (uint32_t place = 0; place < kMaxQueries; ++place) {
    const std::string_view bytes = page.plans[place].plan();
    if (bytes.empty()) continue;
    queries->taken |= uint64_t{1} << place;
    v1::Plan plan;
    if (!plan.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return Status::internal("the plan of the previous process is damaged");
    Status status = read_plan(plan, config.monitor_id, &queries->specs[place]);
    if (!status.ok()) return status;
    if (page.pipeline_limits[place] > 0) queries->specs[place].pipeline_limit = page.pipeline_limits[place];
    if (page.copies_confirmed[place]) queries->specs[place].copies_unconfirmed = false;
  }
  return {};
}

PortOptions port_options_of(const MonitorConfig& config, uint32_t lanes,
                            const std::function<void(const std::string&)>& warn) {
  return {.vdev = config.vdev,
          .pci_address = config.port,
          .queues = static_cast<uint16_t>(lanes),
          .may_use_hugepages = config.hugepages == "auto",
          .memory_mib = config.memory_mib,
          .warn = warn};
}

std::unique_ptr<BatchSink> make_sink(const MonitorConfig& config, std::span<const QuerySpec> queries, bool is_live) {
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
  options.failure_is_error = !is_live;
  if (is_live) options.delivery_timeout_ms = 0;
  return std::make_unique<KafkaSink>(options, queries);
}

}  // namespace

Status load_queries(const MonitorConfig& config, MonitorPage* page, Queries* queries) {
  if (page != nullptr && page->restarted() && config.parser.empty()) return resume_queries(config, *page, queries);
  if (!config.parser.empty()) {
    queries->taken = 1;
    return query_of_parsers(config.parser, &queries->specs[0]);
  }
  if (config.plan.size() > kMaxQueries) return Status::invalid("more than 64 plans; run a second monitor for the rest");
  std::set<std::string> names;
  uint32_t place = 0;
  for (const std::string& path : config.plan) {
    QuerySpec& spec = queries->specs[place];
    v1::Plan plan;
    if (Status status = load_plan(path, &plan); !status.ok()) return status;
    if (Status status = read_plan(plan, config.monitor_id, &spec); !status.ok())
      return {status.code(), path + ": " + status.message()};
    if (page != nullptr && !page->plans[place].set(plan.SerializeAsString()))
      return Status::invalid(path + ": the plan is too long");
    // There is no controller that could confirm copies for a plan from a file.
    spec.copies_unconfirmed = false;
    if (page != nullptr) page->copies_confirmed[place] = true;
    queries->taken |= uint64_t{1} << place++;
    if (!names.insert(spec.name).second) {
      return Status::invalid(path + ": query '" + spec.name + "' is already in another plan");
    }
  }
  return {};
}

std::vector<std::string> parsers_for(const MonitorConfig& config, const Queries& queries) {
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

std::vector<std::unique_ptr<Parser>> make_parsers(const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<Parser>> parsers;
  for (const std::string& name : names) parsers.push_back(make_parser(name));
  return parsers;
}

Status choose_layout(const MonitorConfig& config, const Queries& queries, ThreadLayout* layout) {
  layout->lanes = config.lanes;
  if (Status status = parse_workers(config.workers, layout); !status.ok()) return Status::usage(status.message());
  if (!layout->is_default()) return {};
  for (uint32_t place : SetBits(queries.taken)) {
    const ThreadLayout& asked = queries.specs[place].threads;
    if (asked.is_default() || asked == *layout) continue;
    if (!layout->is_default()) {
      return Status::invalid("the plans require different threads (lanes, workers); choose with --lanes or --workers");
    }
    *layout = asked;
  }
  return {};
}

Status check_layout(const MonitorConfig& config, const Queries& queries, const ThreadLayout& layout, bool supervised) {
  if (supervised && !layout.workers.empty()) {
    return Status::invalid("a supervised monitor, such as one with plug-ins, can't have workers, only lanes");
  }
  if (supervised && layout.lanes > kMaxSupervisedLanes) {
    return Status::invalid("a supervised monitor, such as one with plug-ins, can have at most " +
                           std::to_string(kMaxSupervisedLanes) + " lanes");
  }
  if (layout.lanes > 1 && !layout.workers.empty()) {
    return Status::invalid("lanes and workers are mutually exclusive: pipeline mode has one receive queue");
  }
  if (layout.lanes > 1 && !files_of(config).empty()) {
    return Status::invalid("capture files are read in order, by one lane");
  }
  if (layout.lanes > 1 && interfaces_of(config).size() > 1) {
    return Status::invalid("several interfaces are merged by time in one lane; use --workers to use more cores");
  }
  if (config.output == "json" && !layout.is_default()) {
    return Status::invalid("--output json is written by one thread: use a single lane and no workers");
  }
  for (uint32_t place : SetBits(queries.taken)) {
    if (Status status = layout.check(queries.specs[place].parsers); !status.ok()) return status;
    if (Status status = check_triggers(queries.specs[place], layout); !status.ok()) return status;
    for (uint32_t running : SetBits(queries.taken)) {
      if (Status status = check_intervals(queries.specs[place], queries.specs[running]); !status.ok()) return status;
    }
  }
  return {};
}

Status bind_queries(MonitorTaps* taps, Queries* queries) {
  for (uint32_t place : SetBits(queries->taken)) {
    if (Status status = taps->bind(&queries->specs[place]); !status.ok()) return status;
  }
  return {};
}

std::vector<std::unique_ptr<PacketSource>> make_sources(const MonitorConfig& config, uint32_t lanes, Reporter* reporter,
                                                        const MonitorPage* page) {
  auto warn = [reporter](const std::string& message) { reporter->warning(message); };
  std::vector<std::unique_ptr<PacketSource>> sources;
  const int64_t bound_ns = config.merge_bound_us * kNsPerUs;
  if (const auto files = files_of(config); !files.empty()) {
    const uint64_t skip_packets = page == nullptr ? 0 : page->lanes[0].polled;
    sources.push_back(
        std::make_unique<FileSource>(FileSourceOptions{files, config.speed == "1x", warn, skip_packets, bound_ns}));
    return sources;
  }
  PortOptions options = port_options_of(config, lanes, warn);
  const auto interfaces = interfaces_of(config);
  if (interfaces.size() > 1) {
    sources.push_back(merge_interfaces(std::move(options), interfaces, bound_ns));
    return sources;
  }
  if (!interfaces.empty()) options.interface = interfaces[0];
  auto port = std::make_shared<Port>(options);
  for (uint16_t queue = 0; queue < lanes; ++queue) sources.push_back(std::make_unique<PortSource>(port, queue));
  return sources;
}

std::unique_ptr<TupleOutput> make_output(const MonitorConfig& config, const Queries& queries, uint32_t unit,
                                         bool is_live, uint64_t incarnation, std::span<const Schema* const> schemas,
                                         QueryAccounts* accounts, BatchLedger* ledger, EventRing* events) {
  if (config.output == "json") {
    return std::make_unique<JsonOutput>(STDOUT_FILENO, queries.specs,
                                        config.control || !std::has_single_bit(queries.taken), schemas, accounts,
                                        is_live, ledger, config.hash_keys.texts);
  }
  BatchOutputOptions options;
  options.monitor_id = config.monitor_id;
  options.incarnation = incarnation;
  options.lane = unit;
  options.max_rows = config.batch_rows;
  options.flush_after_ns = config.flush_ms * kNsPerMs;
  options.heartbeat_after_ns = config.heartbeat_ms * kNsPerMs;
  options.wait_for_room = !is_live;
  options.ledger = ledger;
  options.abandoned = &queries.abandoned;
  options.events = events;
  options.hash_key = config.hash_keys.texts;
  return std::make_unique<BatchOutput>(options, queries.specs, schemas, accounts,
                                       make_sink(config, queries.specs, is_live));
}

EngineOptions engine_options_of(const MonitorConfig& config, uint32_t sharing, UnitPage* page) {
  EngineOptions options;
  options.live_flows = page == nullptr ? nullptr : page->live_flows.data();
  options.max_connections = std::max(1u, config.max_connections / sharing);
  options.idle_timeout_ns = config.idle_timeout_s * kNsPerSecond;
  options.max_reassembly_bytes = (uint64_t{config.max_reassembly_mib} << 20) / sharing;
  return options;
}

std::optional<ViewOptions> view_options_of(const MonitorConfig& config, std::span<const Tap> taps) {
  const bool is_known = std::any_of(taps.begin(), taps.end(), [](const Tap& tap) { return tap.has_switch(); });
  if (taps.size() < 2 || !is_known) return std::nullopt;
  return ViewOptions{config.view_horizon_ms * kNsPerMs, config.view_packets, static_cast<uint32_t>(taps.size())};
}

}  // namespace tapline
