#include "multilog/query/query.h"

#include <algorithm>
#include <sstream>

namespace tapline::multilog {
namespace {

// The number of rows that are prefetched ahead of the checked row.
constexpr size_t kPrefetchAhead = 12;
// Maximum ratio of a list's length to the number of offsets with which it is intersected: reading a list's entry takes
// 0.7 ns, checking an uncached row about 20 ns.
constexpr size_t kLongerList = 32;
// The number of offsets per cache line, and the number of offsets prefetched ahead in a long list.
constexpr uint32_t kLineOffsets = 32;
constexpr uint32_t kOffsetsAhead = 512;
constexpr uint32_t kBitWords = kMaxSegmentRows / 64;

void prefetch_row(const uint8_t* row, uint32_t row_bytes) {
  for (uint32_t offset = 0; offset < row_bytes; offset += 64) __builtin_prefetch(row + offset);
  __builtin_prefetch(row + row_bytes - 1);
}

bool may_hold(const Leaf& leaf, const Postings& postings) {
  return leaf.mask != ~uint64_t{0} || std::any_of(leaf.ranges.begin(), leaf.ranges.end(), [&](const KeyRange& range) {
           return range.low <= postings.max_key && range.high >= postings.min_key;
         });
}

// Calls visit(first, last) for each run of postings.offsets whose keys satisfy the leaf.
template <typename Visit>
void for_each_run(const Leaf& leaf, const Postings& postings, Visit&& visit) {
  if (leaf.mask == ~uint64_t{0}) {
    for (const KeyRange& range : leaf.ranges) {
      if (range.high < postings.min_key || range.low > postings.max_key) continue;
      const uint32_t begin = postings.starts[postings.lower_bound(range.low)],
                     end = postings.starts[postings.upper_bound(range.high)];
      if (begin < end) visit(begin, end);
    }
    return;
  }
  for (uint32_t i = 0; i < postings.distinct; ++i) {
    if (contains(leaf.ranges, postings.key(i) & leaf.mask)) visit(postings.starts[i], postings.starts[i + 1]);
  }
}

// Returns true if the run belongs to a single key, so that its offsets ascend throughout.
bool ascends(const Postings& postings, uint32_t begin, uint32_t end) {
  const uint32_t* after = std::upper_bound(postings.starts, postings.starts + postings.distinct + 1, begin);
  return *after >= end;
}

void set(std::vector<uint64_t>* bits, uint16_t offset) { (*bits)[offset / 64] |= uint64_t{1} << offset % 64; }
bool get(const std::vector<uint64_t>& bits, uint16_t offset) { return bits[offset / 64] >> offset % 64 & 1; }

void bits_of(const Leaf& leaf, const Postings& postings, std::vector<uint64_t>* bits) {
  bits->assign(kBitWords, 0);
  for_each_run(leaf, postings, [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) set(bits, postings.offsets[i]);
  });
}

void offsets_of(const std::vector<uint64_t>& bits, std::vector<uint16_t>* offsets) {
  offsets->clear();
  for (uint32_t word = 0; word < bits.size(); ++word) {
    for (uint64_t rest = bits[word]; rest != 0; rest &= rest - 1)
      offsets->push_back(static_cast<uint16_t>(word * 64 + static_cast<uint32_t>(__builtin_ctzll(rest))));
  }
}

}  // namespace

const Postings* SegmentMatcher::usable(const Leaf& leaf, const Segment& segment) const {
  if (leaf.kind != Leaf::Kind::kKeys) return nullptr;
  for (const Index& index : plan_->indexes) {
    if (index.column != leaf.column) continue;
    const Postings* postings = segment.index_of(index.id);
    if (postings != nullptr) return postings;
  }
  return nullptr;
}

SegmentMatcher::SegmentMatcher(std::shared_ptr<const QueryPlan> plan) : plan_(std::move(plan)), marks_(kBitWords, 0) {}

