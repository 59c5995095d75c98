#include "parsers/plugin/plugin_parser.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "parsers/plugin/call_mark.h"

namespace {

constexpr size_t kMaxPackets = 64;  // per call
constexpr size_t kMaxValues = 64;
constexpr size_t kLongestText = 32'768;  // the limit of a batch

}  // namespace

// One instance's access to Tapline. The first kMaxPackets connections belong to the packets, the last one to a callback
// for a single connection.
struct tapline_out {
  const tapline::Schema* schema = nullptr;
  tapline::Emitter* emitter = nullptr;
  uint64_t queries = ~0ull;  // the queries that may receive a tuple
  const tapline::Packet* packets = nullptr;
  size_t packet_count = 0;
  std::array<tapline_packet, kMaxPackets> packet_views = {};
  std::array<const tapline_packet*, kMaxPackets> packet_pointers = {};
  std::array<tapline_connection, kMaxPackets + 1> connection_views = {};
  std::array<tapline::Connection*, kMaxPackets + 1> connections = {};
  std::string texts;
};

namespace tapline {
namespace {

// The only `out` that this thread may use at the moment.
thread_local tapline_out* current_out = nullptr;

bool usable(const tapline_out* out) { return out != nullptr && out == current_out && out->emitter != nullptr; }

// Returns the index of the element that an untrusted pointer points to; `count` if it points to none.
template <typename T>
size_t index_in(const T* first, size_t count, const T* element) {
  const auto begin = reinterpret_cast<uintptr_t>(first), at = reinterpret_cast<uintptr_t>(element);
  const uintptr_t offset = at - begin;
  return at >= begin && offset % sizeof(T) == 0 ? std::min<size_t>(offset / sizeof(T), count) : count;
}

const Packet* packet_of(const tapline_out& out, const tapline_packet* view) {
  const size_t index = index_in(out.packet_views.data(), out.packet_count, view);
  return index < out.packet_count ? &out.packets[index] : nullptr;
}

Connection* connection_of(const tapline_out& out, const tapline_connection* view) {
  const size_t index = index_in(out.connection_views.data(), out.connection_views.size(), view);
  return index < out.connections.size() ? out.connections[index] : nullptr;
}

bool value_fits(const tapline_value& value, const Field& field) {
  if (value.type == TAPLINE_ABSENT) return field.optional;
  if (value.type != static_cast<uint32_t>(field.type)) return false;
  return field.type != FieldType::kString || value.text_bytes == 0 || value.as.text != nullptr;
}

Value value_of(const tapline_value& value, FieldType type, std::string_view text) {
  if (value.type == TAPLINE_ABSENT) return Value::absent(type);
  switch (value.type) {
    case TAPLINE_I64:
      return Value::i64(value.as.i64);
    case TAPLINE_F64:
      return Value::f64(value.as.f64);
    case TAPLINE_BOOL:
      return Value::boolean(value.as.u64 != 0);
    case TAPLINE_STRING:
      return Value::string(text);
    default:
      return Value::u64(value.as.u64);
  }
}

// A tuple's values, copied from the plug-in's memory.
struct Values {
  std::array<tapline_value, kMaxValues> copied;
  uint32_t count = 0;
  bool right = false;

