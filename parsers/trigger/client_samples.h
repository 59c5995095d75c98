#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "parsers/packets/sample.h"
#include "parsers/packets/tcp_flows.h"

namespace tapline::trigger {

// Returns the packet's sample, with the client as the source and the server as the destination: a trigger counts both
// directions of a connection for its client, as parsers' tuples do.
inline Sample sample_from_client(const Packet& packet) {
  Sample sample = sample_of(packet);
  if (packet.direction == Direction::kFromServer) {
    std::swap(sample.src_ip, sample.dst_ip);
    std::swap(sample.src_port, sample.dst_port);
  }
  return sample;
}

// Samples from the client's view, with facts about their TCP connections. One per lane; not thread-safe.
class ClientSamples {
 public:
  static constexpr size_t kBurst = TcpFlows::kBurst;

  struct Batch {
    SampleBatch tcp;
    std::array<uint64_t, SampleBatch::kMax> queries;  // by sample
  };

  // `window_ns` is that of TcpFlowOptions.
  explicit ClientSamples(int64_t window_ns) : flows_({.max_flows = 1 << 18, .window_ns = window_ns}) {}

  // Returns samples of the packets that have a connection, and corrections. Valid until the next call. REQUIRES: at
  // most kBurst packets.
  const Batch& observe(std::span<const Packet> burst) {
    size_t count = 0;
    for (const Packet& packet : burst) {
      if (packet.connection == nullptr) continue;
      samples_[count] = sample_of(packet);
      numbers_[count] = {packet.tcp_seq, packet.tcp_ack};
      packets_[count++] = &packet;
    }
    flows_.observe({samples_.data(), count}, {numbers_.data(), count}, &batch_.tcp);
    size_t seen = 0;
    for (size_t i = 0; i < batch_.tcp.size; ++i) {
      Sample& sample = batch_.tcp.samples[i];
      // A correction follows the packet that caused it, and is about the other direction.
      const bool correction = sample.packets == 0;
      const Packet& packet = *packets_[correction ? seen - 1 : seen++];
      if ((packet.direction == Direction::kFromServer) != correction) {
        std::swap(sample.src_ip, sample.dst_ip);
        std::swap(sample.src_port, sample.dst_port);
      }
      batch_.queries[i] = packet.queries;
    }
    return batch_;
  }

  const TcpFlows& flows() const { return flows_; }

 private:
  TcpFlows flows_;
  std::array<Sample, kBurst> samples_;
  std::array<TcpNumbers, kBurst> numbers_;
  std::array<const Packet*, kBurst> packets_;
  Batch batch_;
};

}  // namespace tapline::trigger