// Puts the clause's indexed leaves into choices_, fewest rows first. Returns false if there are none or a scan is
// faster.
bool SegmentMatcher::choose(const Clause& clause, const Segment& segment) {
  choices_.clear();
  for (const Leaf& leaf : clause) {
    const Postings* postings = usable(leaf, segment);
    if (postings == nullptr) continue;
    // A column with ascending keys has no postings, but its key range may show that there are no matches.
    if (postings->sorted && may_hold(leaf, *postings)) continue;
    uint64_t count = 0;
    if (!postings->sorted) for_each_run(leaf, *postings, [&](uint32_t begin, uint32_t end) { count += end - begin; });
    choices_.push_back({&leaf, postings, count});
  }
  std::sort(choices_.begin(), choices_.end(), [](const Choice& a, const Choice& b) { return a.count < b.count; });
  // A scan is faster if many rows would have to be checked one by one.
  return !choices_.empty() && (choices_.size() == clause.size() || choices_.front().count <= segment.capacity() / 4);
}

void SegmentMatcher::prefetch_offsets(const Segment& segment) const {
  // Only a few lines are prefetched; the CPU's prefetcher continues from there.
  constexpr uint32_t kLines = 4;
  if (plan_->stored != nullptr) return;
  for (const Clause& clause : plan_->lookups) {
    for (const Leaf& leaf : clause) {
      const Postings* postings = usable(leaf, segment);
      if (postings == nullptr || !postings->dense() || leaf.mask != ~uint64_t{0} || leaf.ranges.size() != 1) continue;
      for_each_run(leaf, *postings, [&](uint32_t begin, uint32_t end) {
        for (uint32_t index = begin; index < end && index < begin + kLines * 32; index += 32)
          __builtin_prefetch(postings->offsets + index);
      });
    }
  }
}

SegmentMatcher::Way SegmentMatcher::estimate(const Segment* segment, uint32_t begin, uint32_t end, uint64_t* rows) {
  *rows = 0;
  if (segment->max_time() < plan_->time_low || segment->min_time() > plan_->time_high) return Way::kSkip;
  if (plan_->stored != nullptr) {
    const FilterPostings* postings = segment->postings_of(plan_->stored->id);
    if (postings != nullptr && postings->covered_from.load(std::memory_order_acquire) <= begin) {
      *rows = postings->count.load(std::memory_order_acquire);
      return Way::kStored;
    }
  }
  bool indexed = plan_->clauses.has_value() && plan_->stored == nullptr;
  for (size_t i = 0; indexed && i < plan_->lookups.size(); ++i) {
    indexed = choose(plan_->lookups[i], *segment);
    if (indexed) *rows += choices_[0].count;
  }
  if (indexed) return *rows == 0 ? Way::kSkip : Way::kIndex;
  *rows = end - begin;
  return Way::kScan;
}

SegmentMatcher::Way SegmentMatcher::match(Segment* segment, uint32_t begin, uint32_t end, std::vector<uint16_t>* out,
                                          const uint8_t** rows, std::shared_ptr<const uint8_t>* keep) {
  out->clear();
  uint64_t expected;
  const Way way = estimate(segment, begin, end, &expected);
  if (way == Way::kSkip) return way;
  *rows = segment->rows();
  const bool archived = segment->source != nullptr;
  if (way == Way::kIndex) {
    if (!archived)
      by_index(*segment, out);
    else if (!candidates_of_archived(segment, begin, end, out, keep))
      return Way::kUnreadable;
    else
      *rows = keep->get();
    std::erase_if(*out, [&](uint16_t offset) { return offset < begin || offset >= end; });
  } else {
    if (archived) {
      *keep = segment->source->rows(wanted_zones(*segment, nullptr, begin, end));
      if (*keep == nullptr) return Way::kUnreadable;
      *rows = keep->get();
    }
    if (way == Way::kStored)
      by_stored(segment, begin, end, out);
    else
      scan(*segment, *rows, begin, end, out);
  }
  keep_within_time(*segment, *rows, out);
  return way;
}

