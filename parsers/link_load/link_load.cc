#include "parsers/link_load/link_load.h"

#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "parsers/rates/flow_table.h"
#include "parsers/rates/link_flows.h"
#include "parsers/rates/link_flows_text.h"
#include "parsers/rates/link_sum.h"
#include "parsers/rates/mirror_taps.h"
#include "parsers/rates/packet_sample.h"
#include "parsers/rates/port_inference.h"
#include "parsers/rates/query_begins.h"
#include "parsers/rates/values.h"

namespace tapline {
namespace {

using rates::LinkFlows;
using rates::LinkShare;
using rates::LinkSum;
using rates::MirrorInterval;
using rates::SequenceTracker;

// Sums up the traffic that each tap shows, from the copies that an oversubscribed mirror port did not drop: one tuple
// per tap and interval (Planck section 3.2.2). A tap without samples reports whether it was idle or unseen.
//
// A place is a tap or, if the tap's switch marks the copies with their ports or its routes are known, a port of that
// switch: the ports share the tap's mirror port, and each has a separate load. There is a sum for each place and each
// set of queries that want its packets. This parser has a separate table of flows: a flow that several taps show is
// followed at each of them, and a connection has no room for that.
//
// If a query requests the flows on highly loaded links (`flows_above`), each of its packets is also added to a table of
// flows (LinkFlows).
class LinkLoad final : public Parser {
 public:
  explicit LinkLoad(uint32_t max_flows) : flows_(max_flows, Forget{&sums_}) { sums_.reserve(kMaxSums); }

  const Schema& schema() const override;
  Needs needs() const override { return {.interval_ns = interval_ns(), .all_views = true}; }

  void set_taps(std::span<const TapNames> taps) override {
    taps_.set_names(taps);
    ports_.set_taps(taps);
  }
  void set_routes(RouteFeed* routes) override { ports_.set_feed(routes); }
  void set_arguments(uint32_t query, std::span<const Value> arguments) override {
    taps_.set_arguments(query, arguments);
    begins_.forget(query);
    const uint64_t bit = uint64_t{1} << query;
    flow_queries_ = taps_.arguments().flows_above(query) > 0 ? flow_queries_ | bit : flow_queries_ & ~bit;
    if (flow_queries_ != 0 && link_flows_ == nullptr)
      link_flows_ = std::make_unique<LinkFlows>(kMaxLinkFlows, kMaxSums);
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    rates::prefetch_flows(burst, flows_);
    const auto routes_of_burst = ports_.begin();
    if (ports_.id() != speeds_id_) [[unlikely]] {
      speeds_id_ = ports_.id();
      taps_.set_fastest_link(ports_.fastest_link());
    }
    for (const Packet& packet : burst) add(packet, out);
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    report(end_ns, ~0ull, out);
    for (Sum& sum : sums_) sum.sum.next();
    for (Tap& tap : taps_) {
      tap.own.earlier_delay = tap.mirror.delay(rates::Progress());
      tap.mirror.next_interval();
      if (tap.own.begin_ns != kNever) tap.own.begin_ns = end_ns;
    }
    flows_.next_interval();
    if (link_flows_ != nullptr) link_flows_->next_interval();
  }

