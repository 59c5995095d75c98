#include "parsers/http2_request/exchange.h"

#include <algorithm>

#include "parsers/api/bytes.h"
#include "parsers/http2_request/upgrade.h"

namespace tapline::http2 {
namespace {

constexpr uint64_t kMaxSeekBytes = 1 << 20;
constexpr size_t kMaxBlockBytes = 64 << 10, kMaxUpgradeBytes = 8 << 10;
constexpr int64_t kHiddenTimeoutNs = 30'000'000'000;
constexpr uint32_t kMaxRefused = 1024;
constexpr std::string_view kAgreed = "HTTP/1.1 101";

}  // namespace

void Exchange::start_in_middle(Side side) {
  readers_[side].start_in_middle();
  halves_[side].middle = true;
}

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  sink_ = &sink;
  if (readers_[side].read(bytes, segment, *this) == UnitReader::Verdict::kNotMine) {
    pairing_.report_all(sink);
    return ExchangeVerdict::kNotMine;
  }
  if (side == client_) pairing_.requests_settled(readers_[side].settled_offset(), sink);
  if (segment.time_ns >= hidden_ns_ && segment.time_ns - hidden_ns_ > kHiddenTimeoutNs) {
    pairing_.expire_before(hidden_ns_, sink);
    hidden_ns_ = INT64_MAX;
  }
  return ExchangeVerdict::kFine;
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  sink_ = &sink;
  readers_[side].gap(bytes, segment, *this);
  if (side == client_) pairing_.requests_settled(readers_[side].settled_offset(), sink);
  return ExchangeVerdict::kFine;
}

void Exchange::end(Side side, Sink& sink) {
  halves_[side].ended = true;
  if (halves_[0].ended && halves_[1].ended) pairing_.report_all(sink);
}

bool Exchange::has_failed() const {
  return client_ < 0 && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes;
}

size_t Exchange::memory_bytes() const {
  size_t bytes = pairing_.memory_bytes();
  for (const Side side : {Side{0}, Side{1}}) {
    bytes += readers_[side].memory_bytes() + halves_[side].decoder.memory_bytes() + halves_[side].block.text.capacity();
  }
  return bytes;
}

void Exchange::recycle() {
  pairing_.recycle();
  for (const Side side : {Side{0}, Side{1}}) {
    readers_[side].recycle();
    std::string text = std::move(halves_[side].block.text);
    trim(text);
    halves_[side] = Half();
    halves_[side].block.text = std::move(text);
  }
  headers_.clear();
  upgrade_ = Upgrade();
  client_ = -1;
  hidden_ns_ = INT64_MAX;
  closed_ = {};
  next_closed_ = 0;
}

void Exchange::recognise(Side client) {
  if (client_ >= 0) return;
  client_ = client;
  sink_->on_client(client);
}

Unit Exchange::on_unit(Side side, std::string_view bytes, const Segment& first) {
  return halves_[side].frames ? frame(side, bytes, first) : opening(side, bytes, first);
}

// ---- before the first frame ----

Unit Exchange::opening(Side side, std::string_view bytes, const Segment& first) {
  if (client_ < 0 || side == client_) {
    if (bytes.starts_with(kPreface)) {
      recognise(side);
      agree();
      halves_[side].frames = true;
      return Unit::taken(kPreface.size());
    }
    if (kPreface.starts_with(bytes)) return Unit::more(kPreface.size());
    if (begins_like_request(bytes)) return upgrade_request(side, bytes, first);
  }
  if (side == client_) return Unit::none();
  if (upgrade_.requested) return upgrade_response(side, bytes);
  if (bytes.size() < FrameHead::kBytes) return bytes[0] == 0 ? Unit::more(FrameHead::kBytes) : Unit::none();
  const FrameHead head = parse_frame(bytes);
  if (head.type != kSettings || head.has(1) || !is_plausible(head)) return Unit::none();
  halves_[side].frames = true;
  return frame(side, bytes, first);
}