  Values(tapline_out& out, const tapline_value* values, uint32_t value_count) {
    const auto& fields = out.schema->fields;
    if (values == nullptr || value_count != fields.size()) return;
    count = value_count;
    std::memcpy(copied.data(), values, count * sizeof(tapline_value));
    out.texts.clear();
    for (uint32_t i = 0; i < count; ++i) {
      if (!value_fits(copied[i], fields[i])) return;
      if (copied[i].type != TAPLINE_STRING) continue;
      copied[i].text_bytes = std::min<uint32_t>(copied[i].text_bytes, kLongestText);
      out.texts.append(copied[i].as.text, copied[i].text_bytes);
    }
    right = true;
  }
};

// Forwards the tuple, or counts it as invalid. REQUIRES: the call is unmarked.
int emit_checked(tapline_out& out, TupleHeader header, const Values& values) {
  header.queries &= out.queries;
  if (!values.right) {
    out.emitter->lose(LossReason::kInvalidTuple, 1, header.queries);
    return 0;
  }
  alignas(Value) std::byte storage[kMaxValues * sizeof(Value)];
  auto* made = reinterpret_cast<Value*>(storage);
  std::string_view texts = out.texts;
  for (uint32_t i = 0; i < values.count; ++i) {
    const uint32_t text_bytes = values.copied[i].type == TAPLINE_STRING ? values.copied[i].text_bytes : 0;
    new (made + i) Value(value_of(values.copied[i], out.schema->fields[i].type, texts.substr(0, text_bytes)));
    texts.remove_prefix(text_bytes);
  }
  out.emitter->emit(header, std::span<const Value>(made, values.count));
  return 1;
}

void store_address(const IpAddress& address, uint8_t (&to)[16]) { std::memcpy(to, address.mapped().data(), 16); }

tapline_header header_view(const TupleHeader& header) {
  tapline_header view = {};
  view.queries = header.queries;
  view.flow_hash = header.flow_hash;
  view.flow_incarnation = header.flow_incarnation;
  view.src_port = header.src_port;
  view.dst_port = header.dst_port;
  store_address(header.src_ip, view.src_ip);
  store_address(header.dst_ip, view.dst_ip);
  view.client_known_by = static_cast<uint8_t>(header.client_known_by);
  return view;
}

TupleHeader header_of_view(const tapline_header& view, int64_t now_ns) {
  TupleHeader header;
  header.time_ns = now_ns;
  header.queries = view.queries;
  header.flow_hash = view.flow_hash;
  header.flow_incarnation = view.flow_incarnation;
  header.src_port = view.src_port;
  header.dst_port = view.dst_port;
  header.src_ip = IpAddress::v6(view.src_ip);
  header.dst_ip = IpAddress::v6(view.dst_ip);
  header.client_known_by = static_cast<ClientKnownBy>(std::min<uint8_t>(view.client_known_by, TAPLINE_CLIENT_BY_PORT));
  return header;
}

// ---- tapline_host ----

int64_t host_now_ns(tapline_out* out) { return usable(out) ? out->emitter->now_ns() : 0; }

int host_emit_packet(tapline_out* out, const tapline_packet* view, const tapline_value* values, uint32_t count) {
  const Packet* packet = usable(out) ? packet_of(*out, view) : nullptr;
  if (packet == nullptr) return 0;
  const Values copied(*out, values, count);
  UnmarkedCall unmarked;
  return emit_checked(*out, out->emitter->header_of(*packet), copied);
}

int host_emit_connection(tapline_out* out, const tapline_connection* view, const tapline_value* values,
                         uint32_t count) {
  const Connection* connection = usable(out) ? connection_of(*out, view) : nullptr;
  if (connection == nullptr) return 0;
  const Values copied(*out, values, count);
  UnmarkedCall unmarked;
  return emit_checked(*out, out->emitter->header_of(*connection), copied);
}

int host_header_of_packet(tapline_out* out, const tapline_packet* view, tapline_header* header) {
  const Packet* packet = usable(out) && header != nullptr ? packet_of(*out, view) : nullptr;
  if (packet == nullptr) return 0;
  *header = header_view(out->emitter->header_of(*packet));
  return 1;
}

int host_header_of_connection(tapline_out* out, const tapline_connection* view, tapline_header* header) {
  const Connection* connection = usable(out) && header != nullptr ? connection_of(*out, view) : nullptr;
  if (connection == nullptr) return 0;
  *header = header_view(out->emitter->header_of(*connection));
  header->queries &= out->queries;
  return 1;
}

int host_emit(tapline_out* out, const tapline_header* header, const tapline_value* values, uint32_t count) {
  if (!usable(out) || header == nullptr) return 0;
  const TupleHeader copied_header = header_of_view(*header, out->emitter->now_ns());
  const Values copied(*out, values, count);
  UnmarkedCall unmarked;
  return emit_checked(*out, copied_header, copied);
}

void host_lose(tapline_out* out, const tapline_connection* view, tapline_loss reason, uint64_t count) {
  constexpr LossReason kReasons[] = {LossReason::kHeadTooLong, LossReason::kTooManyPending,
                                     LossReason::kParserMemoryFull};
  const Connection* connection = usable(out) ? connection_of(*out, view) : nullptr;
  const auto index = static_cast<size_t>(reason);
  if (connection == nullptr || index >= std::size(kReasons)) return;
  UnmarkedCall unmarked;
  out->emitter->lose(kReasons[index], count, connection->queries & out->queries);
}

// Gives access to StreamParser's claim_client().
struct Claim : StreamParser {
  using StreamParser::claim_client;
};

void host_claim_client(tapline_out* out, tapline_connection* view, uint32_t side) {
  Connection* connection = usable(out) && side <= 1 ? connection_of(*out, view) : nullptr;
  if (connection == nullptr) return;
  Claim::claim_client(*connection, static_cast<Side>(side));
  view->client_side = connection->client_side;
  view->client_known_by = static_cast<uint8_t>(connection->client_known_by);
}

constexpr tapline_host kHost = {
    TAPLINE_PARSER_ABI,    sizeof(tapline_host),      host_now_ns, host_emit_packet, host_emit_connection,
    host_header_of_packet, host_header_of_connection, host_emit,   host_lose,        host_claim_client};

// ---- views of packets and connections ----

void show(const Connection& connection, void* state, tapline_connection* view) {
  view->flow_hash = connection.flow_hash;
  for (int side = 0; side < 2; ++side) {
    store_address(connection.ip[side], view->ip[side]);
    view->port[side] = connection.port[side];
  }
  view->incarnation = connection.incarnation;
  view->client_side = connection.client_side;
  view->client_known_by = static_cast<uint8_t>(connection.client_known_by);
  view->state = state;
}

void show(const Packet& packet, tapline_connection* connection, tapline_packet* view) {
  view->data = packet.data;
  view->captured_bytes = packet.captured_bytes;
  view->wire_bytes = packet.wire_bytes;
  view->time_ns = packet.time_ns;
  view->flow_hash = packet.flow_hash;
  store_address(packet.src_ip, view->src_ip);
  store_address(packet.dst_ip, view->dst_ip);
  view->src_port = packet.src_port;
  view->dst_port = packet.dst_port;
  view->ip_version = packet.ip_version;
  view->protocol = packet.protocol;
  view->tcp_flags = packet.tcp_flags;
  view->tcp_events = packet.tcp_events;
  view->tcp_seq = packet.tcp_seq;
  view->tcp_ack = packet.tcp_ack;
  view->tcp_window = packet.tcp_window;
  view->vlan_tags = packet.vlan_tags;
  view->direction = static_cast<uint8_t>(packet.direction);
  view->vlan[0] = packet.vlan[0];
  view->vlan[1] = packet.vlan[1];
  view->network_id = packet.network_id;
  view->ip_offset = packet.ip_offset;
  view->transport_offset = packet.transport_offset;
  view->payload_offset = packet.payload_offset;
  view->payload_captured_bytes = packet.payload_captured_bytes;
  view->payload_bytes = packet.payload_bytes;
  view->tap = packet.tap;
  view->repeated_view = packet.repeated_view;
  view->connection = connection;
}

tapline_segment show(const Segment& segment) {
  return {segment.time_ns, segment.offset, segment.peer_offset, segment.peer_offset_known, 0};
}

// Allows this thread to use `out` for the duration of a call.
class CallEmitter {
 public:
  CallEmitter(tapline_out* out, Emitter* emitter, uint64_t queries) : out_(out), outer_(current_out) {
    out->emitter = emitter;
    out->queries = queries;
    current_out = out;
  }
  ~CallEmitter() {
    out_->emitter = nullptr;
    out_->packet_count = 0;
    current_out = outer_;
  }
  CallEmitter(const CallEmitter&) = delete;
  CallEmitter& operator=(const CallEmitter&) = delete;

