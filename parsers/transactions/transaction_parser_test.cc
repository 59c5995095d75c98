#include "parsers/transactions/transaction_parser.h"

#include <gtest/gtest.h>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"
#include "parsers/transactions/ordered_pairing.h"
#include "parsers/transactions/unit_reader.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Harness;
using LinesOf = std::vector<std::string>;

// A minimal protocol that uses the whole library. Its units are lines: "?text" for requests and "!text" for responses.
class EchoExchange {
 public:
  struct Request : RequestHalf {};
  struct Response : ResponseHalf {
    uint64_t bytes = 0;
  };
  using Sink = TransactionSink<Request, Response>;

  void start_in_middle(Side side) { readers_[side].start_in_middle(); }

  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
    sink_ = &sink;
    if (readers_[side].read(bytes, segment, *this) == UnitReader::Verdict::kNotMine) return ExchangeVerdict::kNotMine;
    settle(side);
    return ExchangeVerdict::kFine;
  }
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
    sink_ = &sink;
    readers_[side].gap(bytes, segment, *this);
    settle(side);
    return ExchangeVerdict::kFine;
  }
  void end(Side side, Sink& sink) {
    ended_[side] = true;
    if (ended_[0] && ended_[1]) return pairing_.report_all(sink);
    if (side != client_) pairing_.server_ended(sink);
  }
  void visit_pending(Sink& sink) const { pairing_.visit_pending(sink); }
  int64_t report_overdue(int64_t before_ns, Sink& sink) { return pairing_.report_overdue(before_ns, sink); }
  bool has_failed() const { return readers_[0].seek_bytes() + readers_[1].seek_bytes() > 1000 && client_ < 0; }
  size_t memory_bytes() const {
    return pairing_.memory_bytes() + readers_[0].memory_bytes() + readers_[1].memory_bytes();
  }
  void recycle() {
    pairing_.recycle();
    for (UnitReader& reader : readers_) reader.recycle();
    ended_[0] = ended_[1] = false;
    client_ = -1;
  }

  Unit on_unit(Side side, std::string_view bytes, const Segment& first) {
    if (bytes[0] != '?' && bytes[0] != '!') return Unit::none();
    const size_t end = readers_[side].line_end(bytes);
    if (end == std::string_view::npos) return Unit::more();
    if (client_ < 0) {
      client_ = bytes[0] == '?' ? side : other_side(side);
      sink_->on_client(static_cast<Side>(client_));
    }
    if (bytes[0] == '?') {
      Request& request = pairing_.begin_request(first, *sink_);
      pairing_.keep_text(request, bytes.substr(1, end - 2));
      pairing_.end_request(first.offset + end);
    } else {
      Response response;
      response.bytes = end;
      pairing_.begin_response(first, response, *sink_);
      pairing_.end_response(first.offset + end, readers_[side].time_ns(), *sink_);
    }
    return Unit::taken(end);
  }
  void on_skipped(Side /*side*/, uint64_t /*end_offset*/, int64_t /*time_ns*/) {}
  Unit on_cut(Side /*side*/, std::string_view /*bytes*/, const Segment& /*first*/, bool /*in_packet*/) {
    return Unit::none();
  }
  bool may_resume(Side /*side*/, std::string_view bytes) { return bytes[0] == '?' || bytes[0] == '!'; }
  void on_hidden(Side side, uint64_t /*offset*/) {
    if (side == client_) pairing_.hide_requests();
    if (side != client_) pairing_.hide_responses();
  }
  void on_too_long(Side /*side*/) { sink_->on_loss(LossReason::kHeadTooLong); }

 private:
  void settle(Side side) {
    if (side == client_) pairing_.requests_settled(readers_[side].settled_offset(), *sink_);
  }

  UnitReader readers_[2] = {UnitReader(0), UnitReader(1)};
  OrderedPairing<Request, Response> pairing_;
  Sink* sink_ = nullptr;
  int client_ = -1;
  bool ended_[2] = {false, false};
};

class Echo final : public TransactionParser<EchoExchange> {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "echo",
        .fields = {optional({"text", FieldType::kString}), optional({"bytes", FieldType::kU64}),
                   optional({"response_time_ns", FieldType::kI64}), partial_field(), unanswered_field()}};
    return schema;
  }

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override {
    out.emit(header, {text_if(request != nullptr, request != nullptr ? request->text : ""),
                      u64_if(response != nullptr, response != nullptr ? response->bytes : 0),
                      time_to_last_byte(request, response), Value::string(partial_of(seen)),
                      Value::boolean(seen == Seen::kUnanswered)});
  }
};

Harness echo() {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::make_unique<Echo>());
  return Harness(std::move(parsers));
}

LinesOf parse(Conversation& conversation) {
  Harness run = echo();
  return run.all(conversation.frames()).lines({"text", "bytes", "response_time_ns", "partial"});
}

