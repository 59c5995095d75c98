// Compares match sets with the filters, for values at and next to the boundaries of prefixes and ranges.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "parsers/testing/frames.h"
#include "parsers/trigger/match_sets.h"
#include "parsers/trigger/testing/random_traffic.h"

namespace tapline::trigger::testing {
namespace {

std::vector<Trigger> with_conditions(std::vector<Filter> filters) {
  std::vector<Trigger> triggers;
  for (size_t i = 0; i < filters.size(); ++i) {
    Trigger trigger;
    trigger.id = i;
    trigger.filter = std::move(filters[i]);
    trigger.when = above(value_of(Measure::kBytes), number(1));
    triggers.push_back(std::move(trigger));
  }
  return triggers;
}

std::set<uint64_t> matched_by(const Program& program, const Sample& sample) {
  std::vector<Program::Word> words(program.words_per_set());
  std::set<uint64_t> ids;
  const size_t count = program.match(program.classify(sample), words.data());
  for (size_t i = 0; i < count; ++i) {
    for (const uint32_t bit : SetBits(words[i].bits)) ids.insert(program.compiled(words[i].index * 64 + bit).id);
  }
  return ids;
}

std::set<uint64_t> matched_by(const std::vector<Trigger>& triggers, const Sample& sample) {
  std::set<uint64_t> ids;
  for (const Trigger& trigger : triggers) {
    if (trigger.filter.matches(sample)) ids.insert(trigger.id);
  }
  return ids;
}

IpAddress random_address(std::mt19937* random, bool v4) {
  uint8_t bytes[16];
  for (uint8_t& byte : bytes) byte = (*random)() % 3 == 0 ? static_cast<uint8_t>((*random)()) : 10;
  return v4 ? IpAddress::v4(bytes) : IpAddress::v6(bytes);
}

// Returns an address within the prefix, just before it or just after it.
IpAddress near(const Prefix& prefix, std::mt19937* random) {
  auto bytes = prefix.address.mapped();
  const uint8_t fill = (*random)() % 2 == 0 ? 0 : 0xff;
  for (int bit = prefix.bits; bit < 128; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
    uint8_t& byte = bytes[static_cast<size_t>(bit / 8)];
    byte = static_cast<uint8_t>(fill == 0 ? byte & ~mask : byte | mask);
  }
  if ((*random)() % 2 == 0) {
    for (int i = 15; i >= 0; --i) {
      uint8_t& byte = bytes[static_cast<size_t>(i)];
      byte = static_cast<uint8_t>(fill == 0 ? byte - 1 : byte + 1);
      if (byte != (fill == 0 ? 0xff : 0)) break;
    }
  }
  return IpAddress::v6(bytes.data());
}

TEST(ClassesTest, PrefixesOfAllLengthsNestAndEnd) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<Filter> filters;
    std::vector<Prefix> prefixes;
    for (int i = 0; i < 300; ++i) {
      const bool v4 = random() % 2 == 0;
      Prefix prefix = {random_address(&random, v4), static_cast<uint8_t>(v4 ? 96 + random() % 33 : random() % 129)};
      prefixes.push_back(prefix);
      Filter filter;
      (i % 2 == 0 ? filter.src : filter.dst).push_back(prefix);
      filters.push_back(filter);
    }
    const auto triggers = with_conditions(filters);
    std::string error;
    const auto program = Program::make(triggers, &error);
    ASSERT_NE(program, nullptr) << error;
    for (int i = 0; i < 2000; ++i) {
      Sample sample;
      sample.src_ip = near(prefixes[random() % prefixes.size()], &random);
      sample.dst_ip = near(prefixes[random() % prefixes.size()], &random);
      // A packet's addresses have the same family.
      if (sample.src_ip.is_v4() != sample.dst_ip.is_v4()) sample.dst_ip = sample.src_ip;
      sample.ip_version = sample.src_ip.is_v4() ? 4 : 6;
      ASSERT_EQ(matched_by(*program, sample), matched_by(triggers, sample))
          << tapline::testing::to_string(sample.src_ip) << " " << tapline::testing::to_string(sample.dst_ip);
    }
  }
}

