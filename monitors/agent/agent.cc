#include "monitors/agent/agent.h"

#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "packet_io/base/clock.h"

namespace tapline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kMinPoll{100};
constexpr milliseconds kBetweenAttempts{500};
// The agent's protocol version: statuses and plans are messages (schema/agent.proto), not JSON as in version 0.
constexpr uint32_t kProtocol = 1;
// Time within which a control plane must send its welcome, which specifies the lease's duration.
constexpr seconds kInitialLease{5};
// Time after which the agent reports that it has no lease; until then, control planes may still be starting.
constexpr seconds kTimeout{10};
constexpr milliseconds kMaxMonitorPause{10'000};
// A monitor that ran for longer than this is restarted without a pause.
constexpr seconds kHealthy{30};
// Maximum time that an ending agent waits for its queries to end.
constexpr seconds kMaxShutdown{15};

// Adds the monitor's interfaces (or its device, without parameters), its switch taps, and how it timestamps packets.
void add_input(const InputConfig& input, v1::AgentHello* hello) {
  std::string names;
  for (const Tap& tap : taps_of(input)) {
    names += (names.empty() ? "" : ",") + tap.source.substr(0, tap.source.find(','));
    if (!tap.has_switch()) continue;
    v1::Tap* reported_tap = hello->add_taps();
    reported_tap->set_switch_name(tap.switch_name);
    reported_tap->set_port(tap.port);
    reported_tap->set_side(static_cast<v1::Tap::Side>(tap.side));
    reported_tap->set_interface(tap.source);
  }
  hello->set_interface(names);
  hello->set_polled_times(interfaces_of(input).empty());
}

}  // namespace

Agent::Agent(const AgentConfig& config, LeaseAccess access, std::vector<std::string> parsers, Reporter* reporter,
             const std::atomic<bool>* stop)
    : config_(config),
      access_(std::move(access)),
      parsers_(std::move(parsers)),
      reporter_(reporter),
      stop_(stop),
      incarnation_(static_cast<uint64_t>(wall_ns())),
      without_lease_since_(Clock::now()) {}

Status Agent::run() {
  reporter_->ready();
  // An interface may appear later. Until then, the monitor can't start, so queries fail on this host.
  for (const Tap& tap : taps_of(input_of(config_))) {
    if (config_.vdev.empty() && if_nametoindex(tap.source.c_str()) == 0)
      reporter_->warning("there is no interface '" + tap.source + "' on this host; queries need it");
  }
  while (true) {
    const Time now = Clock::now();
    keep_lease(now);
    keep_monitor(now);
    deliver();
    if (ended(now)) break;
    wait();
    while (auto event = inbox_.pop()) on(*event, Clock::now());
    if (monitor_ != nullptr) read_monitor(Clock::now());
  }
  if (lease_ != nullptr) lease_->finish();
  return {};
}

v1::AgentHello Agent::hello() const {
  v1::AgentHello hello;
  hello.set_agent(config_.name);
  hello.set_incarnation(incarnation_);
  hello.set_version(TAPLINE_VERSION);
  add_input(input_of(config_), &hello);
  hello.set_capacity_mbps(config_.capacity_mbps);
  hello.set_multilog(config_.multilog);
  hello.set_term(assignments_.term());
  hello.set_logs_in(true);
  hello.set_protocol(kProtocol);
  hello.set_changes_triggers(true);
  hello.set_takes_routes(true);
  for (const std::string& parser : parsers_) hello.add_parsers(parser);
  for (v1::Assignment& assignment : assignments_.list()) *hello.add_assignments() = std::move(assignment);
  return hello;
}

void Agent::keep_lease(Time now) {
  if (lease_ != nullptr && now > lease_until_) lease_lost("no message arrived in time", now);
  if (lease_ == nullptr && now >= next_attempt_ && stop_at_ == Time::max()) {
    const std::string& server = config_.control_plane[server_ % config_.control_plane.size()];
    lease_ = std::make_unique<Lease>(++lease_count_, server, access_, hello(), &inbox_);
    lease_until_ = now + kInitialLease;
  }
  if (lease_ == nullptr && now >= grace_until_) {
    reporter_->warning("no control plane accepted this host within the grace period; all queries end");
    grace_until_ = Time::max();
    assignments_.end_all(true);
  }
}

