#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "parsers/rates/bounded.h"
#include "parsers/rates/burst_windows.h"
#include "parsers/rates/sampling_share.h"

namespace tapline::rates {

// The method by which a rate was obtained.
enum class Method : uint8_t {
  kUnknown,   // an unknown number of copies was dropped: only bounds
  kSequence,  // from TCP sequence numbers
  kCount,     // from all packets, as no copy was dropped
  kShare,     // from the remaining packets, scaled by the sampled share of concurrent TCP flows
};

inline const char* name_of(Method method) {
  constexpr const char* kNames[] = {"unknown", "sequence", "count", "share"};
  return kNames[static_cast<int>(method)];
}

// The captured copies of a flow, or of a link, in an interval.
struct Counted {
  uint64_t packets = 0;
  uint64_t wire_bytes = 0;

  void add(uint32_t bytes) {
    ++packets;
    wire_bytes += bytes;
  }
  Counted& operator+=(const Counted& other) {
    packets += other.packets;
    wire_bytes += other.wire_bytes;
    return *this;
  }
};

// The state of the mirror port during an interval.
struct MirrorInterval {
  int64_t interval_ns = 0;
  bool complete = false;         // no copy was dropped
  int64_t longest_delay_ns = 0;  // maximum delay of a copy
  SamplingShare share;
};

// Returns the bytes that copies without sequence numbers represent. The value is NaN if the number of drops is unknown.
inline Bounded scaled_bytes(const Counted& counted, const MirrorInterval& mirror) {
  const auto seen = static_cast<double>(counted.wire_bytes), packets = static_cast<double>(counted.packets);
  if (mirror.complete || counted.packets == 0) return {seen, seen, seen};
  if (!mirror.share.known()) {
    return {std::numeric_limits<double>::quiet_NaN(), seen, std::numeric_limits<double>::infinity()};
  }
  Bounded share = mirror.share.share();
  // A queue bounded in bytes still has room for small packets when it has none for others, so fewer of them are
  // missing.
  constexpr double kSmallBytes = 300;
  if (seen / packets < kSmallBytes) {
    share.value = (share.value + 1) / 2;
    share.high = 1;
  }
  // The bounds are two standard deviations of a Poisson count away.
  const double less = std::max(0.0, 1 - 2 / std::sqrt(packets)), more = 1 + 2 / std::sqrt(packets) + 2 / packets;
  return {seen / share.value, std::max(seen, seen * less / share.high), seen * more / share.low};
}

struct FlowRate {
  Method method = Method::kUnknown;
  Bounded bits_per_second;  // the value is NaN if the method is kUnknown
  double interval_ns = 0;   // time over which the rate is averaged
};

// Returns the rate of one direction of a flow in an interval, from its copies (`counted`) and, if it is TCP with data,
// from `windows`. `link_bits_per_second` bounds the estimate, and is 0 if unknown.
inline FlowRate estimate_rate(const WindowRate& windows, const Counted& counted, const MirrorInterval& mirror,
                              uint64_t link_bits_per_second) {
  FlowRate rate;
  if (!mirror.complete && windows.known() && windows.covered.sequence_bytes > 0) {
    rate.method = Method::kSequence;
    rate.bits_per_second = windows.bits_per_second(link_bits_per_second);
    rate.interval_ns = windows.interval_ns.value;
    return rate;
  }
  const Bounded bytes = scaled_bytes(counted, mirror);
  const double link =
      link_bits_per_second == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(link_bits_per_second);
  const auto interval = static_cast<double>(mirror.interval_ns), delay = static_cast<double>(mirror.longest_delay_ns);
  const auto per_second = [](double amount, double ns) { return amount * 8e9 / ns; };
  rate.interval_ns = interval;
  if (mirror.interval_ns <= 0) {
    rate.bits_per_second = {std::numeric_limits<double>::quiet_NaN(), 0, link};
    return rate;
  }
  rate.method = mirror.complete ? Method::kCount : mirror.share.known() ? Method::kShare : Method::kUnknown;
  rate.bits_per_second.value = std::min(link, per_second(bytes.value, interval));
  if (std::isnan(bytes.value)) rate.bits_per_second.value = bytes.value;
  rate.bits_per_second.low = std::min(link, per_second(bytes.low, interval + delay));
  rate.bits_per_second.high = delay < interval ? std::min(link, per_second(bytes.high, interval - delay)) : link;
  return rate;
}

}  // namespace tapline::rates
