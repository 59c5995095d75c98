#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "parsers/api/bits.h"
#include "parsers/api/parser.h"
#include "parsers/trigger/client_samples.h"
#include "parsers/trigger/event_text.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/shared_triggers.h"

namespace tapline {
namespace {

using trigger::ClientSamples;
using trigger::ConnectionSamples;
using trigger::Event;
using trigger::EventScope;
using trigger::Program;
using trigger::SharedTriggers;

// Returns the bound, or an absent value if it is infinite.
Value bound(double value) { return std::isfinite(value) ? Value::f64(value) : Value::absent(FieldType::kF64); }

std::string_view name_of(EventScope scope) {
  constexpr std::string_view kNames[] = {"all", "group", "rest"};
  return kNames[static_cast<size_t>(scope)];
}

// The triggers of one query, on this lane.
class QueryTriggers final : public trigger::EventSink {
 public:
  QueryTriggers(uint32_t query, std::shared_ptr<SharedTriggers> shared)
      : query_(uint64_t{1} << query),
        shared_(std::move(shared)),
        lane_(shared_->join()),
        tcp_window_ns_(shared_->tcp_window_ns()),
        partial_(shared_->program(lane_).partial()) {}

  // Returns the last accepted value of SharedTriggers::tcp_window_ns().
  int64_t tcp_window_ns() const { return tcp_window_ns_; }
  // Accepts the current value. Returns true if it has changed; the caller must then supply facts for the new window.
  bool accept_tcp_window() {
    const int64_t window_ns = shared_->tcp_window_ns();
    if (window_ns == tcp_window_ns_) return false;
    tcp_window_ns_ = window_ns;
    shared_->supply_tcp();
    return true;
  }

  // Returns the program in which the lane counts.
  const Program& program() const { return shared_->program(lane_); }

  void add(const Sample& sample, const TcpFacts& tcp, Emitter& out) {
    ++new_samples_;
    samples_[count_] = sample;
    tcp_[count_++] = tcp;
    if (count_ == samples_.size()) flush(out);
  }

  // Adds all of them, without a copy if they are many.
  void add(std::span<const Sample> samples, std::span<const TcpFacts> tcp, Emitter& out) {
    if (samples.size() >= kManySamples) {
      new_samples_ += samples.size();
      flush(out);
      return count(samples, tcp, out);
    }
    for (size_t i = 0; i < samples.size(); ++i) add(samples[i], tcp.empty() ? TcpFacts{} : tcp[i], out);
  }

  // Closes the windows that end by this time. continue_sweep() reports them.
  void close(int64_t time_ns, Emitter& out) {
    flush(out);
    new_samples_ = 0;
    if (partial_) {
      // The values are tuples with times within their window, so they must be emitted before any later tuple.
      shared_->advance(lane_, time_ns, this);
    } else {
      shared_->close(lane_, time_ns, this);
    }
    passed_ns_ = time_ns;
  }

  bool has_work() const { return !partial_ && (new_samples_ > 0 || shared_->has_work()); }

  // Sweeps, and after a burst that was small, also counts and tests its packets: a lane with few packets has the time,
  // and their events need not wait.
  void continue_sweep(Emitter& out) {
    if (const size_t burst = std::exchange(new_samples_, 0); burst > 0 && burst < kSmallBurst) {
      flush(out);
      shared_->look(latest_ns_);
    }
    out_ = &out;
    shared_->continue_sweep(lane_, this);
  }

  void lose(const LostPackets& lost) { shared_->lose(lane_, lost); }

  TriggerTotals totals() const {
    TriggerTotals totals = totals_;
    const trigger::TriggerStats stats = shared_->stats();
    totals.late_windows = stats.late_sweeps;
    totals.replacements = stats.swaps;
    return totals;
  }

  // Ends counting. Also reports the windows that would end next, as partial.
  void end(Emitter& out) {
    flush(out);
    if (latest_ns_ == INT64_MIN && shared_->has_one_lane()) return;
    if (out.now_ns() == INT64_MIN) return;  // the lane has counted nothing
    const int64_t ended_ns = out.now_ns();
    shared_->end(ended_ns);
    int64_t until_ns = ended_ns;
    for (const trigger::Channel& channel : program().channels()) {
      until_ns = std::max(until_ns, (ended_ns / channel.every_ns + 1) * channel.every_ns);
    }
    shared_->advance(lane_, until_ns, this);
  }