uint64_t SegmentMatcher::wanted_zones(const Segment& segment, const std::vector<uint16_t>* offsets, uint32_t begin,
                                      uint32_t end) const {
  uint64_t wanted = 0;
  if (offsets != nullptr) {
    for (const uint16_t offset : *offsets) wanted |= uint64_t{1} << offset / kChunkRows;
  } else {
    for (uint32_t zone = begin / kChunkRows; zone < segment.zones() && zone * kChunkRows < end; ++zone)
      wanted |= uint64_t{1} << zone;
  }
  for (uint32_t zone = 0; zone < segment.zones(); ++zone) {
    if (segment.zone_high(zone) < plan_->time_low || segment.zone_low(zone) > plan_->time_high)
      wanted &= ~(uint64_t{1} << zone);
  }
  return wanted;
}

bool SegmentMatcher::by_stored(Segment* segment, uint32_t begin, uint32_t end, std::vector<uint16_t>* out) {
  const FilterPostings* postings = segment->postings_of(plan_->stored->id);
  const uint32_t count = postings->count.load(std::memory_order_acquire);
  const uint16_t* offsets = postings->offsets.load(std::memory_order_acquire);
  const uint16_t* first = std::lower_bound(offsets, offsets + count, begin);
  const uint16_t* last = end > 65535 ? offsets + count : std::lower_bound(first, offsets + count, end);
  out->assign(first, last);
  if (plan_->residual == nullptr) return true;
  std::erase_if(*out, [&](uint16_t offset) {
    return !plan_->residual->matches(segment->row(offset), plan_->schema, plan_->values);
  });
  return true;
}

// Finds candidates first, then fetches only the zones that contain them.
bool SegmentMatcher::candidates_of_archived(Segment* segment, uint32_t begin, uint32_t end, std::vector<uint16_t>* out,
                                            std::shared_ptr<const uint8_t>* keep) {
  bits_.assign(kBitWords, 0);
  for (const Clause& clause : plan_->lookups) {
    choose(clause, *segment);
    const Choice& driver = choices_[0];
    for_each_run(*driver.leaf, *driver.postings, [&](uint32_t first, uint32_t last) {
      for (uint32_t i = first; i < last; ++i) set(&bits_, driver.postings->offsets[i]);
    });
  }
  offsets_of(bits_, out);
  const uint64_t wanted = wanted_zones(*segment, out, begin, end);
  std::erase_if(*out, [&](uint16_t offset) { return (wanted >> offset / kChunkRows & 1) == 0; });
  *keep = segment->source->rows(wanted);
  if (*keep == nullptr) return out->clear(), false;
  std::erase_if(*out, [&](uint16_t offset) {
    return !plan_->expression->matches(keep->get() + size_t{offset} * segment->row_bytes(), plan_->schema,
                                       plan_->values);
  });
  return true;
}

void SegmentMatcher::by_index(const Segment& segment, std::vector<uint16_t>* out) {
  const std::vector<Clause>& clauses = plan_->lookups;
  if (clauses.size() == 1) return clause_offsets(segment, clauses[0], out);  // estimate() has set choices_
  Bits all(kBitWords, 0);
  for (const Clause& clause : clauses) {
    choose(clause, segment);
    clause_offsets(segment, clause, &part_);
    for (const uint16_t offset : part_) set(&all, offset);
  }
  offsets_of(all, out);
}

// Finds the offsets of the rows that satisfy the clause. REQUIRES: choose() was last called for this clause.
void SegmentMatcher::clause_offsets(const Segment& segment, const Clause& clause, std::vector<uint16_t>* out) {
  out->clear();
  const Choice& driver = choices_[0];
  if (driver.count == 0) return;
  uint32_t runs = 0, first = 0, last = 0;
  for_each_run(*driver.leaf, *driver.postings,
               [&](uint32_t begin, uint32_t end) { first = begin, last = end, ++runs; });
  if (runs == 1 && ascends(*driver.postings, first, last)) {
    out->assign(driver.postings->offsets + first, driver.postings->offsets + last);
  } else {
    bits_of(*driver.leaf, *driver.postings, &bits_);
    offsets_of(bits_, out);
  }
  size_t done = 1;
  // Reading a list that is far longer than the remaining offsets costs more than checking their rows.
  while (done < choices_.size() && !out->empty() && choices_[done].count <= kLongerList * out->size())
    intersect_with(choices_[done++], out);
  if (done < clause.size()) verify(clause, done, segment.rows(), out);
}

