#include <vector>

#include "parsers/api/parser.h"

namespace tapline {
namespace {

// Counts packets and bytes of each UDP flow by direction. Emits a tuple for each second of packet time in which the
// flow had packets.
//
// Flows with something to report are listed in a vector, so the cost of an interval's end depends only on the number of
// flows that were active in it.
class UdpFlow final : public Parser {
 public:
  const Schema& schema() const override;
  Needs needs() const override {
    return {
        .datagrams = true, .interval_ns = kNsPerSecond, .every_packet = false, .connection_state_bytes = sizeof(State)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.is_udp() && packet.connection != nullptr) count(packet, out);
    }
  }

  void on_interval(int64_t /*end_ns*/, Emitter& out) override {
    for (Connection* flow : active_) {
      State& state = state_of<State>(*flow);
      emit(*flow, state.queries, out);
      state.position = 0;
    }
    active_.clear();
  }

  void on_end(Connection& flow, uint64_t queries, Emitter& out) override {
    State& state = state_of<State>(flow);
    emit(flow, state.queries & queries, out);
    state.queries &= ~queries;
    state.reported &= ~queries;
  }

  void on_release(Connection& flow) override {
    const uint32_t position = state_of<State>(flow).position;
    if (position == 0) return;
    active_[position - 1] = active_.back();
    state_of<State>(*active_[position - 1]).position = position;
    active_.pop_back();
  }

 private:
  struct State {
    uint64_t queries;   // queries that selected the packets counted here
    uint64_t reported;  // queries to which the flow was reported
    int64_t first_ns;   // time of its first packet, in either direction
    uint64_t bytes[2];
    uint32_t packets[2];  // both are 0 only before the flow's first packet
    uint32_t position;    // position in active_, from 1; 0 = nothing counted
  };

  static void restart(State& state, const Packet& packet) {
    state.queries = packet.queries;
    for (const Side side : {Side{0}, Side{1}}) state.packets[side] = 0, state.bytes[side] = 0;
  }

  void count(const Packet& packet, Emitter& out) {
    Connection& flow = *packet.connection;
    State& state = state_of<State>(flow);
    if (state.packets[0] + state.packets[1] == 0) state.first_ns = packet.time_ns;
    if (state.position == 0) {
      active_.push_back(&flow);
      state.position = static_cast<uint32_t>(active_.size());
      restart(state, packet);
    } else if (state.queries != packet.queries) {
      // Queries were added or removed within the second: each receives the counts of just the packets that it selected.
      out.header_of(packet);  // moves the clock
      emit(flow, state.queries, out);
      restart(state, packet);
    }
    const Side side = flow.side_of(packet);
    ++state.packets[side];
    state.bytes[side] += packet.wire_bytes;
  }

  // Emits the flow's tuples. The first one that a query receives has `flows` = 1.
  void emit(const Connection& flow, uint64_t queries, Emitter& out) {
    State& state = state_of<State>(flow);
    if (state.position == 0) return;
    emit(flow, queries & ~state.reported, 1, out);
    emit(flow, queries & state.reported, 0, out);
    state.reported |= queries;
  }

  void emit(const Connection& flow, uint64_t queries, uint64_t flows, Emitter& out) {
    if (queries == 0) return;
    const State& state = state_of<State>(flow);
    const Side client = flow.client_side, server = other_side(client);
    TupleHeader header = out.header_of(flow);
    header.queries = queries;
    out.emit(header, {Value::u64(flows), Value::u64(state.packets[client]), Value::u64(state.packets[server]),
                      Value::u64(state.bytes[client]), Value::u64(state.bytes[server]),
                      Value::u64(state.bytes[client] + state.bytes[server]),
                      Value::i64(header.time_ns > state.first_ns ? header.time_ns - state.first_ns : 0)});
  }

  std::vector<Connection*> active_;
};

const Schema& UdpFlow::schema() const {
  static const Schema schema = {
      .name = "udp_flow",
      .description = "Packets and bytes of each UDP flow in each second, by direction",
      .layer = Layer::kTransport,
      .fields = {{"flows", FieldType::kU64, "flows", "1 in the flow's first tuple, else 0", true},
                 {"client_packets", FieldType::kU64, "packets",
                  "Packets sent by src_ip in the second that ends with time_ns", true},
                 {"server_packets", FieldType::kU64, "packets", "Packets sent by dst_ip in that second", true},
                 {"client_bytes", FieldType::kU64, "bytes",
                  "Bytes of client_packets on the wire, including link headers", true},
                 {"server_bytes", FieldType::kU64, "bytes",
                  "Bytes of server_packets on the wire, including link headers", true},
                 {"bytes", FieldType::kU64, "bytes", "Bytes of both directions together", true},
                 {"age_ns", FieldType::kI64, "ns", "time_ns - time of the flow's first packet"}},
      .main_fields = {"dst_ip", "dst_port"},
      .value_field = "bytes",
      .interval_ns = kNsPerSecond,
      .example = {"1", "1", "1", "78", "106", "184", "115376999"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_udp_flow() { return std::make_unique<UdpFlow>(); }

}  // namespace tapline
