#include "bench/traffic/traffic.h"

#include <string>

namespace tapline::traffic {
namespace {

constexpr uint32_t kServer = 0xc0a80001;        // 192.168.0.1
constexpr uint32_t kKeptClients = 0x0a000000;   // 10.0.0.0/9
constexpr uint32_t kShortClients = 0x0a800000;  // 10.128.0.0/9
constexpr uint32_t kFloodClients = 0xac100000;  // 172.16.0.0/12
constexpr uint16_t kHttp = 80;
constexpr uint32_t kUrls = 1000;
constexpr uint16_t kResponseBytes = 500;

}  // namespace

Traffic::Traffic(const Mixture& mixture) : mixture_(mixture), random_(mixture.seed), flows_(mixture.flows) {}

size_t Traffic::next(uint8_t* out) {
  while (true) {
    size_t bytes = make_one(out);
    ++counts_.made;
    if (!chance(mixture_.loss)) return bytes;
    ++counts_.lost;
  }
}

size_t Traffic::make_one(uint8_t* out) {
  bool ramp = !all_flows_begun();
  double which = random() / 4294967296.0 * (ramp ? 4 : 1);
  if (which < mixture_.flood) return flood(out);
  bool is_short = which < mixture_.flood + mixture_.churn || flows_.empty();
  Exchange& exchange = is_short ? short_ : kept_;
  if (exchange.done()) is_short ? begin_short() : begin_kept();
  return proceed(&exchange, out);
}

size_t Traffic::flood(uint8_t* out) {
  ++counts_.flood;
  Endpoint from = {kFloodClients | (random() & 0xfffff), static_cast<uint16_t>(1024 + random() % 64000)};
  return write_frame(from, {kServer, kHttp}, random(), 0, kSyn, {}, out);
}

void Traffic::add_handshake(Exchange* exchange) {
  ++counts_.connections;
  *exchange->flow = {random(), random()};
  exchange->segments[exchange->count++] = {true, kSyn, 0};
  exchange->segments[exchange->count++] = {false, kSyn | kAck, 0};
  exchange->segments[exchange->count++] = {true, kAck, 0};
}

void Traffic::add_transaction(Exchange* exchange) {
  ++counts_.transactions;
  exchange->segments[exchange->count++] = {true, kPsh | kAck, 1};
  exchange->segments[exchange->count++] = {false, kPsh | kAck, kResponseBytes};
}

void Traffic::begin_kept() {
  size_t index = next_flow_;
  next_flow_ = (next_flow_ + 1) % flows_.size();
  kept_.client = {kKeptClients | static_cast<uint32_t>(index / 60000), static_cast<uint16_t>(1024 + index % 60000)};
  kept_.server = {kServer, kHttp};
  kept_.flow = &flows_[index];
  kept_.count = kept_.next = 0;
  if (begun_ <= index) {
    begun_ = index + 1;
    add_handshake(&kept_);
  } else {
    add_transaction(&kept_);
  }
}

void Traffic::begin_short() {
  uint32_t index = short_connections_++;
  short_.client = {kShortClients | (index / 60000 & 0x7fffff), static_cast<uint16_t>(1024 + index % 60000)};
  short_.server = {kServer, kHttp};
  short_.flow = &short_.own_flow;
  short_.count = short_.next = 0;
  add_handshake(&short_);
  add_transaction(&short_);
  for (bool from_client : {true, false}) short_.segments[short_.count++] = {from_client, kFin | kAck, 0};
  short_.segments[short_.count++] = {true, kAck, 0};
}

std::string_view Traffic::payload_of(const Segment& segment, const Exchange& exchange) {
  if (segment.payload_bytes == 0) return {};
  if (segment.from_client) {
    payload_ = "GET /u" + std::to_string((exchange.client.port * 7919u + exchange.flow->client_sequence) % kUrls) +
               " HTTP/1.1\r\nHost: traffic.example\r\n\r\n";
  } else {
    payload_ = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(segment.payload_bytes) + "\r\n\r\n";
    payload_.append(segment.payload_bytes, 'x');
  }
  return payload_;
}

size_t Traffic::proceed(Exchange* exchange, uint8_t* out) {
  const Segment& segment = exchange->segments[exchange->next++];
  Flow& flow = *exchange->flow;
  const Endpoint& from = segment.from_client ? exchange->client : exchange->server;
  const Endpoint& to = segment.from_client ? exchange->server : exchange->client;
  uint32_t& sequence = segment.from_client ? flow.client_sequence : flow.server_sequence;
  uint32_t acknowledgement = segment.from_client ? flow.server_sequence : flow.client_sequence;
  std::string_view payload = payload_of(segment, *exchange);
  size_t bytes =
      write_frame(from, to, sequence, segment.flags & kAck ? acknowledgement : 0, segment.flags, payload, out);
  sequence += static_cast<uint32_t>(payload.size()) + ((segment.flags & (kSyn | kFin)) != 0);
  return bytes;
}

}  // namespace tapline::traffic
