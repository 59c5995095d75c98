#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/rates/bounded.h"
#include "parsers/rates/flow_table.h"
#include "parsers/rates/link_sum.h"
#include "parsers/rates/packet_sample.h"

namespace tapline::rates {

// One direction of a flow, from its sender to its receiver.
struct FlowEnds {
  IpAddress src_ip;
  IpAddress dst_ip;
  uint16_t src_port = 0;
  uint16_t dst_port = 0;
  uint8_t protocol = 0;
};

// The flows that use a link, and their rates in the current interval (Planck section 3.3: annotations of congestion
// events). The rate of a flow is the load of a link that carries only this flow, so it has the same bounds.
//
// At most `max_flows` directions of flows are followed, over all sums (LinkSum). If there is no room for another
// direction, one without a sample for two intervals is dropped, else one with few samples. A direction that is dropped
// in an interval in which it has a sample is counted as left out, and again if it returns and is dropped. Adding a
// packet does not allocate; not thread-safe.
class LinkFlows {
 public:
  static constexpr size_t kMaxListed = 64;

  struct Flow {
    FlowEnds ends;
    Bounded bits_per_second;  // the value is NaN if it is unknown
  };
  // The flows with the most bytes, the largest first, and the number of flows left out.
  struct List {
    std::vector<Flow> flows;
    uint64_t left_out = 0;
  };

  LinkFlows(uint32_t max_flows, uint32_t max_sums) : left_out_(max_sums), flows_(max_flows, CountLeftOut{this}) {}

  // Adds a packet of a TCP direction, as LinkSum::add() does. REQUIRES, here and below: `sum` is below max_sums.
  void add(const Packet& packet, uint32_t sum, const TcpSample& sample, const Progress& progress) {
    Followed& flow = flow_of(packet, side_of(packet), sum);
    flow.total.add(sample, progress, &flow.share);
  }
  // Adds a packet without usable sequence numbers.
  void add(const Packet& packet, uint32_t sum) { flow_of(packet, side_of(packet), sum).total.add(packet.wire_bytes); }
  // Adds bytes of the opposite direction that the packet acknowledges but no sample covered.
  void add_hole(const Packet& acknowledgement, uint32_t sum, const Progress& progress) {
    Followed& flow = flow_of(acknowledgement, other_side(side_of(acknowledgement)), sum);
    flow.total.add_hole(progress, &flow.share);
  }

  // Lists the flows of the sums for which `wanted(sum)` is true. The other arguments are those of LinkSum::load().
  template <typename Wanted>
  List list(Wanted wanted, const MirrorInterval& mirror, const Bounded& interval_ns, uint64_t link_bits_per_second) {
    List list;
    for (uint32_t sum = 0; sum < left_out_.size(); ++sum) {
      if (left_out_[sum] != 0 && wanted(sum)) list.left_out += left_out_[sum];
    }
    collect(wanted, mirror);
    const size_t listed = std::min(ranked_.size(), kMaxListed);
    std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(listed), ranked_.end(),
                      [](const Ranked& a, const Ranked& b) { return a.bytes > b.bytes; });
    list.left_out += ranked_.size() - listed;
    for (size_t i = 0; i < listed; ++i) {
      LinkSum total;
      for (uint32_t part = ranked_[i].begin; part < ranked_[i].end; ++part) total += parts_[part]->total;
      list.flows.push_back(
          {parts_[ranked_[i].begin]->ends, total.load(mirror, interval_ns, link_bits_per_second).bits_per_second});
    }
    return list;
  }

  void next_interval() {
    ++interval_;
    flows_.next_interval();
    std::fill(left_out_.begin(), left_out_.end(), 0);
  }

  // Removes the flows of a sum that is reassigned to another set of queries.
  void forget(uint32_t sum) {
    left_out_[sum] = 0;
    flows_.for_each([&](Followed& flow) {
      if (flow.sum == sum) flow.interval = kNever;
    });
  }

 private:
  static constexpr uint64_t kNever = 0;

  struct Followed {
    uint64_t direction = 0;  // identifies it at all taps
    uint64_t interval = kNever;
    uint32_t sum = 0;
    FlowEnds ends;
    LinkSum total;
    LinkShare share;
  };
  // A direction has several parts if its packets are in several sums.
  struct Ranked {
    double bytes = 0;
    uint32_t begin = 0, end = 0;  // in parts_
  };
  struct CountLeftOut {
    LinkFlows* flows;
    void operator()(const Followed& flow) const {
      if (flow.interval == flows->interval_) ++flows->left_out_[flow.sum];
    }
  };

  // REQUIRES: the packet belongs to the flow, in either direction.
  Followed& flow_of(const Packet& packet, Side side, uint32_t sum) {
    const uint64_t direction = packet.flow_hash * 2 + static_cast<uint64_t>(side);
    // The table indexes by the high bits of the key, so `sum` must affect them.
    const uint64_t key = (direction ^ sum * 0xbf58476d1ce4e5b9) * 0x9e3779b97f4a7c15;
    Followed* flow = flows_.find(key);
    if (flow == nullptr) {
      flow = &flows_.take(key);
      flow->direction = direction;
      flow->sum = sum;
      flow->ends = ends_of(packet, side);
    } else if (interval_ - flow->interval <= 2) {
      for (; flow->interval < interval_; ++flow->interval) flow->total.next();
    } else {
      flow->total = LinkSum();
      flow->share = LinkShare();
    }
    flow->interval = interval_;
    return *flow;
  }

  static FlowEnds ends_of(const Packet& packet, Side side) {
    FlowEnds ends{packet.src_ip, packet.dst_ip, packet.src_port, packet.dst_port, packet.protocol};
    if (side != side_of(packet)) {
      std::swap(ends.src_ip, ends.dst_ip);
      std::swap(ends.src_port, ends.dst_port);
    }
    return ends;
  }

  template <typename Wanted>
  void collect(Wanted wanted, const MirrorInterval& mirror) {
    parts_.clear();
    flows_.for_each([&](const Followed& flow) {
      if (flow.interval == interval_ && wanted(flow.sum)) parts_.push_back(&flow);
    });
    std::sort(parts_.begin(), parts_.end(),
              [](const Followed* a, const Followed* b) { return a->direction < b->direction; });
    const double scale = mirror.complete || !mirror.share.known() ? 1 : 1 / mirror.share.share().value;
    ranked_.clear();
    for (uint32_t part = 0; part < parts_.size(); ++part) {
      if (part == 0 || parts_[part - 1]->direction != parts_[part]->direction) ranked_.push_back({0, part, part});
      ranked_.back().bytes += parts_[part]->total.payload_bytes(scale);
      ranked_.back().end = part + 1;
    }
  }

  uint64_t interval_ = 1;
  std::vector<uint64_t> left_out_;  // by sum: flows that were dropped in this interval
  std::vector<const Followed*> parts_;
  std::vector<Ranked> ranked_;
  FlowTable<Followed, CountLeftOut> flows_;
};

}  // namespace tapline::rates
