#include "parsers/rates/testing/model_frames.h"

#include <string>

namespace tapline::rates::testing {

using tapline::testing::Frame;

std::vector<Frame> frames_of(const MirrorRun& run, const std::vector<FlowSpec>& flows) {
  const std::string bytes(1500, 'x');
  std::vector<Frame> frames;
  frames.reserve(run.copies.size());
  for (const Copy& copy : run.copies) {
    const SentPacket& sent = run.sent[copy.packet];
    const std::string_view payload = std::string_view(bytes).substr(0, sent.payload_bytes);
    const auto port = static_cast<uint16_t>(10'000 + sent.flow);
    const int64_t time_ns = kModelStartNs + copy.time_ns;
    Frame frame =
        flows[sent.flow].udp
            ? tapline::testing::udp_frame({.src_port = port, .dst_port = 5001, .payload = payload}, time_ns)
            : tapline::testing::tcp_frame(
                  {.src_port = port, .dst_port = 5001, .seq = sent.seq, .flags = tcp_flag::kAck, .payload = payload},
                  time_ns);
    frame.bytes.resize(frame.bytes.size() - payload.size());
    frame.bytes.shrink_to_fit();
    frame.wire_bytes = sent.wire_bytes;
    frames.push_back(std::move(frame));
  }
  return frames;
}

MirrorSpec slow_mirror() {
  MirrorSpec mirror;
  mirror.bits_per_second = mirror.link_bits_per_second = 50'000'000;
  mirror.queue_bytes = 8 << 10;
  return mirror;
}

std::vector<FlowSpec> slow_flows(size_t count, double factor, int seconds) {
  std::vector<FlowSpec> flows(count);
  for (FlowSpec& flow : flows) {
    flow.bits_per_second = static_cast<uint64_t>(factor * 50e6 / static_cast<double>(count));
    flow.end_ns = seconds * int64_t{1'000'000'000};
    flow.round_trip_ns = 10'000'000;
  }
  return flows;
}

}  // namespace tapline::rates::testing