  // Returns the next end of a window that has packets, or may have packets of another lane.
  int64_t due_ns() const {
    int64_t due_ns = INT64_MAX;
    if (latest_ns_ == INT64_MIN && shared_->has_one_lane()) return due_ns;
    for (const trigger::Channel& channel : program().channels()) {
      const int64_t every_ns = channel.every_ns;
      const int64_t end_ns = (std::max(latest_ns_, passed_ns_) / every_ns + 1) * every_ns;
      if (end_ns - channel.window_ns <= latest_ns_ || !shared_->has_one_lane()) due_ns = std::min(due_ns, end_ns);
    }
    return due_ns;
  }

  // Counts the events, groups, values and packets that are missing from the window's results. Packets are missing if
  // one of several lanes was too far behind the others.
  void on_window(const trigger::WindowReport& report) override {
    ++totals_.windows;
    totals_.lossy_windows += report.lost_packets + report.uncounted_packets > 0;
    totals_.groups += report.groups;
    totals_.rest_packets += report.rest_packets;
    totals_.suppressed_events += report.suppressed_events;
    out_->lose(LossReason::kParserMemoryFull,
               report.suppressed_events + report.untracked_alerts + report.untracked_groups + report.missed_values +
                   report.uncounted_packets + (partial_ ? report.rest_packets : 0),
               query_);
  }

  void on_event(const Event& event) override {
    const trigger::Channel& channel = shared_->reported_program().channels()[event.channel];
    const int64_t ended_ns = shared_->ended_ns();
    if (event.window_end_ns - channel.every_ns > ended_ns) return;
    const bool is_absent = event.value.presence != trigger::Presence::kPresent;
    if (partial_ && (is_absent || event.scope == EventScope::kRest)) return;
    const std::string group = trigger::text_of(channel.by, event.group);
    const std::string exemplars = trigger::text_of(event.exemplars);
    const bool self_identifying = event.scope == EventScope::kGroup;
    // Packets that are missing from a partial value were counted as lost.
    const bool is_known = !is_absent && (partial_ || event.value.low == event.value.high);
    const bool may_grow = event.ready_ns < event.window_end_ns;
    TupleHeader header;
    header.time_ns = out_->now_ns();
    header.src_ip = event.group.src_ip();
    header.src_port = event.group.src_port();
    header.dst_ip = event.group.dst_ip();
    header.dst_port = event.group.dst_port();
    header.queries = query_;
    const std::array values = {
        Value::u64(event.trigger),
        Value::string(partial_ ? "partial" : name_of(event.scope)),
        self_identifying ? Value::string(group) : Value::absent(FieldType::kString),
        is_known ? Value::f64(event.value.low) : Value::absent(FieldType::kF64),
        bound(event.value.low),
        may_grow ? Value::absent(FieldType::kF64) : bound(event.value.high),
        Value::i64(event.window_start_ns),
        Value::i64(event.window_end_ns),
        Value::boolean(event.verdict == trigger::Verdict::kTrue),
        Value::boolean(event.partial || event.window_end_ns > ended_ns),
        Value::u64(event.lost_packets),
        Value::i64(std::min(event.ready_ns, ended_ns)),
        exemplars.empty() ? Value::absent(FieldType::kString) : Value::string(exemplars),
        Value::absent(FieldType::kString),
    };
    partial_ ? out_->emit(header, values) : out_->emit_event(header, values);
  }

 private:
  static constexpr size_t kManySamples = 16;
  static constexpr size_t kSmallBurst = 32;

  void flush(Emitter& out) {
    count({samples_.data(), count_}, {tcp_.data(), count_}, out);
    count_ = 0;
  }

  void count(std::span<const Sample> samples, std::span<const TcpFacts> tcp, Emitter& out) {
    out_ = &out;
    if (!samples.empty()) latest_ns_ = std::max(latest_ns_, samples.back().time_ns);
    // Depends on the facts that this lane supplies, not on the program, which may have been replaced since.
    if (tcp_window_ns_ == SharedTriggers::kNoTcp) tcp = {};
    shared_->process(lane_, samples, tcp, this);
  }

  uint64_t query_;
  std::shared_ptr<SharedTriggers> shared_;
  uint32_t lane_;  // this lane's number in `shared_`
  int64_t tcp_window_ns_;
  bool partial_;  // events are values for the stream job, not events
  TriggerTotals totals_;
  Emitter* out_ = nullptr;  // the current call's emitter
  std::array<Sample, trigger::Gather::kBurst> samples_;
  std::array<TcpFacts, trigger::Gather::kBurst> tcp_;
  size_t count_ = 0;
  size_t new_samples_ = 0;         // since the last continue_sweep()
  int64_t latest_ns_ = INT64_MIN;  // time of the latest packet
  int64_t passed_ns_ = INT64_MIN;
};

// Evaluates the triggers of queries on their packets, in windows of packet time.
class TriggerParser final : public Parser {
 public:
  const Schema& schema() const override;
  // Connections identify the client side.
  Needs needs() const override {
    return {.connections = true,
            .datagrams = true,
            .interval_ns = Program::kMinWindowNs,
            .every_packet = false,
            .absorbs = true,
            .losses = true};
  }

