#include "parsers/flow_rate/flow_rate.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "parsers/rates/flow_rate_estimate.h"
#include "parsers/rates/flow_slots.h"
#include "parsers/rates/packet_sample.h"
#include "parsers/rates/values.h"

namespace tapline {
namespace {

using rates::BurstWindows;
using rates::Counted;
using rates::MirrorInterval;
using rates::SequenceTracker;
using rates::SlotRef;

// Estimates the rate of each direction of each flow from the copies that an oversubscribed mirror port did not drop
// (Planck section 3.2.2): one tuple for each interval in which the direction has packets.
//
// A connection's entry holds counts and the numbers of two slots. A direction takes a slot with its first payload, so
// floods of SYNs and the directions of acknowledgements take none. Flows with something to report are chained through a
// vector, so an interval's end costs only as much as was active in it.
class FlowRate final : public Parser {
 public:
  explicit FlowRate(const FlowRateOptions& options)
      : options_(options),
        limits_(rates::BurstLimits::for_link(options.link_bits_per_second)),
        mirror_(options.mirror),
        slots_(options.max_flows, Forget{&begin_ns_, &evicted_}) {
    if (options.link_bits_per_second != 0) tracking_.max_bits_per_second = options.link_bits_per_second;
  }

  const Schema& schema() const override;
  Needs needs() const override {
    return {.connections = true, .datagrams = true, .intervals = true, .connection_state_bytes = sizeof(State)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      mirror_.observe(packet.time_ns, packet.wire_bytes);
      if (begin_ns_ == kNever) begin_ns_ = packet.time_ns;
      if (packet.connection != nullptr) count(packet, out);
    }
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    const MirrorInterval mirror = mirror_until(end_ns);
    for (Connection* flow : active_) {
      State& state = state_of<State>(*flow);
      report(*flow, state.queries, mirror, out);
      for (Direction& side : state.sides) begin_interval(&side);
      state.position = 0;
    }
    active_.clear();
    report_evictions(~0ull, out);
    begin_ns_ = end_ns;
    mirror_.next_interval();
    share_ = {};
  }

  void on_end(Connection& flow, uint64_t queries, Emitter& out) override {
    State& state = state_of<State>(flow);
    if (state.position != 0 && (state.queries & queries) != 0) {
      report(flow, state.queries & queries, recent_mirror(out.now_ns()), out);
    }
    state.queries &= ~queries;
    report_evictions(queries, out);
  }

