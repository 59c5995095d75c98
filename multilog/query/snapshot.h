// A reader's view: each writer's rows up to a tail, pinned so that no row is freed as long as the snapshot exists.
// Rows, indexes, filters and aggregates that are read with the same snapshot show the same rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "multilog/log/writer_log.h"

namespace tapline::multilog {

class Snapshot {
 public:
  struct View {
    const WriterLog* log = nullptr;
    // The positions [first, tail).
    uint64_t first = 0, tail = 0;
  };

  const std::vector<View>& views() const { return views_; }
  uint64_t rows() const {
    uint64_t rows = 0;
    for (const View& view : views_) rows += view.tail - view.first;
    return rows;
  }
  // Returns true if the tails come from a freeze.
  bool frozen() const { return frozen_; }
  // Limits the view to these tails, by writer number: later rows, and other writers, are not visible.
  void cut_to(std::span<const uint64_t> tails) {
    for (View& view : views_) {
      const uint32_t writer = view.log->number();
      view.tail = std::max(view.first, std::min(view.tail, writer < tails.size() ? tails[writer] : 0));
    }
  }

 private:
  friend class MultiLogImpl;
  Epochs::Pin pin_;
  std::vector<View> views_;
  bool frozen_ = false;
};

}  // namespace tapline::multilog
