#include "parsers/http_get/exchange.h"

#include <algorithm>
#include <utility>

namespace tapline::http {
namespace {

constexpr size_t kKeptRequests = Exchange::kMaxUnheard;

void trim(Request& request) { request.text.clear(); }

bool has_no_body(const Request* request, uint32_t status) {
  return status / 100 == 1 || status == 204 || status == 304 || (request != nullptr && request->method() == "HEAD");
}

}  // namespace

Exchange::Verdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment,
                                 TransactionSink& sink) {
  sink_ = &sink;
  readers_[other_side(side)].answered(*this);
  if (!is_requester(side)) unheard_segments_ = 0;
  if (segment.offset != readers_[side].offset()) [[unlikely]]
    join(side);
  const auto verdict = readers_[side].read(bytes, segment, *this);
  if (verdict == MessageReader::Verdict::kNotHttp) {
    // Some requests only their server can read: the connection is HTTP if its answer is.
    not_http_[side] = true;
    if (not_http_[other_side(side)]) return Verdict::kNotHttp;
    const bool tunnel = current_paired_ && current_request_.method() == "CONNECT";
    const bool asked = !requests_.empty() && requests_.front().method() == "CONNECT";
    if (tunnel || asked) over_ = true;
    readers_[side].start_in_middle();
    if (requester_ >= 0) on_hidden(side, segment.offset + bytes.size());
  }
  if (is_requester(side) && !waiting_.empty()) settle(false);
  if (!over_) return Verdict::kFine;
  tell_all();
  return Verdict::kOver;
}

// The parser was not told of what came before: it was loaded while the connection went on.
void Exchange::join(Side side) {
  readers_[side].start_in_middle();
  if (requester_ >= 0) on_hidden(side, readers_[side].offset());
}

Exchange::Verdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, TransactionSink& sink) {
  sink_ = &sink;
  if (!is_requester(side)) unheard_segments_ = 0;
  if (segment.offset != readers_[side].offset()) join(side);
  readers_[side].gap(bytes, segment, *this);
  if (is_requester(side) && !waiting_.empty()) settle(false);
  return Verdict::kFine;
}

void Exchange::end(Side side, TransactionSink& sink) {
  sink_ = &sink;
  readers_[side].end(*this);
  ended_[side] = true;
  if (ended_[0] && ended_[1]) return tell_all();
  // The server sends no more: what is unanswered stays so, unless its answer waits for a request's missing part.
  if (requester_ >= 0 && !is_requester(side) && waiting_.empty()) tell_first_requests(requests_.size());
}

Framing Exchange::on_head(Side side, const Head& head, const Segment& first, bool /*cut*/) {
  if (requester_ < 0) {
    requester_ = head.request ? side : other_side(side);
    sink_->on_requester(static_cast<Side>(requester_));
  }
  // A response where requests belong: the other side's role was misjudged, or somebody plays; its framing still counts.
  if (head.request != is_requester(side)) {
    if (is_requester(side)) reading_id_ = 0;
    interim_ = !is_requester(side);
    return {};
  }
  return head.request ? on_request(side, head, first) : on_response(head, first);
}

void Exchange::note_request_segment(const Segment& first) {
  if (first.time_ns != request_segment_ns_) ++unheard_segments_;
  request_segment_ns_ = first.time_ns;
  if (!first.peer_offset_known) return;
  if (request_peer_offset_ != first.peer_offset) {
    unheard_segments_ = 1;
  } else if (!requests_.empty() && !requests_hidden_) {
    pipelined_ = true;
  }
  request_peer_offset_ = first.peer_offset;
}

