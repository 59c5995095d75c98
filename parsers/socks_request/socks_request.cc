#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "parsers/api/parser.h"
#include "parsers/api/socks.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline {
namespace {

// Reports clients' requests to SOCKS proxies. The proxied traffic that follows is left to the parsers of its protocol.
class SocksRequest final : public StreamParser {
 public:
  const Schema& schema() const override;
  Needs needs() const override {
    return {.packets = false, .streams = true, .proxies = true, .every_packet = false, .connection_state_bytes = 8};
  }

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    if (segment.offset != 0 && !knows(connection)) return StreamVerdict::kGiveUp;
    socks::Step step = knows(connection) ? handshakes_[connection.index].step : socks::Step::kStart;
    const bool from_client = step == socks::Step::kStart || side == connection.client_side;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    socks::Message message;
    if (socks::take_message(text, from_client, &step, &message) == 0) return abandon(connection, Seen::kRequest, out);
    if (!knows(connection) && handshakes_.size() == kMaxHandshakes) {
      out.lose(LossReason::kParserMemoryFull, 1, connection.queries);
      return StreamVerdict::kGiveUp;
    }
    state_of<uint64_t>(connection) = 1;
    Handshake& handshake = handshakes_[connection.index];
    if (handshake.begin_ns == 0) handshake.begin_ns = segment.time_ns;
    handshake.step = step;
    if (message.kind == socks::Message::Kind::kRequest) note(message, &handshake);
    if (message.kind != socks::Message::Kind::kReply) return StreamVerdict::kContinue;
    emit(connection, connection.queries, name_of_reply(message), segment.time_ns, Seen::kBoth, out);
    return finish(connection);
  }

  StreamVerdict on_gap(Connection& connection, Side, uint64_t, const Segment&, Emitter& out) override {
    return abandon(connection, Seen::kRequest, out);
  }
  void on_stream_end(Connection& connection, Side, StreamEnd end, int64_t, Emitter& out) override {
    const bool is_silent = end != StreamEnd::kGivenUp && connection.heard == 3 && connection.missing == 0;
    abandon(connection, is_silent ? Seen::kUnanswered : Seen::kRequest, out);
  }
  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    if (knows(connection)) emit(connection, queries, "", 0, Seen::kRequest, out);
  }
  void on_release(Connection& connection) override { forget(connection); }

 private:
  static constexpr size_t kMaxHandshakes = 1 << 16;

  struct Handshake {
    socks::Step step = socks::Step::kStart;
    uint8_t version = 0;  // 0 before the first request
    uint8_t command = 0;
    uint16_t port = 0;
    int64_t begin_ns = 0;
    std::string host;
  };

  bool knows(const Connection& connection) const { return state_of<uint64_t>(connection) != 0; }
  void forget(Connection& connection) {
    if (!knows(connection)) return;
    handshakes_.erase(connection.index);
    state_of<uint64_t>(connection) = 0;
  }

  static void note(const socks::Message& message, Handshake* handshake) {
    handshake->version = message.version;
    handshake->command = message.code;
    handshake->port = message.port;
    char address[INET6_ADDRSTRLEN];
    const int family = message.host.size() == 4 ? AF_INET : AF_INET6;
    handshake->host =
        message.host_is_name ? message.host : inet_ntop(family, message.host.data(), address, sizeof address);
  }

  StreamVerdict abandon(Connection& connection, Seen seen, Emitter& out) {
    if (knows(connection)) emit(connection, connection.queries, "", 0, seen, out);
    return finish(connection);
  }

  StreamVerdict finish(Connection& connection) {
    forget(connection);
    return StreamVerdict::kGiveUp;
  }

  void emit(const Connection& connection, uint64_t queries, std::string_view status, int64_t reply_ns, Seen seen,
            Emitter& out) {
    const Handshake& handshake = handshakes_.at(connection.index);
    if (handshake.version == 0) return;
    TupleHeader header = out.header_of(connection);
    header.queries = queries;
    const bool timed = seen == Seen::kBoth && reply_ns >= handshake.begin_ns;
    out.emit(header, {Value::u64(handshake.version), Value::string(name_of_command(handshake.command)),
                      Value::string(handshake.host), Value::u64(handshake.port), text_if(seen == Seen::kBoth, status),
                      timed ? Value::i64(reply_ns - handshake.begin_ns) : Value::absent(FieldType::kI64),
                      Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
  }

  static std::string_view name_of_command(uint8_t command) {
    static constexpr std::string_view kNames[] = {"", "connect", "bind", "udp-associate"};
    return command < std::size(kNames) ? kNames[command] : "";
  }

  static std::string_view name_of_reply(const socks::Message& message) {
    static constexpr std::string_view kNames4[] = {"granted", "rejected", "no-identd", "identd-mismatch"};
    static constexpr std::string_view kNames5[] = {
        "granted", "failure",     "not-allowed",           "network-unreachable",  "host-unreachable",
        "refused", "ttl-expired", "command-not-supported", "address-not-supported"};
    return message.version == 4 ? kNames4[message.code - 90] : kNames5[message.code];
  }

  std::unordered_map<uint32_t, Handshake> handshakes_;  // by the connection's index
};

const Schema& SocksRequest::schema() const {
  static const Schema schema = {
      .name = "socks_request",
      .description = "Clients' requests to SOCKS proxies (versions 4, 4a, 5)",
      .layer = Layer::kApplication,
      .fields = {{"version", FieldType::kU64, "", "4 or 5"},
                 {"command", FieldType::kString, "", "connect, bind or udp-associate"},
                 {"target_host", FieldType::kString, "", "Name or address that the client requests"},
                 {"target_port", FieldType::kU64, "", "Port that the client requests"},
                 optional({"status", FieldType::kString, "",
                           "granted, rejected, failure, not-allowed, host-unreachable, refused, …"}),
                 optional({"setup_time_ns", FieldType::kI64, "ns", "First byte of the handshake to the proxy's reply"}),
                 partial_field(),
                 unanswered_field()},
      .main_fields = {"target_host"},
      .duration = {.field = "setup_time_ns"},
      .example = {"4", "connect", "www.example.test", "45213", "granted", "138000", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_socks_request() { return std::make_unique<SocksRequest>(); }

}  // namespace tapline
