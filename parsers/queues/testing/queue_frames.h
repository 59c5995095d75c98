// Frames as two taps of a queue show them, for tests of queue parsers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/registry.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/harness.h"

namespace tapline::queues::testing {

inline constexpr int64_t kStart = 1'000'000'000'000;
inline constexpr uint8_t kArrivals = 0, kDepartures = 1;
inline constexpr uint16_t kProbe = 9009;  // source port of the packet that finds the queue empty

// Returns a harness that runs the parser with these arguments between the taps of "s1:2".
inline tapline::testing::Harness tapped(std::string_view parser, std::span<const Value> arguments) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_parser(parser));
  const TapNames taps[] = {{"s1", "2", "arrivals"}, {"s1", "2", "departures"}};
  parsers[0]->set_taps(taps);
  parsers[0]->set_arguments(0, arguments);
  return tapline::testing::Harness(std::move(parsers));
}

// Returns a datagram of 1,000 bytes.
inline tapline::testing::Frame datagram(uint16_t src_port, uint16_t identification, uint8_t tap, int64_t time_ns) {
  const std::string payload(958, 'x');
  auto frame = tapline::testing::udp_frame({.src_port = src_port, .dst_port = 53, .payload = payload}, time_ns);
  frame.bytes[18] = static_cast<uint8_t>(identification >> 8);
  frame.bytes[19] = static_cast<uint8_t>(identification);
  frame.tap = tap;
  return frame;
}

// Returns one of the two fragments of a UDP datagram, a frame of 538 bytes.
inline tapline::testing::Frame fragment(uint16_t identification, bool is_last, uint8_t tap, int64_t time_ns) {
  auto frame = datagram(2001, identification, tap, time_ns);
  frame.bytes.resize(14 + 20 + 504);
  const auto end = static_cast<uint16_t>(frame.bytes.size() - 14);
  frame.bytes[16] = static_cast<uint8_t>(end >> 8);
  frame.bytes[17] = static_cast<uint8_t>(end);
  frame.bytes[20] = is_last ? 0 : 0x20;
  frame.bytes[21] = is_last ? 504 / 8 : 0;
  return frame;
}

inline void sort_by_time(std::vector<tapline::testing::Frame>* frames) {
  std::stable_sort(frames->begin(), frames->end(),
                   [](const auto& one, const auto& other) { return one.time_ns < other.time_ns; });
}

// Returns packets of two flows at both taps. Packet i arrives at 20 i µs and leaves at 40 (i + 1) µs; flows alternate:
// one packet from port 2001, two from 2002. One second earlier, a probe shows that the taps have no offset.
inline std::vector<tapline::testing::Frame> two_flows(int packets) {
  std::vector<tapline::testing::Frame> frames = {datagram(kProbe, 1, kArrivals, kStart - kNsPerSecond),
                                                 datagram(kProbe, 1, kDepartures, kStart - kNsPerSecond)};
  for (int i = 0; i < packets; ++i) {
    const auto port = static_cast<uint16_t>(i % 3 == 0 ? 2001 : 2002);
    const auto number = static_cast<uint16_t>(i + 1);
    frames.push_back(datagram(port, number, kArrivals, kStart + i * 20'000));
    frames.push_back(datagram(port, number, kDepartures, kStart + 40'000 * (i + 1)));
  }
  sort_by_time(&frames);
  return frames;
}

// Returns the packets on both sides of a real queue, captured by queue_flows/captures/make.py.
inline std::vector<tapline::testing::Frame> captured_queue() {
  const std::string path = TAPLINE_SOURCE_DIR "/parsers/queue_flows/captures/queue-";
  auto frames = tapline::testing::read_capture(path + "arrivals.pcap.zst");
  for (auto frame : tapline::testing::read_capture(path + "departures.pcap.zst")) {
    frame.tap = kDepartures;
    frames.push_back(std::move(frame));
  }
  sort_by_time(&frames);
  return frames;
}

}  // namespace tapline::queues::testing