  void set_triggers(uint32_t query, std::shared_ptr<const Program> program,
                    std::shared_ptr<SharedTriggers> shared) override {
    const uint64_t bit = uint64_t{1} << query;
    if (of_query_[query] != nullptr) ended_ += of_query_[query]->totals();
    queries_ &= ~bit;
    of_query_[query] = nullptr;
    supply_tcp(query, SharedTriggers::kNoTcp);
    if (program == nullptr) return;
    queries_ |= bit;
    if (shared == nullptr) shared = std::make_shared<SharedTriggers>(program, 1);
    of_query_[query] = std::make_unique<QueryTriggers>(query, std::move(shared));
    supply_tcp(query, of_query_[query]->tcp_window_ns());
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.connection == nullptr) continue;
      seen_.add(packet);
      if (seen_.size == ConnectionSamples::kMax) count(out);
    }
    count(out);
  }

  void absorb(std::span<const PlainPacket> burst, Emitter& out) override {
    for (const PlainPacket& packet : burst) {
      seen_.add(packet);
      if (seen_.size == ConnectionSamples::kMax) count(out);
    }
    count(out);
  }

  TriggerTotals trigger_totals() const override {
    TriggerTotals totals = ended_;
    for (const uint32_t query : SetBits(queries_)) totals += of_query_[query]->totals();
    return totals;
  }

  void on_loss(const LostPackets& lost) override {
    for (const uint32_t query : SetBits(queries_)) of_query_[query]->lose(lost);
  }

  bool has_work() const override { return next_with_work(0) != kNoQuery; }

  // Works for one query, and for the others in the next calls, so that the time between two bursts does not depend on
  // their number, and no query takes the time of another.
  void continue_work(Emitter& out) override {
    uint32_t query = next_with_work(turn_);
    if (query == kNoQuery) query = next_with_work(0);
    if (query == kNoQuery) return;
    turn_ = query + 1;
    of_query_[query]->continue_sweep(out);
  }

  // Windows consist of whole intervals, so all windows that end by this time are complete.
  void on_interval(int64_t end_ns, Emitter& out) override {
    for (const uint32_t query : SetBits(queries_)) {
      if (of_query_[query]->accept_tcp_window()) supply_tcp(query, of_query_[query]->tcp_window_ns());
      of_query_[query]->close(end_ns, out);
    }
  }

  int64_t due_ns() const override {
    int64_t due_ns = INT64_MAX;
    for (const uint32_t query : SetBits(queries_)) due_ns = std::min(due_ns, of_query_[query]->due_ns());
    return due_ns;
  }

  void on_queries_end(uint64_t queries, Emitter& out) override {
    for (const uint32_t query : SetBits(queries & queries_)) {
      of_query_[query]->end(out);
      set_triggers(query, nullptr, nullptr);
    }
  }

 private:
  static constexpr uint32_t kNoQuery = 64;

  // Returns the first query from `first` on that has work, or kNoQuery.
  uint32_t next_with_work(uint32_t first) const {
    for (const uint32_t query : SetBits(first < 64 ? queries_ >> first << first : 0)) {
      if (of_query_[query]->has_work()) return query;
    }
    return kNoQuery;
  }

  // Facts about TCP connections, for the queries whose triggers need them with windows of this length.
  struct Tcp {
    int64_t window_ns;
    std::unique_ptr<ClientSamples> samples;
    uint64_t queries = 0;
    uint64_t evicted_flows = 0;  // the number of evicted flows that was already reported
  };

  // Supplies the query with facts for windows of this length from now on.
  void supply_tcp(uint32_t query, int64_t window_ns) {
    const uint64_t bit = uint64_t{1} << query;
    for (Tcp& tcp : tcp_) tcp.queries &= tcp.window_ns == window_ns ? ~uint64_t{0} : ~bit;
    std::erase_if(tcp_, [](const Tcp& tcp) { return tcp.queries == 0; });
    if (window_ns != SharedTriggers::kNoTcp) tcp_of(window_ns)->queries |= bit;
  }

  Tcp* tcp_of(int64_t window_ns) {
    for (Tcp& tcp : tcp_) {
      if (tcp.window_ns == window_ns) return &tcp;
    }
    return &tcp_.emplace_back(Tcp{window_ns, std::make_unique<ClientSamples>(window_ns)});
  }

