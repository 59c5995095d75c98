#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parsers/kafka_request/message.h"
#include "parsers/transactions/id_pairing.h"
#include "parsers/transactions/transaction_parser.h"
#include "parsers/transactions/unit_reader.h"

namespace tapline::kafka {

// The request's text is the client ID followed by the topic.
struct Request : RequestHalf {
  const Api* api = nullptr;
  int16_t key = 0;
  int16_t version = 0;
  int32_t correlation_id = 0;
  uint64_t bytes = 0;
  uint32_t topics = 0;
  uint32_t client_id_bytes = 0;
  bool topic_is_id = false;
  bool never_answered = false;

  std::string_view client_id() const { return std::string_view(text).substr(0, client_id_bytes); }
  std::string_view topic() const { return std::string_view(text).substr(client_id_bytes); }
};

struct Response : ResponseHalf {
  int32_t correlation_id = 0;
  uint64_t bytes = 0;
  bool error_known = false;
  int16_t error = 0;
  std::string early = {};  // the response's first bytes, which contain the error, if its request was not read yet
};

// Reads both sides of one connection to a Kafka broker.
//
// A connection counts as Kafka once the parser has read a request with plausible fields, at least one of them a string,
// or a response with a request's correlation ID. Requests without any text (an empty client ID, no topic) are reported
// once they have a response. If the handshake was captured, it identifies the client. Otherwise, a response must not be
// mistaken for a request: with a correlation ID of at most 17, it looks like the head of a Produce.
class Exchange {
 public:
  using Request = kafka::Request;
  using Response = kafka::Response;
  using Sink = TransactionSink<Request, Response>;
  static constexpr bool kResponsesHaveNumbers = true;

  void start_in_middle(Side side);
  // Sets the side that opened the connection, which is the client: brokers never send requests.
  void set_client(Side side) { expected_ = side; }
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  void end(Side side, Sink& sink);
  void visit_pending(Sink& sink) const;
  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    return confirmed_ ? pairing_.report_overdue(before_ns, sink) : INT64_MAX;
  }
  bool has_failed() const;
  size_t memory_bytes() const;
  void recycle();

  // Called by UnitReader.
  Unit on_unit(Side side, std::string_view bytes, const Segment& first);
  void on_skipped(Side side, uint64_t end_offset, int64_t time_ns);
  Unit on_cut(Side side, std::string_view bytes, const Segment& first, bool in_packet);
  bool may_resume(Side side, std::string_view bytes) const;
  bool is_overtaken(Side side, std::string_view bytes) const { return client_ >= 0 && may_resume(side, bytes); }
  void on_hidden(Side side, uint64_t offset);
  void on_too_long(Side side);

 private:
  class Filter;
  static constexpr uint64_t kMaxTokenBytes = 64 << 10;
  static constexpr uint32_t kDistrusted = 16;
  // The message whose end has not arrived yet.
  struct OpenMessage {
    bool is_open = false;
    int32_t correlation_id = 0;
  };

  Unit request(Side side, std::string_view bytes, const Segment& first);
  Unit response(Side side, std::string_view bytes, const Segment& first);
  void note_id(int32_t id);
  void begin(Side side, const RequestHead& head, std::string_view bytes, const Segment& first);
  void answer(Side side, std::string_view bytes, const Segment& first);
  static void read_error(const Request& request, std::string_view bytes, Response& response);
  Unit take(Side side, uint64_t message, size_t seen, const Segment& first);
  void close(Side side, uint64_t end, int64_t time_ns, bool complete = true);
  Unit unasked(std::string_view bytes) const;
  bool may_send_requests(Side side) const {
    return client_ >= 0 ? side == client_ : expected_ < 0 || side == expected_;
  }
  bool is_token(std::string_view bytes) const;
  Unit token(Side side, std::string_view bytes);

  UnitReader readers_[2] = {UnitReader(0), UnitReader(1)};
  IdPairing<int32_t, Request, Response, 512> pairing_;
  Request alone_;  // a request that is reported immediately
  Sink* sink_ = nullptr;
  OpenMessage open_[2];
  int expected_ = -1;  // the side that opened the connection
  int client_ = -1;    // the side, once a request was seen
  bool confirmed_ = false;
  uint32_t distrust_ = 0;  // number of requests until correlation IDs are evidence again, after a repeated one
  int32_t latest_id_ = 0;
  bool middle_[2] = {};  // true if a part of the side's stream was not captured
  bool ended_[2] = {};
  // True after SaslHandshake version 0, which is followed by tokens without a header.
  bool raw_tokens_ = false;
  uint32_t tokens_unanswered_ = 0;
};

}  // namespace tapline::kafka
