#include "parsers/link_load/link_load.h"

#include <algorithm>
#include <vector>

#include "parsers/rates/flow_slots.h"
#include "parsers/rates/link_sum.h"
#include "parsers/rates/packet_sample.h"
#include "parsers/rates/values.h"

namespace tapline {
namespace {

using rates::LinkShare;
using rates::LinkSum;
using rates::MirrorInterval;
using rates::SequenceTracker;
using rates::SlotRef;

// Sums up what leaves a switch by each port, from the copies that an oversubscribed mirror port did not drop: one tuple
// per port and interval (Planck section 3.2.2). A port without samples says whether it was idle or is unseen.
//
// There is a sum for each port and each set of queries that want its packets. A direction of a connection remembers its
// sum; if it is TCP with payload it also has a slot, which holds its sequence numbers.
class LinkLoad final : public Parser {
 public:
  explicit LinkLoad(const LinkLoadOptions& options)
      : options_(options), mirror_(options.mirror), slots_(options.max_flows, Forget{&sums_}) {
    if (options.link_bits_per_second != 0) tracking_.max_bits_per_second = options.link_bits_per_second;
    sums_.reserve(kMaxSums);
  }

  const Schema& schema() const override;
  Needs needs() const override {
    return {.connections = true, .datagrams = true, .intervals = true, .connection_state_bytes = sizeof(State)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      mirror_.observe(packet.time_ns, packet.wire_bytes);
      if (begin_ns_ == kNever) begin_ns_ = packet.time_ns;
      if (packet.connection != nullptr) {
        add(packet, out);
      } else if (Sum* sum = at(sum_of(output_port(packet), packet.queries, out))) {
        sum->sum.add(packet.wire_bytes);
      }
    }
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    report(end_ns, ~0ull, out);
    for (Sum& each : sums_) each.sum.next();
    earlier_delay_ = mirror_.delay(rates::Progress());
    mirror_.next_interval();
    begin_ns_ = end_ns;
  }

  void on_queries_end(uint64_t queries, Emitter& out) override {
    report(out.now_ns(), queries, out);
    for (Sum& each : sums_) {
      each.queries &= ~queries;
      // Flows still have parts in the sum. Two intervals later these count no more.
      if (each.queries == 0) each.sum.next(), each.sum.next();
    }
  }