  void on_queries_end(uint64_t queries, Emitter& out) override {
    report(out.now_ns(), queries, out);
    for (size_t i = 0; i < sums_.size(); ++i) {
      Sum& ended = sums_[i];
      if (ended.queries == 0 || (ended.queries &= ~queries) != 0) continue;
      // Flows still have steps in the sum. Advancing it by two intervals makes these expire, so that it can be reused.
      ended.sum.next(), ended.sum.next();
      if (link_flows_ != nullptr) link_flows_->forget(static_cast<uint32_t>(i));
    }
    flow_queries_ &= ~queries;
    if (flow_queries_ == 0) link_flows_.reset();
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  static constexpr uint32_t kMaxSums = 1024;
  static constexpr uint32_t kMaxLinkFlows = 4096;
  static constexpr uint32_t kMaxStep = 1 << 30;  // maximum advance between two acknowledgements (RFC 7323 section 2.3)

  struct OfTap {
    int64_t begin_ns = kNever;  // start of the interval, or of its observed part
    rates::QueueDelay earlier_delay;
    std::array<uint32_t, 16> latest_sums = {};  // by the last bits of the port: index in sums_, from 1; 0: none
  };
  using Tap = rates::MirrorTaps<OfTap>::Tap;
  struct Place {
    uint8_t tap = 0;
    uint16_t port = 0;       // 0: unknown
    uint32_t first_sum = 0;  // index in sums_, from 1
  };
  struct Sum {
    uint32_t place = 0;    // index in places_
    uint32_t next = 0;     // the place's next sum, from 1
    uint64_t queries = 0;  // 0: not in use
    LinkSum sum;
  };
  // A flow's two directions share an entry (indexed by side), since each one acknowledges the other's data.
  struct FollowedFlow {
    SequenceTracker trackers[2];
    LinkShare shares[2];
    uint32_t acknowledged[2] = {};  // latest ACK for a side from which no packet was seen, ...
    bool acknowledges[2] = {};      // ... if the other side has acknowledged something
    uint32_t sums[2] = {};          // index in sums_, from 1; 0: no packet of the side
  };
  struct Forget {
    std::vector<Sum>* sums;
    void operator()(const FollowedFlow& followed) const {
      for (int side = 0; side < 2; ++side) {
        if (followed.sums[side] != 0) (*sums)[followed.sums[side] - 1].sum.remove(followed.shares[side]);
      }
    }
  };

  int64_t interval_ns() const { return taps_.arguments().interval_ns(); }

  void add(const Packet& packet, Emitter& out) {
    begins_.observe(packet.queries, packet.time_ns);
    Tap& tap = taps_.of(packet.tap);
    tap.mirror.observe(packet.time_ns, packet.wire_bytes);
    if (tap.own.begin_ns == kNever) [[unlikely]]
      tap.own.begin_ns = packet.time_ns;
    const rates::CopyPort port = ports_.port_of(packet, out);
    const uint32_t sum = sum_of(packet, port.number, &tap.own, out);
    if (sum == 0) [[unlikely]]
      return;
    FollowedFlow* followed = packet.is_tcp() ? follow(packet, sum) : nullptr;
    const bool with_flows = (packet.queries & flow_queries_) != 0;
    if (followed == nullptr) {
      sums_[sum - 1].sum.add(packet.wire_bytes);
      if (with_flows) [[unlikely]]
        link_flows_->add(packet, sum - 1);
      return;
    }
    const Side side = rates::side_of(packet);
    const rates::TcpSample sample = rates::sample_of(packet);
    const rates::Progress progress = followed->trackers[side].add(sample, taps_.limits());
    tap.mirror.observe(progress);
    sums_[sum - 1].sum.add(sample, progress, &followed->shares[side]);
    if (with_flows) [[unlikely]]
      link_flows_->add(packet, sum - 1, sample, progress);
    if (!rates::acknowledges(packet)) return;
    const Side opposite = other_side(side);
    if (followed->trackers[opposite].started()) {
      acknowledge(packet, opposite, followed, &tap.mirror);
    } else if (!port.separates_ports) {
      // Not done if ports have separate loads: the opposite direction then leaves through another port, or does not
      // cross the switch.
      acknowledge_unseen(packet, opposite, followed);
    }
  }

  void acknowledge_unseen(const Packet& packet, Side side, FollowedFlow* followed) {
    LinkSum& sum = sums_[followed->sums[other_side(side)] - 1].sum;
    const uint32_t moved = packet.tcp_ack - followed->acknowledged[side];
    if (followed->acknowledges[side] && moved < kMaxStep) sum.add_possible(moved);
    followed->acknowledged[side] = packet.tcp_ack;
    followed->acknowledges[side] = true;
  }

  // REQUIRES: a packet of this side was seen.
  void acknowledge(const Packet& packet, Side side, FollowedFlow* followed, rates::MirrorQueue* mirror) {
    const rates::Progress progress =
        followed->trackers[side].acknowledge(packet.tcp_ack, packet.time_ns, taps_.limits());
    if (progress.step != rates::Step::kHole) return;
    mirror->observe(progress);
    const uint32_t sum = followed->sums[side] - 1;
    sums_[sum].sum.add_hole(progress, &followed->shares[side]);
    if ((sums_[sum].queries & flow_queries_) != 0) link_flows_->add_hole(packet, sum, progress);
  }

  // Returns the packet's flow, or null if it is not followed. A flow is followed once it has payload, so SYN floods
  // take no slot.
  FollowedFlow* follow(const Packet& packet, uint32_t sum) {
    const uint64_t key = rates::table_key(packet.flow_hash, packet.tap);
    const Side side = rates::side_of(packet);
    FollowedFlow* followed = flows_.find(key);
    if (followed != nullptr && followed->sums[side] != sum && followed->sums[side] != 0) [[unlikely]] {
      Forget{&sums_}(*followed);
      flows_.release(key);
      followed = nullptr;
    }
    if (followed == nullptr) {
      if (packet.payload_bytes == 0) return nullptr;
      followed = &flows_.take(key);
    }
    followed->sums[side] = sum;
    return followed;
  }

  // Returns an index in sums_, from 1, or 0 if there is no room for another sum.
  uint32_t sum_of(const Packet& packet, uint16_t port, OfTap* tap, Emitter& out) {
    uint32_t& latest = tap->latest_sums[port % tap->latest_sums.size()];
    if (latest != 0 && sums_[latest - 1].queries == packet.queries) [[likely]] {
      const Place& place = places_[sums_[latest - 1].place];
      if (place.port == port && place.tap == packet.tap) [[likely]]
        return latest;
    }
    return latest = find_sum(packet, port, out);
  }

  uint32_t find_sum(const Packet& packet, uint16_t port, Emitter& out) {
    const uint32_t place = place_of(packet.tap, port);
    uint32_t unused = 0;
    for (uint32_t i = place < places_.size() ? places_[place].first_sum : 0; i != 0; i = sums_[i - 1].next) {
      if (sums_[i - 1].queries == packet.queries) return i;
      if (sums_[i - 1].queries == 0) unused = i;
    }
    if (unused == 0) {
      if (sums_.size() == kMaxSums) {
        out.lose(LossReason::kParserMemoryFull, 1, packet.queries);
        return 0;
      }
      if (place == places_.size()) places_.push_back({.tap = packet.tap, .port = port});
      sums_.emplace_back();
      sums_.back().place = place;
      sums_.back().next = places_[place].first_sum;
      unused = places_[place].first_sum = static_cast<uint32_t>(sums_.size());
    }
    sums_[unused - 1].queries = packet.queries;
    return unused;
  }

  // Returns an index in places_, or the size of places_ if the place is new.
  uint32_t place_of(uint8_t tap, uint16_t port) const {
    const auto same = [&](const Place& place) { return place.tap == tap && place.port == port; };
    return static_cast<uint32_t>(std::find_if(places_.begin(), places_.end(), same) - places_.begin());
  }

  // Returns the state of each tap's mirror port in the interval; the caller sets the interval's length.
  const std::vector<MirrorInterval>& intervals() {
    intervals_.assign(taps_.size(), MirrorInterval());
    for (size_t i = 0; i < taps_.size(); ++i) {
      const Tap& tap = taps_.of(static_cast<uint8_t>(i));
      intervals_[i].complete = tap.mirror.complete();
      intervals_[i].longest_delay_ns = tap.mirror.longest_busy_ns();
    }
    for (const Sum& sum : sums_) intervals_[places_[sum.place].tap].share.add(sum.sum.covered());
    return intervals_;
  }

  // Emits the load of every place that has shown a packet: that of a tap to all queries, that of a port only to those
  // that have seen one of its packets, since switches may copy none of its packets for the others.
  void report(int64_t now_ns, uint64_t queries, Emitter& out) {
    uint64_t all = 0;
    for (const Sum& sum : sums_) all |= sum.queries;
    const std::vector<MirrorInterval>& mirrors = intervals();
    for (const Place& place : places_) {
      uint64_t own = 0;
      for (uint32_t i = place.first_sum; i != 0; i = sums_[i - 1].next) own |= sums_[i - 1].queries;
      report(place, mirrors[place.tap], now_ns, queries & (place.port == 0 ? all : own), out);
    }
  }

  // Queries that want the same packets, observed the same part of the interval and specify the same link speed share a
  // tuple.
  void report(const Place& place, MirrorInterval mirror, int64_t now_ns, uint64_t queries, Emitter& out) {
    const Tap& tap = taps_.of(place.tap);
    const int64_t begin_ns = std::max((now_ns - 1) / interval_ns() * interval_ns(), tap.own.begin_ns);
    while (queries != 0) {
      const uint64_t first = queries & (~queries + 1);
      uint64_t alike = taps_.arguments().with_equal_values(queries) & begins_.with_one_begin(queries, begin_ns);
      LinkSum total;
      for (uint32_t i = place.first_sum; i != 0; i = sums_[i - 1].next) {
        const Sum& sum = sums_[i - 1];
        const bool counts = (sum.queries & first) != 0;
        alike &= counts ? sum.queries : ~sum.queries;
        if (counts) total += sum.sum;
      }
      mirror.interval_ns = now_ns - begins_.begin_of(queries, begin_ns);
      if (mirror.interval_ns > 0) emit(place, alike, total, mirror, out);
      queries &= ~alike;
    }
  }

  void emit(const Place& place, uint64_t queries, const LinkSum& total, const MirrorInterval& mirror, Emitter& out);

  // Returns the flows of a place that these queries see. REQUIRES: each of the place's sums is for all of the queries
  // or for none.
  LinkFlows::List flows_of(const Place& place, uint64_t queries, const MirrorInterval& mirror,
                           const rates::Bounded& interval_ns, uint64_t link) {
    const auto index = static_cast<uint32_t>(&place - places_.data());
    const auto wanted = [&](uint32_t sum) { return sums_[sum].place == index && (sums_[sum].queries & queries) != 0; };
    return link_flows_->list(wanted, mirror, interval_ns, link);
  }

  rates::MirrorTaps<OfTap> taps_;
  rates::PortInference ports_;
  uint64_t speeds_id_ = 0;  // id of the routes whose speeds are in use
  rates::QueryBegins begins_;
  std::vector<Sum> sums_;
  std::vector<Place> places_;  // each has a sum
  std::vector<MirrorInterval> intervals_;
  rates::FlowTable<FollowedFlow, Forget> flows_;
  uint64_t flow_queries_ = 0;              // queries with `flows_above`
  std::unique_ptr<LinkFlows> link_flows_;  // null if there are no such queries
};

const Schema& LinkLoad::schema() const {
  static const Schema schema = {
      .name = "link_load",
      .description = "Load of a switch or a port that a tap shows, with bounds even if copies of packets are missing",
      .layer = Layer::kTransport,
      .fields =
          {optional({"switch", FieldType::kString, "", "Switch that made the copies, as named by the tap"}),
           optional({"port", FieldType::kString, "",
                     "The port; absent if it is unknown or the tap shows all of the switch's ports"}),
           optional({"side", FieldType::kString, "", "arrivals or departures: the side of the port's queue"}),
           {"seen", FieldType::kString, "",
            "measured; idle: no packets; unseen: no copies arrived, and some are missing"},
           optional({"bits_per_second", FieldType::kU64, "bits/s",
                     "Mean rate on the wire over the interval; absent if unseen, or if an unknown amount is missing"}),
           {"low_bits_per_second", FieldType::kU64, "bits/s", "Lower bound"},
           optional({"high_bits_per_second", FieldType::kU64, "bits/s", "Upper bound; absent if nothing bounds it"}),
           optional({"share", FieldType::kF64, "share", "Share of the link's speed; absent if the speed is unknown"}),
           optional({"low_share", FieldType::kF64, "share", "Lower bound"}),
           optional({"high_share", FieldType::kF64, "share", "Upper bound"}),
           {"samples", FieldType::kU64, "packets", "Number of captured copies", true},
           optional({"sampling_share", FieldType::kF64, "share", "Share of the TCP payload that was captured"}),
           {"interval_ns", FieldType::kI64, "ns", "Observed part of the interval"},
           {"mirror_state", FieldType::kString, "", "complete, filling, steady or draining"},
           optional({"flows", FieldType::kString, "",
                     "If the share is above flows_above: the largest flows, at most 64, as a JSON array of [flow, "
                     "bits/s, lower bound, upper bound]"}),
           optional({"flows_left_out", FieldType::kU64, "flows", "Number of further flows that use the link"})},
      .main_fields = {"switch", "port"},
      .value_field = "bits_per_second",
      .interval_ns = rates::LinkArguments::kDefaultIntervalNs,
      .interval_argument = rates::LinkArguments::kInterval,
      .all_traffic = true,
      .arguments = rates::LinkArguments::declared_for_links(),
      .example = {"s1", "2", "arrivals", "measured", "1082625", "1064029", "1101302", "-", "-", "-", "142", "1.000000",
                  "713843000", "complete", "-", "-"},
  };
  return schema;
}

void LinkLoad::emit(const Place& place, uint64_t queries, const LinkSum& total, const MirrorInterval& mirror,
                    Emitter& out) {
  const Tap& tap = taps_.of(place.tap);
  TupleHeader header;
  header.time_ns = out.now_ns();
  header.queries = queries;
  const rates::Bounded interval =
      tap.mirror.true_interval(mirror.interval_ns, tap.own.earlier_delay, tap.mirror.delay(rates::Progress()));
  const auto first = static_cast<uint32_t>(std::countr_zero(queries));
  const uint64_t given = taps_.arguments().link_of(first);
  const uint64_t link = given != 0 ? given : ports_.link_speed(place.tap, place.port);
  const rates::LinkLoad load = total.load(mirror, interval, link);
  const rates::Bounded& rate = load.bits_per_second;
  const Value sampling_share = total.covered().sequence_bytes > 0 ? Value::f64(total.covered().sampling_share())
                                                                  : Value::absent(FieldType::kF64);
  const std::string port = rates::port_name(tap.names.port, place.port);
  Value flows = Value::absent(FieldType::kString), left_out = Value::absent(FieldType::kU64);
  std::string flows_text;
  const double flows_above = taps_.arguments().flows_above(first);
  const double known = std::isnan(rate.value) ? rate.low : rate.value;
  if (flows_above > 0 && link > 0 && known > flows_above * static_cast<double>(link)) {
    const LinkFlows::List list = flows_of(place, queries, mirror, interval, link);
    flows_text = rates::text_of(list);
    flows = Value::string(flows_text);
    left_out = Value::u64(list.left_out);
  }
  out.emit(
      header,
      {rates::name_value(tap.names.switch_name), rates::name_value(port), rates::name_value(tap.names.side),
       Value::string(rates::name_of(load.seen)), rates::bits_value(rate.value), rates::bits_value(rate.low),
       rates::bits_value(rate.high), rates::share_value(rate.value, link), rates::share_value(rate.low, link),
       rates::share_value(rate.high, link), Value::u64(total.packets()), sampling_share, Value::i64(mirror.interval_ns),
       Value::string(rates::name_of(tap.mirror.interval_state())), flows, left_out});
}

constexpr uint32_t kMaxFlows = 1 << 16;

}  // namespace

std::unique_ptr<Parser> make_link_load(uint32_t max_flows) { return std::make_unique<LinkLoad>(max_flows); }
std::unique_ptr<Parser> make_link_load() { return make_link_load(kMaxFlows); }

}  // namespace tapline
