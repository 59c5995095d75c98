#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "parsers/transactions/halves.h"
#include "parsers/transactions/ring.h"

namespace tapline {

// Pairs responses with requests by a number that both carry, in any order, while several of each are being read. Gaps
// remove requests or responses but can't cause wrong pairs, unless numbers are reused. If a new request has the
// number of a pending one, the old request is reported alone; a response that acknowledges no byte of a request is not
// paired with it.
//
//   a request:   begin_request(id) ── keep_text ── end_request(id) ───────────────────────────┐
//   a response:  begin_response(id) ── filled by the caller, find_response(id) ── end_response(id): reported, if its
//                                                                                 request is known
//
// A response whose request is missing (late or lost) waits while the bytes that it acknowledges may still arrive: call
// requests_settled() after each piece of the requests' stream. Without acknowledgements (datagrams), it is reported at
// once or, with kResponsesWait, waits for settle_responses() or its request. If there are more than kMaxPending open
// transactions, the oldest is reported incomplete.
template <typename Id, typename Request, typename Response, size_t kMaxPending = 128, bool kResponsesWait = false>
class IdPairing {
 public:
  using Sink = TransactionSink<Request, Response>;

  // Begins a request. The protocol's fields keep the values of an earlier request.
  Request& begin_request(const Id& id, const Segment& first, Sink& sink) {
    Place* place = find(id);
    if (place != nullptr && (place->requested || !could_answer(first.offset, place->response))) {
      report(*place, sink);
      place = nullptr;
    }
    if (place == nullptr) place = &open(id, sink);
    place->requested = true;
    waiting_ -= place->waits;
    place->waits = false;
    Request& request = place->request;
    request.number = next_number_++;
    request.first_ns = first.time_ns;
    request.begin = request.end = first.offset;
    request.complete = request.reported = false;
    return request;
  }

  // Appends to the request's text, and counts its memory.
  void keep_text(Request& request, std::string_view text) {
    request.text.append(text);
    text_bytes_ += text.size();
  }

  // Returns the request of an open transaction, or null.
  Request* find_request(const Id& id) { return const_cast<Request*>(std::as_const(*this).find_request(id)); }
  const Request* find_request(const Id& id) const {
    const Place* place = find(id);
    return place != nullptr && place->requested ? &place->request : nullptr;
  }
  Response* find_response(const Id& id) {
    Place* place = find(id);
    return place != nullptr && place->answering ? &place->response : nullptr;
  }

  // Ends a request. Reports the transaction if its response arrived earlier.
  void end_request(const Id& id, uint64_t end, Sink& sink, bool complete = true) {
    Place* place = find(id);
    if (place == nullptr || !place->requested) return;
    place->request.end = end;
    place->request.complete = complete;
    if (place->answered) report(*place, sink);
  }

  // Begins a response that starts at the first byte of `first`. The protocol's fields keep the values of an earlier
  // response.
  Response& begin_response(const Id& id, const Segment& first, Sink& sink) {
    Place* place = find(id);
    const bool is_old =
        place != nullptr && place->requested && first.peer_offset_known && first.peer_offset <= place->request.begin;
    if (place != nullptr && (place->answering || is_old)) {
      report(*place, sink);
      place = nullptr;
    }
    if (place == nullptr) place = &open(id, sink);
    place->answering = true;
    place->response.start(first);
    return place->response;
  }

  void end_response(const Id& id, uint64_t end, int64_t time_ns, Sink& sink) {
    Place* place = find(id);
    if (place == nullptr || !place->answering) return;
    place->response.end = end;
    place->response.last_ns = time_ns;
    place->response.complete = true;
    place->answered = true;
    const bool may_come = place->response.acked_known ? place->response.acked > settled_offset_ : kResponsesWait;
    if (place->requested || !may_come) return report(*place, sink);
    place->waits = true;
    ++waiting_;
  }

  // Declares that begin_request() was called for all requests before this offset.
  void requests_settled(uint64_t offset, Sink& sink) {
    settled_offset_ = offset;
    if (waiting_ == 0) return;
    for (size_t i = 0; i < places_.size(); ++i) {
      Place& place = places_[i];
      if (place.open && place.waits && place.response.acked <= offset) report(place, sink, false);
    }
    trim_front();
  }

  // Reports responses that have been waiting for their requests since before `time_ns`, and the oldest of the others if
  // more than `max_waiting` wait.
  void settle_responses(int64_t time_ns, size_t max_waiting, Sink& sink) {
    for (size_t i = 0; waiting_ > 0 && i < places_.size(); ++i) {
      Place& place = places_[i];
      if (!place.open || !place.waits) continue;
      if (place.response.last_ns >= time_ns && waiting_ <= max_waiting) break;
      report(place, sink, false);
    }
    trim_front();
  }

