#include <algorithm>
#include <memory>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/http_get/exchange.h"

namespace tapline {
namespace {

using http::Exchange;
using http::Request;
using http::Response;

// Joined in mid-stream and nothing like HTTP within this much: another protocol.
constexpr uint64_t kMaxSeekBytes = 16 << 20;
constexpr size_t kMaxMemoryBytes = size_t{512} << 20;
// Exchanges of ended connections that are kept for the next ones, so that those allocate nothing.
constexpr size_t kMaxIdleExchanges = 4096;

// Turns transactions into tuples of a connection for some of its queries.
class TupleWriter final : public http::TransactionSink {
 public:
  TupleWriter(Connection& connection, uint64_t queries, Emitter& out)
      : connection_(connection), queries_(queries), out_(out) {}

  void on_transaction(const Request* request, const Response* response) override {
    TupleHeader header = out_.header_of(connection_);
    header.queries = queries_;
    const bool whole = request != nullptr && response != nullptr;
    const auto since_request = [&](int64_t Response::*time_ns) {
      return Value::i64(whole ? std::max<int64_t>(response->*time_ns - request->first_ns, 0) : 0);
    };
    out_.emit(header,
              {Value::string(request != nullptr ? request->method() : ""),
               Value::string(request != nullptr ? request->host() : ""),
               Value::string(request != nullptr ? request->url() : ""),
               Value::u64(response != nullptr ? response->status : 0), since_request(&Response::first_ns),
               since_request(&Response::last_ns), Value::u64(request != nullptr ? request->end - request->begin : 0),
               Value::u64(response != nullptr ? response->end - response->begin : 0),
               Value::string(whole                ? ""
                             : request != nullptr ? "request"
                                                  : "response")});
  }

  void on_requester(Side side) override {
    if (connection_.client_known_by < ClientKnownBy::kProtocol) return;
    connection_.client_side = side;
    connection_.client_known_by = ClientKnownBy::kProtocol;
  }

  void on_loss(LossReason reason) override { out_.lose(reason, 1, queries_); }

 private:
  Connection& connection_;
  uint64_t queries_;
  Emitter& out_;
};

// HTTP/1 requests and responses of every method, paired, with time to first byte and in all.
class HttpGet final : public StreamParser {
 public:
  const Schema& schema() const override;
  Needs needs() const override { return {.packets = false, .streams = true, .connection_state_bytes = sizeof(State)}; }

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    Exchange& exchange = exchange_of(connection);
    const size_t before = exchange.memory_bytes();
    TupleWriter writer(connection, connection.queries, out);
    Exchange::Verdict verdict = exchange.data(side, bytes, segment, writer);
    memory_bytes_ += exchange.memory_bytes() - before;
    if (verdict != Exchange::Verdict::kFine) return give_up(connection);
    if (exchange.hopeless(kMaxSeekBytes)) return give_up(connection);
    if (memory_bytes_ <= kMaxMemoryBytes) return StreamVerdict::kContinue;
    out.lose(LossReason::kParserMemoryFull, 1, connection.queries);
    exchange.visit_pending(writer);
    return give_up(connection);
  }

  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                       Emitter& out) override {
    Exchange& exchange = exchange_of(connection);
    const size_t before = exchange.memory_bytes();
    TupleWriter writer(connection, connection.queries, out);
    exchange.gap(side, bytes, segment, writer);
    memory_bytes_ += exchange.memory_bytes() - before;
    return StreamVerdict::kContinue;
  }

  void on_stream_end(Connection& connection, Side side, StreamEnd /*end*/, int64_t /*time_ns*/, Emitter& out) override {
    if (state_of<State>(connection).slot == 0) return;
    Exchange& exchange = exchange_of(connection);
    const size_t before = exchange.memory_bytes();
    TupleWriter writer(connection, connection.queries, out);
    exchange.end(side, writer);
    memory_bytes_ += exchange.memory_bytes() - before;
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    if (state_of<State>(connection).slot == 0) return;
    TupleWriter writer(connection, queries, out);
    exchange_of(connection).visit_pending(writer);
  }

  void on_release(Connection& connection) override {
    const uint32_t slot = state_of<State>(connection).slot;
    if (slot == 0) return;
    memory_bytes_ -= exchanges_[slot - 1]->memory_bytes();
    if (idle_.size() < kMaxIdleExchanges) {
      exchanges_[slot - 1]->recycle();
      idle_.push_back(std::move(exchanges_[slot - 1]));
    }
    exchanges_[slot - 1].reset();
    free_.push_back(slot);
    state_of<State>(connection).slot = 0;
  }

 private:
  struct State {
    uint32_t slot;  // in exchanges_, from 1; 0 = none yet
  };

  Exchange& exchange_of(Connection& connection) {
    uint32_t& slot = state_of<State>(connection).slot;
    if (slot != 0) return *exchanges_[slot - 1];
    if (free_.empty()) {
      exchanges_.emplace_back();
      free_.push_back(static_cast<uint32_t>(exchanges_.size()));
    }
    slot = free_.back();
    free_.pop_back();
    if (idle_.empty()) idle_.push_back(std::make_unique<Exchange>());
    exchanges_[slot - 1] = std::move(idle_.back());
    idle_.pop_back();
    for (const Side side : {Side{0}, Side{1}}) {
      if ((connection.syn_seen >> side & 1) == 0) exchanges_[slot - 1]->start_in_middle(side);
    }
    memory_bytes_ += exchanges_[slot - 1]->memory_bytes();
    return *exchanges_[slot - 1];
  }

  StreamVerdict give_up(Connection& connection) {
    on_release(connection);
    return StreamVerdict::kGiveUp;
  }

  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<uint32_t> free_;  // slots
  std::vector<std::unique_ptr<Exchange>> idle_;
  size_t memory_bytes_ = 0;
};

const Schema& HttpGet::schema() const {
  static const Schema schema = {
      .name = "http_get",
      .description = "HTTP/1 requests and responses of every method, paired",
      .layer = Layer::kApplication,
      .fields = {{"method", FieldType::kString, "", "As sent, empty if no request was seen"},
                 {"host", FieldType::kString, "", "Host header, else the authority of an absolute URL"},
                 {"url", FieldType::kString, "", "Target as sent in the request line"},
                 {"status", FieldType::kU64, "", "Status code of the final response, 0 if none was seen"},
                 {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"},
                 {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"},
                 {"request_bytes", FieldType::kU64, "bytes", "Head and body as transferred", true},
                 {"response_bytes", FieldType::kU64, "bytes", "Head and body as transferred", true},
                 {"partial", FieldType::kString, "", "request = no response was seen, response = no request was seen"}},
      .main_fields = {"url"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_http_get() { return std::make_unique<HttpGet>(); }

}  // namespace tapline