TEST(TransactionParser, ReportsCompleteAndOneSidedTransactions) {
  Conversation conversation;
  conversation.handshake().client("?a\n?bc").server("!1\n").client("d\n").server("!").server("22\n").client("?e\n");
  EXPECT_EQ(parse(conversation), (LinesOf{"a 3 1000000 ", "bcd 4 4000000 ", "e - - request"}));
}

const std::vector<std::string> kFields = {"text", "response_time_ns", "partial", "unanswered"};

TEST(TransactionParser, ReportsARequestAsUnansweredWhenItsConnectionCloses) {
  Conversation conversation;
  conversation.handshake().client("?a\n").server("!1\n").client("?b\n").server_ack().close();
  Harness run = echo();
  EXPECT_EQ(run.all(conversation.frames()).lines(kFields), (LinesOf{"a 1000000  false", "b - request true"}));
}

TEST(TransactionParser, TheEndOfTheCaptureExplainsAMissingResponse) {
  Conversation conversation;
  conversation.handshake().client("?a\n").server_ack();
  Harness run = echo();
  EXPECT_EQ(run.all(conversation.frames()).lines(kFields), LinesOf{"a - request false"});
}

TEST(TransactionParser, ALostResponseIsNotAMissingOne) {
  Conversation conversation;
  conversation.handshake().client("?a\n").server("!1\n").client_ack().close();
  std::vector<testing::Frame> frames = conversation.frames();
  frames.erase(frames.begin() + 4);  // the response
  Harness run = echo();
  EXPECT_EQ(run.all(frames).lines(kFields), LinesOf{"a - request false"});
}

TEST(TransactionParser, AOneWayMirrorProvesNothingAboutResponses) {
  Conversation conversation;
  conversation.handshake().client("?a\n").close();
  std::vector<testing::Frame> frames;
  for (const testing::Frame& frame : conversation.frames()) {
    constexpr size_t kLastOfSource = 14 + 15;  // offset of the last byte of an IPv4 source address after an Ethernet
                                               // header
    if (frame.bytes[kLastOfSource] == 1) frames.push_back(frame);
  }
  Harness run = echo();
  EXPECT_EQ(run.all(frames).lines(kFields), LinesOf{"a - request false"});
}

// A request that waits too long is reported while it waits; a late response is reported with its time, and no request
// is counted twice.
TEST(TransactionParser, WaitingIsBounded) {
  Conversation conversation;
  conversation.handshake().client("?a\n").server_ack();
  Harness run = echo();
  run.feed(conversation.frames());
  const int64_t asked_ns = conversation.frames().back().time_ns;
  constexpr int64_t kSecondNs = 1'000'000'000;
  for (int64_t passed_ns = 0; passed_ns < 3 * Echo::kSilenceTimeoutNs; passed_ns += kSecondNs) {
    run.engine().advance(asked_ns + passed_ns);
    if (passed_ns < Echo::kSilenceTimeoutNs) {
      ASSERT_TRUE(run.tuples().empty());
    }
  }
  EXPECT_EQ(run.lines(kFields), LinesOf{"a - request true"});
  const size_t previous_size = conversation.frames().size();
  conversation.wait_ns(4 * Echo::kSilenceTimeoutNs).server("!1\n").client("?b\n").server("!2\n").close();
  run.feed({conversation.frames().begin() + static_cast<ptrdiff_t>(previous_size), conversation.frames().end()});
  run.engine().end();
  ASSERT_EQ(run.tuples().size(), 3u);
  EXPECT_EQ(run.lines({"text", "partial", "unanswered"})[1], "a response false");
  EXPECT_GE(std::stoll(run.tuples()[1]["response_time_ns"]), 4 * Echo::kSilenceTimeoutNs);
  EXPECT_EQ(run.lines(kFields)[2], "b 1000000  false");
}

TEST(TransactionParser, ClaimsTheClientWhereItWasGuessed) {
  Conversation conversation({.client_port = 80, .server_port = 40000});
  conversation.client("?a\n").server("!1\n");
  Harness run = echo();
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].endpoints(), "10.0.0.1:80>10.0.0.2:40000");
}

TEST(TransactionParser, ReportsPendingOneSidedTransactionsOnlyToEndingQueries) {
  Conversation conversation;
  conversation.handshake().client("?a\n");
  Harness run = echo();
  run.feed(conversation.frames(), 0b11);
  run.engine().end_queries(0b01);
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].header.queries, 0b01u);
  run.engine().end();
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1].header.queries, 0b10u);
}

TEST(TransactionParser, IgnoresOtherProtocols) {
  Conversation conversation;
  conversation.handshake().client("GET /\n").client("?a\n").server("!1\n").close();
  EXPECT_EQ(parse(conversation), LinesOf{});
}

TEST(TransactionParser, ExchangesServeManyConnections) {
  Harness run = echo();
  for (uint16_t port = 1000; port < 1200; ++port) {
    Conversation conversation({.client_port = port});
    run.feed(conversation.handshake().client("?a\n").server("!1\n").client("?b\n").close().frames());
  }
  run.engine().end();
  EXPECT_EQ(run.tuples().size(), 400u);
}

}  // namespace
}  // namespace tapline
