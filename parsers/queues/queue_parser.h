#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "parsers/api/argument.h"
#include "parsers/api/packet_digest.h"
#include "parsers/api/parser.h"
#include "parsers/api/telemetry.h"
#include "parsers/queues/hop_queues.h"
#include "parsers/queues/packet_identity.h"
#include "parsers/queues/queue_input.h"
#include "parsers/queues/queue_taps.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {

// A parser that measures the queues between pairs of taps, and those that switches report in the packets of all other
// taps. A Meter measures one queue:
//
//   struct Settings { … every_ns, flow; static Settings of(std::span<const Value> arguments); operator== };
//   Meter(const Settings&, QueueSource);
//   void arrive(const View&);
//   void depart(const View&, const Packet&, Emitter&);
//   void hop(const View&, int64_t arrival_ns, const Packet&, Emitter&);      for a queue whose source is telemetry
//   void finish();                          settles waiting departures
//   void close_interval(const std::string& queue, uint64_t queries, Emitter&);     emits tuples for these queries
//   bool pending() const;                   a later interval has something to report even if no packet follows
//
// Queries with the same arguments share their meters, and receive the tuples of the queues whose packets they see. A
// meter is created with its queue's first packet. Fragments are measured as packets without ports, so a datagram that
// was reassembled from them is skipped.
//
//   meters by queue   0 … pairs of taps … | … HopQueues
template <typename Meter>
class QueueParser : public Parser {
 public:
  QueueParser() {
    std::random_device random;
    for (uint64_t* half : {&key_.low, &key_.high}) *half = uint64_t{random()} << 32 | random();
  }

  Needs needs() const override { return {.interval_ns = kNsPerMs, .all_views = true, .fragments = true}; }

  void set_taps(std::span<const TapNames> taps) override {
    taps_.set(taps);
    for (Group& group : groups_) group.meters.clear();
  }

  void set_arguments(uint32_t query, std::span<const Value> arguments) override {
    remove(uint64_t{1} << query);
    add(uint64_t{1} << query, Settings::of(arguments));
    configured_ = true;
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    if (!configured_) [[unlikely]]
      configure_all();
    for (const Packet& packet : burst) {
      const auto [queue, side] = taps_.of(packet);
      if (side == QueueSide::kNone) {
        if (packet.telemetry_bytes != 0) show_hops(packet, out);
        continue;
      }
      if (packet.reassembled) continue;
      View view = {digest_of(packet, key_), 0, packet.time_ns, packet.wire_bytes, is_identified(packet)};
      for (Group& group : groups_) {
        if ((packet.queries & group.queries) != 0) show(packet, side, queue, view, group, out);
      }
    }
  }

  // Returns the counts of usable hops, and of unusable ones by reason.
  const HopStatistics& hop_statistics() const { return hops_.statistics(); }

  void on_interval(int64_t end_ns, Emitter& out) override {
    for (Group& group : groups_) {
      if (end_ns >= group.interval_end_ns) close_interval(group, out);
    }
  }

  // Ends the interval early, also for continuing queries that share meters with one of these.
  void on_queries_end(uint64_t queries, Emitter& out) override {
    for (Group& group : groups_) {
      if ((group.queries & queries) == 0) continue;
      for (const auto& meter : group.meters) {
        if (meter) meter->finish();
      }
      close_interval(group, out);
    }
    remove(queries);
  }

 private:
  using Settings = typename Meter::Settings;

  // The queries with these settings, and their meters by queue.
  struct Group {
    Settings settings;
    FlowKeys keys;
    uint64_t queries;
    int64_t interval_end_ns = INT64_MAX;  // the maximum: nothing to report before the next packet
    std::vector<std::unique_ptr<Meter>> meters;
    std::vector<uint64_t> seen_by;  // by queue: the queries that have seen its packets
  };

  void configure_all() {
    configured_ = true;
    add(~uint64_t{0}, Settings::of(default_arguments(schema())));
  }

