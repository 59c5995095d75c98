#include "parsers/api/parser.h"

#include <algorithm>

namespace tapline {
namespace {

// A guess at the client side of a packet without a connection: from the query's TO, otherwise the side with the higher
// port; if the ports are equal, the sender.
struct Guess {
  bool source_is_client;
  ClientKnownBy known_by;
};

Guess guess_client(const Packet& packet) {
  if (packet.to_side != ToSide::kUnknown) return {packet.to_side == ToSide::kDestination, ClientKnownBy::kQuery};
  return {packet.src_port >= packet.dst_port, ClientKnownBy::kPort};
}

}  // namespace

TupleHeader Emitter::header_of(const Connection& connection) const {
  const Side client = connection.client_side;
  const Side server = other_side(client);
  TupleHeader header;
  header.time_ns = now_ns();
  header.flow_hash = connection.flow_hash;
  header.flow_incarnation = connection.incarnation;
  header.client_known_by = connection.client_known_by;
  header.src_ip = connection.ip[client];
  header.src_port = connection.port[client];
  header.dst_ip = connection.ip[server];
  header.dst_port = connection.port[server];
  header.queries = connection.queries;
  return header;
}

TupleHeader Emitter::header_of(const Packet& packet) {
  // A parser may receive a run of packets in one call, so the clock advances with each of them.
  *clock_ns_ = std::max(*clock_ns_, packet.time_ns);
  TupleHeader header;
  if (packet.connection != nullptr) {
    header = header_of(*packet.connection);
  } else {
    const auto [source_is_client, known_by] = guess_client(packet);
    header.time_ns = now_ns();
    header.flow_hash = packet.flow_hash;
    header.client_known_by = known_by;
    header.src_ip = source_is_client ? packet.src_ip : packet.dst_ip;
    header.src_port = source_is_client ? packet.src_port : packet.dst_port;
    header.dst_ip = source_is_client ? packet.dst_ip : packet.src_ip;
    header.dst_port = source_is_client ? packet.dst_port : packet.src_port;
  }
  header.queries = packet.queries;
  return header;
}

std::span<const Value> Emitter::encoded(std::span<const Value> values) {
  encoded_.assign(values.begin(), values.end());
  size_t bytes = 0;
  for (const Value& value : values) bytes += value.type() == FieldType::kString ? value.as_string().size() : 0;
  texts_.clear();
  texts_.reserve(3 * bytes);  // a byte becomes at most three bytes, so appending never moves earlier strings
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].type() != FieldType::kString) continue;
    const std::string_view text = values[i].as_string();
    if (!tapline::must_encode(text, line_breaks_of(i))) continue;
    const size_t begin = texts_.size();
    append_encoded(text, line_breaks_of(i), &texts_);
    encoded_[i] = Value::string(std::string_view(texts_).substr(begin));
  }
  return encoded_;
}

}  // namespace tapline