  void on_release(Connection& flow) override {
    for (Direction& side : state_of<State>(flow).sides) leave(&side);
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  static constexpr uint32_t kMaxSums = 1024;

  struct Sum {
    uint32_t port = 0;     // 0: unknown
    uint64_t queries = 0;  // 0: not in use
    LinkSum sum;
  };
  struct Followed {
    SequenceTracker tracker;
    LinkShare share;
    uint32_t sum = 0;  // in sums_, from 1
  };
  struct Forget {
    std::vector<Sum>* sums;
    void operator()(const Followed& followed) const { (*sums)[followed.sum - 1].sum.remove(followed.share); }
  };
  struct Direction {
    SlotRef slot;
    uint64_t queries;  // those that wanted its latest packet
    uint32_t sum;      // in sums_, from 1; 0: there is no room for another sum
  };
  struct State {
    Direction sides[2];
  };

  Sum* at(uint32_t sum) { return sum == 0 ? nullptr : &sums_[sum - 1]; }

  void add(const Packet& packet, Emitter& out) {
    const Connection& flow = *packet.connection;
    Direction& side = state_of<State>(flow).sides[flow.side_of(packet)];
    if (side.queries != packet.queries) [[unlikely]] {
      leave(&side);
      side.queries = packet.queries;
      side.sum = sum_of(output_port(packet), packet.queries, out);
    }
    Sum* sum = at(side.sum);
    if (sum == nullptr) return;
    Followed* followed = packet.is_tcp() ? follow(packet, &side) : nullptr;
    if (followed == nullptr) {
      sum->sum.add(packet.wire_bytes);
      return;
    }
    const rates::TcpSample sample = rates::sample_of(packet);
    const rates::Progress progress = followed->tracker.add(sample, tracking_);
    mirror_.observe(progress);
    sum->sum.add(sample, progress, &followed->share);
  }

  // A direction is followed from its first payload on: floods of SYNs, and acknowledgements, take no slot.
  Followed* follow(const Packet& packet, Direction* side) {
    Followed* followed = slots_.find(&side->slot);
    if (followed != nullptr || packet.payload_bytes == 0) return followed;
    followed = &slots_.take(&side->slot);
    followed->sum = side->sum;
    return followed;
  }

  void leave(Direction* side) {
    if (const Followed* followed = slots_.peek(side->slot)) sums_[followed->sum - 1].sum.remove(followed->share);
    slots_.release(&side->slot);
  }

  uint32_t output_port(const Packet& packet) const {
    rates::EthernetAddresses addresses;
    if (options_.routes == nullptr || !rates::read_ethernet(packet, &addresses)) return 0;
    return options_.routes->output(options_.switch_number, addresses.destination).number;
  }

  // From 1; 0 if there is no room for another one.
  uint32_t sum_of(uint32_t port, uint64_t queries, Emitter& out) {
    uint32_t unused = 0;
    for (uint32_t i = 0; i < sums_.size(); ++i) {
      if (sums_[i].port == port && sums_[i].queries == queries) return i + 1;
      if (sums_[i].queries == 0) unused = i + 1;
    }
    if (unused == 0) {
      if (sums_.size() == kMaxSums) {
        out.lose(LossReason::kParserMemoryFull, 1, queries);
        return 0;
      }
      sums_.emplace_back();
      unused = static_cast<uint32_t>(sums_.size());
    }
    sums_[unused - 1].port = port;
    sums_[unused - 1].queries = queries;
    return unused;
  }

  MirrorInterval mirror_until(int64_t now_ns) const {
    MirrorInterval mirror;
    const int64_t begin_ns = (now_ns - 1) / options_.interval_ns * options_.interval_ns;
    mirror.interval_ns = std::max<int64_t>(0, now_ns - std::max(begin_ns, begin_ns_));
    mirror.complete = mirror_.complete();
    mirror.longest_delay_ns = mirror_.longest_busy_ns();
    for (const Sum& each : sums_) mirror.share.add(each.sum.covered());
    return mirror;
  }

  // Emits the load of every port for those of the queries that have any.
  void report(int64_t now_ns, uint64_t queries, Emitter& out) {
    if (begin_ns_ == kNever) return;
    const MirrorInterval mirror = mirror_until(now_ns);
    if (mirror.interval_ns <= 0) return;
    uint64_t all = 0;
    std::vector<uint32_t>& ports = ports_;
    ports.clear();
    if (options_.routes != nullptr) ports = options_.routes->ports(options_.switch_number);
    for (const Sum& each : sums_) {
      all |= each.queries;
      const bool listed = std::find(ports.begin(), ports.end(), each.port) != ports.end();
      if (each.queries != 0 && !listed) ports.push_back(each.port);
    }
    for (const uint32_t port : ports) report(port, all & queries, mirror, out);
  }

  // Queries that want the same packets get the same tuple.
  void report(uint32_t port, uint64_t queries, const MirrorInterval& mirror, Emitter& out) {
    while (queries != 0) {
      const uint64_t first = queries & (~queries + 1);
      uint64_t alike = queries;
      LinkSum total;
      for (const Sum& each : sums_) {
        if (each.port != port) continue;
        const bool counts = (each.queries & first) != 0;
        alike &= counts ? each.queries : ~each.queries;
        if (counts) total += each.sum;
      }
      emit(port, alike, total, mirror, out);
      queries &= ~alike;
    }
  }

  void emit(uint32_t port, uint64_t queries, const LinkSum& total, const MirrorInterval& mirror, Emitter& out);

  LinkLoadOptions options_;
  SequenceTracker::Limits tracking_;
  rates::MirrorQueue mirror_;
  std::vector<Sum> sums_;
  rates::FlowSlots<Followed, Forget> slots_;
  std::vector<uint32_t> ports_;
  int64_t begin_ns_ = kNever;  // of the interval, or of what was observed of it
  rates::QueueDelay earlier_delay_;
};

const Schema& LinkLoad::schema() const {
  static const Schema schema = {
      .name = "link_load",
      .description = "What leaves a switch by each port, with bounds, although copies of packets are missing",
      .layer = Layer::kTransport,
      .fields =
          {optional({"switch", FieldType::kString, "", "The switch that made the copies"}),
           optional({"port", FieldType::kU64, "", "The port by which packets left it; absent if it is not known"}),
           {"seen", FieldType::kString, "", "measured; idle: no packet; unseen: no copy, but copies are missing"},
           optional({"bits_per_second", FieldType::kU64, "bits/s",
                     "On the wire, mean over the interval; absent if unseen, or if nothing tells how much is missing"}),
           {"low_bits_per_second", FieldType::kU64, "bits/s", "Lower bound"},
           optional({"high_bits_per_second", FieldType::kU64, "bits/s", "Upper bound; absent if nothing bounds it"}),
           optional({"share", FieldType::kF64, "share", "Of the link's speed"}),
           optional({"low_share", FieldType::kF64, "share", "Lower bound"}),
           optional({"high_share", FieldType::kF64, "share", "Upper bound"}),
           {"samples", FieldType::kU64, "packets", "Copies that were captured", true},
           optional({"sampling_share", FieldType::kF64, "share", "Part of the TCP payload that was captured"}),
           {"interval_ns", FieldType::kI64, "ns", "How much of the interval was observed"},
           {"mirror_state", FieldType::kString, "", "complete, filling, steady or draining"}},
      .main_fields = {"switch", "port"},
      .value_field = "bits_per_second",
      .interval_ns = kIntervalNs,
      .example = {"-", "-", "measured", "1082625", "1064029", "1101302", "-", "-", "-", "142", "1.000000", "713843000",
                  "complete"},
  };
  return schema;
}

void LinkLoad::emit(uint32_t port, uint64_t queries, const LinkSum& total, const MirrorInterval& mirror, Emitter& out) {
  TupleHeader header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  const rates::Bounded interval =
      mirror_.true_interval(mirror.interval_ns, earlier_delay_, mirror_.delay(rates::Progress()));
  const uint64_t link = options_.link_bits_per_second;
  const rates::LinkLoad load = total.load(mirror, interval, link);
  const rates::Bounded& rate = load.bits_per_second;
  const Value name =
      options_.switch_name.empty() ? Value::absent(FieldType::kString) : Value::string(options_.switch_name);
  const Value number = port == 0 ? Value::absent(FieldType::kU64) : Value::u64(port);
  const Value sampling_share = total.covered().sequence_bytes > 0 ? Value::f64(total.covered().sampling_share())
                                                                  : Value::absent(FieldType::kF64);
  out.emit(header,
           {name, number, Value::string(rates::name_of(load.seen)), rates::bits_value(rate.value),
            rates::bits_value(rate.low), rates::bits_value(rate.high), rates::share_value(rate.value, link),
            rates::share_value(rate.low, link), rates::share_value(rate.high, link), Value::u64(total.packets()),
            sampling_share, Value::i64(mirror.interval_ns), Value::string(rates::name_of(mirror_.interval_state()))});
}

}  // namespace

std::unique_ptr<Parser> make_link_load(const LinkLoadOptions& options) { return std::make_unique<LinkLoad>(options); }
std::unique_ptr<Parser> make_link_load() { return make_link_load(LinkLoadOptions()); }

}  // namespace tapline
