#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parsers/http_get/message_reader.h"
#include "parsers/http_get/short_text.h"
#include "parsers/transactions/ring.h"

namespace tapline::http {

// A request that waits for its response. Offsets are of the requests' stream. As long as two cache lines, unless its
// text is long: where many connections wait, each request is a cache miss on its way in and another on its way out.
// (Not aligned to them: glibc's memory of aligned objects that come and go is full of holes.)
struct Request {
  int64_t first_ns = 0;
  uint64_t begin = 0;
  uint64_t end = 0;  // of what was read so far
  uint32_t id = 0;
  bool complete = false;      // end is where it ends
  bool after_hidden = false;  // requests may lie unseen between it and the one before
  bool simple = false;        // HTTP/0.9: its response may have no head
  uint8_t method_bytes = 0;   // at most 32: head.cc knows no longer one
  uint32_t url_bytes = 0;
  ShortText text = {};  // method, url and host, one after the other

  std::string_view method() const { return text.view().substr(0, method_bytes); }
  std::string_view url() const { return text.view().substr(method_bytes, url_bytes); }
  std::string_view host() const { return text.view().substr(method_bytes + url_bytes); }
};
static_assert(sizeof(Request) == 128);

// A final response. Offsets are of the responses' stream, `acked` is of the requests'.
struct Response {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t acked = 0;  // how much of the requests the server had received when it began to answer
  bool acked_known = false;
  bool after_hidden = false;  // responses may lie unseen between it and the one before
  uint32_t status = 0;        // 0: without a head
};

class TransactionSink {
 public:
  virtual ~TransactionSink() = default;
  // One of the two may be null: it was not seen, or there is none.
  virtual void on_transaction(const Request* request, const Response* response) = 0;
  virtual void on_requester(Side side) = 0;
  virtual void on_loss(LossReason reason) = 0;
};

// Reads both sides of one connection and pairs responses with requests.
//
// Responses come in the order of the requests. Where a gap may hide messages the order alone does not tell any more,
// but the acknowledgement in a response's first segment does: a client that does not pipeline sends one request and
// waits, so the response is for the request that ends where the acknowledgement does. Where that does not tell either
// (the client pipelines), both halves stay single. A response may also be seen before its request, when the request's
// segment comes late; it waits as long as the bytes that it acknowledges are still to come.
class Exchange final : private MessageHandler {
 public:
  static constexpr size_t kMaxPending = 128;
  // The same while nothing shows that the server answers: this many segments with requests went by without a byte of
  // its stream, captured or acknowledged. So the halves of a one-way mirror come soon, and cost little.
  static constexpr uint32_t kMaxUnheard = 16;
  static constexpr size_t kMaxWaiting = 32;

  enum class Verdict : uint8_t { kFine, kNotHttp, kOver };

  // Joined in mid-stream: a side whose first bytes were not captured.
  void start_in_middle(Side side) { readers_[side].start_in_middle(); }

  // kOver: the connection went over to another protocol. After anything but kFine all has been told.
  Verdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, TransactionSink& sink);
  Verdict gap(Side side, uint64_t bytes, const Segment& segment, TransactionSink& sink);
  void end(Side side, TransactionSink& sink);

  // Tells of everything that is pending and changes nothing.
  void visit_pending(TransactionSink& sink) const;

  // Nothing like HTTP was seen, and that much was looked at.
  bool hopeless(uint64_t max_seek_bytes) const {
    return requester_ < 0 && readers_[0].seek_bytes() + readers_[1].seek_bytes() > max_seek_bytes;
  }

  // Bytes held for heads and pending requests.
  size_t memory_bytes() const;

  // As after construction, with the memory of a few short requests: the next connection then allocates nothing.
  void recycle();

 private:
  Framing on_head(Side side, const Head& head, const Segment& first, bool cut) override;
  void on_message_end(Side side, uint64_t end_offset, int64_t time_ns, bool exact) override;
  void on_hidden(Side side, uint64_t offset) override;
  void on_head_too_long(Side side) override;
  bool on_headless(Side side, const Segment& first) override;

  void note_request_segment(const Segment& first);
  Framing on_request(Side side, const Head& head, const Segment& first);
  Framing on_response(const Head& head, const Segment& first);
  Framing frame_response(const Head& head);
  void on_request_end(uint64_t end_offset, bool exact);
  void on_response_end(uint64_t end_offset, int64_t time_ns);
  void join(Side side);
  void begin_response(const Segment& first, uint32_t status);
  bool take_request(Response& response, bool closing, Request* taken);
  bool may_come(const Response& response) const;
  bool answers(const Request& request, const Response& response) const;
  void tell_first_requests(size_t count);
  void forget(const Request& request) { text_bytes_ -= request.text.heap_bytes(); }
  void settle(bool closing);
  void tell_all();
  bool is_requester(Side side) const { return requester_ == side; }
  const MessageReader& request_reader() const { return readers_[requester_ == 1 ? 1 : 0]; }

  MessageReader readers_[2] = {MessageReader(0), MessageReader(1)};
  int requester_ = -1;  // side, once known
  bool ended_[2] = {false, false};
  bool not_http_[2] = {false, false};  // its first bytes were no message
  bool over_ = false;
  bool pipelined_ = false;         // two requests were seen on their way at once
  bool requests_hidden_ = false;   // since the latest request
  bool response_gap_ = false;      // since the latest response, its tail included
  bool responses_hidden_ = false;  // among those up to the one asked about, since the latest that was certain
  bool interim_ = false;           // the response being read is a 1xx
  // Which of the requests before this offset the responses answer can't be told any more: those still behind a hole
  // stay single, too.
  uint64_t abandoned_until_ = 0;
  uint32_t next_id_ = 1;
  uint32_t reading_id_ = 0;                      // of the request being read
  uint32_t unheard_segments_ = 0;                // see kMaxUnheard
  int64_t request_segment_ns_ = 0;               // of the latest request
  std::optional<uint64_t> request_peer_offset_;  // what the client had received when it sent the latest request
  Ring<Request> requests_;                       // unanswered, oldest first
  Ring<Response> waiting_;                       // whole, their requests still to come
  std::optional<Response> current_;              // being read
  bool current_paired_ = false;                  // current_request_ is what it answers
  Request current_request_;
  Request settled_;  // of the pair being told; its memory is used again
  size_t text_bytes_ = 0;
  TransactionSink* sink_ = nullptr;  // during a call
};

}  // namespace tapline::http
