// The part of OrderedPairing that finds a response's request after a gap that may hide messages. Included by
// ordered_pairing.h only.
#pragma once

#include <algorithm>

#include "parsers/transactions/ordered_pairing.h"

namespace tapline {

// Reports the requests before the one to which this response certainly belongs, without responses. If there is no such
// request, reports all those that the server had received.
template <typename Request, typename Response, size_t kMaxPending>
auto OrderedPairing<Request, Response, kMaxPending>::resynchronise(const Response& response, ResponseContext now,
                                                                   Sink& sink) -> Taken {
  responses_hidden_ = true;
  // The client had received part of the response before it sent any of these requests.
  if (!awaited(requests_.front(), response)) return Taken::kNothing;
  size_t last = 0;
  while (response.acked_known && last + 1 < requests_.size() && received(requests_[last + 1], response)) ++last;
  size_t chosen = after_all_answered(last, response);
  if (chosen == kNone && response.acked_known && ends_there(requests_[last], response)) {
    chosen = pipelined_ ? only_candidate(last, response) : last;
    if (chosen != kNone && !fits(requests_[chosen], response)) chosen = kNone;
  }
  if (chosen == kNone && pipelined_) chosen = first_of_batch(last, response);
  if (chosen == kNone && pipelined_ && waits_for_all()) {
    const Counted counted = count_back(response, now);
    if (counted.later) return Taken::kLater;
    if (counted.unseen) return Taken::kNothing;
    chosen = counted.chosen;
  }
  responses_hidden_ = overlapping_ && chosen == kNone;
  if (chosen == kNone && response.acked_known) abandoned_until_ = std::max(abandoned_until_, response.acked);
  report_first_requests(chosen == kNone ? last + 1 : chosen, sink);
  return chosen == kNone ? Taken::kNothing : Taken::kRequest;
}

// Returns the index of the request that all_answered() assigned to this response, or kNone if the two do not fit.
template <typename Request, typename Response, size_t kMaxPending>
size_t OrderedPairing<Request, Response, kMaxPending>::after_all_answered(size_t last, const Response& response) const {
  if (response.begin != answered_responses_) return kNone;
  for (size_t i = 0; i <= last; ++i) {
    if (requests_[i].begin == answered_requests_) return fits(requests_[i], response) ? i : kNone;
  }
  return kNone;
}

// Finds the request of the first waiting response by counting back from the next batch, for a client that waits for all
// responses before it sends the next requests. All responses that the client had received when it sent that batch
// belong to earlier requests.
template <typename Request, typename Response, size_t kMaxPending>
auto OrderedPairing<Request, Response, kMaxPending>::count_back(const Response& response, ResponseContext now) const
    -> Counted {
  const auto counted_later = [&] { return Counted{.later = !now.closing}; };
  if (!now.whole || requests_.back().peer_offset <= response.begin) return counted_later();
  size_t next = 0;
  while (requests_[next].peer_offset <= response.begin) ++next;
  const Request& batch = requests_[next];
  size_t responses = 0;
  while (responses < waiting_.size() && waiting_[responses].end <= batch.peer_offset) ++responses;
  const bool is_followed = responses < waiting_.size();
  const bool at_end = responses > 0 && waiting_[responses - 1].quiet_until == batch.peer_offset;
  if (!at_end && !is_followed) return counted_later();
  // Bytes that belong to no response may lie between the last response and the batch's first.
  const bool all_here =
      at_end || (responses > 0 && !waiting_[responses].after_hidden && waiting_[responses].begin >= batch.peer_offset);
  if (!all_here || batch.after_hidden) return {};
  for (size_t i = 0; i < responses; ++i) {
    if (i > 0 && waiting_[i].after_hidden)
      return {.unseen = true};  // the number of messages lost in between is unknown
    if (!waiting_[i].answers_one()) return {};
  }
  for (size_t back = 1; back <= responses; ++back) {
    if (back > next) return {.unseen = true};
    const Request& request = requests_[next - back];
    if (request.may_be_silent()) return {};
    if (request.after_hidden && back < responses) return {.unseen = true};
    // A gap may have removed data that is needed to decide.
    const bool is_whole = back < responses;
    if (!fits(request, waiting_[responses - back])) return {.unseen = !is_whole && responses > 1};
  }
  return {.chosen = next - responses};
}

// Returns the only request that the response does not contradict, of the batch that ends with `last`, or kNone. Earlier
// batches have their responses, since the client waited for them.
template <typename Request, typename Response, size_t kMaxPending>
size_t OrderedPairing<Request, Response, kMaxPending>::only_candidate(size_t last, const Response& response) const {
  if (overlapping_) return kNone;
  size_t index = kNone;
  for (size_t i = last + 1; i-- > 0 && requests_[i].peer_offset == requests_[last].peer_offset;) {
    const bool fits = !requests_[i].contradicts(response);
    if (fits && index != kNone) return kNone;
    if (fits) index = i;
    if (begins_batch(requests_[i])) break;
    if (requests_[i].after_hidden) return kNone;
  }
  return index;
}

// Returns the first request of the batch that ends with `last` if the response begins at the offset up to which the
// client had received the responses when it sent that batch; otherwise, or if the client was not seen to wait for all
// responses before it sends the next batch, returns kNone.
template <typename Request, typename Response, size_t kMaxPending>
size_t OrderedPairing<Request, Response, kMaxPending>::first_of_batch(size_t last, const Response& response) const {
  if (!waits_for_all()) return kNone;
  for (size_t i = last + 1; i-- > 0 && requests_[i].peer_offset == response.begin;) {
    if (begins_batch(requests_[i])) return requests_[i].contradicts(response) ? kNone : i;
    if (requests_[i].after_hidden) return kNone;
  }
  return kNone;
}

}  // namespace tapline