// Marks the remaining offsets and checks the other list against the marks, so the time depends only on the two lengths.
void SegmentMatcher::intersect_with(const Choice& choice, std::vector<uint16_t>* offsets) {
  uint32_t runs = 0, first = 0, last = 0;
  for_each_run(*choice.leaf, *choice.postings,
               [&](uint32_t begin, uint32_t end) { first = begin, last = end, ++runs; });
  if (runs != 1 || !ascends(*choice.postings, first, last)) {
    bits_of(*choice.leaf, *choice.postings, &other_bits_);
    std::erase_if(*offsets, [&](uint16_t offset) { return !get(other_bits_, offset); });
    return;
  }
  for (const uint16_t offset : *offsets) set(&marks_, offset);
  both_.resize(offsets->size() + 1);
  size_t kept = 0;
  for (uint32_t i = first; i < last; ++i) {
    // The CPU's own prefetching stops at the end of each 4 KiB page.
    if (i % kLineOffsets == 0) __builtin_prefetch(choice.postings->offsets + i + kOffsetsAhead);
    const uint16_t offset = choice.postings->offsets[i];
    both_[kept] = offset;
    kept += get(marks_, offset);
  }
  // Clearing many marks all at once is faster than one by one.
  if (offsets->size() < kBitWords / 4) {
    for (const uint16_t offset : *offsets) marks_[offset / 64] = 0;
  } else {
    std::fill(marks_.begin(), marks_.end(), 0);
  }
  both_.resize(kept);
  offsets->swap(both_);
}

// Keeps the `offsets` whose rows satisfy the leaves that the first `done` choices do not cover.
void SegmentMatcher::verify(const Clause& clause, size_t done, const uint8_t* rows, std::vector<uint16_t>* offsets) {
  const auto shown = choices_.begin() + static_cast<ptrdiff_t>(done);
  rest_.clear();
  for (const Leaf& leaf : clause) {
    if (std::none_of(choices_.begin(), shown, [&](const Choice& choice) { return choice.leaf == &leaf; }))
      rest_.push_back(&leaf);
  }
  const uint32_t row_bytes = plan_->schema.row_bytes();
  size_t kept = 0;
  for (size_t i = 0; i < offsets->size(); ++i) {
    if (i + kPrefetchAhead < offsets->size())
      prefetch_row(rows + size_t{(*offsets)[i + kPrefetchAhead]} * row_bytes, row_bytes);
    const uint8_t* row = rows + size_t{(*offsets)[i]} * row_bytes;
    const bool all = std::all_of(rest_.begin(), rest_.end(), [&](const Leaf* leaf) {
      return evaluate(*leaf, row, plan_->schema, plan_->values) == Truth::kTrue;
    });
    (*offsets)[kept] = (*offsets)[i];
    kept += all;
  }
  offsets->resize(kept);
}

void SegmentMatcher::scan(const Segment& segment, const uint8_t* rows, uint32_t begin, uint32_t end,
                          std::vector<uint16_t>* out) {
  const uint32_t row_bytes = plan_->schema.row_bytes();
  const bool verify = plan_->expression->depends_on_aggregate();
  for (uint32_t index = begin; index < end;) {
    const uint32_t zone = index / kChunkRows, next = std::min(end, (zone + 1) * kChunkRows);
    if (segment.zone_high(zone) >= plan_->time_low && segment.zone_low(zone) <= plan_->time_high) {
      scratch_.begin(plan_->program, rows + size_t{index} * row_bytes, row_bytes, next - index);
      ChunkBits selected;
      plan_->program.select(0, &scratch_, &selected);
      for_each_bit(selected, [&](uint32_t row) {
        if (!verify || plan_->expression->matches(scratch_.row(row), plan_->schema, plan_->values))
          out->push_back(static_cast<uint16_t>(index + row));
      });
    }
    index = next;
  }
}