  void add(uint64_t queries, const Settings& settings) {
    for (Group& group : groups_) {
      if (group.settings != settings) continue;
      group.queries |= queries;
      return;
    }
    groups_.push_back({settings, FlowKeys(settings.flow), queries, INT64_MAX, {}, {}});
  }

  void remove(uint64_t queries) {
    for (Group& group : groups_) {
      group.queries &= ~queries;
      for (uint64_t& seen_by : group.seen_by) seen_by &= ~queries;
    }
    std::erase_if(groups_, [](const Group& group) { return group.queries == 0; });
  }

  void show(const Packet& packet, QueueSide side, uint32_t queue, View view, Group& group, Emitter& out) {
    start_interval(packet, group, out);
    Meter& meter = meter_of(packet, queue, QueueSource::kTaps, group);
    view.flow_key = group.keys.key_of(packet);
    side == QueueSide::kArrivals ? meter.arrive(view) : meter.depart(view, packet, out);
  }

  // Adds the packet's hops to the meters of their queues. Bytes exclude the telemetry, whose size differs from hop to
  // hop.
  void show_hops(const Packet& packet, Emitter& out) {
    View view = {digest_of(packet, key_), 0, 0, packet.wire_bytes - telemetry_wire_bytes(packet), true};
    const auto use = [&](const QueueHop& hop) {
      view.time_ns = hop.departure_ns;
      for (Group& group : groups_) {
        if ((packet.queries & group.queries) == 0) continue;
        view.flow_key = group.keys.key_of(packet);
        meter_of(packet, taps_.size() + hop.queue, QueueSource::kTelemetry, group)
            .hop(view, hop.arrival_ns, packet, out);
      }
    };
    const auto reuse = [this](uint32_t number) {
      const uint32_t queue = taps_.size() + number;
      for (Group& group : groups_) {
        if (queue >= group.meters.size()) continue;
        group.meters[queue].reset();
        group.seen_by[queue] = 0;
      }
    };
    for (Group& group : groups_) {
      if ((packet.queries & group.queries) != 0) start_interval(packet, group, out);
    }
    const uint64_t lost = hops_.read(packet, use, reuse);
    if (lost != 0) out.lose(LossReason::kTelemetryUnusable, lost, packet.queries);
  }

  void start_interval(const Packet& packet, Group& group, Emitter& out) {
    if (group.interval_end_ns == INT64_MAX) {
      group.interval_end_ns = end_of_interval(packet.time_ns, group.settings.every_ns);
    } else if (packet.time_ns >= group.interval_end_ns) {
      close_interval(group, out);
      group.interval_end_ns = end_of_interval(packet.time_ns, group.settings.every_ns);
    }
  }

  Meter& meter_of(const Packet& packet, uint32_t queue, QueueSource source, Group& group) {
    if (group.meters.size() <= queue) {
      group.meters.resize(taps_.size() + hops_.size());
      group.seen_by.resize(group.meters.size());
    }
    group.seen_by[queue] |= packet.queries & group.queries;
    std::unique_ptr<Meter>& meter = group.meters[queue];
    if (!meter) meter = std::make_unique<Meter>(group.settings, source);
    return *meter;
  }

  std::string name_of(uint32_t queue) const {
    return queue < taps_.size() ? taps_.name(queue) : hops_.name(queue - taps_.size());
  }

  static int64_t end_of_interval(int64_t time_ns, int64_t every_ns) { return (time_ns / every_ns + 1) * every_ns; }

  void close_interval(Group& group, Emitter& out) {
    bool pending = false;
    for (uint32_t queue = 0; queue < group.meters.size(); ++queue) {
      Meter* meter = group.meters[queue].get();
      if (meter == nullptr) continue;
      meter->close_interval(name_of(queue), group.seen_by[queue], out);
      pending |= meter->pending();
    }
    group.interval_end_ns = pending ? end_of_interval(out.now_ns(), group.settings.every_ns) : INT64_MAX;
  }

  QueueTaps taps_;
  HopQueues hops_;
  HashKey key_;
  std::vector<Group> groups_;
  bool configured_ = false;
};

}  // namespace tapline::queues
