#include "bench/triggers/designs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/triggers/measurement.h"
#include "parsers/api/bits.h"

namespace tapline::bench {
namespace {

using trigger::Trigger;

uint64_t threshold_of(const Trigger& trigger) {
  std::string error;
  return static_cast<uint64_t>(trigger::Condition::make(trigger.when, &error)->threshold()->min);
}

std::vector<uint64_t> threshold_of(const std::vector<Trigger>& triggers) {
  std::vector<uint64_t> min;
  for (const Trigger& trigger : triggers) min.push_back(threshold_of(trigger));
  return min;
}

int64_t end_of_window(int64_t time_ns, int64_t window_ns) { return time_ns - time_ns % window_ns + window_ns; }

uint32_t v4_word(const IpAddress& address) {
  uint32_t word;
  std::memcpy(&word, address.mapped().data() + 12, sizeof word);
  return __builtin_bswap32(word);
}

uint32_t v4_mask(const std::vector<trigger::Prefix>& list) {
  const int bits = list.empty() ? 0 : list[0].bits - 96;
  return bits == 0 ? 0 : ~uint32_t{0} << (32 - bits);
}

}  // namespace

LinearScan::LinearScan(const std::vector<Trigger>& triggers)
    : triggers_(triggers),
      bytes_(triggers.size()),
      thresholds_(threshold_of(triggers)),
      window_ns_(triggers[0].every_ns) {}

void LinearScan::process(std::span<const Sample> burst) {
  for (const Sample& sample : burst) {
    if (sample.time_ns >= end_ns_) {
      finish();
      end_ns_ = end_of_window(sample.time_ns, window_ns_);
    }
    for (size_t i = 0; i < triggers_.size(); ++i) {
      if (triggers_[i].filter.matches(sample)) bytes_[i] += sample.bytes;
    }
  }
}

void LinearScan::finish() {
  for (size_t i = 0; i < triggers_.size(); ++i) events_ += bytes_[i] >= thresholds_[i];
  std::fill(bytes_.begin(), bytes_.end(), 0);
}

UpdatePerTrigger::UpdatePerTrigger(const std::vector<Trigger>& triggers)
    : program_(program_of(triggers)),
      sets_(*program_, 1 << 16),
      counters_(program_->bits()),
      thresholds_(program_->bits()),
      window_ns_(triggers[0].every_ns) {
  for (uint32_t bit = 0; bit < program_->bits(); ++bit) {
    thresholds_[bit] = !program_->has_trigger(bit)
                           ? UINT64_MAX
                           : static_cast<uint64_t>(program_->compiled(bit).condition.threshold()->min);
  }
}

void UpdatePerTrigger::process(std::span<const Sample> burst) {
  std::array<trigger::ClassKey, 64> keys;
  std::array<uint64_t, 64> hashes;
  for (size_t i = 0; i < burst.size(); ++i) {
    keys[i] = program_->classify(burst[i]);
    hashes[i] = sets_.hash(keys[i]);
    sets_.prefetch(hashes[i]);
  }
  for (size_t i = 0; i < burst.size(); ++i) {
    if (burst[i].time_ns >= end_ns_) {
      finish();
      end_ns_ = end_of_window(burst[i].time_ns, window_ns_);
    }
    for (const trigger::CellRef& ref : sets_.cells_of(sets_.find(keys[i], hashes[i]))) {
      for (const trigger::Program::Word& word : sets_.words_of(sets_.cell(ref.channel, ref.cell))) {
        for (const uint32_t bit : SetBits(word.bits)) {
          Counter& counter = counters_[word.index * 64 + bit];
          ++counter.packets;
          counter.bytes += burst[i].bytes;
        }
      }
    }
  }
}

void UpdatePerTrigger::finish() {
  for (size_t bit = 0; bit < counters_.size(); ++bit) events_ += counters_[bit].bytes >= thresholds_[bit];
  std::fill(counters_.begin(), counters_.end(), Counter{});
}

FlowTable::FlowTable(const std::vector<Trigger>& triggers)
    : buckets_(kBuckets),
      flows_(1),
      bytes_(triggers.size()),
      thresholds_(threshold_of(triggers)),
      window_ns_(triggers[0].every_ns) {
  flows_.reserve(kMaxFlows);
  for (uint32_t i = 0; i < triggers.size(); ++i) {
    const trigger::Filter& filter = triggers[i].filter;
    const Masked mask = {
        uint64_t{v4_mask(filter.src)} << 32 | v4_mask(filter.dst),
        (filter.dst_ports.empty() ? 0 : uint64_t{0xffff} << 16) | (filter.protocol ? uint64_t{0xff} << 32 : 0)};
    const Masked value = {(uint64_t{filter.src.empty() ? 0 : v4_word(filter.src[0].address)} << 32 |
                           (filter.dst.empty() ? 0 : v4_word(filter.dst[0].address))) &
                              mask.addresses,
                          (filter.dst_ports.empty() ? 0 : uint64_t{filter.dst_ports[0].first} << 16) |
                              (filter.protocol ? uint64_t{*filter.protocol} << 32 : 0)};
    auto pattern = std::find_if(patterns_.begin(), patterns_.end(),
                                [&](const Pattern& known_pattern) { return known_pattern.mask == mask; });
    if (pattern == patterns_.end()) pattern = patterns_.insert(pattern, Pattern{mask, {}});
    pattern->triggers[value].push_back(i);
  }
}

FlowTable::Masked FlowTable::key_of(const Sample& sample) {
  return {uint64_t{v4_word(sample.src_ip)} << 32 | v4_word(sample.dst_ip),
          uint64_t{sample.protocol} << 32 | uint64_t{sample.dst_port} << 16 | sample.src_port};
}

uint32_t FlowTable::match(const Masked& key) {
  scratch_.clear();
  for (const Pattern& pattern : patterns_) {
    const auto it = pattern.triggers.find({key.addresses & pattern.mask.addresses, key.ports & pattern.mask.ports});
    if (it != pattern.triggers.end()) scratch_.insert(scratch_.end(), it->second.begin(), it->second.end());
  }
  const auto [known, is_new] = known_lists_.emplace(scratch_, static_cast<uint32_t>(lists_.size()));
  if (is_new) {
    lists_.push_back(static_cast<uint32_t>(scratch_.size()));
    lists_.insert(lists_.end(), scratch_.begin(), scratch_.end());
  }
  return known->second;
}

void FlowTable::process(std::span<const Sample> burst) {
  std::array<Masked, 64> keys;
  std::array<size_t, 64> places;
  for (size_t i = 0; i < burst.size(); ++i) {
    keys[i] = key_of(burst[i]);
    places[i] = Hash()(keys[i]) & (kBuckets - 1);
    __builtin_prefetch(&buckets_[places[i]]);
  }
  for (size_t i = 0; i < burst.size(); ++i) __builtin_prefetch(&flows_[buckets_[places[i]]], 1);
  for (size_t i = 0; i < burst.size(); ++i) {
    if (burst[i].time_ns >= end_ns_) {
      close_window();
      end_ns_ = end_of_window(burst[i].time_ns, window_ns_);
    }
    size_t slot = places[i];
    while (buckets_[slot] != 0 &&
           (flows_[buckets_[slot]].addresses != keys[i].addresses || flows_[buckets_[slot]].ports != keys[i].ports)) {
      slot = (slot + 1) & (kBuckets - 1);
    }
    if (buckets_[slot] == 0) {
      if (flows_.size() == kMaxFlows) continue;
      buckets_[slot] = static_cast<uint32_t>(flows_.size());
      flows_.push_back({keys[i].addresses, keys[i].ports, {0, 0}, {0, 0}, match(keys[i]), 0});
    }
    Flow& flow = flows_[buckets_[slot]];
    if (flow.window != window_) {
      flow.window = window_;
      touched_[window_ & 1].push_back(buckets_[slot]);
    }
    flow.bytes[window_ & 1] += burst[i].bytes;
    ++flow.packets[window_ & 1];
  }
  sweep(kFlowsPerBurst);
}

void FlowTable::close_window() {
  if (!tested_) {
    ++late_sweeps_;
    sweep(UINT32_MAX);
  }
  tested_ = false;
  swept_ = 0;
  touched_[~window_ & 1].clear();
  ++window_;
}

void FlowTable::sweep(uint32_t flows) {
  if (tested_) return;
  const uint32_t parity = ~window_ & 1;
  const auto& touched = touched_[parity];
  for (; flows > 0 && swept_ < touched.size(); --flows, ++swept_) {
    if (swept_ + 8 < touched.size()) __builtin_prefetch(&flows_[touched[swept_ + 8]], 1);
    Flow& flow = flows_[touched[swept_]];
    const uint32_t* list = &lists_[flow.triggers];
    for (uint32_t i = 1; i <= list[0]; ++i) bytes_[list[i]] += flow.bytes[parity];
    flow.bytes[parity] = 0;
    flow.packets[parity] = 0;
  }
  if (flows > 0) test();
}

void FlowTable::test() {
  for (size_t i = 0; i < bytes_.size(); ++i) events_ += bytes_[i] >= thresholds_[i];
  std::fill(bytes_.begin(), bytes_.end(), 0);
  tested_ = true;
}

void FlowTable::finish() {
  close_window();
  sweep(UINT32_MAX);
}

}  // namespace tapline::bench