void SegmentMatcher::keep_within_time(const Segment& segment, const uint8_t* rows,
                                      std::vector<uint16_t>* offsets) const {
  const uint64_t low = plan_->time_low, high = plan_->time_high;
  if (segment.min_time() >= low && segment.max_time() <= high) return;
  std::erase_if(*offsets, [&](uint16_t offset) {
    const uint32_t zone = offset / kChunkRows;
    if (segment.zone_low(zone) > high || segment.zone_high(zone) < low) return true;
    if (segment.zone_low(zone) >= low && segment.zone_high(zone) <= high) return false;
    const uint64_t time = time_of(plan_->schema, rows + size_t{offset} * segment.row_bytes());
    return time < low || time > high;
  });
}

Cursor::Cursor(Snapshot snapshot, std::shared_ptr<const QueryPlan> plan)
    : snapshot_(std::move(snapshot)), plan_(plan), matcher_(std::move(plan)) {
  auto asks = [](const Clause& clause, const Index& index) {
    return std::any_of(clause.begin(), clause.end(),
                       [&](const Leaf& leaf) { return leaf.kind == Leaf::Kind::kKeys && leaf.column == index.column; });
  };
  for (const Index& index : plan_->indexes) {
    if (std::any_of(plan_->lookups.begin(), plan_->lookups.end(), [&](const Clause& c) { return asks(c, index); }))
      index_ids_.push_back(index.id);
  }
}

void Cursor::count(SegmentMatcher::Way way) {
  ++statistics_.segments;
  statistics_.skipped += way == SegmentMatcher::Way::kSkip;
  statistics_.by_filter += way == SegmentMatcher::Way::kStored;
  statistics_.by_index += way == SegmentMatcher::Way::kIndex;
  statistics_.scanned += way == SegmentMatcher::Way::kScan;
  statistics_.unreadable += way == SegmentMatcher::Way::kUnreadable;
}

// Prefetches a segment's data step by step during the preceding segments: otherwise, its half a dozen consecutive cache
// misses would take longer than reading its rows.
void Cursor::prefetch_segments(const Snapshot::View& view) const {
  const uint64_t size = view.log->segment_rows();
  const uint64_t filter = plan_->stored != nullptr ? plan_->stored->id : 0;
  auto ahead = [&](uint64_t segments) {
    return position_ + segments * size < view.tail ? view.log->peek_at(position_ + segments * size) : nullptr;
  };
  if (const Segment* segment = ahead(8)) {
    for (size_t offset = 0; offset < sizeof(Segment); offset += 64)
      __builtin_prefetch(reinterpret_cast<const uint8_t*>(segment) + offset);
  }
  if (const Segment* segment = ahead(6)) segment->prefetch_tables(filter, index_ids_);
  if (const Segment* segment = ahead(4)) segment->prefetch_postings(filter, index_ids_);
  if (const Segment* segment = ahead(2)) segment->prefetch_keys(filter, index_ids_);
  if (const Segment* segment = ahead(1)) matcher_.prefetch_offsets(*segment);
}

bool Cursor::next_segment(bool may_change) {
  for (; view_ < snapshot_.views().size(); ++view_, in_view_ = false) {
    const Snapshot::View& view = snapshot_.views()[view_];
    if (!in_view_) {
      position_ = view.first;
      if (view.log->number() < plan_->from.size()) position_ = std::max(position_, plan_->from[view.log->number()]);
      in_view_ = true;
    }
    if (position_ >= view.tail) {
      if (!may_change) return false;
      continue;
    }
    writer_ = view.log->number();
    prefetch_segments(view);
    Segment* segment = view.log->segment_at(position_);
    const uint32_t size = view.log->segment_rows();
    segment_first_ = position_ / size * size;
    const auto begin = static_cast<uint32_t>(position_ - segment_first_);
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(size, view.tail - segment_first_));
    position_ = segment_first_ + end;
    next_ = 0;
    offsets_.clear();
    keep_.reset();
    count(segment == nullptr ? SegmentMatcher::Way::kUnreadable
                             : matcher_.match(segment, begin, end, &offsets_, &rows_, &keep_));
    return true;
  }
  return false;
}

