#include "parsers/flow_rate/flow_rate.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/rates/flow_rate_estimate.h"
#include "parsers/rates/flow_table.h"
#include "parsers/rates/mirror_taps.h"
#include "parsers/rates/packet_sample.h"
#include "parsers/rates/port_inference.h"
#include "parsers/rates/query_begins.h"
#include "parsers/rates/values.h"

namespace tapline {
namespace {

using rates::BurstWindows;
using rates::Counted;
using rates::MirrorInterval;
using rates::SequenceTracker;

// Estimates the rate of each direction of each flow from the copies that an oversubscribed mirror port did not drop
// (Planck section 3.2.2): one tuple for each interval in which the direction has packets.
//
// If several taps show a flow, the one that shows it first in an interval is its tap; copies at other taps are used
// only to estimate the queues of those taps' mirror ports. The counts are in the connection's entry. A flow takes a
// slot in the flow table with its first payload, so SYN floods take none. Flows with something to report are listed in
// a vector, so the cost of an interval's end depends only on the number of flows that were active in it.
class FlowRate final : public Parser {
 public:
  explicit FlowRate(uint32_t max_flows) : flows_(max_flows, Forget{&begin_ns_, &evicted_}) {}

  const Schema& schema() const override;
  Needs needs() const override {
    return {.connections = true,
            .datagrams = true,
            .interval_ns = interval_ns(),
            .all_views = true,
            .connection_state_bytes = sizeof(State)};
  }

  void set_taps(std::span<const TapNames> taps) override {
    taps_.set_names(taps);
    ports_.set_taps(taps);
  }
  void set_routes(RouteFeed* routes) override { ports_.set_feed(routes); }
  void set_arguments(uint32_t query, std::span<const Value> arguments) override {
    taps_.set_arguments(query, arguments);
    begins_.forget(query);
    set_limits();
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    rates::prefetch_flows(burst, flows_);
    const auto routes_of_burst = ports_.begin();
    if (ports_.id() != speeds_id_) [[unlikely]] {
      speeds_id_ = ports_.id();
      taps_.set_fastest_link(ports_.fastest_link());
      set_limits();
    }
    for (const Packet& packet : burst) {
      taps_.of(packet.tap).mirror.observe(packet.time_ns, packet.wire_bytes);
      if (begin_ns_ == kNever) begin_ns_ = packet.time_ns;
      begins_.observe(packet.queries, packet.time_ns);
      if (packet.connection != nullptr) count(packet, out);
    }
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    sum_shares(end_ns);
    for (Connection* flow : active_) {
      State& state = state_of<State>(*flow);
      report(*flow, state.queries, end_ns, out);
      begin_interval(*flow);
      state.position = 0;
    }
    active_.clear();
    report_evictions(~0ull, out);
    begin_ns_ = end_ns;
    for (Tap& tap : taps_) {
      tap.mirror.next_interval();
      tap.own = {};
    }
    flows_.next_interval();
  }

  void on_end(Connection& flow, uint64_t queries, Emitter& out) override {
    State& state = state_of<State>(flow);
    if (state.position != 0 && (state.queries & queries) != 0) {
      refresh_shares(out.now_ns());
      report(flow, state.queries & queries, out.now_ns(), out);
    }
    state.queries &= ~queries;
    report_evictions(queries, out);
  }