// Reads an HTTP/1.1 request to upgrade to HTTP/2. Other HTTP/1 requests are outside this parser's scope.
Unit Exchange::upgrade_request(Side side, std::string_view bytes, const Segment& first) {
  if (upgrade_.requested) return Unit::none();
  const size_t end = bytes.substr(0, kMaxUpgradeBytes).find("\r\n\r\n");
  if (end == std::string_view::npos) return bytes.size() < kMaxUpgradeBytes ? Unit::more() : Unit::none();
  const size_t head_bytes = end + 4;
  UpgradeHead head;
  if (!read_upgrade(bytes.substr(0, head_bytes), &head)) return Unit::none();
  upgrade_ = {.requested = true,
              .agreed = false,
              .first = first,
              .end = first.offset + head_bytes,
              .method = std::string(head.method),
              .host = std::string(head.host),
              .path = std::string(head.path)};
  client_ = side;
  return Unit::taken(head_bytes, head.body_bytes);
}

Unit Exchange::upgrade_response(Side side, std::string_view bytes) {
  if (!bytes.starts_with(kAgreed.substr(0, bytes.size()))) return Unit::none();
  const size_t end = bytes.substr(0, kMaxUpgradeBytes).find("\r\n\r\n");
  if (end == std::string_view::npos) return bytes.size() < kMaxUpgradeBytes ? Unit::more() : Unit::none();
  agree();
  halves_[side].frames = true;
  return Unit::taken(end + 4);
}

// Records that the server has accepted a requested upgrade, as shown by its response or by HTTP/2 bytes of either side.
void Exchange::agree() {
  if (!upgrade_.requested || upgrade_.agreed) return;
  upgrade_.agreed = true;
  sink_->on_client(static_cast<Side>(client_));
  Request& request = open_request(1, upgrade_.first, upgrade_.method, upgrade_.host, upgrade_.path);
  request.bytes = upgrade_.end - upgrade_.first.offset;
  pairing_.end_request(1, upgrade_.end, *sink_);
  for (std::string* text : {&upgrade_.method, &upgrade_.host, &upgrade_.path}) trim(*text);
}

// ---- frames ----

Unit Exchange::frame(Side side, std::string_view bytes, const Segment& first) {
  if (bytes.size() < FrameHead::kBytes) return Unit::more(FrameHead::kBytes);
  const FrameHead head = parse_frame(bytes);
  const Block& block = halves_[side].block;
  if (block.open != (head.type == kContinuation) || (block.open && block.stream != head.stream)) return Unit::none();
  switch (head.type) {
    case kData:
      return data_frame(side, head, bytes, first);
    case kHeaders:
    case kPushPromise:
    case kContinuation:
      return header_frame(side, head, bytes, first);
    case kRstStream:
    case kGoAway: {
      const size_t wanted = FrameHead::kBytes + (head.type == kGoAway ? 8 : 4);
      if (head.bytes() < wanted) return Unit::none();
      if (bytes.size() < wanted) return Unit::more(wanted);
      const std::string_view payload = bytes.substr(FrameHead::kBytes);
      const auto* code = reinterpret_cast<const uint8_t*>(payload.data());
      head.type == kGoAway ? go_away(side, payload) : reset(head.stream, name_of_error(big_endian_32(code)));
      return Unit::taken(wanted, head.bytes() - wanted);
    }
    default:
      if (head.type <= kContinuation && !is_plausible(head)) return Unit::none();
      return Unit::taken(FrameHead::kBytes, head.length);
  }
}