 private:
  tapline_out* out_;
  tapline_out* outer_;
};

// Base is Parser or StreamParser: the engine distinguishes them by their class.
template <typename Base>
class PluginParser : public Base {
 public:
  PluginParser(const ParserDescription& description, uint32_t plugin_index)
      : schema_(description.schema), needs_(description.needs), calls_(description.callbacks), plugin_(plugin_index) {
    out_.schema = &schema_;
    for (size_t i = 0; i < kMaxPackets; ++i) out_.packet_pointers[i] = &out_.packet_views[i];
    self_ = call([&] { return calls_.create(&kHost); });
  }
  ~PluginParser() override {
    if (self_ != nullptr) call([&] { calls_.destroy(self_); });
  }

  bool usable() const { return self_ != nullptr; }
  const Schema& schema() const override { return schema_; }
  Needs needs() const override { return needs_; }

  void process(std::span<const Packet> burst, Emitter& out) override {
    CallEmitter within(&out_, &out, ~0ull);
    while (!burst.empty()) {
      const auto some = burst.first(std::min(burst.size(), kMaxPackets));
      show_packets(some);
      call([&] { calls_.process(self_, out_.packet_pointers.data(), static_cast<uint32_t>(some.size()), &out_); });
      burst = burst.subspan(some.size());
    }
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    CallEmitter within(&out_, &out, ~0ull);
    call([&] { calls_.on_interval(self_, end_ns, &out_); });
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    if (!needs_.connections || calls_.on_end == nullptr) return;
    CallEmitter within(&out_, &out, queries);
    tapline_connection* view = show_connection(connection);
    call([&] { calls_.on_end(self_, view, &out_); });
  }

