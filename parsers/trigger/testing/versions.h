// Applies the model to programs that replace each other: a trigger has events only for the time in which its program
// counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "parsers/trigger/program.h"
#include "parsers/trigger/testing/model.h"

namespace tapline::trigger::testing {

// Compiles the triggers. Fails the test if they are invalid.
std::shared_ptr<const Program> program_of(const std::vector<Trigger>& triggers);

// Also records the time from which each program counts, and its windows.
class SwapRecorder final : public Recorder {
 public:
  void on_window(const WindowReport& report) override {
    Recorder::on_window(report);
    ++windows_of_program[{programs.size(), report.channel}][report.start_ns];
  }
  void on_program(const Program& program, int64_t since_ns) override { programs.emplace_back(&program, since_ns); }

  std::vector<std::pair<const Program*, int64_t>> programs;
  std::map<std::pair<size_t, uint32_t>, std::map<int64_t, int>> windows_of_program;
};

// The triggers that have counted since a given time.
struct Version {
  std::vector<Trigger> triggers;
  int64_t since_ns;
};

// Appends the programs that the recorder has seen since the last call. REQUIRES: all of them are in `offered`.
void add_versions(const SwapRecorder& recorder, const std::map<const Program*, std::vector<Trigger>>& offered,
                  std::vector<Version>* versions);

// Returns the events expected from each trigger, for each run of consecutive versions that contain it.
std::map<Occasion, Expected> expected_events(const std::vector<Version>& versions, const std::vector<Sample>& samples,
                                             const std::vector<TcpFacts>& tcp, int64_t until_ns);

// Returns the recorded events. Fails the test if one was reported twice.
std::map<Occasion, Event> reported_events(const Recorder& recorder);

// Fails the test for each occasion that only one of the maps contains.
void expect_same_occasions(const std::map<Occasion, Event>& reported, const std::map<Occasion, Expected>& expected);

// Returns a random subset of the triggers in random order, so that their bits and channels differ from program to
// program.
std::vector<Trigger> some_of(std::vector<Trigger> triggers, std::mt19937* random);

}  // namespace tapline::trigger::testing
