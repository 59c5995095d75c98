#include "parsers/api/parser.h"

namespace tapline {
namespace {

// Emits one tuple when a flow is first seen in each second of packet time (NetAlytics section 3.1, Table 1).
class TcpFlowKey final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "tcp_flow_key",
        .description = "Endpoints of each TCP flow, once for every second with packets",
        .layer = Layer::kTransport,
        .main_fields = {"dst_ip", "dst_port"},
        .interval_ns = kNsPerSecond,
    };
    return schema;
  }

  Needs needs() const override {
    return {.connections = true, .every_packet = false, .connection_state_bytes = sizeof(State)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.connection != nullptr) emit(packet, out);
    }
  }

  void on_end(Connection& connection, uint64_t queries, Emitter&) override {
    state_of<State>(connection).reported &= ~queries;
  }

 private:
  struct State {
    int64_t next_interval_ns;  // start of the interval in which the flow is next reported
    uint64_t reported;         // queries to which the flow was reported in this interval
  };

  void emit(const Packet& packet, Emitter& out) {
    State& state = state_of<State>(*packet.connection);
    if (state.reported == 0 || packet.time_ns >= state.next_interval_ns) {
      state.next_interval_ns = (packet.time_ns / kNsPerSecond + 1) * kNsPerSecond;
      state.reported = 0;
    }
    const uint64_t untold = packet.queries & ~state.reported;
    if (untold == 0) return;
    state.reported |= untold;
    TupleHeader header = out.header_of(packet);
    header.queries = untold;
    out.emit(header, {});
  }
};

}  // namespace

std::unique_ptr<Parser> make_tcp_flow_key() { return std::make_unique<TcpFlowKey>(); }

}  // namespace tapline