  void on_release(Connection& connection) override {
    if (!needs_.connections || calls_.on_release == nullptr) return;
    tapline_connection* view = show_connection(connection);
    call([&] { calls_.on_release(self_, view); });
  }

 protected:
  // Calls the plug-in. An exception ends the process while the call is marked.
  template <typename Function>
  auto call(Function function) noexcept {
    MarkedCall marked(plugin_);
    return function();
  }

  tapline_connection* show_connection(Connection& connection) { return show_at(kMaxPackets, connection); }
  StreamVerdict verdict(int response) const {
    return response == TAPLINE_GIVE_UP ? StreamVerdict::kGiveUp : StreamVerdict::kContinue;
  }

  Schema schema_;
  Needs needs_;
  tapline_parser calls_;
  uint32_t plugin_;
  void* self_ = nullptr;
  tapline_out out_;

 private:
  tapline_connection* show_at(size_t index, Connection& connection) {
    void* state = needs_.connection_state_bytes > 0 ? &this->template state_of<std::byte>(connection) : nullptr;
    out_.connections[index] = &connection;
    show(connection, state, &out_.connection_views[index]);
    return &out_.connection_views[index];
  }

  void show_packets(std::span<const Packet> packets) {
    for (size_t i = 0; i < packets.size(); ++i) {
      const bool connected = needs_.connections && packets[i].connection != nullptr;
      out_.connections[i] = nullptr;
      show(packets[i], connected ? show_at(i, *packets[i].connection) : nullptr, &out_.packet_views[i]);
    }
    out_.packets = packets.data();
    out_.packet_count = packets.size();
  }
};

class PluginStreamParser final : public PluginParser<StreamParser> {
 public:
  using PluginParser::PluginParser;

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    CallEmitter within(&out_, &out, ~0ull);
    const tapline_segment shown = show(segment);
    tapline_connection* view = show_connection(connection);
    return verdict(call([&] { return calls_.on_data(self_, view, side, bytes.data(), bytes.size(), &shown, &out_); }));
  }

  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                       Emitter& out) override {
    CallEmitter within(&out_, &out, ~0ull);
    const tapline_segment shown = show(segment);
    tapline_connection* view = show_connection(connection);
    return verdict(call([&] { return calls_.on_gap(self_, view, side, bytes, &shown, &out_); }));
  }

  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns, Emitter& out) override {
    CallEmitter within(&out_, &out, ~0ull);
    tapline_connection* view = show_connection(connection);
    call([&] { calls_.on_stream_end(self_, view, side, static_cast<uint32_t>(end), time_ns, &out_); });
  }
};

class LeftOutParser final : public Parser {
 public:
  explicit LeftOutParser(Schema schema) : schema_(std::move(schema)) {}
  const Schema& schema() const override { return schema_; }
  Needs needs() const override {
    return {.packets = true, .connections = true, .connection_state_bytes = sizeof(uint64_t)};
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      uint64_t counted = 0;
      uint64_t& reported = packet.connection != nullptr ? state_of<uint64_t>(*packet.connection) : counted;
      const uint64_t unreported = packet.queries & ~reported;
      reported |= unreported;
      if (unreported != 0) out.lose(LossReason::kPluginLeftOut, 1, unreported);
    }
  }

 private:
  Schema schema_;
};

template <typename Made>
std::unique_ptr<Parser> usable_or_left_out(std::unique_ptr<Made> parser) {
  if (parser->usable()) return parser;
  return left_out_parser(parser->schema());
}

}  // namespace

std::unique_ptr<Parser> make_plugin_parser(const ParserDescription& description, uint32_t plugin_index) {
  if (description.needs.streams) {
    return usable_or_left_out(std::make_unique<PluginStreamParser>(description, plugin_index));
  }
  return usable_or_left_out(std::make_unique<PluginParser<Parser>>(description, plugin_index));
}

std::unique_ptr<Parser> left_out_parser(Schema schema) { return std::make_unique<LeftOutParser>(std::move(schema)); }

}  // namespace tapline
