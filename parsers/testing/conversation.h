#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// Writes the packets of one TCP connection, one millisecond apart, with correct sequence and acknowledgement numbers.
// Tests then drop, swap, cut or repeat frames.
class Conversation {
 public:
  struct Options {
    std::string client = "10.0.0.1";
    std::string server = "10.0.0.2";
    uint16_t client_port = 40000;
    uint16_t server_port = 80;
    uint32_t client_isn = 1000;
    uint32_t server_isn = 5000;
    int64_t start_ns = 1'000'000'000'000;
    std::vector<uint16_t> vlans = {};
  };
  static constexpr int64_t kStepNs = 1'000'000;

  Conversation() : Conversation(Options()) {}
  explicit Conversation(const Options& options);

  Conversation& handshake();
  // Sends one segment, which acknowledges everything that the other side has sent.
  Conversation& client(std::string_view payload, uint8_t flags = tcp_flag::kAck | tcp_flag::kPsh);
  Conversation& server(std::string_view payload, uint8_t flags = tcp_flag::kAck | tcp_flag::kPsh);
  // Sends the payload in segments of at most `bytes`.
  Conversation& client_cut(std::string_view payload, size_t bytes);
  Conversation& server_cut(std::string_view payload, size_t bytes);
  Conversation& client_ack() { return client("", tcp_flag::kAck); }
  Conversation& server_ack() { return server("", tcp_flag::kAck); }
  Conversation& client_fin() { return client("", tcp_flag::kFin | tcp_flag::kAck); }
  Conversation& server_fin() { return server("", tcp_flag::kFin | tcp_flag::kAck); }
  Conversation& close() { return client_fin().server_fin().client_ack(); }
  Conversation& wait_ns(int64_t ns);

  std::vector<Frame>& frames() { return frames_; }
  int64_t now_ns() const { return now_ns_; }

 private:
  void send(bool from_client, std::string_view payload, uint8_t flags);

  Options options_;
  uint32_t client_seq_, server_seq_;
  int64_t now_ns_;
  std::vector<Frame> frames_;
};

}  // namespace tapline::testing