  // Counts the samples in seen_, and removes them.
  void count(Emitter& out) {
    if (seen_.size == 0) return;
    uint64_t with_tcp = 0;
    for (Tcp& tcp : tcp_) {
      with_tcp |= tcp.queries;
      const ClientSamples::Batch& batch = tcp.samples->observe(seen_);
      const size_t size = batch.tcp.size;
      add({batch.tcp.samples.data(), size}, {batch.tcp.facts.data(), size}, {batch.queries.data(), size}, tcp.queries,
          out);
      const uint64_t evicted = tcp.samples->flows().evicted_flows();
      out.lose(LossReason::kParserMemoryFull, evicted - std::exchange(tcp.evicted_flows, evicted), tcp.queries);
    }
    if ((queries_ & ~with_tcp) != 0) {
      for (size_t i = 0; i < seen_.size; ++i) trigger::orient_to_client(seen_.from_server[i], &seen_.samples[i]);
      add({seen_.samples.data(), seen_.size}, {}, {seen_.queries.data(), seen_.size}, queries_ & ~with_tcp, out);
    }
    seen_.size = 0;
  }

  // Adds the samples to those of these queries that want them. `tcp` has the facts of each sample, or is empty.
  void add(std::span<const Sample> samples, std::span<const TcpFacts> tcp, std::span<const uint64_t> wanted_by,
           uint64_t queries, Emitter& out) {
    uint64_t want_all = queries;
    for (const uint64_t wanting : wanted_by) want_all &= wanting;
    for (const uint32_t query : SetBits(want_all)) of_query_[query]->add(samples, tcp, out);
    if (want_all == queries) return;
    for (size_t i = 0; i < samples.size(); ++i) {
      for (const uint32_t query : SetBits(wanted_by[i] & queries & ~want_all)) {
        of_query_[query]->add(samples[i], tcp.empty() ? TcpFacts{} : tcp[i], out);
      }
    }
  }

  uint64_t queries_ = 0;  // queries with triggers
  TriggerTotals ended_;   // counters of the queries that have ended
  uint32_t turn_ = 0;     // the query at which continue_work() begins
  trigger::ConnectionSamples seen_;
  std::vector<Tcp> tcp_;
  std::array<std::unique_ptr<QueryTriggers>, 64> of_query_;
};

const Schema& TriggerParser::schema() const {
  static const Schema schema = {
      .name = "trigger",
      .description = "Windows that meet the condition of a trigger that the monitor tests",
      .layer = Layer::kTransport,
      .fields =
          {{"trigger", FieldType::kU64, "", "Index of the trigger's processor in PROCESS, from 0"},
           {"scope", FieldType::kString, "",
            "all: the trigger has no groups; group: one group; rest: groups that were counted together; partial: the "
            "part of a value that this monitor captured"},
           optional({"group", FieldType::kString, "", "Names and values of the group's fields"}),
           optional({"value", FieldType::kF64, "",
                     "The value that the condition compares; absent if only its bounds are known"}),
           optional({"low", FieldType::kF64, "", "Lower bound of the value"}),
           optional({"high", FieldType::kF64, "", "Upper bound of the value; absent if it may still grow"}),
           {"window_start_ns", FieldType::kI64, "ns", "Beginning of the window, in nanoseconds since the epoch"},
           {"window_end_ns", FieldType::kI64, "ns", "End of the window: the first nanosecond after it"},
           {"certain", FieldType::kBool, "",
            "False: the condition is true for only some of the values between the bounds, or would be false if lost "
            "packets had been counted"},
           {"incomplete", FieldType::kBool, "", "True if the window was not monitored from beginning to end"},
           optional({"lost_packets", FieldType::kU64, "packets",
                     "The maximum number of packets that were lost within the window; absent for triggers on tuples"}),
           {"ready_ns", FieldType::kI64, "ns",
            "Packet time at which the condition became certain: the window's end, or earlier if the value can only "
            "rise"},
           optional({"exemplars", FieldType::kString, "", "Up to 8 of the counted connections"}),
           optional({"tuple", FieldType::kString, "",
                     "JSON of the tuple that decided the condition, if one did: the tuple with the maximum or minimum, "
                     "or the one that met the condition before the window's end"})},
      .main_fields = {"trigger"},
      .value_field = "value",
      .events = true,
      .example = {"0", "group", "src_ip=10.1.0.12", "198.000000", "198.000000", "-", "1795204790000000000",
                  "1795204791000000000", "true", "false", "0", "1795204790104000000",
                  "10.1.0.12:49506-10.1.0.80:80/tcp", "-"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_trigger() { return std::make_unique<TriggerParser>(); }

}  // namespace tapline
