#include "parsers/trigger/testing/versions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tapline::trigger::testing {
namespace {

bool contains(const Version& version, uint64_t id) {
  return std::any_of(version.triggers.begin(), version.triggers.end(),
                     [id](const Trigger& trigger) { return trigger.id == id; });
}

// Collects the samples since a given time, preceded by one without packets, at which the model's first window begins.
void samples_from(int64_t since_ns, const std::vector<Sample>& samples, const std::vector<TcpFacts>& tcp,
                  std::vector<Sample>* from, std::vector<TcpFacts>* facts) {
  size_t first = 0;
  while (first < samples.size() && samples[first].time_ns < since_ns) ++first;
  Sample begin;
  begin.time_ns = since_ns;
  begin.packets = 0;
  from->assign(1, begin);
  facts->assign(1, {});
  from->insert(from->end(), samples.begin() + static_cast<ptrdiff_t>(first), samples.end());
  facts->insert(facts->end(), tcp.begin() + static_cast<ptrdiff_t>(first), tcp.end());
}

}  // namespace

std::shared_ptr<const Program> program_of(const std::vector<Trigger>& triggers) {
  std::string error;
  auto program = Program::make(triggers, &error);
  EXPECT_NE(program, nullptr) << error;
  return program;
}

void add_versions(const SwapRecorder& recorder, const std::map<const Program*, std::vector<Trigger>>& offered,
                  std::vector<Version>* versions) {
  while (versions->size() <= recorder.programs.size()) {
    const auto& [program, since_ns] = recorder.programs[versions->size() - 1];
    versions->push_back({offered.at(program), since_ns});
  }
}

std::map<Occasion, Expected> expected_events(const std::vector<Version>& versions, const std::vector<Sample>& samples,
                                             const std::vector<TcpFacts>& tcp, int64_t until_ns) {
  std::map<Occasion, Expected> expected;
  for (size_t version = 0; version < versions.size(); ++version) {
    for (const Trigger& trigger : versions[version].triggers) {
      if (version > 0 && contains(versions[version - 1], trigger.id)) continue;
      size_t end = version;
      while (end < versions.size() && contains(versions[end], trigger.id)) ++end;
      const int64_t end_ns = end < versions.size() ? versions[end].since_ns : until_ns;
      std::vector<Sample> from = samples;
      std::vector<TcpFacts> facts = tcp;
      if (version > 0) samples_from(versions[version].since_ns, samples, tcp, &from, &facts);
      for (const auto& [occasion, each] : testing::expected_events({&trigger, 1}, from, facts, until_ns)) {
        if (std::get<1>(occasion) < end_ns) expected[occasion] = each;
      }
    }
  }
  return expected;
}

std::map<Occasion, Event> reported_events(const Recorder& recorder) {
  std::map<Occasion, Event> reported;
  for (const Event& event : recorder.events) {
    const Occasion occasion = {event.trigger, event.window_start_ns, key_of(event.group)};
    EXPECT_TRUE(reported.emplace(occasion, event).second) << "reported twice: " << to_string(occasion);
  }
  return reported;
}

void expect_same_occasions(const std::map<Occasion, Event>& reported, const std::map<Occasion, Expected>& expected) {
  for (const auto& [occasion, values] : expected) {
    EXPECT_TRUE(reported.contains(occasion)) << "missing: " << to_string(occasion);
  }
  for (const auto& [occasion, event] : reported) {
    EXPECT_TRUE(expected.contains(occasion)) << "not expected: " << to_string(occasion);
  }
}

std::vector<Trigger> some_of(std::vector<Trigger> triggers, std::mt19937* random) {
  std::shuffle(triggers.begin(), triggers.end(), *random);
  triggers.resize(1 + (*random)() % triggers.size());
  return triggers;
}

}  // namespace tapline::trigger::testing
