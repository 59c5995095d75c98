#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "parsers/transactions/halves.h"
#include "parsers/transactions/ring.h"
#include "parsers/transactions/touch.h"

namespace tapline {

// Pairs the responses of one connection with its requests, for protocols whose responses come in the order of the
// requests.
//
// No pair contradicts the acknowledgements in the first segments of its messages: the server had received the request
// when it responded, and the client had received nothing of the response when it sent the request. While nothing is
// hidden, order determines the rest.
//
// After a gap that may hide messages, acknowledgements determine the pairs. A client that does not pipeline sends one
// request and waits, so the response belongs to the request that ends where the acknowledgement does. A client that
// pipelines and was seen to wait for all responses before it sends the next requests (a batch) has fixed points: a
// batch's first response begins at the offset up to which the client had received the responses when it sent the batch,
// and its last response ends at that offset for the next batch. From these points, messages are counted forwards or
// backwards; responses wait for the next batch if that is the only way. Otherwise both halves stay unpaired, unless
// their contents (RequestHalf::contradicts) leave only one request. A client that sends requests while others are
// unanswered has no fixed points: after a gap it stays unpaired until it has been quiet for longer than its slowest
// response took, or has alternated requests and responses for a while. A response may also be seen before its request,
// if the request's segment is late; it waits while the bytes that it acknowledges may still arrive.
//
// The protocol's reader calls, for the requesting side:    begin_request, keep_text, end_request, hide_requests,
//                                  after each piece of it:  requests_settled
//                   and for the responding side:            begin_response, end_response, hide_responses, server_ended
//
// Request derives from RequestHalf or BareRequestHalf, Response from ResponseHalf. If there are more than kMaxPending
// unanswered requests, the oldest is reported without a response.
template <typename Request, typename Response, size_t kMaxPending = 128>
class OrderedPairing {
 public:
  using Sink = TransactionSink<Request, Response>;
  // While the reassembler waits for a late packet, several packets full of responses may arrive.
  static constexpr size_t kMaxWaiting = 1024;

  // Begins a request that starts at the first byte of `first`. The protocol's fields keep the values of an earlier
  // request. `max_pending` may be lower than kMaxPending if the protocol requires that.
  Request& begin_request(const Segment& first, Sink& sink, size_t max_pending = kMaxPending) {
    note_overlap(first);
    if (requests_.size() >= max_pending) [[unlikely]] {
      sink.on_loss(LossReason::kTooManyPending);
      report_first_requests(1, sink);
      response_gap_ = true;
    }
    Request& request = requests_.push_back();
    request.number = reading_ = next_number_++;
    request.first_ns = first.time_ns;
    request.begin = request.end = first.offset;
    request.peer_offset = first.peer_offset_known ? first.peer_offset : 0;
    request.complete = request.reported = false;
    request.after_hidden = std::exchange(requests_hidden_, false);
    request.begins_batch = begins_batch_ && !request.after_hidden;
    hidden_requests_ += request.after_hidden;
    request.clear_text();
    return request;
  }

  // Appends to the request's text, and counts its memory.
  void keep_text(Request& request, std::string_view text) {
    request.text.append(text);
    text_bytes_ += text.size();
  }

  // Accounts for text that the protocol has set in one piece.
  void text_kept(const Request& request) { text_bytes_ += request.text_bytes(); }

  // Returns the request being read, or null if there is none or it has already been reported.
  Request* reading() {
    if (!requests_.empty() && requests_.back().number == reading_) return &requests_.back();
    return current_paired_ && current_request_.number == reading_ ? &current_request_ : nullptr;
  }

  // Ends the request being read at this offset. `complete` is false if bytes of the request were lost, so that it may
  // end elsewhere.
  void end_request(uint64_t end, bool complete = true) {
    Request* request = reading();
    if (request == nullptr) return;
    request->end = end;
    request->complete = complete;
  }

  // Declares that no request is being read: reading() returns null until the next one begins.
  void forget_reading() { reading_ = 0; }

  // Declares that unseen requests, or responses, may follow here.
  void hide_requests() { requests_hidden_ = true; }
  void hide_responses() { response_gap_ = true; }

