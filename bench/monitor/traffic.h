// Generates frames of endless TCP traffic in place, for benchmarks. The frames are the same in every run.
//
// Every round sends one packet of each flow, in an order that differs from round to round and never follows the order
// in memory. A connection lasts 200 packets, of which 4 are SYN or FIN (2 %). Then its endpoints start the next
// connection, with a different initial sequence number. Flows are in different phases, so every burst contains all
// kinds of packets:
//
//   0 SYN ─▶  1 ◀─ SYN/ACK  2 ACK ─▶  3…197 data  198 FIN ─▶  199 ◀─ FIN
//
// Data packets alternate between the directions (kTcp), or contain one GET request each, without responses (kHttpGet).
// In frames of 64 bytes, which have room for 6 bytes of data, the shortest request takes three packets. All frames have
// the same length; frames without data are padded, as on a wire. Checksums are zero.
//
// kSyns is a flood: each packet is a SYN from another port of one of the flows' clients, and none is answered.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tapline::bench {

enum class TrafficKind : uint8_t { kTcp, kHttpGet, kSyns };

struct TrafficOptions {
  TrafficKind kind = TrafficKind::kTcp;
  uint32_t frame_bytes = 60;  // without the frame check sequence
  uint32_t flows = 1000;
  // The number of the first flow. Numbers determine addresses, so queues can have different flows.
  uint32_t first_flow = 0;
};

class Traffic {
 public:
  static constexpr uint32_t kConnectionPackets = 200;
  static constexpr uint32_t kHeaderBytes = 54;

  explicit Traffic(const TrafficOptions& options);

  // Writes the part that all frames share. Must be called once for each buffer.
  void prepare(uint8_t* frame) const;
  // Turns the buffer into the next packet. REQUIRES: prepare(frame) was called earlier.
  void next(uint8_t* frame);

 private:
  uint32_t next_flow();
  void next_syn(uint8_t* frame);

  TrafficOptions options_;
  std::vector<uint8_t> template_;
  uint32_t payload_bytes_;
  bool in_pieces_ = false;          // true if requests are longer than a packet's payload
  uint32_t request_number_at_ = 0;  // position of the number in a request's URL; 0: there is none
  uint32_t round_ = 0;
  uint32_t in_round_ = 0;
  uint32_t flow_ = 0;
  uint32_t syns_ = 0;
  std::array<uint32_t, 16> strides_;  // used in turn, one per round; all are coprime to `flows`
};

}  // namespace tapline::bench
