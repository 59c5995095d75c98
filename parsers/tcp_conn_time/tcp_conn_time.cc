#include <vector>

#include "parsers/api/parser.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

// Reports the beginning, establishment and end of each TCP connection (NetAlytics section 3.1, Table 1). Emits one end
// event (fin, rst or timeout) for each connection, and another if the connection continues after an rst event;
// processors compute the time between two events.
//
// A RST that looks acceptable is reported with a delay, since a forged RST that both sides ignore ends nothing.
class TcpConnTime final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "tcp_conn_time",
        .description = "Beginning, establishment and end of each TCP connection",
        .layer = Layer::kTransport,
        .fields =
            {{"event", FieldType::kString, "",
              "syn, established, fin (the second one), rst or timeout (no longer tracked: idle, evicted, or the "
              "capture or query ended); rst-ignored (the connection continued), stray-rst (of an unknown connection), "
              "syn-ack-conflict (a second SYN/ACK with another number)"},
             {"outcome", FieldType::kString, "",
              "Outcome of a fin, rst or timeout: closed (FIN both ways), reset, refused (RST in response to the SYN), "
              "unanswered (SYN without a response), half-closed (one FIN before the timeout), open (neither FIN "
              "nor RST before the timeout); otherwise empty"},
             {"certain_after_ns", FieldType::kI64, "ns",
              "time_ns minus the time of the event (for a timeout, of the last packet); above 0 for rst, timeout, the "
              "end of the capture and packets captured late"}},
        .main_fields = {"dst_ip", "dst_port"},
        .duration = {.event_field = "event", .start = {"syn"}, .end = {"fin", "rst"}},
        .example = {"fin", "closed", "0"},
    };
    return schema;
  }

  Needs needs() const override {
    return {.connections = true,
            .interval_ns = kNsPerSecond,
            .every_packet = false,
            .connection_state_bytes = sizeof(State)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.tcp_events != 0) [[unlikely]]
        emit_setup(packet, out);
    }
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    // Iterates backwards, since the last element takes the place of a removed one.
    for (size_t i = waiting_.size(); i-- > 0;) {
      Connection& connection = *waiting_[i];
      State& state = state_of<State>(connection);
      if (end_ns - state.rst_ns < kRstTimeoutNs) continue;
      emit_rst(connection, state.queries, out);
      let_go(state);
    }
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    State& state = state_of<State>(connection);
    if (state.position != 0) {
      emit_rst(connection, state.queries & queries, out);
      state.queries &= ~queries;
    } else if (!connection.ended()) {
      emit(connection, queries, "timeout", outcome_on_timeout(connection.tcp_state), connection.last_seen_ns, out);
    }
  }

  void on_release(Connection& connection) override { let_go(state_of<State>(connection)); }

 private:
  // A RST is reported unless both sides continue within this time.
  static constexpr int64_t kRstTimeoutNs = kNsPerSecond;

  struct State {
    int64_t rst_ns;
    uint64_t queries;   // the queries that wanted the RST
    uint32_t position;  // position in waiting_, from 1; 0 = no RST is delayed
  };

  void emit_setup(const Packet& packet, Emitter& out) {
    const uint8_t events = packet.tcp_events;
    if ((events & tcp_event::kStrayRst) != 0) return emit(packet, "stray-rst", "", out);
    if ((events & tcp_event::kSyn) != 0) emit(packet, "syn", "", out);
    if ((events & tcp_event::kSynAckConflict) != 0) emit(packet, "syn-ack-conflict", "", out);
    if ((events & tcp_event::kRstIgnored) != 0) emit_ignored_rst(packet, out);
    if ((events & tcp_event::kEstablished) != 0) emit(packet, "established", "", out);
    if ((events & tcp_event::kClosed) != 0) emit(packet, "fin", "closed", out);
    if ((events & tcp_event::kReset) != 0) hold(packet);
  }

  void hold(const Packet& packet) {
    State& state = state_of<State>(*packet.connection);
    waiting_.push_back(packet.connection);
    state = {packet.time_ns, packet.queries, static_cast<uint32_t>(waiting_.size())};
  }

  void let_go(State& state) {
    if (state.position == 0) return;
    waiting_[state.position - 1] = waiting_.back();
    state_of<State>(*waiting_.back()).position = state.position;
    waiting_.pop_back();
    state.position = 0;
  }

  void emit_rst(const Connection& connection, uint64_t queries, Emitter& out) {
    const bool was_refused = connection.tcp_state == TcpState::kRefused;
    emit(connection, queries, "rst", was_refused ? "refused" : "reset", state_of<State>(connection).rst_ns, out);
  }

  // Emits rst-ignored. The packet is the RST itself, or one that shows that an earlier RST was ignored.
  void emit_ignored_rst(const Packet& packet, Emitter& out) {
    State& state = state_of<State>(*packet.connection);
    const int64_t rst_ns = state.position != 0 ? state.rst_ns : packet.time_ns;
    let_go(state);
    emit(out.header_of(packet), "rst-ignored", "", rst_ns, out);
  }

  static void emit(const Packet& packet, std::string_view event, std::string_view outcome, Emitter& out) {
    emit(out.header_of(packet), event, outcome, packet.time_ns, out);
  }

  static void emit(const Connection& connection, uint64_t queries, std::string_view event, std::string_view outcome,
                   int64_t event_ns, Emitter& out) {
    TupleHeader header = out.header_of(connection);
    header.queries = queries;
    if (queries != 0) emit(header, event, outcome, event_ns, out);
  }

  static void emit(const TupleHeader& header, std::string_view event, std::string_view outcome, int64_t event_ns,
                   Emitter& out) {
    out.emit(header, {Value::string(event), Value::string(outcome), Value::i64(header.time_ns - event_ns)});
  }

  static std::string_view outcome_on_timeout(TcpState state) {
    if (state == TcpState::kSynSent) return "unanswered";
    return state == TcpState::kHalfClosed ? "half-closed" : "open";
  }

  std::vector<Connection*> waiting_;  // connections whose RST is delayed
};

}  // namespace

std::unique_ptr<Parser> make_tcp_conn_time() { return std::make_unique<TcpConnTime>(); }

}  // namespace tapline
