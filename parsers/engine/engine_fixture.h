// Makes connections and floods, and reads their outcomes, for tests of the engine with real parsers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/engine/engine.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

inline const Lines kEvent = {"event", "outcome"};

inline std::vector<Frame> concat(std::vector<Frame> first, const std::vector<Frame>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline Conversation::Options at(int64_t start_ns, uint32_t client_isn) {
  Conversation::Options options;
  options.start_ns = start_ns;
  options.client_isn = client_isn;
  return options;
}

inline std::vector<uint32_t> incarnations(const Harness& harness, const std::string& event) {
  std::vector<uint32_t> result;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple["event"] == event) result.push_back(tuple.header.flow_incarnation);
  }
  return result;
}

inline constexpr int64_t kStart = 1'000'000'000'000;

inline const Lines kPair = {"url", "status", "partial"};
inline constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

inline std::vector<Frame> syn_flood(int flows) {
  std::vector<Frame> frames;
  for (int i = 0; i < flows; ++i) {
    frames.push_back(testing::tcp_frame({.src = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250),
                                         .seq = static_cast<uint32_t>(i),
                                         .flags = tcp_flag::kSyn},
                                        kStart + i * 1000));
  }
  return frames;
}

}  // namespace tapline
