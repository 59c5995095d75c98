#include "bench/monitor/traffic.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

namespace tapline::bench {
namespace {

constexpr uint8_t kFin = 0x01, kSyn = 0x02, kPsh = 0x08, kAck = 0x10;
constexpr uint32_t kIpAt = 14, kTcpAt = 34;
constexpr uint32_t kFirstClient = 0x0a000001u, kFirstServer = 0xc0a80001u, kServers = 16;
constexpr uint32_t kFirstData = 3, kClientFin = 198, kServerFin = 199;

void put16(uint8_t* target, uint32_t value) {
  const auto bytes = __builtin_bswap16(static_cast<uint16_t>(value));
  std::memcpy(target, &bytes, sizeof bytes);
}
void put32(uint8_t* target, uint32_t value) {
  const uint32_t bytes = __builtin_bswap32(value);
  std::memcpy(target, &bytes, sizeof bytes);
}

constexpr std::string_view kShortestRequest = "GET / HTTP/1.1\r\n\r\n";

// Returns a GET request of exactly `bytes`. Sets *number_at to the start of the four-digit number in its URL, if there
// is one. REQUIRES: bytes >= kShortestRequest.size().
std::string request(uint32_t bytes, uint32_t* number_at) {
  const std::string min(kShortestRequest);
  std::string head = "GET /item/0000 HTTP/1.1\r\nHost: shop\r\n";
  if (head.size() + 2 > bytes) head = "GET /0000 HTTP/1.1\r\n";
  if (head.size() + 2 > bytes) return "GET /" + std::string(bytes - min.size(), 'a') + min.substr(5);
  *number_at = static_cast<uint32_t>(head.find("0000"));
  const size_t room = bytes - head.size() - 2;
  const std::string name = "Cookie: ";
  if (room >= name.size() + 3) {
    head += name + std::string(room - name.size() - 2, 'c') + "\r\n";
  } else {
    head.insert(*number_at, room, 'a');
    *number_at += static_cast<uint32_t>(room);
  }
  return head + "\r\n";
}

}  // namespace

Traffic::Traffic(const TrafficOptions& options)
    : options_(options),
      template_(std::max(options.frame_bytes, kHeaderBytes)),
      payload_bytes_(static_cast<uint32_t>(template_.size()) - kHeaderBytes) {
  const uint8_t link[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};
  std::copy(std::begin(link), std::end(link), template_.begin());
  uint8_t* ip = template_.data() + kIpAt;
  ip[0] = 0x45;
  ip[8] = 64;
  ip[9] = 6;
  template_[kTcpAt + 12] = 5 << 4;
  put16(template_.data() + kTcpAt + 14, 65535);
  std::string payload(payload_bytes_, 'x');
  if (options.kind == TrafficKind::kHttpGet) {
    in_pieces_ = payload_bytes_ < kShortestRequest.size();
    if (!in_pieces_) payload = request(payload_bytes_, &request_number_at_);
  }
  std::copy_n(payload.begin(), payload_bytes_, template_.begin() + kHeaderBytes);
  for (uint32_t i = 0; i < strides_.size(); ++i) {
    uint32_t stride = options.flows / 100 * (38 + 3 * i) % options.flows + 1;
    while (std::gcd(stride, options.flows) != 1) ++stride;
    strides_[i] = stride % options.flows;
  }
}

void Traffic::prepare(uint8_t* frame) const { std::memcpy(frame, template_.data(), template_.size()); }

uint32_t Traffic::next_flow() {
  const uint32_t flow = flow_;
  if (++in_round_ == options_.flows) {
    in_round_ = 0;
    ++round_;
  }
  flow_ += strides_[round_ % strides_.size()];
  if (flow_ >= options_.flows) flow_ -= options_.flows;
  return flow;
}

void Traffic::next_syn(uint8_t* frame) {
  const uint32_t number = syns_++;
  const uint32_t random = number * 0x9e3779b1u;  // a permutation of all numbers
  const uint32_t flow = options_.first_flow + static_cast<uint32_t>(uint64_t{random} * options_.flows >> 32);
  uint8_t* ip = frame + kIpAt;
  uint8_t* tcp = frame + kTcpAt;
  put16(ip + 2, 40);
  put32(ip + 12, kFirstClient + flow);
  put32(ip + 16, kFirstServer + flow % kServers);
  put32(tcp, (number ^ number >> 16) << 16 | 80u);
  put32(tcp + 4, random);
  put32(tcp + 8, 0);
  tcp[13] = kSyn;
}

void Traffic::next(uint8_t* frame) {
  if (options_.kind == TrafficKind::kSyns) return next_syn(frame);
  const uint32_t round = round_;
  const uint32_t flow = next_flow() + options_.first_flow;
  const uint32_t age = round + flow * 37;  // 37 and 200 have no common factor, so all ages are equally frequent
  const uint32_t step = age % kConnectionPackets;
  const uint32_t life = age / kConnectionPackets;
  const bool is_data = step >= kFirstData && step < kClientFin;
  const bool http = options_.kind == TrafficKind::kHttpGet;
  // Data packets alternate: 3, 5, 7… come from the client, 4, 6, 8… from the server.
  const bool from_server = step == 1 || step == kServerFin || (is_data && !http && step % 2 == 0);
  const uint32_t sent = std::min(std::max(step, kFirstData), kClientFin) - kFirstData;  // data packets before this one
  const uint32_t client_isn = (flow * 0x9e3779b1u) ^ (life * 0x85ebca6bu) ^ 1;
  const uint32_t server_isn = ~client_isn * 5;
  const uint32_t client_data = http ? sent : (sent + 1) / 2;
  const uint32_t client_next = client_isn + (step == 0 ? 0 : 1) + client_data * payload_bytes_ + (step == kServerFin);
  const uint32_t server_next = server_isn + (step <= 1 ? 0 : 1) + (sent - client_data) * payload_bytes_;
  uint8_t flags = kAck;
  if (is_data) flags |= kPsh;
  if (step == 0) flags = kSyn;
  if (step == 1) flags |= kSyn;
  if (step >= kClientFin) flags |= kFin;

  const uint32_t client_ip = kFirstClient + flow, server_ip = kFirstServer + flow % kServers;
  const uint32_t client_port = 32768u + (flow * 0x9e37u >> 3 & 0x7fff);
  uint8_t* ip = frame + kIpAt;
  uint8_t* tcp = frame + kTcpAt;
  put16(ip + 2, 40 + (is_data ? payload_bytes_ : 0));
  put32(ip + 12, from_server ? server_ip : client_ip);
  put32(ip + 16, from_server ? client_ip : server_ip);
  put32(tcp, from_server ? 80u << 16 | client_port : client_port << 16 | 80u);
  put32(tcp + 4, from_server ? server_next : client_next);
  put32(tcp + 8, step == 0 ? 0 : from_server ? client_next : server_next);
  tcp[13] = flags;
  if (in_pieces_ && is_data) {
    for (uint32_t i = 0; i < payload_bytes_; ++i) {
      frame[kHeaderBytes + i] =
          static_cast<uint8_t>(kShortestRequest[(sent * payload_bytes_ + i) % kShortestRequest.size()]);
    }
  }
  if (request_number_at_ != 0) {
    const uint32_t url = (flow * 31 + step * 7) % 1000;
    uint8_t* digits = frame + kHeaderBytes + request_number_at_;
    digits[1] = static_cast<uint8_t>('0' + url / 100);
    digits[2] = static_cast<uint8_t>('0' + url / 10 % 10);
    digits[3] = static_cast<uint8_t>('0' + url % 10);
  }
}

}  // namespace tapline::bench