  // Ends a transaction whose response the client no longer awaits, because the stream was reset or the request timed
  // out.
  void expire(const Id& id, Sink& sink) {
    if (Place* place = find(id)) report(*place, sink);
  }
  // Does the same as expire() for all transactions that began before this time.
  void expire_before(int64_t time_ns, Sink& sink) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].open && began_ns(places_[i]) < time_ns) report(places_[i], sink, false);
    }
    trim_front();
  }

  // Reports all pending transactions, complete or not, and leaves none pending.
  void report_all(Sink& sink) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].open) report(places_[i], sink, false);
    }
    trim_front();
  }

  // Reports all pending transactions without changing state.
  void visit_pending(Sink& sink) const {
    for (size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (place.open) show(place, sink);
    }
  }

  // Emits the unanswered requests that began before this time, and keeps them open. Returns the time when the oldest of
  // the others began, or INT64_MAX if there is none.
  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    int64_t oldest_ns = INT64_MAX;
    for (size_t i = 0; i < places_.size(); ++i) {
      Place& place = places_[i];
      if (!place.open || !place.requested || place.answering) continue;
      if (place.request.reported || !place.request.complete) continue;
      if (place.request.first_ns >= before_ns) {
        oldest_ns = std::min(oldest_ns, place.request.first_ns);
        continue;
      }
      show(place, sink);
      place.request.reported = true;
    }
    return oldest_ns;
  }

  size_t pending() const { return open_; }
  size_t waiting() const { return waiting_; }  // number of responses whose requests may still arrive
  size_t memory_bytes() const { return text_bytes_ + places_.size() * sizeof(Place); }

  // Resets the pairing, but keeps the memory of a few short requests.
  void recycle() {
    IdPairing reset;
    reset.places_ = std::move(places_);
    reset.places_.recycle(kKeptPlaces, [](Place& place) { place.request.trim(); });
    *this = std::move(reset);
  }

 private:
  static constexpr size_t kKeptPlaces = 4;

  struct Place {
    Id id = {};
    bool open = false;
    bool requested = false;  // request is set
    bool answering = false;  // response is set
    bool answered = false;   // response was read completely
    bool waits = false;      // response was read, and the request may still arrive
    Request request = {};
    Response response = {};
  };

  static int64_t began_ns(const Place& place) {
    return place.requested ? place.request.first_ns : place.response.first_ns;
  }
  static bool could_answer(uint64_t request_begin, const Response& response) {
    return !response.acked_known || request_begin < response.acked;
  }

  Place* find(const Id& id) { return const_cast<Place*>(std::as_const(*this).find(id)); }
  const Place* find(const Id& id) const {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].open && places_[i].id == id) return &places_[i];
    }
    return nullptr;
  }

  Place& open(const Id& id, Sink& sink) {
    if (open_ == kMaxPending) [[unlikely]] {
      sink.on_loss(LossReason::kTooManyPending);
      report(places_.front(), sink);
    }
    if (places_.size() == kMaxPending) compact();
    Place& place = places_.push_back();
    place.id = id;
    place.open = true;
    place.requested = place.answering = place.answered = place.waits = false;
    place.request.text.clear();
    ++open_;
    return place;
  }

  // Closes the gaps that ended transactions leave between open ones, since long transactions remain while others end.
  void compact() {
    size_t kept = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i].open) continue;
      if (kept != i) std::swap(places_[kept], places_[i]);
      ++kept;
    }
    while (places_.size() > kept) places_.pop_back();
  }

  void show(const Place& place, Sink& sink) const {
    sink.on_transaction(place.requested ? &place.request : nullptr, place.answering ? &place.response : nullptr);
  }

  void report(Place& place, Sink& sink, bool trim = true) {
    show(place, sink);
    waiting_ -= place.waits;
    place.waits = false;
    text_bytes_ -= place.request.text.size();
    place.request.text.clear();
    place.open = false;
    --open_;
    if (trim) trim_front();
  }

  void trim_front() {
    while (!places_.empty() && !places_.front().open) places_.pop_front();
  }

  Ring<Place> places_;  // oldest first; some in the middle are no longer open
  size_t open_ = 0;
  size_t waiting_ = 0;
  uint64_t settled_offset_ = 0;
  uint32_t next_number_ = 1;
  size_t text_bytes_ = 0;
};

}  // namespace tapline
