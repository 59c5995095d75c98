// The distinct values, or a percentile's values, that tuple triggers keep for one pane of a group.
#pragma once

#include "parsers/trigger/distinct_sketch.h"
#include "parsers/trigger/value_sketch.h"

namespace tapline {

// REQUIRES: the memory outlives this object.
class KeptValues {
 public:
  explicit KeptValues(trigger::SketchMemory* memory) : memory_(memory) {}
  ~KeptValues() {
    distinct_.give_back(memory_);
    numbers_.give_back(memory_);
  }
  KeptValues(const KeptValues&) = delete;
  KeptValues& operator=(const KeptValues&) = delete;

  void add_hash(uint64_t hash) { distinct_.add(hash, memory_); }
  void add_number(double number) { numbers_.add(number, memory_); }
  void merge(const KeptValues& added) {
    distinct_.merge(added.distinct_, memory_);
    numbers_.merge(added.numbers_, memory_);
  }
  trigger::Interval count() const { return distinct_.count(); }
  trigger::Interval quantile(double share) const { return numbers_.quantile(share); }

 private:
  trigger::SketchMemory* memory_;
  trigger::DistinctSketch distinct_ = {};
  trigger::ValueSketch numbers_ = {};
};

}  // namespace tapline
