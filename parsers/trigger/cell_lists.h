#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapline::trigger {

// A cell that was touched in one of the parts of a window (the counts of one lane, or one pane of them).
struct CellPlace {
  uint32_t part;
  uint32_t touched;  // index in the window's touched_cells()
  friend bool operator==(const CellPlace&, const CellPlace&) = default;
};

// The touched cells of each trigger of a channel, as linked lists with a bounded number of links. Only triggers with
// sketches need them: the counters of all others are added up cell by cell. Not thread-safe.
class CellLists {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;

  CellLists() = default;
  CellLists(uint32_t triggers, uint32_t max_links) : first_(triggers, kEnd), max_links_(max_links) {
    links_.reserve(max_links);
  }

  // Adds a cell to the trigger's list. If there is no room, is_full() becomes true until clear().
  void add(uint32_t trigger, const CellPlace& place) {
    is_full_ = is_full_ || links_.size() == max_links_;
    if (is_full_) return;
    links_.push_back({place, first_[trigger]});
    first_[trigger] = static_cast<uint32_t>(links_.size()) - 1;
  }
  // Returns true if the lists lack cells, so all cells have to be searched.
  bool is_full() const { return is_full_; }

  // Return links, the trigger's first one and the one after `link`, or kEnd if the trigger has no more cells.
  uint32_t first(uint32_t trigger) const { return first_[trigger]; }
  uint32_t next(uint32_t link) const { return links_[link].next; }
  // Returns true if the lists that begin with these links have the same places. Lists with more than `max_links` are
  // not compared in full, and count as different. Sets *compared to the number of places that were compared.
  bool are_equal(uint32_t link, uint32_t other_link, uint32_t max_links, uint32_t* compared) const {
    for (*compared = 0; link != kEnd && other_link != kEnd && *compared < max_links; ++*compared) {
      if (place(link) != place(other_link)) return false;
      link = next(link);
      other_link = next(other_link);
    }
    return link == kEnd && other_link == kEnd;
  }
  const CellPlace& place(uint32_t link) const { return links_[link].place; }

  // Empties the trigger's list. REQUIRES: called for each trigger with cells before clear(), which releases all links.
  void forget(uint32_t trigger) { first_[trigger] = kEnd; }
  void clear() {
    links_.clear();
    is_full_ = false;
  }

 private:
  struct Link {
    CellPlace place;
    uint32_t next;
  };

  std::vector<uint32_t> first_;
  size_t max_links_ = 0;
  std::vector<Link> links_;
  bool is_full_ = false;
};

}  // namespace tapline::trigger
