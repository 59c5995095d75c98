#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsers/api/bits.h"
#include "parsers/api/parser.h"
#include "parsers/api/schema.h"
#include "parsers/api/time.h"
#include "parsers/api/tuple.h"
#include "parsers/rates/mirror_queue.h"

namespace tapline::rates {

// The arguments of flow_rate and link_load: the speeds of the links and of the mirror port, and the interval of the
// tuples.
//
// Each query has a separate link speed, which stays valid until another query takes its number, since pending tuples
// may outlive the query. There is only one mirror port: if queries disagree, the lowest speed and the longest queue
// apply, since bounds derived from these also cover the others. The interval is the same for all queries: a monitor
// rejects a query that chooses another one (Schema::interval_argument).
class LinkArguments {
 public:
  static constexpr const char* kInterval = "every";
  static constexpr const char* kVantage = "vantage";  // for the control plane; parsers count all given packets
  static constexpr int64_t kDefaultIntervalNs = kNsPerSecond;

  static std::vector<Argument> declared() {
    constexpr double kFastest = 1e12, kLongestNs = 1e9, kLongestIntervalNs = 1e10;
    return {
        {"link", FieldType::kU64, "bits/s",
         "Speed of each of the switch's links; 0: the speed in the switch's routes, if given there", "0", 0, kFastest},
        {"mirror", FieldType::kU64, "bits/s", "Speed of the port that sends the copies; 0: learned", "0", 0, kFastest},
        {"mirror_queue", FieldType::kI64, "ns", "Delay of a copy in that port's full queue; 0: learned", "0", 0,
         kLongestNs},
        {kInterval,
         FieldType::kI64,
         "ns",
         "Interval of the tuples, in whole microseconds",
         std::to_string(kDefaultIntervalNs),
         static_cast<double>(kShortestIntervalNs),
         kLongestIntervalNs,
         {},
         kNsPerUs},
        {.name = kVantage,
         .type = FieldType::kString,
         .description = "Packets that switches copy for the query: edge (packets that hosts send) or all",
         .default_value = "edge",
         .choices = {"edge", "all"}}};
  }

  // Returns the arguments of declared(), and the share of a link's speed above which the link's tuples name its flows.
  static std::vector<Argument> declared_for_links() {
    std::vector<Argument> arguments = declared();
    arguments.push_back({.name = "flows_above",
                         .type = FieldType::kF64,
                         .description = "Share of the link above which tuples name its flows; 0: never",
                         .default_value = "0",
                         .min = 0,
                         .max = 1});
    return arguments;
  }

  // Sets the values of a query, which are those of declared() or declared_for_links(), in the same order. kVantage is
  // not read. Values after the interval may be missing; flows_above() is then 0.
  void set(uint32_t query, std::span<const Value> values) {
    of_[query] = {values[0].as_u64(), values[1].as_u64(), values[2].as_i64()};
    if (values.size() > kFlowsAbove) of_[query].flows_above = values[kFlowsAbove].as_f64();
    given_ |= uint64_t{1} << query;
    interval_ns_ = values[3].as_i64();
  }

  // Returns the interval that the latest query chose. A monitor's queries share it.
  int64_t interval_ns() const { return interval_ns_; }

  // Returns the speed of the query's link, or 0 if unknown.
  uint64_t link_of(uint32_t query) const { return of_[query].link; }

  // Returns the share of a link's speed above which the query wants the link's flows, or 0 for never.
  double flows_above(uint32_t query) const { return of_[query].flows_above; }

  // Returns the queries that have the same link speed and the same flows_above() as the lowest-numbered one. REQUIRES:
  // queries != 0.
  uint64_t with_equal_values(uint64_t queries) const {
    const OfQuery& first = of_[static_cast<uint32_t>(std::countr_zero(queries))];
    uint64_t alike = 0;
    for (const uint32_t query : SetBits(queries)) {
      const OfQuery& next = of_[query];
      if (next.link == first.link && next.flows_above == first.flows_above) alike |= uint64_t{1} << query;
    }
    return alike;
  }

  // Return the highest and the lowest speed that the queries give, or 0 if none does.
  uint64_t fastest_link() const {
    uint64_t fastest = 0;
    for (const uint32_t query : SetBits(given_)) fastest = std::max(fastest, of_[query].link);
    return fastest;
  }
  uint64_t slowest_link() const {
    uint64_t slowest = 0;
    for (const uint32_t query : SetBits(given_)) slowest = slower(slowest, of_[query].link);
    return slowest;
  }

  MirrorPort mirror() const {
    MirrorPort port;
    for (const uint32_t query : SetBits(given_)) {
      port.bits_per_second = slower(port.bits_per_second, of_[query].mirror);
      port.max_delay_ns = std::max(port.max_delay_ns, of_[query].queue_ns);
    }
    return port;
  }

 private:
  static constexpr size_t kFlowsAbove = 5;

  struct OfQuery {
    uint64_t link = 0;
    uint64_t mirror = 0;
    int64_t queue_ns = 0;
    double flows_above = 0;
  };

  static uint64_t slower(uint64_t a, uint64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

  std::array<OfQuery, 64> of_ = {};
  uint64_t given_ = 0;
  int64_t interval_ns_ = kDefaultIntervalNs;
};

}  // namespace tapline::rates
