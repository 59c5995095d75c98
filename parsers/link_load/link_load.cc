#include "parsers/link_load/link_load.h"

#include <bit>
#include <vector>

#include "parsers/rates/flow_table.h"
#include "parsers/rates/link_sum.h"
#include "parsers/rates/mirror_taps.h"
#include "parsers/rates/packet_sample.h"
#include "parsers/rates/query_begins.h"
#include "parsers/rates/values.h"

namespace tapline {
namespace {

using rates::LinkShare;
using rates::LinkSum;
using rates::MirrorInterval;
using rates::SequenceTracker;

// Sums up the traffic that each tap shows, from the copies that an oversubscribed mirror port did not drop: one tuple
// per tap and interval (Planck section 3.2.2). A tap without samples reports whether it was idle or unseen.
//
// There is a sum for each tap and each set of queries that want its packets. This parser has a separate table of flows:
// a flow that several taps show is followed at each of them, for which a connection has no room.
class LinkLoad final : public Parser {
 public:
  explicit LinkLoad(uint32_t max_flows) : flows_(max_flows, Forget{&sums_}) { sums_.reserve(kMaxSums); }

  const Schema& schema() const override;
  Needs needs() const override { return {.interval_ns = interval_ns(), .all_views = true}; }

  void set_taps(std::span<const TapNames> taps) override { taps_.set_names(taps); }
  void set_arguments(uint32_t query, std::span<const Value> arguments) override {
    taps_.set_arguments(query, arguments);
    begins_.forget(query);
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    rates::prefetch_flows(burst, flows_);
    for (const Packet& packet : burst) add(packet, out);
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    report(end_ns, ~0ull, out);
    for (Sum& each : sums_) each.sum.next();
    for (Tap& tap : taps_) {
      tap.own.earlier_delay = tap.mirror.delay(rates::Progress());
      tap.mirror.next_interval();
      if (tap.own.begin_ns != kNever) tap.own.begin_ns = end_ns;
    }
    flows_.next_interval();
  }