std::span<const uint8_t* const> Cursor::next() {
  batch_.clear();
  positions_.clear();
  const uint32_t row_bytes = plan_->schema.row_bytes();
  while (batch_.size() < kBatchRows) {
    if (next_ >= offsets_.size()) {
      // An archived segment's rows are freed when the next segment is fetched.
      if (!batch_.empty() && keep_ != nullptr) break;
      if (!next_segment(batch_.empty())) break;
      continue;
    }
    const size_t count = std::min(kBatchRows - batch_.size(), offsets_.size() - next_);
    for (size_t i = 0; i < count; ++i) {
      const uint16_t offset = offsets_[next_ + i];
      const uint8_t* row = rows_ + size_t{offset} * row_bytes;
      prefetch_row(row, row_bytes);
      batch_.push_back(row);
      positions_.push_back(segment_first_ + offset);
    }
    next_ += count;
  }
  statistics_.rows += batch_.size();
  return batch_;
}

std::string explain(const Snapshot& snapshot, std::shared_ptr<const QueryPlan> plan) {
  std::ostringstream out;
  if (plan->stored != nullptr)
    out << "stored filter " << plan->stored->name
        << (plan->residual == nullptr ? "" : ", then " + plan->residual->text()) << '\n';
  if (!plan->clauses) {
    out << "more than 64 clauses: scan\n";
  } else {
    out << plan->clauses->size() << (plan->clauses->size() == 1 ? " clause" : " clauses, united") << '\n';
    for (const Clause& clause : *plan->clauses) {
      out << "  " << (clause.empty() ? "everything" : "");
      for (size_t i = 0; i < clause.size(); ++i) {
        const bool wide = clause[i].kind == Leaf::Kind::kWide && !clause[i].negated;
        const bool indexed = (clause[i].kind == Leaf::Kind::kKeys || wide) &&
                             std::any_of(plan->indexes.begin(), plan->indexes.end(),
                                         [&](const Index& index) { return index.column == clause[i].column.part(0); });
        out << (i > 0 ? " && " : "") << describe(clause[i], plan->schema) << (indexed ? " [indexed]" : "");
      }
      out << '\n';
    }
  }
  SegmentMatcher matcher(plan);
  uint64_t counts[5] = {}, rows[5] = {}, total = 0;
  for (const Snapshot::View& view : snapshot.views()) {
    const uint32_t size = view.log->segment_rows();
    for (uint64_t position = view.first; position < view.tail; position = (position / size + 1) * size) {
      Segment* segment = view.log->segment_at(position);
      const auto end = static_cast<uint32_t>(std::min<uint64_t>(size, view.tail - position / size * size));
      uint64_t estimate = 0;
      const auto way = segment == nullptr
                           ? SegmentMatcher::Way::kUnreadable
                           : matcher.estimate(segment, static_cast<uint32_t>(position % size), end, &estimate);
      ++counts[static_cast<size_t>(way)];
      rows[static_cast<size_t>(way)] += estimate;
      ++total;
    }
  }
  constexpr const char* kWays[] = {"skipped", "by stored filter", "by index", "scanned", "unreadable"};
  out << total << " segments";
  for (size_t i = 0; i < 5; ++i) {
    if (counts[i] > 0) out << ", " << counts[i] << ' ' << kWays[i] << " (" << rows[i] << " rows examined)";
  }
  out << '\n';
  return out.str();
}

}  // namespace tapline::multilog
