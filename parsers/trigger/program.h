#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parsers/trigger/prefix_classes.h"
#include "parsers/trigger/trigger.h"
#include "parsers/trigger/value_classes.h"

namespace tapline::trigger {

// The class of each field of a packet, 16 bits each. They determine the packet's match set.
struct ClassKey {
  uint64_t low = 0;   // source, destination, source port, destination port
  uint64_t high = 0;  // protocol and flags, VLAN, network ID; the upper 16 bits are zero

  uint16_t source() const { return static_cast<uint16_t>(low); }
  uint16_t destination() const { return static_cast<uint16_t>(low >> 16); }
  uint16_t src_port() const { return static_cast<uint16_t>(low >> 32); }
  uint16_t dst_port() const { return static_cast<uint16_t>(low >> 48); }
  uint16_t protocol() const { return static_cast<uint16_t>(high); }
  uint16_t vlan() const { return static_cast<uint16_t>(high >> 16); }
  uint16_t network_id() const { return static_cast<uint16_t>(high >> 32); }
};

// Triggers that are counted in the same way: in the same windows, by the same groups. Their bits fill whole words, so a
// channel's share of a match set is a range of words.
struct Channel {
  GroupBy by;
  GroupKeys keys;
  bool grouped = false;
  int64_t every_ns = 0;   // packets are counted in panes of this length
  int64_t window_ns = 0;  // length of one or more panes
  int lines = 1;
  int64_t burst_bin_ns = 0;
  SketchKinds sketches = 0;  // all kinds that its triggers use; triggers without sketches have separate channels
  // If true, each trigger counts separately, because the bursts of two match sets do not add up to the burst of their
  // union.
  bool singly = false;
  uint32_t first_word = 0;
  uint32_t words = 0;
  // Once a group's counts reach one of these limits, some trigger may fire before its window's end. For each measure,
  // the limit is the minimum over all triggers.
  struct Limit {
    uint32_t word;
    uint64_t min;
  };
  std::vector<Limit> early;

  uint32_t panes() const { return static_cast<uint32_t>(window_ns / every_ns); }
  uint32_t first_bit() const { return first_word * 64; }
  uint32_t bits() const { return words * 64; }
};

// Triggers, prepared for matching. Immutable, so lanes can share it.
class Program {
 public:
  static constexpr size_t kMaxTriggers = 16'384;
  static constexpr size_t kMaxChannels = 16;
  // Maximum number of values of one field, over all triggers. A field's rows take a bit for each trigger and value, or
  // two for a range of ports: about 128 MiB at most.
  static constexpr size_t kMaxValues = 32'768;
  static constexpr int64_t kMinWindowNs = 1'000'000;
  // Triggers may fire before the end of a window that is longer than this.
  static constexpr int64_t kLongWindowNs = 2'000'000;
  static constexpr int64_t kMaxWindowNs = 86'400'000'000'000;
  static constexpr int64_t kMaxPanes = 100;  // per window

  static constexpr uint32_t kMaxGroups = 1 << 17;

  // Returns null, and sets *error, if a trigger is invalid, only some triggers are partial, or the triggers exceed a
  // bound. A window's counters are for at most `max_groups` groups of each channel, and for the others together.
  static std::shared_ptr<const Program> make(std::vector<Trigger> triggers, std::string* error,
                                             uint32_t max_groups = kMaxGroups);

  struct Compiled {
    uint64_t id = 0;
    Condition condition;
    std::optional<Condition> clear;  // replaces `condition` while an alert is in force
    uint32_t after = 1;
    int64_t cooldown_ns = 0;
    bool partial = false;  // as in Trigger

    // Counts below this threshold can't cause an event, and counting more packets can't make a condition false. If
    // absent, all counts are tested at the window's end.
    std::optional<Condition::Threshold> threshold;

    // All sketch values that the trigger's conditions compare, each once.
    std::vector<SketchTerm> sketch_terms;

    // The groups that the filter names, if the trigger may be true for groups without packets.
    std::vector<GroupKey> named_groups;