Framing Exchange::on_request(Side side, const Head& head, const Segment& first) {
  note_request_segment(first);
  if (requests_.size() >= (unheard_segments_ > kMaxUnheard ? kMaxUnheard : kMaxPending)) {
    sink_->on_loss(LossReason::kTooManyPending);
    tell_first_requests(1);
    responses_hidden_ = true;
  }
  Request& request = requests_.push_back();
  request.id = reading_id_ = next_id_++;
  request.first_ns = first.time_ns;
  request.begin = first.offset;
  request.end = readers_[side].offset();
  request.after_hidden = std::exchange(requests_hidden_, false);
  request.complete = false;
  request.simple = !head.versioned;
  request.text.assign(head.method, head.url, head.host);
  request.method_bytes = static_cast<uint8_t>(head.method.size());
  request.url_bytes = static_cast<uint32_t>(head.url.size());
  text_bytes_ += request.text.heap_bytes();
  if (request.begin < abandoned_until_) tell_first_requests(requests_.size());
  if (head.chunked) return {.kind = BodyKind::kChunked};
  if (head.content_length) return {.kind = BodyKind::kLength, .length = *head.content_length};
  return {};
}

Framing Exchange::on_response(const Head& head, const Segment& first) {
  interim_ = head.status / 100 == 1 && head.status != 101;
  if (interim_) return {};
  begin_response(first, head.status);
  return frame_response(head);
}

void Exchange::begin_response(const Segment& first, uint32_t status) {
  settle(false);
  current_ = Response{.first_ns = first.time_ns,
                      .last_ns = first.time_ns,
                      .begin = first.offset,
                      .end = first.offset,
                      .acked = first.peer_offset,
                      .acked_known = first.peer_offset_known,
                      .after_hidden = std::exchange(response_gap_, false),
                      .status = status};
  current_paired_ = waiting_.empty() && take_request(*current_, false, &current_request_);
}

bool Exchange::on_headless(Side side, const Segment& first) {
  if (requester_ < 0 || is_requester(side) || requests_.empty() || !requests_.front().simple) return false;
  begin_response(first, 0);
  return true;
}

Framing Exchange::frame_response(const Head& head) {
  const Request* request = current_paired_ ? &current_request_ : nullptr;
  const bool tunnel = request != nullptr && request->method() == "CONNECT" && head.status / 100 == 2;
  if (tunnel || head.status == 101) {
    over_ = true;
    readers_[0].become_opaque();
    readers_[1].become_opaque();
    on_response_end(readers_[other_side(static_cast<Side>(requester_))].offset(), current_->first_ns);
    return {.kind = BodyKind::kOpaque};
  }
  if (has_no_body(request, head.status)) return {};
  const bool uncertain = request == nullptr;
  if (head.chunked) return {.kind = BodyKind::kChunked, .uncertain = uncertain};
  if (head.content_length) return {.kind = BodyKind::kLength, .length = *head.content_length, .uncertain = uncertain};
  return {.kind = BodyKind::kUntilClose, .uncertain = uncertain};
}

void Exchange::on_message_end(Side side, uint64_t end_offset, int64_t time_ns, bool exact) {
  if (is_requester(side)) return on_request_end(end_offset, exact);
  if (!std::exchange(interim_, false)) on_response_end(end_offset, time_ns);
}

void Exchange::on_request_end(uint64_t end_offset, bool exact) {
  Request* request = nullptr;
  if (!requests_.empty() && requests_.back().id == reading_id_) {
    request = &requests_.back();
  } else if (current_paired_ && current_request_.id == reading_id_) {
    request = &current_request_;
  }
  if (request == nullptr) return;
  request->end = end_offset;
  request->complete = exact;
}

void Exchange::on_response_end(uint64_t end_offset, int64_t time_ns) {
  if (!current_) return;
  current_->end = end_offset;
  current_->last_ns = time_ns;
  if (current_paired_) {
    sink_->on_transaction(&current_request_, &*current_);
    forget(current_request_);
  } else {
    waiting_.push_back() = *current_;
  }
  current_.reset();
  current_paired_ = false;
  if (!waiting_.empty()) settle(waiting_.size() > kMaxWaiting);
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  (is_requester(side) ? requests_hidden_ : response_gap_) = true;
}

void Exchange::on_head_too_long(Side /*side*/) { sink_->on_loss(LossReason::kHeadTooLong); }