TEST(ClassesTest, PortsProtocolsFlagsAndTags) {
  std::mt19937 random(2);
  const uint16_t ports[] = {0, 1, 79, 80, 81, 1023, 1024, 65534, 65535};
  const auto port = [&] { return ports[random() % std::size(ports)]; };
  std::vector<Filter> filters;
  for (int i = 0; i < 500; ++i) {
    Filter filter;
    while (random() % 2 == 0) filter.src_ports.push_back({port(), port()});  // some are empty
    while (random() % 2 == 0) filter.dst_ports.push_back({port(), port()});
    if (random() % 3 == 0) filter.protocol = static_cast<uint8_t>(random() % 4 == 0 ? 255 : 6);
    if (random() % 3 == 0) filter.tcp_flags_mask = static_cast<uint8_t>(1u << random() % 8);
    filter.tcp_flags = static_cast<uint8_t>(random());
    if (random() % 4 == 0) filter.vlans = {static_cast<uint32_t>(random() % 3), UINT32_MAX};
    if (random() % 4 == 0) filter.network_ids = {static_cast<uint32_t>(random() % 3)};
    filters.push_back(filter);
  }
  const auto triggers = with_conditions(filters);
  std::string error;
  const auto program = Program::make(triggers, &error);
  ASSERT_NE(program, nullptr) << error;
  for (int i = 0; i < 5000; ++i) {
    Sample sample;
    sample.ip_version = 4;
    sample.src_port = port();
    sample.dst_port = port();
    sample.protocol = static_cast<uint8_t>(random() % 2 == 0 ? 6 : random());
    sample.tcp_flags = static_cast<uint8_t>(random());
    sample.vlan = random() % 4 == 0 ? UINT32_MAX : static_cast<uint32_t>(random() % 4);
    sample.network_id = static_cast<uint32_t>(random() % 4);
    ASSERT_EQ(matched_by(*program, sample), matched_by(triggers, sample)) << i;
  }
}

// A packet's cells contain exactly its triggers, even with the smallest cache, and if each trigger's single cell is
// used.
TEST(MatchSetsTest, CellsAreTheMatchSet) {
  RandomTraffic traffic(3, {.triggers = 200, .samples = 5000});
  const auto triggers = traffic.triggers();
  std::string error;
  const auto program = Program::make(triggers, &error);
  ASSERT_NE(program, nullptr) << error;
  MatchSets sets(*program, 1);
  for (const Sample& sample : traffic.samples()) {
    const ClassKey key = program->classify(sample);
    const uint16_t set = sets.find(key, sets.hash(key));
    ASSERT_NE(set, MatchSets::kNoSet);
    for (const auto cells : {sets.cells_of(set), sets.count_singly(key)}) {
      std::set<uint64_t> ids;
      for (const CellRef& ref : cells) {
        for (const Program::Word& word : sets.words_of(sets.cell(ref.channel, ref.cell))) {
          for (const uint32_t bit : SetBits(word.bits)) {
            EXPECT_TRUE(ids.insert(program->compiled(word.index * 64 + bit).id).second) << "counted twice";
          }
        }
      }
      ASSERT_EQ(ids, matched_by(triggers, sample));
    }
  }
}

TEST(ProgramTest, RejectsUnboundedConditions) {
  std::string error;
  const Trigger good_trigger = with_conditions({Filter{}})[0];
  EXPECT_EQ(Program::make(std::vector<Trigger>(Program::kMaxTriggers + 1, good_trigger), &error), nullptr);
  EXPECT_EQ(error, "A program can have at most 16384 triggers.");
  EXPECT_NE(Program::make({}, &error), nullptr);

  const auto refused = [&](auto change) {
    Trigger trigger = good_trigger;
    change(&trigger);
    EXPECT_EQ(Program::make({trigger}, &error), nullptr);
    return error;
  };
  EXPECT_EQ(refused([](Trigger* trigger) { trigger->every_ns = 999'999; }),
            "Trigger 0: its interval is shorter than a millisecond.");
  EXPECT_EQ(refused([](Trigger* trigger) {
              trigger->filter.src = {{IpAddress{}, 129}};
            }),
            "Trigger 0: a prefix is longer than an address.");
  EXPECT_EQ(refused([](Trigger* trigger) { trigger->when = above(value_of(Measure::kBurst), number(1)); }),
            "Trigger 0: the span of a burst must be a multiple of 8 ns and must not exceed the window.");
  EXPECT_EQ(refused([](Trigger* trigger) { trigger->when = value_of(Measure::kBytes); }),
            "Trigger 0: The condition must be a comparison, or comparisons joined by `and` and `or`.");
  std::vector<Trigger> windows(Program::kMaxChannels + 1, good_trigger);
  for (size_t i = 0; i < windows.size(); ++i) windows[i].every_ns = static_cast<int64_t>(i + 1) * 1'000'000;
  EXPECT_EQ(Program::make(windows, &error), nullptr);
  EXPECT_EQ(
      error,
      "Trigger 0: a program can have at most 16 combinations of group, window, span of bursts, and use of distinct "
      "values or "
      "percentiles.");
}

}  // namespace
}  // namespace tapline::trigger::testing