Unit Exchange::data_frame(Side side, const FrameHead& head, std::string_view bytes, const Segment& first) {
  size_t seen = FrameHead::kBytes;
  uint32_t payload = head.length;
  if (head.has(kPadded)) {
    if (payload == 0) return Unit::none();
    if (bytes.size() == seen) return Unit::more(seen + 1);
    const auto padding = static_cast<uint8_t>(bytes[seen++]);
    if (padding >= payload) return Unit::none();
    payload -= padding + 1u;
  }
  Body& body = halves_[side].body;
  body = {true, head.has(kEndStream), head.stream};
  if (side == client_) {
    if (Request* request = pairing_.find_request(head.stream)) request->bytes += payload;
  } else if (Response* response = pairing_.find_response(head.stream)) {
    response->bytes += payload;
  }
  if (head.bytes() == seen) on_skipped(side, first.offset + seen, readers_[side].time_ns());
  return Unit::taken(seen, head.bytes() - seen);
}

void Exchange::on_skipped(Side side, uint64_t end_offset, int64_t time_ns) {
  Body& body = halves_[side].body;
  if (!body.open) return;
  body.open = false;
  if (side != client_) {
    if (Response* response = pairing_.find_response(body.stream)) response->last_ns = time_ns;
  }
  if (body.ends_stream) end_stream(side, body.stream, end_offset, time_ns);
}

Unit Exchange::header_frame(Side side, const FrameHead& head, std::string_view bytes, const Segment& first) {
  if (head.bytes() > kMaxUnitBytes) {
    sink_->on_loss(LossReason::kHeadTooLong);
    return Unit::none();
  }
  if (bytes.size() < head.bytes()) return Unit::more(head.bytes());
  std::string_view fragment;
  if (!fragment_of(head, bytes.substr(FrameHead::kBytes, head.length), &fragment)) return Unit::none();
  take_fragment(side, head, fragment, false, first);
  return Unit::taken(head.bytes());
}

void Exchange::take_fragment(Side side, const FrameHead& head, std::string_view fragment, bool is_cut,
                             const Segment& first) {
  Block& block = halves_[side].block;
  if (head.type != kContinuation) {
    block.open = block.whole = true;
    block.promise = head.type == kPushPromise;
    block.ends_stream = head.type == kHeaders && head.has(kEndStream);
    block.stream = head.stream;
    block.bytes = 0;
    block.first = first;
    block.text.clear();
  }
  block.bytes += fragment.size();
  const uint64_t end = first.offset + head.bytes();
  if (head.type != kContinuation && head.has(kEndHeaders)) {
    block.whole = !is_cut;
    return finish_block(side, fragment, end);
  }
  // Nothing after missing bytes can be read, because references may then refer to any entry.
  if (block.whole) block.text.append(fragment.substr(0, kMaxBlockBytes - std::min(kMaxBlockBytes, block.text.size())));
  if (block.whole && block.bytes > kMaxBlockBytes) sink_->on_loss(LossReason::kHeadTooLong);
  block.whole = block.whole && !is_cut && block.bytes <= kMaxBlockBytes;
  if (!head.has(kEndHeaders)) return;
  finish_block(side, block.text, end);
  if (block.text.capacity() > kKeptTextBytes) std::string().swap(block.text);
}

void Exchange::finish_block(Side side, std::string_view text, uint64_t end) {
  Half& half = halves_[side];
  Block& block = half.block;
  block.open = false;
  headers_.clear();
  half.decoder.decode(text, headers_);
  if (!block.whole) {
    headers_.unknown = true;
    half.decoder.forget();
  }
  if (client_ < 0 && headers_.asks()) recognise(side);
  if (client_ < 0 && headers_.status != 0) recognise(other_side(side));
  // Servers push on even stream numbers, without a request.
  if (client_ < 0 || block.promise || block.stream % 2 == 0) return;
  if (side == client_) {
    request_headers(block, end);
  } else {
    response_headers(block, end, readers_[side].time_ns());
  }
  half.highest_stream = std::max(half.highest_stream, block.stream);
}

