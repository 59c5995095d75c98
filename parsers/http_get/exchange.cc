#include "parsers/http_get/exchange.h"

#include <utility>

namespace tapline::http {
namespace {

bool has_no_body(const Request* request, uint32_t status) {
  return status / 100 == 1 || status == 204 || status == 304 || (request != nullptr && request->method() == "HEAD");
}

bool is_connect(const Request* request) { return request != nullptr && request->method() == "CONNECT"; }

}  // namespace

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  sink_ = &sink;
  readers_[other_side(side)].answered(*this);
  if (!is_requester(side)) unheard_segments_ = 0;
  if (segment.offset != readers_[side].offset()) [[unlikely]]
    join(side);
  if (is_overtaken(side, bytes, segment)) [[unlikely]]
    readers_[side].overtake(*this);
  if (readers_[side].read(bytes, segment, *this) == MessageReader::Verdict::kNotHttp) {
    if (not_http_[other_side(side)]) return ExchangeVerdict::kNotMine;
    leave_http(side, segment, bytes.size());
  }
  if (is_requester(side)) pairing_.requests_settled(readers_[side].settled_offset(), sink);
  if (!over_) [[likely]]
    return ExchangeVerdict::kFine;
  pairing_.report_all(sink);
  return ExchangeVerdict::kOver;
}

// Returns true if a length was misread: the body continues, but the client sent another request after it had received
// exactly the data before this segment, which begins like a response.
bool Exchange::is_overtaken(Side side, std::span<const uint8_t> bytes, const Segment& segment) const {
  if (requester_ < 0 || is_requester(side)) return false;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return readers_[side].may_be_overtaken(text) && pairing_.has_request_at(segment.offset);
}

// Called when the stream's first bytes are not a message. A server may understand a request that this parser does not,
// so the connection is still HTTP if the other side sends HTTP.
void Exchange::leave_http(Side side, const Segment& segment, size_t bytes) {
  not_http_[side] = true;
  over_ |= is_connect(pairing_.answered()) || is_connect(pairing_.next_request());
  readers_[side].start_in_middle();
  if (requester_ >= 0) on_hidden(side, segment.offset + bytes);
}

// Joins a stream in the middle: the parser did not see earlier data, since no query requested it then.
void Exchange::join(Side side) {
  readers_[side].start_in_middle();
  if (requester_ >= 0) on_hidden(side, readers_[side].offset());
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  sink_ = &sink;
  if (!is_requester(side)) unheard_segments_ = 0;
  if (segment.offset != readers_[side].offset()) join(side);
  readers_[side].gap(bytes, segment, *this);
  if (is_requester(side)) pairing_.requests_settled(readers_[side].settled_offset(), sink);
  return ExchangeVerdict::kFine;
}

void Exchange::end(Side side, Sink& sink) {
  sink_ = &sink;
  readers_[side].end(*this);
  ended_[side] = true;
  if (ended_[0] && ended_[1]) return pairing_.report_all(sink);
  if (requester_ >= 0 && !is_requester(side)) pairing_.server_ended(sink);
}

Framing Exchange::on_head(Side side, const Head& head, const Segment& first, bool /*cut*/) {
  if (requester_ < 0) {
    requester_ = head.request ? side : other_side(side);
    sink_->on_client(static_cast<Side>(requester_));
  }
  // A client sent a response, or a server a request: the sides' roles were misjudged, or a host misbehaves. The head is
  // ignored, and the message is treated as if it had no body.
  if (head.request != is_requester(side)) {
    if (is_requester(side)) pairing_.forget_reading();
    interim_ = !is_requester(side);
    return {};
  }
  return head.request ? on_request(side, head, first) : on_response(head, first);
}

void Exchange::note_request_segment(const Segment& first) {
  if (first.time_ns != request_segment_ns_) ++unheard_segments_;
  request_segment_ns_ = first.time_ns;
  if (!first.peer_offset_known) return;
  if (request_peer_offset_ != first.peer_offset) unheard_segments_ = 1;
  request_peer_offset_ = first.peer_offset;
}

Framing Exchange::on_request(Side side, const Head& head, const Segment& first) {
  note_request_segment(first);
  Request& request = pairing_.begin_request(first, *sink_, unheard_segments_ > kMaxUnheard ? kMaxUnheard : kMaxPending);
  request.end = readers_[side].offset();
  request.simple = !head.versioned;
  request.text.assign(head.method, head.url, head.host);
  request.method_bytes = static_cast<uint8_t>(head.method.size());
  request.url_bytes = static_cast<uint32_t>(head.url.size());
  pairing_.text_kept(request);
  if (head.chunked) return {.kind = BodyKind::kChunked};
  if (head.content_length) return {.kind = BodyKind::kLength, .length = *head.content_length};
  return {};
}

Framing Exchange::on_response(const Head& head, const Segment& first) {
  interim_ = head.status / 100 == 1 && head.status != 101;
  if (interim_) return {};
  Response response;
  response.status = head.status;
  return frame_response(head, pairing_.begin_response(first, response, *sink_), first);
}

bool Exchange::on_headless(Side side, const Segment& first) {
  if (requester_ < 0 || is_requester(side)) return false;
  if (pairing_.next_request() == nullptr || !pairing_.next_request()->simple) return false;
  pairing_.begin_response(first, {}, *sink_);
  return true;
}

// Returns the framing of the response's body. `request` is the request to which the response belongs, or null if it is
// unknown.
Framing Exchange::frame_response(const Head& head, const Request* request, const Segment& first) {
  const bool tunnel = head.status / 100 == 2 && is_connect(request);
  if (tunnel || head.status == 101) {
    over_ = true;
    readers_[0].become_opaque();
    readers_[1].become_opaque();
    pairing_.end_response(readers_[other_side(static_cast<Side>(requester_))].offset(), first.time_ns, *sink_);
    return {.kind = BodyKind::kOpaque};
  }
  if (has_no_body(request, head.status)) return {};
  const bool uncertain = request == nullptr;
  if (head.chunked) return {.kind = BodyKind::kChunked, .uncertain = uncertain};
  if (head.content_length && !head.coded) {
    return {.kind = BodyKind::kLength, .length = *head.content_length, .uncertain = uncertain};
  }
  return {.kind = BodyKind::kUntilClose, .uncertain = uncertain};
}

void Exchange::on_message_end(Side side, uint64_t end_offset, int64_t time_ns, bool exact) {
  if (is_requester(side)) return pairing_.end_request(end_offset, exact);
  if (!std::exchange(interim_, false)) pairing_.end_response(end_offset, time_ns, *sink_, exact);
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  is_requester(side) ? pairing_.hide_requests() : pairing_.hide_responses();
}

void Exchange::on_head_too_long(Side /*side*/) { sink_->on_loss(LossReason::kHeadTooLong); }

void Exchange::recycle() {
  Exchange exchange;
  pairing_.recycle();
  exchange.pairing_ = std::move(pairing_);
  for (const Side side : {Side{0}, Side{1}}) {
    readers_[side].recycle();
    exchange.readers_[side] = std::move(readers_[side]);
  }
  *this = std::move(exchange);
}

}  // namespace tapline::http
