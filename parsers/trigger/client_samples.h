#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "parsers/packets/sample.h"
#include "parsers/packets/tcp_flows.h"

namespace tapline::trigger {

// Samples of packets that have a connection.
struct ConnectionSamples {
  static constexpr size_t kMax = TcpFlows::kBurst;

  std::array<Sample, kMax> samples;
  std::array<TcpNumbers, kMax> numbers;
  std::array<uint64_t, kMax> queries;
  std::array<bool, kMax> from_server;
  size_t size = 0;

  void add(const Packet& packet) {
    samples[size] = sample_of(packet);
    numbers[size] = {packet.tcp_seq, packet.tcp_ack};
    add(packet.queries, packet.direction);
  }
  void add(const PlainPacket& packet) {
    // Sets all fields, since the packet is plain.
    read_plain(*packet.raw, &samples[size], &numbers[size]);
    add(packet.queries, packet.direction);
  }

 private:
  void add(uint64_t of_queries, Direction direction) {
    queries[size] = of_queries;
    from_server[size++] = direction == Direction::kFromServer;
  }
};

// Makes the client the source and the server the destination: a trigger counts both directions of a connection for its
// client, as parsers' tuples do.
inline void orient_to_client(bool from_server, Sample* sample) {
  if (!from_server) return;
  std::swap(sample->src_ip, sample->dst_ip);
  std::swap(sample->src_port, sample->dst_port);
}

// Samples from the client's view, with facts about their TCP connections. One per lane; not thread-safe.
class ClientSamples {
 public:
  struct Batch {
    SampleBatch tcp;
    std::array<uint64_t, SampleBatch::kMax> queries;  // by sample
  };

  // `window_ns` is that of TcpFlowOptions.
  explicit ClientSamples(int64_t window_ns) : flows_({.max_flows = 1 << 18, .window_ns = window_ns}) {}

  // Returns the samples, and corrections. Valid until the next call.
  const Batch& observe(const ConnectionSamples& seen) {
    flows_.observe({seen.samples.data(), seen.size}, {seen.numbers.data(), seen.size}, &batch_.tcp);
    size_t next = 0;
    for (size_t i = 0; i < batch_.tcp.size; ++i) {
      Sample& sample = batch_.tcp.samples[i];
      // A correction follows the packet that caused it, and is about the other direction.
      const bool correction = sample.packets == 0;
      const size_t packet = correction ? next - 1 : next++;
      orient_to_client(seen.from_server[packet] != correction, &sample);
      batch_.queries[i] = seen.queries[packet];
    }
    return batch_;
  }

  const TcpFlows& flows() const { return flows_; }

 private:
  TcpFlows flows_;
  Batch batch_;
};

}  // namespace tapline::trigger
