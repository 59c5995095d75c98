#include "parsers/api/parser.h"

namespace tapline {
namespace {

// Beginning, establishment and end of each TCP connection (NetAlytics section 3.1, Table 1). Exactly one end event
// (fin, rst or timeout) for each connection; the time between two events is the processors' business.
class TcpConnTime final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "tcp_conn_time",
        .description = "Beginning, establishment and end of each TCP connection",
        .layer = Layer::kTransport,
        .fields =
            {{"event", FieldType::kString, "", "syn, established, fin (the second one), rst or timeout (given up)"},
             {"outcome", FieldType::kString, "",
              "Of fin, rst and timeout: closed (FIN both ways), reset, refused (RST answers SYN), unanswered (SYN "
              "without answer), half-closed (one FIN when given up), open (none when given up); else empty"},
             {"certain_after_ns", FieldType::kI64, "ns",
              "time_ns - time of the event (of a timeout: of the last packet); more than 0 only for timeouts, ends of "
              "capture and packets captured late"}},
        .main_fields = {"dst_ip", "dst_port"},
        .duration = {.event_field = "event", .start = {"syn"}, .end = {"fin", "rst"}},
        .example = {"fin", "closed", "0"},
    };
    return schema;
  }

  Needs needs() const override { return {.connections = true, .every_packet = false}; }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.tcp_events != 0) [[unlikely]]
        tell(packet, out);
    }
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    if (connection.ended()) return;
    TupleHeader header = out.header_of(connection);
    header.queries = queries;
    out.emit(header, {Value::string("timeout"), Value::string(outcome_when_given_up(connection.tcp_state)),
                      Value::i64(header.time_ns - connection.last_seen_ns)});
  }

 private:
  static void tell(const Packet& packet, Emitter& out) {
    const TcpState state = packet.connection->tcp_state;
    if ((packet.tcp_events & tcp_event::kSyn) != 0) emit(packet, "syn", "", out);
    if ((packet.tcp_events & tcp_event::kEstablished) != 0) emit(packet, "established", "", out);
    if ((packet.tcp_events & tcp_event::kClosed) != 0) emit(packet, "fin", "closed", out);
    if ((packet.tcp_events & tcp_event::kReset) != 0) {
      emit(packet, "rst", state == TcpState::kRefused ? "refused" : "reset", out);
    }
  }

  static void emit(const Packet& packet, std::string_view event, std::string_view outcome, Emitter& out) {
    const TupleHeader header = out.header_of(packet);
    out.emit(header, {Value::string(event), Value::string(outcome), Value::i64(header.time_ns - packet.time_ns)});
  }

  static std::string_view outcome_when_given_up(TcpState state) {
    if (state == TcpState::kSynSent) return "unanswered";
    return state == TcpState::kHalfClosed ? "half-closed" : "open";
  }
};

}  // namespace

std::unique_ptr<Parser> make_tcp_conn_time() { return std::make_unique<TcpConnTime>(); }

}  // namespace tapline