// While nothing is hidden the order tells, and the acknowledgement must not contradict.
bool Exchange::take_request(Response& response, bool closing, Request* taken) {
  responses_hidden_ |= std::exchange(response.after_hidden, false);
  if (requests_.empty()) return false;
  if (response.acked_known && response.acked <= requests_.front().begin) return false;
  size_t last = 0;
  bool hidden = responses_hidden_ || requests_.front().after_hidden;
  for (size_t i = 1; i < requests_.size() && response.acked_known && requests_[i].begin < response.acked; ++i) {
    last = i;
    hidden |= requests_[i].after_hidden;
  }
  if (hidden) {
    // Which of them it is for is told by the last one it acknowledges.
    if (!closing && may_come(response)) return false;
    const bool certain = response.acked_known && !pipelined_ && answers(requests_[last], response);
    responses_hidden_ = false;
    tell_first_requests(certain ? last : last + 1);
    if (!certain) {
      if (response.acked_known) abandoned_until_ = std::max(abandoned_until_, response.acked);
      return false;
    }
  }
  std::swap(*taken, requests_.front());
  requests_.pop_front();
  return true;
}

// Whether requests that it acknowledges are still to be told of.
bool Exchange::may_come(const Response& response) const {
  const uint64_t told_until = std::max(request_reader().settled_offset(), abandoned_until_);
  return response.acked_known && response.acked > told_until;
}

bool Exchange::answers(const Request& request, const Response& response) const {
  if (request.complete) return request.end == response.acked;
  // Still being read, or cut short within its packet: nothing further was seen of it either way.
  return request.id + 1 == next_id_ && !requests_hidden_;
}

void Exchange::tell_first_requests(size_t count) {
  for (; count > 0; --count) {
    sink_->on_transaction(&requests_.front(), nullptr);
    forget(requests_.front());
    requests_.pop_front();
  }
}

// Responses that waited for their requests: paired once those are there, single once they can't come any more.
void Exchange::settle(bool closing) {
  while (!waiting_.empty()) {
    Response& response = waiting_.front();
    if (take_request(response, closing, &settled_)) {
      sink_->on_transaction(&settled_, &response);
      forget(settled_);
    } else {
      if (!closing && may_come(response)) return;
      sink_->on_transaction(nullptr, &response);
    }
    waiting_.pop_front();
  }
}

void Exchange::tell_all() {
  settle(true);
  if (current_) sink_->on_transaction(current_paired_ ? &current_request_ : nullptr, &*current_);
  if (current_paired_) forget(current_request_);
  current_.reset();
  current_paired_ = false;
  tell_first_requests(requests_.size());
}

void Exchange::visit_pending(TransactionSink& sink) const {
  for (size_t i = 0; i < waiting_.size(); ++i) sink.on_transaction(nullptr, &waiting_[i]);
  if (current_) sink.on_transaction(current_paired_ ? &current_request_ : nullptr, &*current_);
  for (size_t i = 0; i < requests_.size(); ++i) sink.on_transaction(&requests_[i], nullptr);
}

void Exchange::recycle() {
  Exchange fresh;
  fresh.requests_ = std::move(requests_);
  fresh.requests_.recycle(kKeptRequests, trim);
  fresh.waiting_ = std::move(waiting_);
  fresh.waiting_.recycle(kKeptRequests, [](Response&) {});
  fresh.current_request_ = std::move(current_request_);
  trim(fresh.current_request_);
  fresh.settled_ = std::move(settled_);
  trim(fresh.settled_);
  for (const Side side : {Side{0}, Side{1}}) {
    fresh.readers_[side] = std::move(readers_[side]);
    fresh.readers_[side].recycle();
  }
  *this = std::move(fresh);
}

size_t Exchange::memory_bytes() const {
  return text_bytes_ + requests_.memory_bytes() + waiting_.memory_bytes() + readers_[0].buffer_bytes() +
         readers_[1].buffer_bytes();
}

}  // namespace tapline::http