Request& Exchange::open_request(uint32_t stream, const Segment& first, std::string_view method, std::string_view host,
                                std::string_view path) {
  Request& request = pairing_.begin_request(stream, first, *sink_);
  request.stream = stream;
  request.bytes = 0;
  request.grpc = false;
  request.outcome = {};
  request.method_bytes = static_cast<uint32_t>(method.size());
  request.host_bytes = static_cast<uint32_t>(host.size());
  for (const std::string_view text : {method, host, path}) pairing_.keep_text(request, text);
  return request;
}

void Exchange::request_headers(const Block& block, uint64_t end) {
  Request* request = pairing_.find_request(block.stream);
  if (request == nullptr) {
    // A block without a known pseudo-header may be the trailers of a reported request, unless its stream number is
    // higher than all earlier ones.
    const bool is_new = headers_.asks() || (headers_.unknown && block.stream > halves_[client_].highest_stream);
    if (!is_new || was_closed(block.stream)) return;
    request = &open_request(block.stream, block.first, headers_.method, headers_.authority(), headers_.path);
    request->grpc = headers_.grpc;
  }
  request->bytes += block.bytes;
  if (block.ends_stream) pairing_.end_request(block.stream, end, *sink_);
}

void Exchange::response_headers(const Block& block, uint64_t end, int64_t time_ns) {
  if (was_closed(block.stream) || (headers_.status >= 100 && headers_.status < 200)) return;
  Response* response = pairing_.find_response(block.stream);
  if (response == nullptr) {
    // A block without a status contains trailers, whose response was already reported or was not seen.
    if (headers_.status == 0 && !headers_.unknown && !headers_.grpc_status_known) return;
    if (headers_.status == 0 && pairing_.find_request(block.stream) == nullptr) return;
    begin_response(block);
    response = pairing_.find_response(block.stream);
  }
  if (response->status == 0) response->status = headers_.status;
  response->bytes += block.bytes;
  response->last_ns = time_ns;
  response->grpc = response->grpc || headers_.grpc;
  if (headers_.grpc_status_known) {
    response->grpc_status_known = true;
    response->grpc_status = headers_.grpc_status;
  }
  if (block.ends_stream) end_stream(other_side(static_cast<Side>(client_)), block.stream, end, time_ns);
}

void Exchange::begin_response(const Block& block) {
  Response& response = pairing_.begin_response(block.stream, block.first, *sink_);
  response.stream = block.stream;
  response.status = 0;
  response.bytes = 0;
  response.begun = headers_.status != 0 || !halves_[other_side(static_cast<Side>(client_))].middle;
  response.grpc = response.grpc_status_known = false;
  response.grpc_status = 0;
  response.outcome = {};
}

void Exchange::end_stream(Side side, uint32_t stream, uint64_t end, int64_t time_ns) {
  if (side == client_) return pairing_.end_request(stream, end, *sink_);
  Response* response = pairing_.find_response(stream);
  if (response == nullptr) return;
  pairing_.end_response(stream, end, time_ns, *sink_);
}

void Exchange::reset(uint32_t stream, std::string_view outcome) {
  Request* request = pairing_.find_request(stream);
  Response* response = pairing_.find_response(stream);
  if (request == nullptr && response == nullptr) return;
  if (request != nullptr) request->outcome = outcome;
  if (response != nullptr) response->outcome = outcome;
  pairing_.expire(stream, *sink_);
  closed_[next_closed_++ % kClosed] = stream;
}

// Handles GOAWAY: the server will ignore streams above the one that it names.
void Exchange::go_away(Side side, std::string_view payload) {
  if (client_ < 0 || side == client_) return;
  const uint32_t last = big_endian_32(reinterpret_cast<const uint8_t*>(payload.data())) & 0x7fffffff;
  uint32_t stream = halves_[client_].highest_stream;
  for (uint32_t looked_at = 0; stream > last && looked_at < kMaxRefused; ++looked_at, stream -= 2) {
    if (pairing_.find_response(stream) == nullptr) reset(stream, "goaway");
    if (stream < 2) break;
  }
}

bool Exchange::was_closed(uint32_t stream) const {
  return std::find(closed_.begin(), closed_.end(), stream) != closed_.end();
}