  void on_release(Connection& flow) override {
    State& state = state_of<State>(flow);
    flows_.release(key_of(flow));
    const uint32_t position = state.position;
    if (position == 0) return;
    active_[position - 1] = active_.back();
    state_of<State>(*active_[position - 1]).position = position;
    active_.pop_back();
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  static constexpr int64_t kShareAges = 16;  // number of times per interval that shares are renewed

  using Tap = rates::MirrorTaps<rates::SamplingShare>::Tap;  // the share was computed at share_ns_
  // The entry of a flow, with both directions (indexed by Side), since each acknowledges the other one's data.
  struct FollowedFlow {
    SequenceTracker trackers[2];
    BurstWindows windows[2];
  };
  // Counts the evicted directions that had a sample in the interval. A flow without a sample has lost nothing.
  struct Forget {
    const int64_t* begin_ns;
    uint64_t* evicted;
    void operator()(const FollowedFlow& followed) const {
      for (const SequenceTracker& tracker : followed.trackers) {
        *evicted += tracker.started() && tracker.last_ns() >= *begin_ns;
      }
    }
  };
  struct Direction {
    Counted counted;          // in this interval
    uint64_t repeated_bytes;  // in this interval
    uint16_t port;            // port by which its latest packet left the switch; 0: unknown
    uint16_t input_port;      // port through which its first packet entered the switch, or the first that left through
                              // another port
  };
  struct State {
    Direction sides[2];
    int64_t begin_ns;   // beginning of these counts, if it is within the interval
    uint64_t queries;   // queries that wanted the packets counted here
    uint32_t position;  // position in active_, from 1; 0 = nothing counted
    uint8_t tap;        // the tap that shows the flow in this interval
  };

  int64_t interval_ns() const { return taps_.arguments().interval_ns(); }

  void set_limits() {
    const uint64_t given = taps_.arguments().slowest_link();
    limits_ = rates::BurstLimits::for_link(given != 0 ? given : ports_.slowest_link());
  }

  uint64_t key_of(const Connection& flow) const { return rates::table_key(flow.flow_hash, state_of<State>(flow).tap); }

  void count(const Packet& packet, Emitter& out) {
    Connection& flow = *packet.connection;
    State& state = state_of<State>(flow);
    if (state.position == 0) {
      begin(packet, &state);
    } else if (state.tap != packet.tap) {
      return;
    } else if (state.queries != packet.queries) [[unlikely]] {
      // Queries were added or removed within the interval. Reports the counts so far, so that each query receives only
      // the packets that it wanted.
      out.header_of(packet);  // moves the clock
      refresh_shares(out.now_ns());
      report(flow, state.queries, out.now_ns(), out);
      begin_interval(flow);
      flows_.release(key_of(flow));
      state.begin_ns = out.now_ns();
      state.queries = packet.queries;
    }
    const Side side = flow.side_of(packet);
    Direction& direction = state.sides[side];
    const uint16_t port = ports_.port_of(packet, out).number;
    if (direction.counted.packets == 0 || port != direction.port) [[unlikely]]
      direction.input_port = ports_.input_port_of(packet);
    direction.port = port;
    direction.counted.add(packet.wire_bytes);
    if (packet.is_tcp()) follow(packet, side, &direction);
  }

  // Begins the flow's counts with its first packet in the interval.
  void begin(const Packet& packet, State* state) {
    if (state->tap != packet.tap) {
      flows_.release(key_of(*packet.connection));
      state->tap = packet.tap;
    }
    active_.push_back(packet.connection);
    state->position = static_cast<uint32_t>(active_.size());
    state->begin_ns = kNever;
    state->queries = packet.queries;
  }

  void follow(const Packet& packet, Side side, Direction* direction) {
    const uint64_t key = rates::table_key(packet.flow_hash, packet.tap);
    FollowedFlow* followed = flows_.find(key);
    if (followed == nullptr) {
      if (packet.payload_bytes == 0) return;
      followed = &flows_.take(key);
    }
    rates::MirrorQueue& mirror = taps_.of(packet.tap).mirror;
    const rates::TcpSample sample = rates::sample_of(packet);
    const rates::Progress progress = followed->trackers[side].add(sample, taps_.limits());
    mirror.observe(progress);
    followed->windows[side].add(sample, progress, limits_, mirror);
    direction->repeated_bytes += progress.repeated_bytes;
    if (rates::acknowledges(packet)) acknowledge(packet, other_side(side), followed, &mirror);
  }

  void acknowledge(const Packet& packet, Side side, FollowedFlow* followed, rates::MirrorQueue* mirror) {
    const rates::Progress progress =
        followed->trackers[side].acknowledge(packet.tcp_ack, packet.time_ns, taps_.limits());
    if (progress.step != rates::Step::kHole) return;
    mirror->observe(progress);
    followed->windows[side].add_hole(progress);
  }

  void begin_interval(const Connection& flow) {
    for (Direction& side : state_of<State>(flow).sides) side = Direction();
    if (FollowedFlow* followed = flows_.peek(key_of(flow))) {
      for (BurstWindows& windows : followed->windows) windows.next();
    }
  }

  void report_evictions(uint64_t queries, Emitter& out) {
    if (evicted_ > 0) out.lose(LossReason::kParserMemoryFull, evicted_, queries);
    evicted_ = 0;
  }

  // Computes, for each tap, the share of its flows' payload that was captured in the interval.
  void sum_shares(int64_t now_ns) {
    for (Tap& tap : taps_) tap.own = {};
    share_ns_ = now_ns;
    for (Connection* flow : active_) {
      const FollowedFlow* followed = flows_.peek(key_of(*flow));
      if (followed == nullptr) continue;
      for (const BurstWindows& windows : followed->windows) {
        taps_.of(state_of<State>(*flow).tap).own.add(windows.covered());
      }
    }
  }

  // Computes the shares again unless they are recent, so that a flood of ending flows costs little.
  void refresh_shares(int64_t now_ns) {
    if (now_ns - share_ns_ > interval_ns() / kShareAges) sum_shares(now_ns);
  }

  // Returns the state of the tap's mirror port in the interval; the caller sets the interval's length.
  static MirrorInterval interval_of(const Tap& tap) {
    MirrorInterval mirror;
    mirror.complete = tap.mirror.complete();
    mirror.longest_delay_ns = tap.mirror.longest_busy_ns();
    mirror.share = tap.own;
    return mirror;
  }

  // Emits the rates of the interval that ends, or is cut short, at now_ns. Queries that observed the same part of it
  // and specify the same link speed share tuples.
  void report(Connection& flow, uint64_t queries, int64_t now_ns, Emitter& out) {
    const State& state = state_of<State>(flow);
    const Tap& tap = taps_.of(state.tap);
    const int64_t begin_ns = std::max({(now_ns - 1) / interval_ns() * interval_ns(), begin_ns_, state.begin_ns});
    MirrorInterval mirror = interval_of(tap);
    TupleHeader header = out.header_of(flow);
    while (queries != 0) {
      header.queries = taps_.arguments().with_equal_values(queries) & begins_.with_one_begin(queries, begin_ns);
      mirror.interval_ns = std::max<int64_t>(0, now_ns - begins_.begin_of(queries, begin_ns));
      for (const Side side : {flow.client_side, other_side(flow.client_side)}) {
        if (state.sides[side].counted.packets > 0) emit(header, flow, side, tap, mirror, out);
      }
      queries &= ~header.queries;
    }
  }

  void emit(const TupleHeader& header, Connection& flow, Side side, const Tap& tap, const MirrorInterval& mirror,
            Emitter& out);

  rates::MirrorTaps<rates::SamplingShare> taps_;
  rates::PortInference ports_;
  uint64_t speeds_id_ = 0;  // id of the routes whose speeds are in use
  rates::BurstLimits limits_;
  rates::QueryBegins begins_;
  uint64_t evicted_ = 0;  // in this interval
  rates::FlowTable<FollowedFlow, Forget> flows_;
  std::vector<Connection*> active_;
  int64_t begin_ns_ = kNever;  // start of the interval, or of its observed part
  int64_t share_ns_ = 0;       // time at which the taps' shares were summed up
};

const Schema& FlowRate::schema() const {
  static const Schema schema = {
      .name = "flow_rate",
      .description = "Rate of each direction of each flow, with bounds even if copies of packets are missing",
      .layer = Layer::kTransport,
      .fields = {{"direction", FieldType::kString, "", "from_client or from_server"},
                 optional({"bits_per_second", FieldType::kU64, "bits/s",
                           "Mean rate on the wire over interval_ns; absent if an unknown number of copies is missing"}),
                 {"low_bits_per_second", FieldType::kU64, "bits/s", "Lower bound"},
                 optional({"high_bits_per_second", FieldType::kU64, "bits/s", "Upper bound; absent if there is none"}),
                 {"bytes", FieldType::kU64, "bytes",
                  "sequence: payload that the sequence numbers cover; otherwise the captured bytes, on the wire", true},
                 {"interval_ns", FieldType::kI64, "ns", "Time over which the rate is averaged"},
                 {"samples", FieldType::kU64, "packets", "Number of captured copies", true},
                 {"retransmitted_bytes", FieldType::kU64, "bytes", "Payload that was captured and had been sent before",
                  true},
                 optional(
                     {"sampling_share", FieldType::kF64, "share", "Share of the flow's payload that was captured"}),
                 {"method", FieldType::kString, "",
                  "sequence (TCP sequence numbers), count (no copy is missing), share (scaled by the share of the TCP "
                  "flows at the same tap) or unknown"},
                 optional({"switch", FieldType::kString, "", "Switch that made the copies, as named by the tap"}),
                 optional({"output_port", FieldType::kString, "",
                           "Port of the tap or, if it shows all of its switch's ports, through which the flow leaves "
                           "the switch, from marks or routes; absent if unknown"}),
                 optional({"input_port", FieldType::kString, "",
                           "Port through which the flow enters the switch, from marks or routes; absent if unknown"}),
                 {"mirror_state", FieldType::kString, "", "complete, filling, steady or draining"}},
      .main_fields = {"dst_ip", "dst_port"},
      .value_field = "bits_per_second",
      .interval_ns = rates::LinkArguments::kDefaultIntervalNs,
      .interval_argument = rates::LinkArguments::kInterval,
      .all_traffic = true,
      .arguments = rates::LinkArguments::declared(),
      .example = {"from_client", "15764", "15578", "15955", "982", "498355000", "9", "0", "1.000000", "count", "s1",
                  "2", "-", "complete"},
  };
  return schema;
}

void FlowRate::emit(const TupleHeader& header, Connection& flow, Side side, const Tap& tap,
                    const MirrorInterval& mirror, Emitter& out) {
  const Direction& seen = state_of<State>(flow).sides[side];
  const FollowedFlow* followed = flows_.peek(key_of(flow));
  const rates::WindowRate windows =
      followed != nullptr ? followed->windows[side].ended(tap.mirror) : rates::WindowRate();
  const uint64_t given = taps_.arguments().link_of(static_cast<uint32_t>(std::countr_zero(header.queries)));
  const uint64_t link_speed = given != 0 ? given : ports_.link_speed(state_of<State>(flow).tap, seen.port);
  const rates::FlowRate rate = rates::estimate_rate(windows, seen.counted, mirror, link_speed);
  const bool by_sequence = rate.method == rates::Method::kSequence;
  const bool from_client = flow.direction_of(side) == tapline::Direction::kFromClient;
  const Value share = windows.covered.sequence_bytes > 0 ? Value::f64(windows.covered.sampling_share())
                                                         : Value::absent(FieldType::kF64);
  const std::string port = rates::port_name(tap.names.port, seen.port);
  const std::string input_port = rates::port_name("", seen.input_port);
  out.emit(header,
           {Value::string(from_client ? "from_client" : "from_server"), rates::bits_value(rate.bits_per_second.value),
            rates::bits_value(rate.bits_per_second.low), rates::bits_value(rate.bits_per_second.high),
            Value::u64(by_sequence ? windows.covered.sequence_bytes : seen.counted.wire_bytes),
            Value::i64(static_cast<int64_t>(rate.interval_ns)), Value::u64(seen.counted.packets),
            Value::u64(seen.repeated_bytes), share, Value::string(rates::name_of(rate.method)),
            rates::name_value(tap.names.switch_name), rates::name_value(port), rates::name_value(input_port),
            Value::string(rates::name_of(tap.mirror.interval_state()))});
}

constexpr uint32_t kMaxFlows = 1 << 16;

}  // namespace

std::unique_ptr<Parser> make_flow_rate(uint32_t max_flows) { return std::make_unique<FlowRate>(max_flows); }
std::unique_ptr<Parser> make_flow_rate() { return make_flow_rate(kMaxFlows); }

}  // namespace tapline
