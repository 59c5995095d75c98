// Compares FlowTable with a map of references by key.
#include "parsers/queues/flow_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace tapline::queues {
namespace {

struct Reference {
  uint32_t flow = 0;
  uint32_t count = 0;
};

// Returns one of 1,600 keys. Keys with the same 20 low bits collide even after the table has grown, and some of these
// differ only in their high halves, which entries do not store.
uint64_t colliding_key(std::mt19937& random) {
  return uint64_t{random() % 4} << 32 | (random() % 8) << 20 | random() % 50;
}

void expect_equal(const FlowTable& table, const std::map<uint64_t, Reference>& references) {
  std::set<uint32_t> numbers;
  for (const auto& [key, reference] : references) {
    ASSERT_EQ(table.find(key), reference.flow) << key;
    ASSERT_EQ(table[reference.flow].key, key);
    ASSERT_TRUE(numbers.insert(reference.flow).second) << "two flows have the number " << reference.flow;
  }
  ASSERT_EQ(table.size(), references.size());
}

void follow_a_map(uint32_t max_flows, uint32_t seed) {
  std::mt19937 random(seed);
  FlowTable table(max_flows);
  std::map<uint64_t, Reference> references;
  uint64_t without_room = 0;
  for (int step = 0; step < 20'000; ++step) {
    // Phases that mostly add references alternate with phases that mostly release them.
    const bool grows = (step / 4000) % 2 == 0;
    if (random() % 10 < (grows ? 7u : 3u)) {
      const uint64_t key = colliding_key(random);
      const uint32_t flow = table.hold(key);
      if (!references.contains(key) && references.size() == max_flows) {
        ASSERT_EQ(flow, FlowTable::kOthers);
        ++without_room;
        continue;
      }
      Reference& reference = references[key];
      if (reference.count++ == 0) reference.flow = flow;
      ASSERT_EQ(flow, reference.flow);
      ASSERT_NE(flow, FlowTable::kOthers);
    } else if (!references.empty()) {
      const auto any = std::next(references.begin(), random() % references.size());
      table.release(any->second.flow);
      if (--any->second.count == 0) references.erase(any);
    }
    if (seed % 2 == 0) table.age();
    if (step % 500 == 0) expect_equal(table, references);
  }
  expect_equal(table, references);
  ASSERT_EQ(table.without_room(), without_room);
  while (!references.empty()) {
    const auto first = references.begin();
    table.release(first->second.flow);
    if (--first->second.count == 0) references.erase(first);
  }
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.find(colliding_key(random)), FlowTable::kOthers);
}

TEST(QueueFlowTable, GivesEachFlowOneNumberWhileItHasReferences) {
  for (const uint32_t max_flows : {1u, 7u, 64u, 300u, 1u << 16}) {
    for (uint32_t seed = 0; seed < 5; ++seed) {
      follow_a_map(max_flows, seed);
      if (::testing::Test::HasFatalFailure()) FAIL() << "at most " << max_flows << " flows, seed " << seed;
    }
  }
}

// Gives `count` flows with keys from first_key on a reference each, with waits, and releases them. Returns the largest
// number.
uint32_t pass_by(FlowTable& table, uint64_t first_key, uint32_t count) {
  uint32_t largest = 0;
  for (uint64_t key = first_key; key < first_key + count; ++key) {
    const uint32_t flow = table.hold(key);
    EXPECT_EQ(table[flow].waited_ns, 0u);
    EXPECT_EQ(table[flow].settled_ns, 0u);
    EXPECT_EQ(table[flow].lost, 0u);
    table[flow].waited_ns = 5;
    table[flow].settled_ns = 7;
    table[flow].lost = 1;
    largest = std::max(largest, flow);
    table.release(flow);
  }
  return largest;
}

TEST(QueueFlowTable, ANewFlowDoesNotInheritTheCountsOfItsNumber) {
  FlowTable table(4);
  const uint32_t largest = pass_by(table, 1, 10'000);
  EXPECT_LT(largest, 1000u);  // numbers are reused, even if none of the flows comes back
}

TEST(QueueFlowTable, AFlowThatComesBackBeginsWithoutCounts) {
  FlowTable table(4);
  pass_by(table, 1, 1);
  EXPECT_EQ(table.find(1), FlowTable::kOthers);
  pass_by(table, 1, 1);
  EXPECT_EQ(table.size(), 0u);
}

TEST(QueueFlowTable, AgingTakesTheNumbersOfUnusedFlowsOnly) {
  FlowTable table(4);
  const uint32_t kept = table.hold(100'000);
  const uint32_t largest = pass_by(table, 1, 300);
  for (uint32_t i = 0; i <= largest; ++i) table.age();
  EXPECT_EQ(table.find(100'000), kept);
  EXPECT_LE(pass_by(table, 200'000, 300), largest);
}

}  // namespace
}  // namespace tapline::queues