// ---- missing bytes ----

// Handles a cut frame. Its end is known, since a frame begins with its length.
Unit Exchange::on_cut(Side side, std::string_view bytes, const Segment& first, bool /*in_packet*/) {
  if (!halves_[side].frames || bytes.size() < FrameHead::kBytes) return Unit::none();
  const FrameHead head = parse_frame(bytes);
  if (!is_plausible(head) || bytes.size() >= head.bytes()) return Unit::none();
  const Block& block = halves_[side].block;
  if (block.open != (head.type == kContinuation) || (block.open && block.stream != head.stream)) return Unit::none();
  if (head.type == kHeaders || head.type == kPushPromise || head.type == kContinuation) {
    std::string_view fragment;
    if (!fragment_of(head, bytes.substr(FrameHead::kBytes), &fragment)) return Unit::none();
    take_fragment(side, head, fragment, true, first);
  }
  return Unit::taken(bytes.size(), head.bytes() - bytes.size());
}

bool Exchange::may_resume(Side side, std::string_view bytes) {
  if ((client_ < 0 || (side == client_ && !halves_[side].frames)) && bytes.starts_with(kPreface)) return true;
  if (may_resume_upgrade(side, bytes)) return true;
  if (!is_chain(side, bytes)) return false;
  agree();
  halves_[side].frames = true;
  return true;
}

// Returns true if the bytes belong to an upgrade on a connection whose beginning was not captured. If the server
// refuses, the connection stays HTTP/1.1, and later requests may ask again.
bool Exchange::may_resume_upgrade(Side side, std::string_view bytes) {
  if (halves_[0].frames || halves_[1].frames || upgrade_.agreed) return false;
  if (upgrade_.requested && side != client_) {
    if (bytes.starts_with(kAgreed)) return true;
    if (!bytes.starts_with("HTTP/1.")) return false;
    upgrade_ = Upgrade();
    client_ = -1;
    return false;
  }
  const size_t end = bytes.substr(0, kMaxUpgradeBytes).find("\r\n\r\n");
  UpgradeHead head;
  return client_ < 0 && begins_like_request(bytes) && end != std::string_view::npos &&
         read_upgrade(bytes.substr(0, end + 4), &head);
}

// Returns true if the segment certainly begins with frames: they include a header block of a request or response, or a
// frame of a pending stream, or the client is known and whole frames fill the segment.
bool Exchange::is_chain(Side side, std::string_view bytes) {
  int frames = 0;
  bool certain = false;
  while (bytes.size() >= FrameHead::kBytes) {
    const FrameHead head = parse_frame(bytes);
    if (!is_plausible(head)) return false;
    ++frames;
    const bool is_whole = head.bytes() <= bytes.size();
    if (head.type == kContinuation && frames == 1) return false;
    if (head.type == kHeaders && is_whole && head.has(kEndHeaders)) {
      std::string_view fragment;
      if (!fragment_of(head, bytes.substr(FrameHead::kBytes, head.length), &fragment)) return false;
      const BlockKind look = classify(fragment);
      if (!look.well_formed || (look.asks && look.answers)) return false;
      if (client_ >= 0 && (side == client_ ? look.answers : look.asks)) return false;
      certain = certain || look.asks || look.answers;
    }
    if (head.stream != 0 && pairing_.find_request(head.stream) != nullptr) certain = true;
    if (!is_whole) return certain;
    bytes.remove_prefix(head.bytes());
  }
  return certain || (client_ >= 0 && frames > 0 && bytes.empty());
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  Half& half = halves_[side];
  half.middle = true;
  half.decoder.forget();
  half.block.open = half.body.open = false;
  if (client_ >= 0 && pairing_.pending() > 0) hidden_ns_ = readers_[side].time_ns();
}

void Exchange::on_too_long(Side /*side*/) { sink_->on_loss(LossReason::kHeadTooLong); }

}  // namespace tapline::http2
