#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "parsers/api/tap.h"
#include "parsers/api/tuple.h"
#include "parsers/rates/link_arguments.h"
#include "parsers/rates/mirror_queue.h"
#include "parsers/rates/sequence_tracker.h"

namespace tapline::rates {

// The monitor's taps, each with the queue of its mirror port and the parser's data for it (`Own`), and the speeds of
// ports and links that queries specify. Allocates only in set_names(), and for taps that it did not announce.
template <typename Own>
class MirrorTaps {
 public:
  struct Tap {
    TapNames names;
    MirrorQueue mirror;
    Own own;
  };

  // Sets the taps' names, and discards all state of the taps.
  void set_names(std::span<const TapNames> names) {
    taps_.clear();
    grow(names.size());
    for (size_t i = 0; i < names.size(); ++i) taps_[i].names = names[i];
  }

  // Sets the arguments of a query: the values of LinkArguments::declared(). If the mirror port's configuration changes,
  // its state is learned again.
  void set_arguments(uint32_t query, std::span<const Value> values) {
    arguments_.set(query, values);
    set_limits();
    const MirrorPort port = arguments_.mirror();
    if (port == port_) return;
    port_ = port;
    for (Tap& tap : taps_) tap.mirror = MirrorQueue(port);
  }

  // Sets the speed of the fastest link in the switches' routes, which applies if no query gives a speed. 0: unknown.
  void set_fastest_link(uint64_t bits_per_second) {
    fastest_link_ = bits_per_second;
    set_limits();
  }

  const LinkArguments& arguments() const { return arguments_; }
  const SequenceTracker::Limits& limits() const { return limits_; }

  Tap& of(uint8_t tap) {
    if (tap >= taps_.size()) [[unlikely]]
      grow(tap + size_t{1});
    return taps_[tap];
  }

  size_t size() const { return taps_.size(); }
  auto begin() { return taps_.begin(); }
  auto end() { return taps_.end(); }

 private:
  void set_limits() {
    limits_ = SequenceTracker::Limits();
    const uint64_t fastest = arguments_.fastest_link() != 0 ? arguments_.fastest_link() : fastest_link_;
    if (fastest != 0) limits_.max_bits_per_second = fastest;
  }

  void grow(size_t size) {
    const size_t known = taps_.size();
    taps_.resize(size);
    for (size_t i = known; i < size; ++i) taps_[i].mirror = MirrorQueue(port_);
  }

  LinkArguments arguments_;
  SequenceTracker::Limits limits_;
  MirrorPort port_;
  uint64_t fastest_link_ = 0;
  std::vector<Tap> taps_;
};

}  // namespace tapline::rates