void Agent::lease_lost(const std::string& cause, Time now) {
  if (welcomed_) {
    reporter_->warning("control plane " + lease_->server() + " disconnected: " + cause + "; reconnecting");
    grace_until_ = now + milliseconds(deployment_.grace_ms());
    without_lease_since_ = now;
    assignments_.forget_routes();
  } else {
    not_taken(lease_->server(), cause, now);
  }
  lease_.reset();
  welcomed_ = false;
  server_++;
  next_attempt_ = now + kBetweenAttempts;
}

// Reports once, after kTimeout, that there is no lease. The agent retries twice a second.
void Agent::not_taken(const std::string& server, const std::string& cause, Time now) {
  not_taken_[server] = cause;
  if (reported_no_lease_ || now < without_lease_since_ + kTimeout) return;
  std::string all;
  for (const auto& [query, reason] : not_taken_) all += (all.empty() ? "" : "; ") + query + ": " + reason;
  reporter_->warning("no control plane accepts this host (" + all + "); retrying");
  reported_no_lease_ = true;
}

void Agent::on(const LeaseEvent& event, Time now) {
  if (lease_ == nullptr || event.lease != lease_->id()) return;
  if (event.refused && !reported_no_lease_)
    reporter_->warning("control plane " + lease_->server() + ": " + event.cause);
  reported_no_lease_ |= event.refused;
  if (event.lost) return lease_lost(event.cause, now);
  if (!assignments_.execute(event.command)) return lease_lost("another control plane has become the leader", now);
  if (event.command.has_welcome()) on(event.command.welcome());
  if (event.command.has_events_taken()) {
    const v1::EventsTakenCommand& taken = event.command.events_taken();
    events_.acknowledge(taken.query(), taken.incarnation(), taken.next());
  }
  if (event.command.has_probe()) answer(event.command.probe(), event.at_ns);
  if (welcomed_) lease_until_ = now + milliseconds(deployment_.lease_ms());
}

void Agent::on(const v1::Welcome& welcome) {
  const bool was_moved =
      monitor_ != nullptr &&
      (welcome.brokers() != deployment_.brokers() || welcome.hash_key() != deployment_.hash_key() ||
       welcome.text_key() != deployment_.text_key() || welcome.broker_user() != deployment_.broker_user() ||
       welcome.broker_password() != deployment_.broker_password());
  deployment_ = welcome;
  welcomed_ = true;
  events_.resend();
  reported_no_lease_ = false;
  not_taken_.clear();
  grace_until_ = Time::max();
  if (was_moved) stop_monitor();
}

void Agent::answer(const v1::Probe& probe, int64_t received_ns) {
  v1::AgentMessage message;
  v1::AgentHeartbeat* heartbeat = message.mutable_heartbeat();
  heartbeat->set_probe_sent_ns(probe.sent_ns());
  heartbeat->set_received_ns(received_ns);
  double load = 0;
  if (getloadavg(&load, 1) == 1) heartbeat->set_load(load);
  heartbeat->set_cores(std::thread::hardware_concurrency());
  heartbeat->set_monitor_starts(monitor_starts_);
  heartbeat->set_sent_ns(wall_ns());
  lease_->send(std::move(message));
}

void Agent::keep_monitor(Time now) {
  if (assignments_.needs_monitor()) needed_ = now;
  if (monitor_ == nullptr && assignments_.needs_monitor() && now >= next_monitor_) start_monitor(now);
  if (monitor_ready_ && now > needed_ + seconds(config_.idle_s)) stop_monitor();
}

// Signals the monitor only once, since a second signal would end it immediately.
void Agent::stop_monitor() {
  if (monitor_ready_) monitor_->stop();
  monitor_ready_ = false;
  assignments_.monitor_stopping();
}