  void on_release(Connection& flow) override {
    State& state = state_of<State>(flow);
    for (Side side : {Side{0}, Side{1}}) slots_.release(&state.sides[side].slot);
    const uint32_t position = state.position;
    if (position == 0) return;
    active_[position - 1] = active_.back();
    state_of<State>(*active_[position - 1]).position = position;
    active_.pop_back();
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  static constexpr int64_t kShareAges = 16;  // in an interval

  struct Followed {
    SequenceTracker tracker;
    BurstWindows windows;
  };
  // Of a flow that has had no sample in the interval nothing is lost.
  struct Forget {
    const int64_t* begin_ns;
    uint64_t* evicted;
    void operator()(const Followed& followed) const { *evicted += followed.tracker.last_ns() >= *begin_ns; }
  };
  struct Direction {
    Counted counted;          // in this interval
    uint64_t repeated_bytes;  // likewise
    SlotRef slot;
  };
  struct State {
    Direction sides[2];
    uint64_t queries;   // those that wanted the packets counted here
    uint32_t position;  // in active_, from 1; 0 = nothing counted
  };

  void count(const Packet& packet, Emitter& out) {
    Connection& flow = *packet.connection;
    State& state = state_of<State>(flow);
    if (state.position == 0) {
      active_.push_back(&flow);
      state.position = static_cast<uint32_t>(active_.size());
      state.queries = packet.queries;
    } else if (state.queries != packet.queries) [[unlikely]] {
      // Queries were added or removed within the interval: each is given just the packets that it wanted.
      out.header_of(packet);  // moves the clock
      report(flow, state.queries, recent_mirror(out.now_ns()), out);
      for (Direction& side : state.sides) {
        begin_interval(&side);
        slots_.release(&side.slot);
      }
      state.queries = packet.queries;
    }
    Direction& side = state.sides[flow.side_of(packet)];
    side.counted.add(packet.wire_bytes);
    if (packet.is_tcp()) follow(packet, &side);
  }

  void follow(const Packet& packet, Direction* side) {
    Followed* followed = slots_.find(&side->slot);
    if (followed == nullptr) {
      if (packet.payload_bytes == 0) return;
      followed = &slots_.take(&side->slot);
    }
    const rates::TcpSample sample = rates::sample_of(packet);
    const rates::Progress progress = followed->tracker.add(sample, tracking_);
    mirror_.observe(progress);
    followed->windows.add(sample, progress, limits_, mirror_);
    side->repeated_bytes += progress.repeated_bytes;
  }

  void begin_interval(Direction* side) {
    side->counted = Counted();
    side->repeated_bytes = 0;
    if (Followed* followed = slots_.peek(side->slot)) followed->windows.next();
  }

  void report_evictions(uint64_t queries, Emitter& out) {
    if (evicted_ > 0) out.lose(LossReason::kParserMemoryFull, evicted_, queries);
    evicted_ = 0;
  }

  // The interval that ends, or is cut, at this time.
  MirrorInterval mirror_until(int64_t now_ns) {
    share_ = {};
    share_ns_ = now_ns;
    for (Connection* flow : active_) {
      for (const Direction& side : state_of<State>(*flow).sides) {
        if (const Followed* followed = slots_.peek(side.slot)) share_.add(followed->windows.covered());
      }
    }
    return recent_mirror(now_ns);
  }

  // The same at a fixed cost, unless the sampling share is of too long ago.
  MirrorInterval recent_mirror(int64_t now_ns) {
    if (now_ns - share_ns_ > options_.interval_ns / kShareAges) return mirror_until(now_ns);
    MirrorInterval mirror;
    const int64_t begin_ns = (now_ns - 1) / options_.interval_ns * options_.interval_ns;
    mirror.interval_ns = std::max<int64_t>(0, now_ns - std::max(begin_ns, begin_ns_));
    mirror.complete = mirror_.complete();
    mirror.longest_delay_ns = mirror_.longest_busy_ns();
    mirror.share = share_;
    return mirror;
  }

  void report(const Connection& flow, uint64_t queries, const MirrorInterval& mirror, Emitter& out) {
    if (queries == 0) return;
    TupleHeader header = out.header_of(flow);
    header.queries = queries;
    State& state = state_of<State>(flow);
    for (const Side side : {flow.client_side, other_side(flow.client_side)}) {
      if (state.sides[side].counted.packets > 0)
        report(header, flow.direction_of(side), &state.sides[side], mirror, out);
    }
  }

  void report(const TupleHeader& header, tapline::Direction direction, Direction* side, const MirrorInterval& mirror,
              Emitter& out);

  FlowRateOptions options_;
  rates::BurstLimits limits_;
  SequenceTracker::Limits tracking_;
  rates::MirrorQueue mirror_;
  uint64_t evicted_ = 0;  // in this interval
  rates::FlowSlots<Followed, Forget> slots_;
  std::vector<Connection*> active_;
  int64_t begin_ns_ = kNever;  // of the interval, or of what was observed of it
  rates::SamplingShare share_;
  int64_t share_ns_ = 0;
};

const Schema& FlowRate::schema() const {
  static const Schema schema = {
      .name = "flow_rate",
      .description = "Rate of each direction of each flow, with bounds, although copies of packets are missing",
      .layer = Layer::kTransport,
      .fields =
          {{"direction", FieldType::kString, "", "from_client or from_server"},
           optional({"bits_per_second", FieldType::kU64, "bits/s",
                     "On the wire, mean over interval_ns; absent if copies are missing and nothing tells how many"}),
           {"low_bits_per_second", FieldType::kU64, "bits/s", "Lower bound"},
           optional({"high_bits_per_second", FieldType::kU64, "bits/s", "Upper bound; absent if nothing bounds it"}),
           {"bytes", FieldType::kU64, "bytes",
            "sequence: payload that the sequence numbers cover; else what was captured, on the wire", true},
           {"interval_ns", FieldType::kI64, "ns", "The time that the rate is the mean of"},
           {"samples", FieldType::kU64, "packets", "Copies that were captured", true},
           {"retransmitted_bytes", FieldType::kU64, "bytes", "Payload that was captured and had been sent before",
            true},
           optional({"sampling_share", FieldType::kF64, "share", "Part of the flow's payload that was captured"}),
           {"method", FieldType::kString, "",
            "sequence (TCP sequence numbers), count (no copy is missing), share (scaled by the share of the TCP "
            "flows beside it) or unknown"},
           {"mirror_state", FieldType::kString, "", "complete, filling, steady or draining"}},
      .main_fields = {"dst_ip", "dst_port"},
      .value_field = "bits_per_second",
      .interval_ns = kIntervalNs,
      .example = {"from_client", "15764", "15578", "15955", "982", "498355000", "9", "0", "1.000000", "count",
                  "complete"},
  };
  return schema;
}

void FlowRate::report(const TupleHeader& header, tapline::Direction direction, Direction* side,
                      const MirrorInterval& mirror, Emitter& out) {
  Followed* followed = slots_.peek(side->slot);
  const rates::WindowRate windows = followed != nullptr ? followed->windows.ended(mirror_) : rates::WindowRate();
  const rates::FlowRate rate = rates::estimate_rate(windows, side->counted, mirror, options_.link_bits_per_second);
  const bool by_sequence = rate.method == rates::Method::kSequence;
  const Value share = windows.covered.sequence_bytes > 0 ? Value::f64(windows.covered.sampling_share())
                                                         : Value::absent(FieldType::kF64);
  out.emit(header, {Value::string(direction == tapline::Direction::kFromClient ? "from_client" : "from_server"),
                    rates::bits_value(rate.bits_per_second.value), rates::bits_value(rate.bits_per_second.low),
                    rates::bits_value(rate.bits_per_second.high),
                    Value::u64(by_sequence ? windows.covered.sequence_bytes : side->counted.wire_bytes),
                    Value::i64(static_cast<int64_t>(rate.interval_ns)), Value::u64(side->counted.packets),
                    Value::u64(side->repeated_bytes), share, Value::string(rates::name_of(rate.method)),
                    Value::string(rates::name_of(mirror_.interval_state()))});
}

}  // namespace

std::unique_ptr<Parser> make_flow_rate(const FlowRateOptions& options) { return std::make_unique<FlowRate>(options); }
std::unique_ptr<Parser> make_flow_rate() { return make_flow_rate(FlowRateOptions()); }

}  // namespace tapline
