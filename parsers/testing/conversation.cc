#include "parsers/testing/conversation.h"

namespace tapline::testing {

Conversation::Conversation(const Options& options)
    : options_(options), client_seq_(options.client_isn), server_seq_(options.server_isn), now_ns_(options.start_ns) {}

void Conversation::send(bool from_client, std::string_view payload, uint8_t flags) {
  uint32_t& seq = from_client ? client_seq_ : server_seq_;
  const bool has_ack = (flags & tcp_flag::kAck) != 0;
  frames_.push_back(tcp_frame({.src = from_client ? options_.client : options_.server,
                               .dst = from_client ? options_.server : options_.client,
                               .src_port = from_client ? options_.client_port : options_.server_port,
                               .dst_port = from_client ? options_.server_port : options_.client_port,
                               .seq = seq,
                               .ack = has_ack ? (from_client ? server_seq_ : client_seq_) : 0,
                               .flags = flags,
                               .payload = payload,
                               .vlans = options_.vlans},
                              now_ns_));
  seq += static_cast<uint32_t>(payload.size());
  if ((flags & (tcp_flag::kSyn | tcp_flag::kFin)) != 0) ++seq;
  now_ns_ += kStepNs;
}

Conversation& Conversation::handshake() {
  send(true, "", tcp_flag::kSyn);
  send(false, "", tcp_flag::kSyn | tcp_flag::kAck);
  send(true, "", tcp_flag::kAck);
  return *this;
}

Conversation& Conversation::client(std::string_view payload, uint8_t flags) {
  send(true, payload, flags);
  return *this;
}

Conversation& Conversation::server(std::string_view payload, uint8_t flags) {
  send(false, payload, flags);
  return *this;
}

Conversation& Conversation::client_cut(std::string_view payload, size_t bytes) {
  for (size_t offset = 0; offset < payload.size(); offset += bytes) client(payload.substr(offset, bytes));
  return *this;
}

Conversation& Conversation::server_cut(std::string_view payload, size_t bytes) {
  for (size_t offset = 0; offset < payload.size(); offset += bytes) server(payload.substr(offset, bytes));
  return *this;
}

Conversation& Conversation::wait_ns(int64_t ns) {
  now_ns_ += ns;
  return *this;
}

}  // namespace tapline::testing
