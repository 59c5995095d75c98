// Checks the streams that the reassembler delivers: offsets have no holes, nothing follows the end, and each byte is
// delivered once, as in its first captured copy.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "parsers/engine/reassembler.h"
#include "parsers/testing/fuzz_packets.h"

namespace tapline {
namespace {

class ContractChecker final : public StreamParser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {.name = "contract_checker"};
    return schema;
  }
  Needs needs() const override { return {.packets = false, .streams = true, .connection_state_bytes = sizeof(State)}; }
  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& /*out*/) override {
    return advance(connection, side, bytes.size(), segment);
  }
  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment, Emitter&) override {
    return advance(connection, side, bytes, segment);
  }
  void on_stream_end(Connection& connection, Side side, StreamEnd, int64_t, Emitter&) override {
    if (state_of<State>(connection).ended[side]) std::abort();
    state_of<State>(connection).ended[side] = true;
  }

 private:
  struct State {
    uint64_t offset[2];
    bool ended[2];
  };

  StreamVerdict advance(Connection& connection, Side side, uint64_t bytes, const Segment& segment) {
    State& state = state_of<State>(connection);
    if (bytes == 0 || segment.offset != state.offset[side] || state.ended[side]) std::abort();
    state.offset[side] += bytes;
    // Gives up some connections in mid-stream.
    return state.offset[side] % 97 == 96 ? StreamVerdict::kGiveUp : StreamVerdict::kContinue;
  }
};

// Keeps the first captured copy of each byte of both streams. Delivered bytes must equal it, and skipped bytes must
// have no captured copy unless a buffer was full.
class ModelChecker final : public StreamReceiver {
 public:
  static constexpr uint32_t kStreamBytes = 1 << 16;

  void capture(Side side, uint32_t offset, std::span<const uint8_t> bytes, uint32_t on_wire) {
    std::vector<int>& first = first_[side];
    for (uint32_t i = 0; i < on_wire && offset + i < kStreamBytes; ++i) {
      if (first[offset + i] == kUnseen) first[offset + i] = i < bytes.size() ? bytes[i] : kCutOff;
    }
  }
  bool on_data(Connection&, Side side, std::span<const uint8_t> bytes, const Segment& segment) override {
    check(side, bytes.size(), segment);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (first_[side][segment.offset + i] != bytes[i]) std::abort();
    }
    return wanted(side, bytes.size());
  }
  bool on_gap(Connection&, Side side, uint64_t bytes, const Segment& segment, LossReason reason) override {
    check(side, bytes, segment);
    for (size_t i = 0; i < bytes && reason == LossReason::kGap; ++i) {
      const uint64_t offset = segment.offset + i;
      if (offset < kStreamBytes && first_[side][offset] >= 0) std::abort();
    }
    return wanted(side, bytes);
  }
  void on_stream_end(Connection&, Side side, StreamEnd, int64_t) override {
    if (ended_[side]) std::abort();
    ended_[side] = true;
  }
  bool gave_up() const { return gave_up_; }

 private:
  static constexpr int kUnseen = -1, kCutOff = -2;

  void check(Side side, uint64_t bytes, const Segment& segment) const {
    if (bytes == 0 || segment.offset != offset_[side] || ended_[side] || gave_up_) std::abort();
  }
  bool wanted(Side side, uint64_t bytes) {
    offset_[side] += bytes;
    gave_up_ = offset_[side] % 251 == 250;
    return !gave_up_;
  }

  std::vector<int> first_[2] = {std::vector<int>(kStreamBytes, kUnseen), std::vector<int>(kStreamBytes, kUnseen)};
  uint64_t offset_[2] = {0, 0};
  bool ended_[2] = {false, false};
  bool gave_up_ = false;
};

// Feeds the records of fuzz_packets.h as segments of one connection whose handshake was seen.
void check_against_model(std::span<const uint8_t> input) {
  constexpr uint32_t kStart[2] = {0xffffff00, 5000};
  ModelChecker model;
  Reassembler reassembler(32 << 10, 16 << 10, &model);
  Connection connection = {};
  connection.seq_known = connection.syn_seen = 3;
  std::copy(kStart, kStart + 2, connection.seq_end);
  uint32_t cursor[2] = {0, 0};
  int64_t now_ns = 1'000'000'000'000;
  while (input.size() >= 4 && !model.gave_up()) {
    const uint8_t flags = input[0], parameter = input[1];
    const auto length = static_cast<uint32_t>(std::min<size_t>(input[2] | input[3] << 8, input.size() - 4));
    const std::span<const uint8_t> payload = input.subspan(4, length);
    input = input.subspan(4 + length);
    const Side side = flags & 1;
    const int32_t moved = (flags & 2) != 0 ? static_cast<int8_t>(parameter) * 16 : 0;
    const auto offset = static_cast<uint32_t>(std::max<int64_t>(int64_t{cursor[side]} + moved, 0));
    if (offset + length >= ModelChecker::kStreamBytes)
      return reassembler.finish(connection, StreamEnd::kGivenUp, now_ns);
    const uint32_t captured = (flags & 32) != 0 ? std::min<uint32_t>(parameter, length) : length;
    now_ns += (flags & 128) != 0 ? parameter * 1'000'000'000ll : 1'000'000;
    Packet packet;
    packet.data = payload.data();
    packet.time_ns = now_ns;
    packet.connection = &connection;
    packet.protocol = protocol::kTcp;
    packet.tcp_seq = kStart[side] + offset;
    packet.tcp_ack = kStart[other_side(side)] + cursor[other_side(side)];
    packet.tcp_flags =
        static_cast<uint8_t>(((flags & 64) != 0 ? 0 : tcp_flag::kAck) | ((flags & 4) != 0 ? tcp_flag::kFin : 0));
    packet.payload_bytes = length;
    packet.payload_captured_bytes = captured;
    model.capture(side, offset, payload.first(captured), length);
    cursor[side] = std::max(cursor[side], offset + length);
    reassembler.add(packet, side);
  }
  if (!model.gave_up()) reassembler.finish(connection, StreamEnd::kGivenUp, now_ns);
  if (connection.stream != 0 || reassembler.buffered_bytes() != 0) std::abort();
}

}  // namespace
}  // namespace tapline

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::check_against_model({data, size});
  std::vector<std::unique_ptr<tapline::Parser>> parsers;
  parsers.push_back(std::make_unique<tapline::ContractChecker>());
  tapline::testing::fuzz_packets(std::move(parsers), {data, size});
  return 0;
}
