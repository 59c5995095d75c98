#include <vector>

#include "parsers/api/parser.h"

namespace tapline {
namespace {

// Counts packets and wire bytes of each TCP flow, both directions together, and emits one tuple for each second of
// packet time in which the flow had packets (NetAlytics section 3.1, Table 1, but per interval instead of per packet).
//
// Flows with something to report are listed in a vector, so the cost of an interval's end depends only on the number of
// flows that were active in it.
class TcpPktSize final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "tcp_pkt_size",
        .description = "Packets and bytes of each TCP flow in each second, both directions together",
        .layer = Layer::kTransport,
        .fields = {{"packets", FieldType::kU64, "packets", "Packets in the second that ends with time_ns", true},
                   {"bytes", FieldType::kU64, "bytes", "Bytes of these packets on the wire, including link headers",
                    true}},
        .main_fields = {"dst_ip", "dst_port"},
        .value_field = "bytes",
        .interval_ns = kNsPerSecond,
        .example = {"10", "1001"},
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
      if (packet.connection != nullptr) count(packet, out);
    }
  }

  void on_interval(int64_t /*end_ns*/, Emitter& out) override {
    for (Connection* connection : active_) {
      State& state = state_of<State>(*connection);
      emit(*connection, state.queries, out);
      state.position = 0;
    }
    active_.clear();
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    State& state = state_of<State>(connection);
    emit(connection, state.queries & queries, out);
    state.queries &= ~queries;
  }

  void on_release(Connection& connection) override {
    const uint32_t position = state_of<State>(connection).position;
    if (position == 0) return;
    active_[position - 1] = active_.back();
    state_of<State>(*active_[position - 1]).position = position;
    active_.pop_back();
  }

 private:
  // Counts of the packets that the parser received; the connection counts the others.
  struct State {
    uint64_t queries;  // queries that selected the packets counted here
    uint64_t bytes;
    uint64_t more_bytes_before;
    uint32_t more_packets_before;
    uint32_t packets;
    uint32_t position;  // position in active_, from 1; 0 = nothing counted
  };

  static void restart(State& state, const Packet& packet) {
    state.queries = packet.queries;
    state.packets = 0;
    state.bytes = 0;
    state.more_packets_before = packet.connection->more_packets;
    state.more_bytes_before = packet.connection->more_bytes;
  }

  void count(const Packet& packet, Emitter& out) {
    State& state = state_of<State>(*packet.connection);
    if (state.position == 0) {
      active_.push_back(packet.connection);
      state.position = static_cast<uint32_t>(active_.size());
      restart(state, packet);
    } else if (state.queries != packet.queries) {
      // Queries were added or removed within the second; each one must receive the counts of only the packets it
      // selected.
      out.header_of(packet);  // moves the clock
      emit(*packet.connection, state.queries, out);
      restart(state, packet);
    }
    ++state.packets;
    state.bytes += packet.wire_bytes;
  }

  void emit(const Connection& connection, uint64_t queries, Emitter& out) {
    const State& state = state_of<State>(connection);
    if (queries == 0 || state.position == 0) return;
    const uint64_t packets = state.packets + (connection.more_packets - state.more_packets_before);
    const uint64_t bytes = state.bytes + (connection.more_bytes - state.more_bytes_before);
    TupleHeader header = out.header_of(connection);
    header.queries = queries;
    out.emit(header, {Value::u64(packets), Value::u64(bytes)});
  }

  std::vector<Connection*> active_;
};

}  // namespace

std::unique_ptr<Parser> make_tcp_pkt_size() { return std::make_unique<TcpPktSize>(); }

}  // namespace tapline