  // Declares that begin_request() was called for all requests before this offset.
  void requests_settled(uint64_t offset, Sink& sink) {
    settled_offset_ = offset;
    if (!waiting_.empty()) [[unlikely]]
      settle(false, sink);
  }

  // Begins a response that starts at the first byte of `first`; `response` has the protocol's fields. Returns its
  // request, or null if none is known (yet).
  const Request* begin_response(const Segment& first, const Response& response, Sink& sink) {
    settle(false, sink);
    current_ = response;
    current_->start(first);
    current_->after_hidden = std::exchange(response_gap_, false);
    note_alternation(first);
    current_paired_ =
        waiting_.empty() && take_request(*current_, &current_request_, {.closing = false}, sink) == Taken::kRequest;
    return answered();
  }

  // Return the response being read, and its request, or null if there is none.
  Response* response() { return current_ ? &*current_ : nullptr; }
  const Request* answered() const { return current_paired_ ? &current_request_ : nullptr; }
  // Touches the oldest request without a response, to which a response that begins now would belong if nothing is
  // hidden. Call it some time before the next request is reported or gets its response: if many connections wait, the
  // request is no longer in the cache.
  void touch_next_request() const {
    if (!requests_.empty()) touch(&requests_.front(), sizeof(Request));
  }
  const Request* next_request() const { return requests_.empty() ? nullptr : &requests_.front(); }
  // Returns true if a pending request was sent when the client had received this many response bytes, so that a
  // response begins there.
  bool has_request_at(uint64_t offset) const {
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].peer_offset == offset) return true;
    }
    return false;
  }
  // Calls `visit` with each pending request, oldest first, until it returns false. The protocol may change its fields.
  template <typename Visit>
  void visit_requests(Visit visit) {
    for (size_t i = 0; i < requests_.size() && visit(requests_[i]); ++i) {
    }
  }
  // Reports the oldest requests as silent while `silent` returns true for them. `response` belongs to a later
  // request.
  template <typename Predicate>
  void pass_silent_while(Predicate silent, const Response& response, Sink& sink) {
    while (!requests_.empty() && silent(requests_.front())) {
      sink.on_silence(requests_.front(), response);
      pop_request();
    }
  }
  bool responses_are_hidden() const { return responses_hidden_ || response_gap_; }

  // Ends the response being read. `complete` is false if bytes of it were lost, so that it may end elsewhere.
  void end_response(uint64_t end, int64_t time_ns, Sink& sink, bool complete = true) {
    if (!current_) return;
    current_->end = current_->quiet_until = end;
    current_->last_ns = time_ns;
    current_->complete = complete;
    latest_response_end_ = end;
    paired_end_ = 0;
    latest_ns_ = time_ns;
    if (current_paired_) {
      note_pair(current_request_, *current_);
      slowest_ns_ = std::max(slowest_ns_, time_ns - current_request_.first_ns);
      sink.on_transaction(&current_request_, &*current_);
      forget(current_request_);
    } else {
      waiting_.push_back() = *current_;
    }
    current_.reset();
    current_paired_ = false;
    if (!waiting_.empty()) [[unlikely]]
      settle(waiting_.size() > kMaxWaiting, sink);
  }

  // Declares that the bytes from the latest response up to this offset belong to no response.
  void pass_responses_to(uint64_t end) {
    if (current_ || response_gap_) return;
    if (!waiting_.empty() && waiting_.back().end == latest_response_end_) waiting_.back().quiet_until = end;
    latest_response_end_ = end;
  }

  // Declares that everything before these offsets is answered, since the protocol shows that the client sent nothing
  // while it waited for the latest response. So the response that begins at `responses_end` answers the request that
  // begins at `requests_end`.
  void all_answered(uint64_t requests_end, uint64_t responses_end) {
    answered_requests_ = requests_end;
    answered_responses_ = responses_end;
  }

  // Declares that the server will send no more data. Reports unanswered requests, unless a complete response still
  // waits for its request.
  void server_ended(Sink& sink) {
    if (waiting_.empty()) report_first_requests(requests_.size(), sink);
  }

  // Reports all pending messages, complete or not, and leaves none pending.
  void report_all(Sink& sink) {
    settle(true, sink);
    if (current_) sink.on_transaction(answered(), &*current_);
    if (current_paired_) forget(current_request_);
    current_.reset();
    current_paired_ = false;
    report_first_requests(requests_.size(), sink);
  }

  // Reports all pending messages without changing state.
  void visit_pending(Sink& sink) const {
    for (size_t i = 0; i < waiting_.size(); ++i) sink.on_transaction(nullptr, &waiting_[i]);
    if (current_) sink.on_transaction(answered(), &*current_);
    for (size_t i = 0; i < requests_.size(); ++i) sink.on_transaction(&requests_[i], nullptr);
  }

  // Emits the unanswered requests that began before this time and keeps them pending, since responses may still arrive.
  // Returns the time when the oldest of the other requests began, or INT64_MAX if there are none.
  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    for (size_t i = 0; i < requests_.size(); ++i) {
      Request& request = requests_[i];
      if (request.reported || !request.complete) continue;
      if (request.first_ns >= before_ns) return request.first_ns;
      sink.on_transaction(&request, nullptr);
      request.reported = true;
    }
    return INT64_MAX;
  }

  size_t pending() const { return requests_.size(); }
  // Returns the memory of texts and pending messages, excluding the few slots that are always kept.
  size_t memory_bytes() const {
    return text_bytes_ + requests_.size() * sizeof(Request) + waiting_.size() * sizeof(Response);
  }

  // Resets the pairing, but keeps the memory of a few short requests.
  void recycle() {
    OrderedPairing reset;
    reset.requests_ = std::move(requests_);
    reset.requests_.recycle(kKeptPlaces, [](Request& request) { request.trim(); });
    reset.waiting_ = std::move(waiting_);
    reset.waiting_.recycle(kKeptPlaces, [](Response&) {});
    reset.current_request_ = std::move(current_request_);
    reset.current_request_.trim();
    reset.settled_ = std::move(settled_);
    reset.settled_.trim();
    *this = std::move(reset);
  }

 private:
  static constexpr size_t kKeptPlaces = 4;
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr uint32_t kCertainWaits = 3;

  // The number of turns (one request and one response each) after which a client is known to wait.
  static constexpr uint32_t kCertainTurns = 32;

  enum class Taken : uint8_t {
    kRequest,
    kNothing,  // it is unknown to which request the response belongs
    kLater,    // later data may decide
  };
  struct ResponseContext {
    bool closing = false;  // no more data will arrive
    bool whole = false;    // the response is the first of waiting_
  };

  // Tracks whether the client waits for responses, by the number of bytes it had received when it sent this request.
  void note_overlap(const Segment& first) {
    const bool idle = requests_.empty() && !current_;
    if (overlapping_ && idle && first.time_ns - latest_ns_ > 2 * slowest_ns_) responses_hidden_ = response_gap_ = false;
    latest_ns_ = std::max(latest_ns_, first.time_ns);
    begins_batch_ = next_number_ == 1;
    if (!first.peer_offset_known) return;
    note_turn(idle && first.peer_offset == latest_response_end_);
    if (idle && !responses_are_hidden() && latest_response_end_ == first.peer_offset) ++waits_;
    const bool same_batch = request_peer_offset_ == first.peer_offset;
    if (!same_batch && first.peer_offset < paired_end_) overlap();
    begins_batch_ |= request_peer_offset_ && *request_peer_offset_ < first.peer_offset;
    if (!requests_.empty() && !requests_hidden_) {
      if (same_batch) pipelined_ = true;
      // True if the client has received whole responses since its last request, and still waits for others. (Responses
      // that wait for requests were sent after this one, which is late.)
      const bool waits = !responses_are_hidden() && latest_response_end_ >= first.peer_offset && waiting_.empty();
      if (!same_batch && waits && pipelined_) overlap();
    }
    request_peer_offset_ = first.peer_offset;
  }

  // Records that the client does not wait: it has sent a request when it had received some, but not all, of the
  // responses to earlier ones.
  void overlap() {
    overlapping_ = true;
    waits_ = turns_ = 0;
  }

  // Records a certain pair. If the client sent the next request before it had received all of this response, and not
  // together with this request, it does not wait.
  void note_pair(const Request& request, const Response& response) {
    paired_end_ = response.end;
    if (requests_.empty()) return;
    const uint64_t received = requests_.front().peer_offset;
    if (request.peer_offset < received && received < response.end) overlap();
  }

  // Counts consecutive exchanges of a request and its response. After enough of them, the client is known to wait for
  // each response, regardless of earlier traffic.
  void note_turn(bool has_all) {
    turns_ = has_all && std::exchange(answered_turn_, false) ? turns_ + 1 : 0;
    if (turns_ < kCertainTurns || !waiting_.empty()) return;
    overlapping_ = pipelined_ = responses_hidden_ = false;
  }

  // Records whether the acknowledgements show that the response that begins answers the only pending request.
  void note_alternation(const Segment& first) {
    const Request* latest = requests_.empty() ? nullptr : &requests_.back();
    answered_turn_ = requests_.size() == 1 && first.peer_offset_known && latest->peer_offset == first.offset &&
                     latest->complete && latest->end == first.peer_offset;
  }

  static bool received(const Request& request, const Response& response) {
    return !response.acked_known || request.begin < response.acked;
  }

  // Returns true if requests that the server had received may still arrive.
  bool may_come(const Response& response) const {
    return response.acked_known && response.acked > std::max(settled_offset_, abandoned_until_);
  }

  // Returns true if the client had received nothing of the response when it sent the request.
  static bool awaited(const Request& request, const Response& response) {
    return request.peer_offset <= response.begin;
  }

  // Moves the response's request to *taken. While nothing is hidden, the order decides, unless the contents of the two
  // contradict each other.
  Taken take_request(Response& response, Request* taken, ResponseContext now, Sink& sink) {
    responses_hidden_ |= std::exchange(response.after_hidden, false);
    while (!requests_.empty() && requests_.front().begin < abandoned_until_)
      [[unlikely]] report_first_requests(1, sink);
    const bool is_late = may_come(response) && !now.closing;
    if (requests_.empty() || !received(requests_.front(), response)) return is_late ? Taken::kLater : Taken::kNothing;
    const bool ordered = !hidden_before(response) && awaited(requests_.front(), response) && !passed_over(response) &&
                         pass_silent(response, sink);
    if (!ordered) [[unlikely]] {
      const Taken result = is_late ? Taken::kLater : resynchronise(response, now, sink);
      if (result != Taken::kRequest) return result;
    }
    note_previous(response);
    hidden_requests_ -= requests_.front().after_hidden;
    std::swap(*taken, requests_.front());
    requests_.pop_front();
    return Taken::kRequest;
  }

  // Returns true if the oldest request's response was not recognised: the client, which waits for all responses, had
  // sent another batch after that request before the server began this response.
  bool passed_over(const Response& response) const {
    if (requests_.size() < 2 || !waits_for_all()) return false;
    const Request& next = requests_[1];
    return next.begins_batch && awaited(next, response) && received(next, response);
  }

  bool hidden_before(const Response& response) const {
    if (responses_hidden_ || requests_.front().after_hidden) return true;
    if (hidden_requests_ == 0 || !response.acked_known) return false;
    for (size_t i = 1; i < requests_.size() && received(requests_[i], response); ++i) {
      if (requests_[i].after_hidden) return true;
    }
    return false;
  }

  // Reports the quiet requests before the response's request as silent. Returns false if no request fits.
  bool pass_silent(const Response& response, Sink& sink) {
    size_t silent = 0;
    while (requests_[silent].contradicts(response)) {
      if (!requests_[silent].may_be_silent()) return false;
      if (++silent == requests_.size() || !received(requests_[silent], response)) return false;
    }
    for (; silent > 0; --silent) {
      sink.on_silence(requests_.front(), response);
      pop_request();
    }
    return true;
  }

  Taken resynchronise(const Response& response, ResponseContext now, Sink& sink);

  size_t after_all_answered(size_t last, const Response& response) const;

  bool waits_for_all() const { return !Request::kMayOverlap || (!overlapping_ && waits_ >= kCertainWaits); }

  static bool fits(const Request& request, const Response& response) {
    return awaited(request, response) && !request.contradicts(response);
  }

  struct Counted {
    size_t chosen = kNone;
    bool later = false;   // the next fixed point will still arrive
    bool unseen = false;  // the request is certainly not among the pending ones
  };

  Counted count_back(const Response& response, ResponseContext now) const;

  bool ends_there(const Request& request, const Response& response) const {
    if (request.complete) return request.end == response.acked;
    // The request is still being read or was cut within its packet; in either case, nothing more of it was seen.
    return request.number + 1 == next_number_ && !requests_hidden_;
  }

  size_t only_candidate(size_t last, const Response& response) const;

  size_t first_of_batch(size_t last, const Response& response) const;

  // Returns true if the client did not send the request together with the previous one, or if a response that it had
  // received shows that no earlier request was outstanding.
  bool begins_batch(const Request& request) const {
    if (request.begins_batch) return true;
    return previous_acked_ >= request.begin && previous_begin_ < request.peer_offset;
  }
  void note_previous(const Response& response) {
    previous_begin_ = response.begin;
    previous_acked_ = response.acked_known ? response.acked : 0;
  }

  void forget(const Request& request) { text_bytes_ -= request.text_bytes(); }

  void pop_request() {
    hidden_requests_ -= requests_.front().after_hidden;
    forget(requests_.front());
    requests_.pop_front();
  }

  void report_first_requests(size_t count, Sink& sink) {
    for (; count > 0; --count) {
      sink.on_transaction(&requests_.front(), nullptr);
      pop_request();
    }
  }

  // Settles responses that waited for their requests: pairs them once the requests have arrived, and reports them alone
  // once the requests can no longer arrive.
  void settle(bool closing, Sink& sink) {
    while (!waiting_.empty()) {
      Response& response = waiting_.front();
      const Taken taken = take_request(response, &settled_, {.closing = closing, .whole = true}, sink);
      if (taken == Taken::kLater) return;
      if (taken == Taken::kRequest) {
        note_pair(settled_, response);
        sink.on_transaction(&settled_, &response);
        forget(settled_);
      } else {
        note_previous(response);
        paired_end_ = 0;
        sink.on_transaction(nullptr, &response);
      }
      waiting_.pop_front();
    }
  }

  bool pipelined_ = false;        // two requests were seen in flight together
  bool overlapping_ = false;      // requests were sent after some, but not all, responses to earlier ones
  uint32_t waits_ = 0;            // requests since then that were sent after all responses had been received
  uint32_t turns_ = 0;            // consecutive turns of one request and one response
  bool answered_turn_ = false;    // the latest response completes such a turn
  bool begins_batch_ = false;     // flag of the current request (BareRequestHalf)
  bool requests_hidden_ = false;  // true if requests may be hidden since the latest one
  bool response_gap_ = false;     // true after a gap since the latest response began
  // True if responses may be hidden between the latest one with a certain request and the next.
  bool responses_hidden_ = false;
  bool current_paired_ = false;  // current_ answers current_request_
  uint32_t next_number_ = 1;
  uint32_t reading_ = 0;         // number of the request being read
  size_t hidden_requests_ = 0;   // number of requests_ with after_hidden
  uint64_t settled_offset_ = 0;  // position in the requests' stream
  // Requests that begin before this offset stay unpaired, even if they arrive later.
  uint64_t abandoned_until_ = 0;
  uint64_t answered_requests_ = 0;  // see all_answered()
  uint64_t answered_responses_ = UINT64_MAX;
  uint64_t latest_response_end_ = 0;
  uint64_t paired_end_ = 0;            // end of the latest response, if it was paired
  uint64_t previous_begin_ = 0;        // beginning of the previous response
  uint64_t previous_acked_ = 0;        // request bytes that it acknowledged
  int64_t latest_ns_ = INT64_MIN / 2;  // time of the latest message
  int64_t slowest_ns_ = 0;             // duration of the slowest pair
  std::optional<uint64_t>
      request_peer_offset_;          // response bytes that the client had received when it sent the latest request
  Ring<Request> requests_;           // unanswered, oldest first
  Ring<Response> waiting_;           // complete; their requests have not arrived yet
  std::optional<Response> current_;  // the response being read
  Request current_request_;
  Request settled_;  // request of the pair being reported; its memory is reused
  size_t text_bytes_ = 0;
};

}  // namespace tapline

#include "parsers/transactions/ordered_gaps.h"