    // Returns true if the trigger fires in long windows as soon as a count reaches the threshold. Conditions on bursts,
    // whose bounds cover several packets, and on sketches, which are added up only after their window has ended, are
    // tested at the window's end.
    bool fires_early() const { return threshold && threshold->is_compared && threshold->measure != Measure::kBurst; }
    // Returns true if the trigger's alerts depend on earlier windows.
    bool has_state() const { return clear.has_value() || after > 1 || cooldown_ns > 0; }
    bool uses(Measure measure) const { return condition.uses(measure) || (clear && clear->uses(measure)); }
    int lines() const { return std::max(condition.lines(), clear ? clear->lines() : 0); }
    SketchKinds sketches() const;
    bool holds_when_empty() const {
      return !partial && (condition.holds_when_empty() || (clear && clear->holds_when_empty()));
    }
  };

  const std::vector<Channel>& channels() const { return channels_; }
  // Returns a trigger by its bit. REQUIRES: has_trigger(bit). The padding bits of a channel's last word have no
  // trigger, and are in no row.
  const Compiled& compiled(uint32_t bit) const { return *compiled_[bit]; }
  bool has_trigger(uint32_t bit) const { return compiled_[bit].has_value(); }
  size_t bits() const { return compiled_.size(); }
  size_t trigger_count() const { return trigger_count_; }
  uint32_t max_groups() const { return max_groups_; }
  // Returns true if its triggers are partial.
  bool partial() const { return partial_; }
  // Returns the shortest time between the ends of two windows, or INT64_MAX if there are no triggers.
  int64_t shortest_every_ns() const;
  // Returns true if triggers use measures of TCP connections, so that samples must come with their TcpFacts.
  bool needs_tcp() const { return needs_tcp_; }
  // Returns the window of kInFlightBytes and kUnackedBytes, or 0 if no trigger uses them.
  int64_t in_flight_window_ns() const { return in_flight_window_ns_; }

  ClassKey classify(const Sample& sample) const {
    const bool v4 = sample.ip_version == 4;
    ClassKey key;
    if (!source_.trivial()) key.low |= source_.class_of(sample.src_ip, v4);
    if (!destination_.trivial()) key.low |= uint64_t{destination_.class_of(sample.dst_ip, v4)} << 16;
    if (!src_port_.trivial()) key.low |= uint64_t{src_port_.class_of(sample.src_port)} << 32;
    if (!dst_port_.trivial()) key.low |= uint64_t{dst_port_.class_of(sample.dst_port)} << 48;
    if (!protocol_.trivial()) {
      key.high |= protocol_.class_of(static_cast<uint16_t>(sample.protocol << 8 | sample.tcp_flags));
    }
    if (!vlan_.trivial()) key.high |= uint64_t{vlan_.class_of(sample.vlan)} << 16;
    if (!network_id_.trivial()) key.high |= uint64_t{network_id_.class_of(sample.network_id)} << 32;
    return key;
  }

  // A nonzero word of a match set.
  struct Word {
    uint64_t bits;
    uint32_t index;
  };
  // Writes the nonzero words of the match set for packets with these classes, in ascending order, and returns their
  // number. REQUIRES: room for words_per_set() words.
  size_t match(const ClassKey& key, Word* words) const;
  size_t words_per_set() const { return source_.rows().words_per_row(); }

 private:
  Program() = default;
  std::string add(std::vector<Trigger>* triggers);
  std::string place(const Trigger& trigger, const Compiled& compiled, size_t* channel);
  std::string make_classes(const std::vector<const Filter*>& filters);

  std::vector<Channel> channels_;
  std::vector<std::optional<Compiled>> compiled_;
  size_t trigger_count_ = 0;
  uint32_t max_groups_ = kMaxGroups;
  bool partial_ = false;
  bool needs_tcp_ = false;
  int64_t in_flight_window_ns_ = 0;
  PrefixClasses source_, destination_;
  TableClasses src_port_, dst_port_, protocol_;
  ListedClasses vlan_, network_id_;
};

}  // namespace tapline::trigger
