#include "parsers/queues/tap_matcher.h"

#include <algorithm>
#include <bit>

namespace tapline::queues {

TapMatcher::TapMatcher(const MatchOptions& options, MatchSink* sink)
    : options_(options),
      sink_(sink),
      arrivals_(options.max_packets),
      waiting_(options.max_unsettled),
      mask_(std::bit_ceil(std::max(options.max_unsettled, 2u)) - 1),
      fresh_(mask_ + 1),
      unsettled_(mask_ + 1),
      offset_(options.offset_window_ns) {}

void TapMatcher::arrive(const View& view) {
  ++statistics_.arrivals;
  now_ns_ = std::max(now_ns_, view.time_ns);
  release_old();
  uint64_t number = 0;
  bool has_more = false;
  if (!waiting_.empty() && waiting_.take(view.digest, &number, &has_more)) {
    match(number, view.time_ns, has_more);
  } else {
    expire_arrivals();
    if (arrivals_.full()) {
      ++statistics_.evicted;
      arrivals_.pop_front();
    }
    arrivals_.push(view.digest, {view.time_ns, view.flow_key, view.bytes, arrivals_.contains(view.digest)});
  }
  settle(false);
}

void TapMatcher::depart(const View& view) {
  ++statistics_.departures;
  now_ns_ = std::max(now_ns_, view.time_ns);
  latest_departure_ns_ = std::max(latest_departure_ns_, view.time_ns);
  if (end_fresh_ - first_fresh_ > mask_) release(fresh(first_fresh_).time_ns);
  uint64_t place = end_fresh_++;
  for (; place != first_fresh_ && fresh(place - 1).time_ns > view.time_ns; --place) fresh(place) = fresh(place - 1);
  fresh(place) = view;
  release(latest_departure_ns_ - options_.reordering_ns);
}

void TapMatcher::advance(int64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  release_old();
  expire_arrivals();
  settle(false);
  // After so long a silence, all packets ahead of the latest one to leave have left or never will, even if that one was
  // stamped late.
  if (options_.fifo && now_ns_ - latest_departure_ns_ >= options_.settle_ns + options_.reordering_ns)
    discard_older(options_.reordering_ns);
}

// Releases departures that have waited long enough, so that they are matched before their arrivals expire, even after a
// time without packets. The departures' clock may be behind.
void TapMatcher::release_old() {
  release(now_ns_ + std::min<int64_t>(offset_ns(), 0) - options_.settle_ns - options_.reordering_ns);
}

void TapMatcher::finish() {
  release(INT64_MAX);
  settle(true);
  if (options_.fifo) discard_older(options_.reordering_ns);
}

void TapMatcher::release(int64_t until_ns) {
  for (; first_fresh_ != end_fresh_ && fresh(first_fresh_).time_ns <= until_ns; ++first_fresh_) {
    View& view = fresh(first_fresh_);
    statistics_.late += view.time_ns < released_ns_;
    view.time_ns = released_ns_ = std::max(released_ns_, view.time_ns);
    follow(view);
  }
}

void TapMatcher::follow(const View& view) {
  if (end_unsettled_ - first_unsettled_ > mask_ || waiting_.full()) settle(true);
  const uint64_t number = end_unsettled_++;
  unsettled(number) = {view};
  Arrival arrival;
  bool has_more = false;
  if (arrivals_.take(view.digest, &arrival, &has_more)) {
    match(number, arrival.time_ns, has_more || arrival.repeated);
  } else {
    waiting_.push(view.digest, number);
  }
  settle(false);
}

void TapMatcher::match(uint64_t number, int64_t arrival_ns, bool is_repeated) {
  PendingSide& departure = unsettled(number);
  const bool in_order = !options_.fifo || arrival_ns >= anchor_ns_ - options_.reordering_ns;
  const bool certain = departure.view.identified && !is_repeated && in_order;
  departure.arrival_ns = arrival_ns;
  departure.state = certain ? State::kCertain : State::kUncertain;
  ++statistics_.matched;
  statistics_.ambiguous += !certain;
  statistics_.repeated += is_repeated;
  if (!certain) return;
  offset_.observe(arrival_ns, departure.view.time_ns);
  if (number > first_unsettled_) next_certain_ = std::min(next_certain_, number);  // it waited for its arrival
}

// Departures settle in order, so one that has to wait delays those after it, by at most settle_ns.
void TapMatcher::settle(bool all) {
  for (; first_unsettled_ != end_unsettled_ && may_settle(unsettled(first_unsettled_), all); ++first_unsettled_) {
    emit(unsettled(first_unsettled_));
  }
}

bool TapMatcher::may_settle(const PendingSide& departure, bool all) {
  if (all || departure.state == State::kCertain || now_ns_ - departure.view.time_ns >= options_.settle_ns) return true;
  // Packets that follow in order show when an uncertain packet arrived, but they do not prove that a missing arrival is
  // lost: it may be late.
  return departure.state == State::kUncertain && options_.fifo && next_certain_arrival().has_value();
}

std::optional<int64_t> TapMatcher::next_certain_arrival() {
  next_certain_ = std::max(next_certain_, first_unsettled_ + 1);
  while (next_certain_ < end_unsettled_ && unsettled(next_certain_).state != State::kCertain) ++next_certain_;
  if (next_certain_ >= end_unsettled_) return std::nullopt;
  return unsettled(next_certain_).arrival_ns;
}

void TapMatcher::emit(const PendingSide& departure) {
  Passage passage;
  passage.flow_key = departure.view.flow_key;
  passage.departure_ns = departure.view.time_ns;
  passage.bytes = departure.view.bytes;
  passage.tag = departure.view.tag;
  const int64_t offset = offset_ns();
  const auto corrected = [&](int64_t arrival_ns) { return std::min(arrival_ns + offset, passage.departure_ns); };
  if (departure.state == State::kCertain) {
    passage.arrival_known = true;
    passage.arrival_ns = passage.earliest_ns = passage.latest_ns = corrected(departure.arrival_ns);
    anchor_ns_ = std::max(anchor_ns_, departure.arrival_ns);
  } else {
    passage.earliest_ns = passage.departure_ns - options_.max_delay_ns;
    passage.latest_ns = passage.departure_ns;
    if (options_.fifo) {
      passage.earliest_ns = std::max(passage.earliest_ns, corrected(anchor_ns_ - options_.reordering_ns));
      if (const auto next_ns = next_certain_arrival())
        passage.latest_ns = std::max(corrected(*next_ns + options_.reordering_ns), passage.earliest_ns);
    }
    passage.arrival_known = departure.state == State::kUncertain;
    passage.arrival_ns = std::clamp(corrected(departure.arrival_ns), passage.earliest_ns, passage.latest_ns);
    if (!passage.arrival_known) {
      ++statistics_.never_came;
      uint64_t number = 0;
      bool has_more = false;
      waiting_.take(departure.view.digest, &number, &has_more);
    }
  }
  sink_->pass(passage);
  if (options_.fifo) discard_older(std::max(options_.reordering_ns, options_.settle_ns));
}

// Discards arrivals before the latest certain arrival of a packet that has left. In a FIFO queue, packets ahead of a
// departed one have also departed, or never will. `late_ns` is how late that packet's arrival may have been stamped.
void TapMatcher::discard_older(int64_t late_ns) {
  while (!arrivals_.empty() && arrivals_.front().time_ns < anchor_ns_ - late_ns) discard_first();
}

void TapMatcher::expire_arrivals() {
  const int64_t longest_ns = options_.max_delay_ns + options_.settle_ns + std::max<int64_t>(offset_ns(), 0);
  while (!arrivals_.empty() && now_ns_ - arrivals_.front().time_ns > longest_ns) discard_first();
}

void TapMatcher::discard_first() {
  const Arrival& arrival = arrivals_.front();
  ++statistics_.never_left;
  statistics_.never_left_bytes += arrival.bytes;
  sink_->never_left({.flow_key = arrival.flow_key, .time_ns = arrival.time_ns, .bytes = arrival.bytes});
  arrivals_.pop_front();
}

}  // namespace tapline::queues
