#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/http_get/message_reader.h"
#include "parsers/http_get/short_text.h"
#include "parsers/transactions/ordered_pairing.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline::http {

// A request that waits for its response. It takes two cache lines, unless its text is long: if many connections wait,
// each request costs a cache miss when it is stored and another one when its response arrives. (It is not aligned to
// cache lines: glibc's allocator fragments badly with short-lived aligned objects.)
struct Request : BareRequestHalf {
  bool simple = false;       // HTTP/0.9: its response may have no head
  uint8_t method_bytes = 0;  // at most 32, the limit in head.cc
  uint32_t url_bytes = 0;
  ShortText text = {};  // method, url and host, one after another

  std::string_view method() const { return text.view().substr(0, method_bytes); }
  std::string_view url() const { return text.view().substr(method_bytes, url_bytes); }
  std::string_view host() const { return text.view().substr(method_bytes + url_bytes); }

  size_t text_bytes() const { return text.heap_bytes(); }
  void clear_text() { text.clear(); }
  void trim() { text.clear(); }
};
static_assert(sizeof(Request) == 128);

// A final response.
struct Response : ResponseHalf {
  uint32_t status = 0;  // 0 if it has no head
};

// Reads both sides of one connection: finds the client, frames each message, and detects the end of HTTP.
// Transactions of a client that does not pipeline are reported correctly after any gap; see OrderedPairing.
class Exchange final : private MessageHandler {
 public:
  using Request = http::Request;
  using Response = http::Response;
  using Sink = TransactionSink<Request, Response>;
  static constexpr size_t kMaxPending = 128;
  // Maximum number of pending requests once more than this many segments with requests have passed and no byte from the
  // server has been captured or acknowledged. The limit makes requests on a one-way mirror cheap, and reports them
  // early.
  static constexpr uint32_t kMaxUnheard = 16;
  // A connection that was joined in the middle uses another protocol if its streams together show no HTTP within this
  // many bytes.
  static constexpr uint64_t kMaxSeekBytes = 16 << 20;
  static constexpr size_t kMaxMemoryBytes = size_t{512} << 20;

  void start_in_middle(Side side) { readers_[side].start_in_middle(); }
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  void end(Side side, Sink& sink);
  void visit_pending(Sink& sink) const { pairing_.visit_pending(sink); }
  int64_t report_overdue(int64_t before_ns, Sink& sink) { return pairing_.report_overdue(before_ns, sink); }
  bool has_failed() const {
    return requester_ < 0 && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes;
  }
  size_t memory_bytes() const {
    return pairing_.memory_bytes() + readers_[0].buffer_bytes() + readers_[1].buffer_bytes();
  }
  void recycle();
  void look_ahead() const { pairing_.touch_next_request(); }

 private:
  Framing on_head(Side side, const Head& head, const Segment& first, bool is_cut) override;
  void on_message_end(Side side, uint64_t end_offset, int64_t time_ns, bool exact) override;
  void on_hidden(Side side, uint64_t offset) override;
  void on_head_too_long(Side side) override;
  bool on_headless(Side side, const Segment& first) override;

  void note_request_segment(const Segment& first);
  Framing on_request(Side side, const Head& head, const Segment& first);
  Framing on_response(const Head& head, const Segment& first);
  Framing frame_response(const Head& head, const Request* request, const Segment& first);
  bool is_overtaken(Side side, std::span<const uint8_t> bytes, const Segment& segment) const;
  void leave_http(Side side, const Segment& segment, size_t bytes);
  void join(Side side);
  bool is_requester(Side side) const { return requester_ == side; }

  MessageReader readers_[2] = {MessageReader(0), MessageReader(1)};
  OrderedPairing<Request, Response, kMaxPending> pairing_;
  int requester_ = -1;  // side, once known
  bool ended_[2] = {false, false};
  bool not_http_[2] = {false, false};  // by side: true if its first bytes were not a message
  bool over_ = false;
  bool interim_ = false;                  // the response being read is a 1xx
  uint32_t unheard_segments_ = 0;         // see kMaxUnheard
  int64_t request_segment_ns_ = 0;        // time of the latest request's segment
  uint64_t request_peer_offset_ = ~0ull;  // bytes that the client had received when it sent the latest request
  Sink* sink_ = nullptr;                  // set during a call
};

}  // namespace tapline::http
