#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/redis_command/client_judge.h"
#include "parsers/redis_command/held_pieces.h"
#include "parsers/transactions/ordered_exchange.h"

namespace tapline::redis {

struct Response;

// The request's text is the command's name in upper case, with its subcommand, followed by its key.
struct Request : RequestHalf {
  uint32_t name_bytes = 0;
  uint32_t arguments = 0;   // arguments after the name
  bool unanswered = false;  // CLIENT REPLY

  std::string_view name() const { return std::string_view(text).substr(0, name_bytes); }
  std::string_view key() const { return std::string_view(text).substr(name_bytes); }
  bool contradicts(const Response& response) const;
};

struct Response : ResponseHalf {
  static constexpr size_t kMaxWordBytes = 23;

  char type = 0;           // the first byte of the value
  bool null = false;       // $-1, *-1, _
  bool cut = false;        // a part of it was not captured
  uint8_t word_bytes = 0;  // length of a status, or of an error's code: OK, WRONGTYPE, …
  char word[kMaxWordBytes] = {};

  bool is_error() const { return type == '-' || type == '!'; }
  std::string_view status() const { return {word, word_bytes}; }
};

// Reads both sides of one Redis connection: RESP2, RESP3 and inline commands. Replies are in the order of the commands,
// except pushes (RESP3's `>`, and in RESP2 the messages of subscribed channels), which reply to no command. SUBSCRIBE
// and similar commands get a reply per channel; only the first one counts.
//
// Nothing is read until the client is known, from the handshake or from ClientJudge. If the judge's verdict changes,
// everything read in the wrong roles is discarded. Nothing is reported until the bytes are recognised for certain, by
// an array of bulk strings or by units of both sides.
class Exchange final : public OrderedExchange<Exchange, Request, Response, 4096> {
 public:
  static constexpr size_t kMaxKeyBytes = 1024;

  void set_client(Side side) {
    judging_ = false;
    take_client(side);
  }
  void suggest_client(Side side, bool by_query) { judge_.suggest(side, by_query); }
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  bool has_failed() const { return OrderedExchange::has_failed() || (client_ < 0 && judged_bytes_ > kMaxSeekBytes); }
  size_t memory_bytes() const { return OrderedExchange::memory_bytes() + pieces_.memory_bytes(); }
  void recycle();

  // Called by UnitReader and OrderedExchange.
  Unit on_unit(Side side, std::string_view bytes, const Segment& first);
  void on_skipped(Side side, uint64_t end_offset, int64_t time_ns);
  bool may_resume(Side side, std::string_view bytes) const;
  void on_hidden(Side side, uint64_t offset);
  uint64_t settled_offset() const;

 private:
  // The next element of a command.
  enum class RequestState : uint8_t { kStart, kName, kSubcommand, kArgument };
  // The kind of value being read.
  enum class ResponseState : uint8_t { kStart, kFirstElement, kResponse, kPush };

  ExchangeVerdict read(Side side, std::span<const uint8_t> bytes, const Segment& segment, bool begins, Sink& sink);
  ExchangeVerdict judge(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict read_held(Sink& sink);
  void restart();
  Unit request_unit(Side side, std::string_view bytes, const Segment& first);
  Unit inline_command(Side side, std::string_view line, const Segment& first);
  Unit element(std::string_view bytes, size_t line_bytes, uint64_t length, uint64_t begin);
  void begin_request(bool certain);
  void begin_reply_mode(std::string_view word);
  void keep_key(std::string_view key);
  void element_read(uint64_t end);
  Unit response_unit(Side side, std::string_view bytes, const Segment& first);
  Unit first_element(Side side, std::string_view bytes, const Segment& first);
  bool answers(std::string_view word);
  void begin_response();
  void value_read(Side side, uint64_t end);
  bool is_boundary(uint64_t offset) const;

  bool judging_ = true;  // the handshake did not identify the client
  ClientJudge judge_;
  HeldPieces pieces_;
  uint64_t judged_bytes_ = 0;
  bool silent_ = false;  // CLIENT REPLY OFF
  bool skips_ = false;   // CLIENT REPLY SKIP: the next command gets no reply
  bool subscribed_ = false;
  uint32_t confirmations_ = 0;  // outstanding confirmations for a SUBSCRIBE of several channels
  RequestState asking_ = RequestState::kStart;
  bool begun_ = false;     // the pairing has the command's request
  bool answered_ = false;  // the command gets a reply
  bool wants_key_ = false;
  uint64_t elements_ = 0;  // remaining elements of the command
  uint32_t arguments_ = 0;
  Segment request_first_ = {};
  Request request_;   // until it is begun or discarded
  std::string name_;  // name of the command being read, with its subcommand
  ResponseState answering_ = ResponseState::kStart;
  uint64_t values_ = 0;  // remaining values of the reply
  Segment value_first_ = {};
  Response response_;     // until it is begun
  Segment segment_ = {};  // the current segment
  // The offsets in the replies up to which the client had received everything when it sent its latest segments: a reply
  // begins at each of them.
  std::array<uint64_t, 16> boundaries_ = {};
  size_t boundary_ = 0;
  bool new_turn_ = false;  // the client's current segment is the first since it received data
};

}  // namespace tapline::redis
