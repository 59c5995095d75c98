#include <memory>
#include <optional>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/tls_hello/handshake.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline {
namespace {

using tls::Handshake;
using tls::Outcome;

// A connection without a hello in this many bytes, of both sides together, is taken to use another protocol.
constexpr uint32_t kMaxSeekBytes = 64 << 10;
constexpr size_t kMaxMemoryBytes = size_t{256} << 20;
// A client that waits longer for a ServerHello is reported as unanswered.
constexpr int64_t kHandshakeTimeoutNs = 60'000'000'000;
// Number of Handshake objects that are kept for reuse, which reduces allocations.
constexpr size_t kMaxIdle = 4096;

// Reports TLS handshakes over TCP: the plaintext fields of client and server, and the durations.
class TlsHello final : public StreamParser {
 public:
  const Schema& schema() const override;
  Needs needs() const override { return {.packets = false, .streams = true, .connection_state_bytes = sizeof(State)}; }

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    State& state = state_of<State>(connection);
    if (state.slot == 0) {
      if (state.seek_bytes == kMaxSeekBytes) return StreamVerdict::kGiveUp;
      if (!tls::RecordReader::may_begin_hello(bytes)) return seek(state, bytes.size());
      if (memory_bytes_ > kMaxMemoryBytes) {
        out.lose(LossReason::kParserMemoryFull, 1, connection.queries);
        return StreamVerdict::kGiveUp;
      }
      state.slot = acquire();
    }
    Handshake& handshake = *handshakes_[state.slot - 1];
    const size_t previous_memory_bytes = handshake.memory_bytes();
    handshake.data(side, bytes, segment, &ja4_);
    memory_bytes_ += handshake.memory_bytes() - previous_memory_bytes;
    if (handshake.idle()) {
      release(state);
      return seek(state, bytes.size());
    }
    return resume(connection, handshake, out);
  }

  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                       Emitter& out) override {
    State& state = state_of<State>(connection);
    if (state.slot == 0) return StreamVerdict::kContinue;
    Handshake& handshake = *handshakes_[state.slot - 1];
    handshake.gap(side, bytes, segment);
    if (handshake.idle()) {
      release(state);
      return StreamVerdict::kContinue;
    }
    return resume(connection, handshake, out);
  }

  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t /*time_ns*/, Emitter& out) override {
    State& state = state_of<State>(connection);
    if (state.slot == 0 || end == StreamEnd::kGivenUp) return;
    Handshake& handshake = *handshakes_[state.slot - 1];
    handshake.end(side);
    if (resume(connection, handshake, out) == StreamVerdict::kGiveUp) state.seek_bytes = kMaxSeekBytes;
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    const State& state = state_of<State>(connection);
    if (state.slot != 0) emit_handshake(connection, *handshakes_[state.slot - 1], queries, out);
  }

  void on_release(Connection& connection) override {
    State& state = state_of<State>(connection);
    if (state.slot != 0) release(state);
  }

 private:
  struct State {
    uint32_t slot;        // index in handshakes_, from 1; 0 = none
    uint32_t seek_bytes;  // bytes searched without a hello; kMaxSeekBytes: the search is over
  };

  static StreamVerdict seek(State& state, size_t bytes) {
    if (bytes >= kMaxSeekBytes - state.seek_bytes) return StreamVerdict::kGiveUp;
    state.seek_bytes += static_cast<uint32_t>(bytes);
    return StreamVerdict::kContinue;
  }

  StreamVerdict resume(Connection& connection, Handshake& handshake, Emitter& out) {
    if (handshake.hello_too_long()) out.lose(LossReason::kHeadTooLong, 1, connection.queries);
    if (handshake.outcome() == Outcome::kNone && !handshake.hello_too_long()) return StreamVerdict::kContinue;
    emit_handshake(connection, handshake, connection.queries, out);
    release(state_of<State>(connection));
    return StreamVerdict::kGiveUp;
  }

  static void emit_handshake(Connection& connection, const Handshake& handshake, uint64_t queries, Emitter& out);
  static Seen seen_of(const Connection& connection, const Handshake& handshake, int64_t now_ns);

  uint32_t acquire() {
    if (free_.empty()) {
      handshakes_.push_back(nullptr);
      free_.push_back(static_cast<uint32_t>(handshakes_.size()));
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    if (idle_.empty()) idle_.push_back(std::make_unique<Handshake>());
    handshakes_[slot - 1] = std::move(idle_.back());
    idle_.pop_back();
    memory_bytes_ += handshakes_[slot - 1]->memory_bytes();
    return slot;
  }

  void release(State& state) {
    std::unique_ptr<Handshake> handshake = std::move(handshakes_[state.slot - 1]);
    memory_bytes_ -= handshake->memory_bytes();
    free_.push_back(state.slot);
    state.slot = 0;
    if (idle_.size() >= kMaxIdle) return;
    handshake->recycle();
    idle_.push_back(std::move(handshake));
  }

  tls::Ja4 ja4_;
  std::vector<std::unique_ptr<Handshake>> handshakes_;
  std::vector<uint32_t> free_;  // free slots
  std::vector<std::unique_ptr<Handshake>> idle_;
  size_t memory_bytes_ = 0;
};

