#include "parsers/trigger/window_sketches.h"

#include "parsers/api/bits.h"

namespace tapline::trigger {
namespace {

// For each kind, a mask of the parts of a sample's key (as in GroupKey) that it counts.
constexpr uint64_t kAll = UINT64_MAX;
constexpr uint64_t kSrcPort = 0xffff, kDstPort = 0xffff'0000, kPortsAndProtocol = 0xff'ffff'ffff;
constexpr uint64_t kMasks[][kKeyWords] = {{kAll, kAll, kAll, kAll, kPortsAndProtocol, kAll},
                                          {kAll, kAll, 0, 0, 0, 0},
                                          {0, 0, 0, 0, kSrcPort, 0},
                                          {0, 0, kAll, kAll, 0, 0},
                                          {0, 0, 0, 0, kDstPort, 0}};
static_assert(std::size(kMasks) == size_t{5} && kDistinctKinds == (1 << 5) - 1);

uint64_t hash_of(const Sample& sample, uint32_t kind, const GroupHasher& hasher) {
  GroupKey key;
  std::memcpy(key.words, &sample.src_ip, sizeof key.words);
  for (int word = 0; word < kKeyWords; ++word) key.words[word] &= kMasks[kind][word];
  return hasher(key);
}

}  // namespace

void WindowSketches::add(Sketch* counter, SketchKinds kinds, const Sample& sample, const TcpFacts& tcp,
                         const GroupHasher& hasher) {
  const auto add_value = [&](Measure measure, uint32_t value) {
    if ((kinds & kind_of(measure)) == 0) return;
    counter[place(kinds_, kind_of(measure))].values.add(value, &memory_);
  };
  if (tcp.rtt_ns > 0) add_value(Measure::kRttQuantile, tcp.rtt_ns);
  if (sample.packets == 0) return;
  for (const uint32_t kind : SetBits(kinds & kDistinctKinds)) {
    counter[place(kinds_, static_cast<SketchKinds>(1u << kind))].distinct.add(hash_of(sample, kind, hasher), &memory_);
  }
  add_value(Measure::kBytesQuantile, sample.bytes);
  add_value(Measure::kPayloadBytesQuantile, sample.payload_bytes);
}

void WindowSketches::populate(size_t bytes) const {
  cells_.populate(bytes);
  groups_.populate(bytes);
  memory_.populate(bytes);
}

}  // namespace tapline::trigger
