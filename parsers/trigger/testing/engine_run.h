// An engine on one lane, and samples for it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parsers/testing/frames.h"
#include "parsers/trigger/testing/model.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::trigger::testing {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kStart = 1'700'000'000'000'000'000;

inline Trigger trigger_of(uint64_t id, Expression when, GroupBy group = {}) {
  Trigger trigger;
  trigger.id = id;
  trigger.when = std::move(when);
  trigger.group = group;
  return trigger;
}

// An engine and its reports.
struct EngineRun {
  explicit EngineRun(std::vector<Trigger> triggers, TriggerOptions options = {}) {
    std::string error;
    auto program = Program::make(std::move(triggers), &error);
    EXPECT_NE(program, nullptr) << error;
    engine = std::make_unique<TriggerEngine>(program, options, &recorder);
  }
  void send(const Sample& sample) { engine->process({&sample, 1}, {}); }
  void offer(std::vector<Trigger> triggers) {
    std::string error;
    engine->offer(engine->prepare(Program::make(std::move(triggers), &error)));
  }

  Recorder recorder;
  std::unique_ptr<TriggerEngine> engine;
};

inline Sample packet(int64_t time_ns, uint32_t bytes = 100, const std::string& source = "10.0.0.1") {
  Sample sample;
  sample.time_ns = time_ns;
  sample.src_ip = tapline::testing::address(source);
  sample.dst_ip = tapline::testing::address("10.0.0.2");
  sample.src_port = 40000;
  sample.dst_port = 80;
  sample.protocol = protocol::kTcp;
  sample.ip_version = 4;
  sample.bytes = bytes;
  return sample;
}

}  // namespace tapline::trigger::testing