Seen TlsHello::seen_of(const Connection& connection, const Handshake& handshake, int64_t now_ns) {
  if (!handshake.client_seen()) return Seen::kResponse;
  if (handshake.server_seen()) return Seen::kBoth;
  const bool waited =
      handshake.outcome() == Outcome::kNone && now_ns - handshake.client_hello_ns() >= kHandshakeTimeoutNs;
  const bool is_over = handshake.last_outcome() == Outcome::kClosed || waited;
  const bool is_lost = connection.heard != 3 || connection.missing != 0 || handshake.lacks_response();
  return is_over && !is_lost ? Seen::kUnanswered : Seen::kRequest;
}

void TlsHello::emit_handshake(Connection& connection, const Handshake& handshake, uint64_t queries, Emitter& out) {
  if (!handshake.client_seen() && !handshake.server_seen()) return;
  claim_client(connection, handshake.client());
  TupleHeader header = out.header_of(connection);
  header.queries = queries;
  const bool has_request = handshake.client_seen(), answered = handshake.server_seen();
  const Seen seen = seen_of(connection, handshake, header.time_ns);
  const auto time_of = [](std::optional<int64_t> ns) { return ns ? Value::i64(*ns) : Value::absent(FieldType::kI64); };
  out.emit(header,
           {text_if(has_request, handshake.server_name()),
            Value::string(tls::name_of_version(answered ? handshake.version() : handshake.offered_version())),
            text_if(answered, handshake.protocol()), text_if(has_request, handshake.offered_protocols()),
            text_if(has_request, handshake.ja4()), u64_if(answered, handshake.cipher_suite()),
            time_of(handshake.answer_ns()), time_of(handshake.handshake_ns()),
            Value::string(tls::name_of(handshake.last_outcome())), u64_if(handshake.alert() != 0, handshake.alert()),
            Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
}

const Schema& TlsHello::schema() const {
  static const Schema schema = {
      .name = "tls_hello",
      .description = "TLS handshakes over TCP: requested server name, client fingerprint and duration",
      .layer = Layer::kApplication,
      .fields =
          {optional({"sni", FieldType::kString, "", "Server name that the client requests; empty if there is none"}),
           {"version", FieldType::kString, "",
            "1.3, 1.2, 1.1, 1.0 or ssl3: the server's choice, else the highest offer"},
           optional({"alpn", FieldType::kString, "",
                     "Application protocol that the server chose; empty in 1.3, which encrypts it"}),
           optional({"alpn_offered", FieldType::kString, "",
                     "Application protocols that the client offers, joined by commas"}),
           optional({"ja4", FieldType::kString, "", "JA4 fingerprint of the client"}),
           optional({"cipher_suite", FieldType::kU64, "", "Cipher suite that the server chose, by its IANA number"}),
           optional(
               {"answer_ns", FieldType::kI64, "ns", "First byte of the ClientHello to first byte of the ServerHello"}),
           optional({"handshake_ns", FieldType::kI64, "ns", "ClientHello to the last Finished that a tap can see"}),
           {"outcome", FieldType::kString, "",
            "complete, alert, plain (the response was not TLS), gap (bytes not captured), closed, open (ended by "
            "neither side)"},
           optional({"alert", FieldType::kU64, "", "Code of an unencrypted fatal alert (RFC 8446 section 6)"}),
           partial_field(),
           unanswered_field()},
      .main_fields = {"sni"},
      .value_field = "handshake_ns",
      .duration = {.field = "handshake_ns"},
      .example = {"alpha.test", "1.2", "h2", "h2,http/1.1", "t12d2808h2_d943125447b4_e7e480e5a997", "49196", "792000",
                  "2404000", "complete", "-", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_tls_hello() { return std::make_unique<TlsHello>(); }

}  // namespace tapline