void Agent::start_monitor(Time now) {
  monitor_starts_++;
  monitor_started_ = now;
  Status started = check_brokers(config_, deployment_.brokers());
  std::vector<std::string> secrets = {deployment_.hash_key() + "\n" + deployment_.text_key() + "\n"};
  const bool logs_in = !deployment_.broker_user().empty();
  if (logs_in) secrets.push_back(deployment_.broker_user() + ":" + deployment_.broker_password() + "\n");
  if (started.ok())
    started = MonitorChild::start(monitor_command(config_, deployment_.brokers(), logs_in), secrets, &monitor_);
  monitor_was_ready_ = false;
  monitor_failure_.Clear();
  if (started.ok()) return;
  reporter_->error(started);
  assignments_.on_monitor_exit(started.message());
  monitor_failure_.set_message(started.message());
  monitor_failure_.set_kind(started.kind());
  assignments_.monitor_failed(monitor_failure_);
  next_monitor_ = now + kMaxMonitorPause;
}

void Agent::read_monitor(Time now) {
  monitor_->flush();
  std::vector<v1::MonitorStatus> events;
  const bool lives = monitor_->read(&events);
  for (const v1::MonitorStatus& event : events) {
    assignments_.on_monitor_event(event);
    // If there is no room for events, a gap in their numbers reveals the loss.
    if (event.has_events()) events_.add(event.events());
    if (event.has_error()) monitor_failure_ = event.error();
    if (!event.has_ready()) continue;
    monitor_ready_ = monitor_was_ready_ = true;
    assignments_.monitor_ready();
  }
  if (!lives) on_monitor_exit(now);
}

void Agent::on_monitor_exit(Time now) {
  const std::string cause = monitor_->reap();
  const bool is_wanted = assignments_.needs_monitor();
  monitor_.reset();
  monitor_ready_ = false;
  assignments_.on_monitor_exit(cause);
  if (!monitor_was_ready_) {
    if (monitor_failure_.message().empty()) {
      monitor_failure_.set_message(cause);
      monitor_failure_.set_kind("internal");
    }
    assignments_.monitor_failed(monitor_failure_);
  }
  if (now - monitor_started_ > kHealthy) monitor_pause_ = milliseconds(0);
  next_monitor_ = now + monitor_pause_;
  monitor_pause_ = std::min(kMaxMonitorPause, monitor_pause_ * 2 + kMinPoll);
  if (is_wanted) reporter_->warning(cause + "; restarting it");
}

void Agent::deliver() {
  Assignments::Outbox& out = assignments_.outbox();
  for (const v1::MonitorCommand& command : out.monitor) {
    if (monitor_ != nullptr) monitor_->send(command);
  }
  // Without a lease, nothing is sent: the next hello reports the state.
  const bool has_lease = lease_ != nullptr && welcomed_;
  const bool takes_events = has_lease && deployment_.protocol() > 0;
  if (takes_events) events_.send([this](const v1::EventBatch& batch) { return lease_->try_send(batch); });
  std::vector<v1::MonitorStatus> unsent;
  for (v1::MonitorStatus& status : out.control_plane) {
    if (!has_lease) break;
    // A query's end is sent after its last event.
    if (takes_events && status.has_query_ended() && events_.has_unsent(status.query_ended().query())) {
      unsent.push_back(std::move(status));
    } else {
      lease_->send(for_protocol(deployment_.protocol(), std::move(status)));
    }
  }
  out = {};
  out.control_plane = std::move(unsent);
}

void Agent::wait() {
  pollfd files[2] = {{inbox_.fd(), POLLIN, 0}, {-1, POLLIN, 0}};
  if (monitor_ != nullptr) {
    files[1].fd = monitor_->fd();
    if (monitor_->has_unsent()) files[1].events |= POLLOUT;
  }
  poll(files, 2, static_cast<int>(kMinPoll.count()));
}

bool Agent::ended(Time now) {
  if (!stop_->load()) return false;
  if (stop_at_ == Time::max()) {
    stop_at_ = now + kMaxShutdown;
    assignments_.end_all();
    deliver();
  }
  const bool is_settled = !assignments_.needs_monitor() && assignments_.outbox().control_plane.empty();
  return is_settled || now >= stop_at_;
}

}  // namespace tapline
