#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "parsers/engine/zeroed_array.h"
#include "parsers/packets/sample.h"
#include "parsers/packets/tcp_facts.h"
#include "parsers/trigger/distinct_sketch.h"
#include "parsers/trigger/group_table.h"
#include "parsers/trigger/measure.h"
#include "parsers/trigger/value_sketch.h"

namespace tapline::trigger {

// A sketch of any kind.
union Sketch {
  DistinctSketch distinct;
  ValueSketch values;
};

// The sketches of one window: each counter has one of each kind that the channel's triggers use. Only kinds that the
// triggers of the counter's cell use take memory. Not thread-safe.
class WindowSketches {
 public:
  // Allocates room for the counters of this many cells and groups, and for `bytes` of values.
  WindowSketches(SketchKinds kinds, uint32_t cells, uint32_t groups, size_t bytes)
      : kinds_(kinds),
        record_(static_cast<size_t>(std::popcount(kinds))),
        cells_(cells * record_ * sizeof(Sketch)),
        groups_(groups * record_ * sizeof(Sketch)),
        memory_(bytes) {}

  // Returns the sketches of a cell's counter, in the order of their kinds' bits.
  Sketch* of_cell(uint32_t cell) const { return reinterpret_cast<Sketch*>(cells_.data()) + cell * record_; }
  Sketch* of_group(uint32_t number) const { return reinterpret_cast<Sketch*>(groups_.data()) + number * record_; }
  // Clears the counter's sketches. Call it when the counter is new in the window.
  void begin(Sketch* counter) const { std::memset(counter, 0, record_ * sizeof(Sketch)); }
  // Returns the index of a kind among the sketches of a counter.
  static size_t place(SketchKinds all, SketchKinds kind) {
    return static_cast<size_t>(std::popcount(static_cast<SketchKinds>(all & (kind - 1))));
  }

  // Adds the packet to the counter's sketches of these kinds. REQUIRES: windows that are swept together use one hasher.
  void add(Sketch* counter, SketchKinds kinds, const Sample& sample, const TcpFacts& tcp, const GroupHasher& hasher);

  // Returns the number of values that had no memory.
  uint64_t missed() const { return memory_.missed(); }
  void clear() { memory_.clear(); }
  void populate(size_t bytes) const;

 private:
  SketchKinds kinds_;
  size_t record_;  // number of sketches per counter
  ZeroedArray cells_, groups_;
  SketchMemory memory_;
};

}  // namespace tapline::trigger