  void on_queries_end(uint64_t queries, Emitter& out) override {
    report(out.now_ns(), queries, out);
    for (Sum& each : sums_) {
      each.queries &= ~queries;
      // Flows still contribute to the sum; two intervals later these contributions expire.
      if (each.queries == 0) each.sum.next(), each.sum.next();
    }
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  static constexpr uint32_t kMaxSums = 1024;
  static constexpr uint32_t kMaxStep = 1 << 30;  // between two acknowledgements: RFC 7323 section 2.3

  struct OfTap {
    int64_t begin_ns = kNever;  // start of the interval, or of its observed part
    rates::QueueDelay earlier_delay;
    uint32_t latest_sum = 0;  // in sums_, from 1; 0: none
  };
  using Tap = rates::MirrorTaps<OfTap>::Tap;
  struct Sum {
    uint8_t tap = 0;
    uint64_t queries = 0;  // 0: not in use
    LinkSum sum;
  };
  // By side: the flow's two directions share an entry, since each acknowledges the other one's data.
  struct Followed {
    SequenceTracker trackers[2];
    LinkShare shares[2];
    uint32_t acknowledged[2] = {};  // latest acknowledgement of a side that has sent nothing, ...
    bool acknowledges[2] = {};      // ... if the other side has acknowledged something
    uint32_t sum = 0;               // in sums_, from 1
  };
  struct Forget {
    std::vector<Sum>* sums;
    void operator()(const Followed& followed) const {
      for (const LinkShare& share : followed.shares) (*sums)[followed.sum - 1].sum.remove(share);
    }
  };

  int64_t interval_ns() const { return taps_.arguments().interval_ns(); }

  void add(const Packet& packet, Emitter& out) {
    begins_.observe(packet.queries, packet.time_ns);
    Tap& tap = taps_.of(packet.tap);
    tap.mirror.observe(packet.time_ns, packet.wire_bytes);
    if (tap.own.begin_ns == kNever) [[unlikely]]
      tap.own.begin_ns = packet.time_ns;
    const uint32_t sum = sum_of(packet, &tap.own, out);
    if (sum == 0) [[unlikely]]
      return;
    Followed* followed = packet.is_tcp() ? follow(packet, sum) : nullptr;
    if (followed == nullptr) {
      sums_[sum - 1].sum.add(packet.wire_bytes);
      return;
    }
    const Side side = rates::side_of(packet);
    const rates::TcpSample sample = rates::sample_of(packet);
    const rates::Progress progress = followed->trackers[side].add(sample, taps_.limits());
    tap.mirror.observe(progress);
    sums_[sum - 1].sum.add(sample, progress, &followed->shares[side]);
    if (rates::acknowledges(packet)) acknowledge(packet, other_side(side), followed, &tap.mirror);
  }

  void acknowledge(const Packet& packet, Side side, Followed* followed, rates::MirrorQueue* mirror) {
    LinkSum& sum = sums_[followed->sum - 1].sum;
    if (!followed->trackers[side].started()) [[unlikely]] {
      const uint32_t moved = packet.tcp_ack - followed->acknowledged[side];
      if (followed->acknowledges[side] && moved < kMaxStep) sum.add_possible(moved);
      followed->acknowledged[side] = packet.tcp_ack;
      followed->acknowledges[side] = true;
      return;
    }
    const rates::Progress progress =
        followed->trackers[side].acknowledge(packet.tcp_ack, packet.time_ns, taps_.limits());
    if (progress.step != rates::Step::kHole) return;
    mirror->observe(progress);
    sum.add_hole(progress, &followed->shares[side]);
  }

  // A flow is followed from its first payload on, so floods of SYNs take no slot.
  Followed* follow(const Packet& packet, uint32_t sum) {
    const uint64_t key = rates::table_key(packet.flow_hash, packet.tap);
    Followed* followed = flows_.find(key);
    if (followed != nullptr && followed->sum != sum) [[unlikely]] {
      Forget{&sums_}(*followed);
      flows_.release(key);
      followed = nullptr;
    }
    if (followed != nullptr || packet.payload_bytes == 0) return followed;
    followed = &flows_.take(key);
    followed->sum = sum;
    return followed;
  }

  // Index in sums_, from 1; 0 if there is no room for another one.
  uint32_t sum_of(const Packet& packet, OfTap* tap, Emitter& out) {
    const uint32_t latest = tap->latest_sum;
    if (latest != 0 && sums_[latest - 1].queries == packet.queries && sums_[latest - 1].tap == packet.tap) [[likely]]
      return latest;
    return tap->latest_sum = find_sum(packet, out);
  }

  uint32_t find_sum(const Packet& packet, Emitter& out) {
    uint32_t unused = 0;
    for (uint32_t i = 0; i < sums_.size(); ++i) {
      if (sums_[i].tap == packet.tap && sums_[i].queries == packet.queries) return i + 1;
      if (sums_[i].queries == 0) unused = i + 1;
    }
    if (unused == 0) {
      if (sums_.size() == kMaxSums) {
        out.lose(LossReason::kParserMemoryFull, 1, packet.queries);
        return 0;
      }
      sums_.emplace_back();
      unused = static_cast<uint32_t>(sums_.size());
    }
    sums_[unused - 1].tap = packet.tap;
    sums_[unused - 1].queries = packet.queries;
    return unused;
  }

  // Returns the state of the tap's mirror port in the interval; the caller adds the interval's length.
  MirrorInterval interval_of(uint8_t at) {
    const Tap& tap = taps_.of(at);
    MirrorInterval mirror;
    mirror.complete = tap.mirror.complete();
    mirror.longest_delay_ns = tap.mirror.longest_busy_ns();
    for (const Sum& each : sums_) {
      if (each.tap == at) mirror.share.add(each.sum.covered());
    }
    return mirror;
  }

  // Emits the load of every tap that has shown a packet, to those of the queries that want any.
  void report(int64_t now_ns, uint64_t queries, Emitter& out) {
    uint64_t all = 0;
    for (const Sum& each : sums_) all |= each.queries;
    for (size_t tap = 0; tap < taps_.size(); ++tap) {
      if (taps_.of(static_cast<uint8_t>(tap)).own.begin_ns != kNever)
        report(static_cast<uint8_t>(tap), now_ns, all & queries, out);
    }
  }

  // Queries that want the same packets, observed the same time and give the same link speed get the same tuple.
  void report(uint8_t at, int64_t now_ns, uint64_t queries, Emitter& out) {
    const Tap& tap = taps_.of(at);
    const int64_t begin_ns = std::max((now_ns - 1) / interval_ns() * interval_ns(), tap.own.begin_ns);
    MirrorInterval mirror = interval_of(at);
    while (queries != 0) {
      const uint64_t first = queries & (~queries + 1);
      uint64_t alike = taps_.arguments().with_one_link(queries) & begins_.with_one_begin(queries, begin_ns);
      LinkSum total;
      for (const Sum& each : sums_) {
        if (each.tap != at) continue;
        const bool counts = (each.queries & first) != 0;
        alike &= counts ? each.queries : ~each.queries;
        if (counts) total += each.sum;
      }
      mirror.interval_ns = now_ns - begins_.begin_of(queries, begin_ns);
      if (mirror.interval_ns > 0) emit(tap, alike, total, mirror, out);
      queries &= ~alike;
    }
  }

  void emit(const Tap& tap, uint64_t queries, const LinkSum& total, const MirrorInterval& mirror, Emitter& out);

  rates::MirrorTaps<OfTap> taps_;
  rates::QueryBegins begins_;
  std::vector<Sum> sums_;
  rates::FlowTable<Followed, Forget> flows_;
};

const Schema& LinkLoad::schema() const {
  static const Schema schema = {
      .name = "link_load",
      .description =
          "Load that each tap shows of a switch or a port, with bounds even if copies of packets are missing",
      .layer = Layer::kTransport,
      .fields =
          {optional({"switch", FieldType::kString, "", "The switch that made the copies, as the tap is named"}),
           optional({"port", FieldType::kString, "", "The port; absent if the tap shows all of the switch's ports"}),
           optional({"side", FieldType::kString, "", "arrivals or departures: the side of the port's queue"}),
           {"seen", FieldType::kString, "", "measured; idle: no packet; unseen: no copy, but copies are missing"},
           optional({"bits_per_second", FieldType::kU64, "bits/s",
                     "On the wire, mean over the interval; absent if unseen, or if an unknown amount is missing"}),
           {"low_bits_per_second", FieldType::kU64, "bits/s", "Lower bound"},
           optional({"high_bits_per_second", FieldType::kU64, "bits/s", "Upper bound; absent if nothing bounds it"}),
           optional({"share", FieldType::kF64, "share", "Share of the link's speed; absent if the speed is not given"}),
           optional({"low_share", FieldType::kF64, "share", "Lower bound"}),
           optional({"high_share", FieldType::kF64, "share", "Upper bound"}),
           {"samples", FieldType::kU64, "packets", "Copies that were captured", true},
           optional({"sampling_share", FieldType::kF64, "share", "Part of the TCP payload that was captured"}),
           {"interval_ns", FieldType::kI64, "ns", "Observed part of the interval"},
           {"mirror_state", FieldType::kString, "", "complete, filling, steady or draining"}},
      .main_fields = {"switch", "port"},
      .value_field = "bits_per_second",
      .interval_ns = rates::LinkArguments::kDefaultIntervalNs,
      .interval_argument = rates::LinkArguments::kInterval,
      .all_traffic = true,
      .arguments = rates::LinkArguments::declared(),
      .example = {"s1", "2", "arrivals", "measured", "1082625", "1064029", "1101302", "-", "-", "-", "142", "1.000000",
                  "713843000", "complete"},
  };
  return schema;
}

void LinkLoad::emit(const Tap& tap, uint64_t queries, const LinkSum& total, const MirrorInterval& mirror,
                    Emitter& out) {
  TupleHeader header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  const rates::Bounded interval =
      tap.mirror.true_interval(mirror.interval_ns, tap.own.earlier_delay, tap.mirror.delay(rates::Progress()));
  const uint64_t link = taps_.arguments().link_of(static_cast<uint32_t>(std::countr_zero(queries)));
  const rates::LinkLoad load = total.load(mirror, interval, link);
  const rates::Bounded& rate = load.bits_per_second;
  const Value sampling_share = total.covered().sequence_bytes > 0 ? Value::f64(total.covered().sampling_share())
                                                                  : Value::absent(FieldType::kF64);
  out.emit(header, {rates::name_value(tap.names.switch_name), rates::name_value(tap.names.port),
                    rates::name_value(tap.names.side), Value::string(rates::name_of(load.seen)),
                    rates::bits_value(rate.value), rates::bits_value(rate.low), rates::bits_value(rate.high),
                    rates::share_value(rate.value, link), rates::share_value(rate.low, link),
                    rates::share_value(rate.high, link), Value::u64(total.packets()), sampling_share,
                    Value::i64(mirror.interval_ns), Value::string(rates::name_of(tap.mirror.interval_state()))});
}

constexpr uint32_t kMaxFlows = 1 << 16;

}  // namespace

std::unique_ptr<Parser> make_link_load(uint32_t max_flows) { return std::make_unique<LinkLoad>(max_flows); }
std::unique_ptr<Parser> make_link_load() { return make_link_load(kMaxFlows); }

}  // namespace tapline
