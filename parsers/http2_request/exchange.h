#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parsers/http2_request/frame.h"
#include "parsers/http2_request/headers.h"
#include "parsers/http2_request/hpack.h"
#include "parsers/transactions/id_pairing.h"
#include "parsers/transactions/transaction_parser.h"
#include "parsers/transactions/unit_reader.h"

namespace tapline::http2 {

// The request's text is method, authority and path, concatenated.
struct Request : RequestHalf {
  uint32_t stream = 0;
  uint32_t method_bytes = 0;
  uint32_t host_bytes = 0;
  uint64_t bytes = 0;  // header blocks and body
  bool grpc = false;
  std::string_view outcome = {};  // the reason why it ended early

  std::string_view method() const { return std::string_view(text).substr(0, method_bytes); }
  std::string_view host() const { return std::string_view(text).substr(method_bytes, host_bytes); }
  std::string_view path() const { return std::string_view(text).substr(method_bytes + host_bytes); }
};

struct Response : ResponseHalf {
  uint32_t stream = 0;
  uint32_t status = 0;
  uint64_t bytes = 0;
  bool begun = false;  // its first byte was captured
  bool grpc = false;
  bool grpc_status_known = false;
  uint32_t grpc_status = 0;
  std::string_view outcome = {};
};

// Reads both sides of one unencrypted HTTP/2 connection: with prior knowledge, upgraded from HTTP/1.1, or joined in the
// middle.
class Exchange {
 public:
  using Request = http2::Request;
  using Response = http2::Response;
  using Sink = TransactionSink<Request, Response>;
  static constexpr bool kResponsesHaveNumbers = true;

  void start_in_middle(Side side);
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  void end(Side side, Sink& sink);
  void visit_pending(Sink& sink) const { pairing_.visit_pending(sink); }
  int64_t report_overdue(int64_t before_ns, Sink& sink) { return pairing_.report_overdue(before_ns, sink); }
  bool has_failed() const;
  size_t memory_bytes() const;
  void recycle();

  // Called by UnitReader.
  Unit on_unit(Side side, std::string_view bytes, const Segment& first);
  void on_skipped(Side side, uint64_t end_offset, int64_t time_ns);
  Unit on_cut(Side side, std::string_view bytes, const Segment& first, bool in_packet);
  bool may_resume(Side side, std::string_view bytes);
  bool is_overtaken(Side side, std::string_view bytes) { return client_ >= 0 && is_chain(side, bytes); }
  void on_hidden(Side side, uint64_t offset);
  void on_too_long(Side side);

 private:
  static constexpr size_t kMaxUnitBytes = FrameHead::kBytes + (64 << 10);
  static constexpr size_t kClosed = 32;

  // A header block, which may span several consecutive frames.
  struct Block {
    bool open = false;
    bool whole = true;  // true if no part of it is missing
    bool promise = false;
    bool ends_stream = false;
    uint32_t stream = 0;
    uint64_t bytes = 0;
    Segment first = {};
    std::string text = {};  // collected if it spans several frames
  };
  // A DATA frame whose payload is being skipped.
  struct Body {
    bool open = false;
    bool ends_stream = false;
    uint32_t stream = 0;
  };
  struct Half {
    HeaderDecoder decoder;
    Block block;
    Body body;
    bool frames = false;  // true once frames have begun
    bool middle = false;  // true if a part of the stream was not captured
    bool ended = false;
    uint32_t highest_stream = 0;
  };
  // An HTTP/1.1 request to upgrade to HTTP/2. It becomes stream 1 once the server has agreed.
  struct Upgrade {
    bool requested = false;
    bool agreed = false;
    Segment first = {};
    uint64_t end = 0;
    std::string method, host, path;
  };

  Unit opening(Side side, std::string_view bytes, const Segment& first);
  Unit upgrade_request(Side side, std::string_view bytes, const Segment& first);
  Unit upgrade_response(Side side, std::string_view bytes);
  void agree();
  bool may_resume_upgrade(Side side, std::string_view bytes);
  Unit frame(Side side, std::string_view bytes, const Segment& first);
  Unit data_frame(Side side, const FrameHead& head, std::string_view bytes, const Segment& first);
  Unit header_frame(Side side, const FrameHead& head, std::string_view bytes, const Segment& first);
  void take_fragment(Side side, const FrameHead& head, std::string_view fragment, bool is_cut, const Segment& first);
  void finish_block(Side side, std::string_view block, uint64_t end);
  void request_headers(const Block& block, uint64_t end);
  void response_headers(const Block& block, uint64_t end, int64_t time_ns);
  Request& open_request(uint32_t stream, const Segment& first, std::string_view method, std::string_view host,
                        std::string_view path);
  void begin_response(const Block& block);
  void end_stream(Side side, uint32_t stream, uint64_t end, int64_t time_ns);
  void reset(uint32_t stream, std::string_view outcome);
  void go_away(Side side, std::string_view payload);
  void recognise(Side client);
  bool is_chain(Side side, std::string_view bytes);
  bool was_closed(uint32_t stream) const;

  UnitReader readers_[2] = {UnitReader(0, kMaxUnitBytes), UnitReader(1, kMaxUnitBytes)};
  IdPairing<uint32_t, Request, Response, 512> pairing_;
  Half halves_[2];
  Headers headers_;
  Upgrade upgrade_;
  Sink* sink_ = nullptr;
  int client_ = -1;                // the side, once it is known
  int64_t hidden_ns_ = INT64_MAX;  // time since which streams may be waiting for bytes that were not captured
  std::array<uint32_t, kClosed> closed_ = {};  // streams that were reset
  size_t next_closed_ = 0;
};

}  // namespace tapline::http2
