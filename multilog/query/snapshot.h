// What a reader sees: of each writer the rows up to a tail, pinned so that nothing of it is freed meanwhile.
// Rows, indexes, filters and aggregates read with the same snapshot show the same rows.
#pragma once

#include <cstdint>
#include <vector>

#include "multilog/log/writer_log.h"

namespace tapline::multilog {

class Snapshot {
 public:
  struct View {
    const WriterLog* log = nullptr;
    // Positions [first, tail).
    uint64_t first = 0, tail = 0;
  };

  const std::vector<View>& views() const { return views_; }
  uint64_t rows() const {
    uint64_t rows = 0;
    for (const View& view : views_) rows += view.tail - view.first;
    return rows;
  }
  // Whether the tails were those of a freeze.
  bool frozen() const { return frozen_; }

 private:
  friend class MultiLog;
  Epochs::Pin pin_;
  std::vector<View> views_;
  bool frozen_ = false;
};

}  // namespace tapline::multilog
