#include "parsers/rates/flow_table.h"

#include <gtest/gtest.h>

namespace tapline::rates {
namespace {

struct Entry {
  uint64_t samples = 0;
};
struct CountEvictions {
  uint64_t* evictions;
  uint64_t* samples;  // samples of the evicted entries
  void operator()(const Entry& entry) {
    ++*evictions;
    *samples += entry.samples;
  }
};

// Returns the flow's key. Keys are uniformly distributed, like keyed hashes.
uint64_t key_of(uint64_t flow) {
  uint64_t x = flow + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Flows {
 public:
  explicit Flows(uint32_t capacity) : table(capacity, CountEvictions{&evictions, &evicted_samples}) {}
  // Adds a sample. Returns false if the flow had no entry.
  bool sample(uint64_t key) {
    Entry* entry = table.find(key);
    const bool is_known = entry != nullptr;
    if (!is_known) entry = &table.take(key);
    ++entry->samples;
    return is_known;
  }

  uint64_t evictions = 0, evicted_samples = 0;
  FlowTable<Entry, CountEvictions> table;
};

TEST(FlowTable, KeepsFlowsAndForgetsThoseThatEnd) {
  Flows flows(64);
  const uint64_t first = key_of(1), second = key_of(2);
  EXPECT_FALSE(flows.sample(first));
  EXPECT_FALSE(flows.sample(second));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(flows.sample(first));
  EXPECT_EQ(flows.table.peek(first)->samples, 11u);
  EXPECT_EQ(flows.table.peek(second)->samples, 1u);
  flows.table.release(first);
  EXPECT_EQ(flows.table.peek(first), nullptr);
  EXPECT_NE(flows.table.peek(second), nullptr);
  EXPECT_EQ(flows.evictions, 0u);
}

TEST(FlowTable, ZeroIsAValidKey) {
  Flows flows(64);
  EXPECT_FALSE(flows.sample(0));
  EXPECT_TRUE(flows.sample(0));
  flows.table.release(0);
  EXPECT_EQ(flows.table.peek(0), nullptr);
}

TEST(FlowTable, AFloodOfNewFlowsEvictsOnlyItself) {
  Flows flows(1024);
  constexpr uint64_t kSenders = 400;
  for (uint64_t sender = 0; sender < kSenders; ++sender) {
    for (int i = 0; i < 3; ++i) flows.sample(key_of(sender));
  }
  for (uint64_t spoofed = 0; spoofed < 200'000; ++spoofed) flows.sample(key_of(1'000'000 + spoofed));
  uint64_t kept = 0;
  for (uint64_t sender = 0; sender < kSenders; ++sender) {
    const Entry* entry = flows.table.peek(key_of(sender));
    kept += entry != nullptr && entry->samples == 3;
  }
  // Each bucket that senders fill loses one of them. Few of the 128 buckets are full.
  EXPECT_GE(kept, kSenders - 10);
  EXPECT_GT(flows.evictions, 190'000u);
}

TEST(FlowTable, FlowsThatAreIdleForTwoIntervalsAreEvicted) {
  Flows flows(8);
  for (uint64_t flow = 0; flow < 8; ++flow) {
    for (int i = 0; i < 100; ++i) flows.sample(key_of(flow));
  }
  flows.table.next_interval();
  flows.sample(key_of(7));
  flows.table.next_interval();
  for (uint64_t flow = 100; flow < 107; ++flow) flows.sample(key_of(flow));
  EXPECT_EQ(flows.evictions, 7u);
  EXPECT_NE(flows.table.peek(key_of(7)), nullptr);
  for (uint64_t flow = 100; flow < 107; ++flow) EXPECT_NE(flows.table.peek(key_of(flow)), nullptr);
}

// Each sample is in an entry or was in an evicted one.
TEST(FlowTable, EverySampleIsAccountedFor) {
  Flows flows(256);
  constexpr uint64_t kFlows = 3000, kSamples = 100'000;
  for (uint64_t i = 0; i < kSamples; ++i) flows.sample(key_of(key_of(i) % kFlows));
  uint64_t counted = 0;
  for (uint64_t flow = 0; flow < kFlows; ++flow) {
    if (const Entry* entry = flows.table.peek(key_of(flow))) counted += entry->samples;
  }
  EXPECT_EQ(counted + flows.evicted_samples, kSamples);
  EXPECT_GT(flows.evictions, 0u);
}

}  // namespace
}  // namespace tapline::rates
