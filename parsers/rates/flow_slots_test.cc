#include "parsers/rates/flow_slots.h"

#include <gtest/gtest.h>

namespace tapline::rates {
namespace {

struct Entry {
  uint64_t samples = 0;
};
struct CountEvictions {
  uint64_t* evictions;
  uint64_t* samples;  // of the entries that were evicted
  void operator()(const Entry& entry) {
    ++*evictions;
    *samples += entry.samples;
  }
};

class Flows {
 public:
  explicit Flows(uint32_t capacity) : slots(capacity, CountEvictions{&evictions, &evicted_samples}) {}
  // Returns false if the flow had no entry.
  bool sample(SlotRef* ref) {
    Entry* entry = slots.find(ref);
    const bool found = entry != nullptr;
    if (!found) entry = &slots.take(ref);
    ++entry->samples;
    return found;
  }

  uint64_t evictions = 0, evicted_samples = 0;
  FlowSlots<Entry, CountEvictions> slots;
};

TEST(FlowSlots, KeepsFlowsAndForgetsThoseThatEnd) {
  Flows flows(64);
  SlotRef first, second;
  EXPECT_FALSE(flows.sample(&first));
  EXPECT_FALSE(flows.sample(&second));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(flows.sample(&first));
  EXPECT_EQ(flows.slots.peek(first)->samples, 11u);
  EXPECT_EQ(flows.slots.peek(second)->samples, 1u);
  EXPECT_EQ(flows.slots.used(), 2u);
  const SlotRef copy = first;
  flows.slots.release(&first);
  EXPECT_EQ(flows.slots.peek(copy), nullptr);
  EXPECT_EQ(flows.slots.used(), 1u);
  EXPECT_EQ(flows.evictions, 0u);
}

TEST(FlowSlots, AFloodOfNewFlowsDisplacesNoneThatSends) {
  Flows flows(1024);
  std::vector<SlotRef> senders(800);
  for (SlotRef& ref : senders) {
    for (int i = 0; i < 3; ++i) flows.sample(&ref);
  }
  for (int i = 0; i < 1'000'000; ++i) {
    SlotRef spoofed;
    flows.sample(&spoofed);
    if (i % 2 == 0) flows.sample(&spoofed);
  }
  for (SlotRef& ref : senders) EXPECT_TRUE(flows.sample(&ref));
  EXPECT_EQ(flows.evictions, senders.size() + 1'000'000 - flows.slots.used());
}

// An attacker may send enough for its flows to be established. Those that send more stay.
TEST(FlowSlots, AFloodOfShortFlowsDisplacesNoneThatSendsMore) {
  Flows flows(1024);
  std::vector<SlotRef> senders(400);
  uint64_t displaced = 0;
  for (int round = 0; round < 200; ++round) {
    for (SlotRef& ref : senders) displaced += !flows.sample(&ref) && round > 0;
    for (int i = 0; round > 8 && i < 100; ++i) {
      SlotRef spoofed;
      for (int n = 0; n < 3; ++n) flows.sample(&spoofed);
    }
  }
  EXPECT_LE(displaced, 2 * senders.size());  // those that began together, in their first rounds
}

TEST(FlowSlots, EachEvictionIsCounted) {
  Flows flows(64);
  std::vector<SlotRef> refs(10'000);
  uint64_t samples = 0;
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < refs.size(); ++i) {
      for (size_t n = 0; n <= i % 7; ++n, ++samples) flows.sample(&refs[i]);
    }
  }
  uint64_t kept = 0;
  for (const SlotRef& ref : refs) {
    if (const Entry* entry = flows.slots.peek(ref)) kept += entry->samples;
  }
  EXPECT_EQ(kept + flows.evicted_samples, samples);
  EXPECT_EQ(flows.evictions, flows.slots.evicted());
}

TEST(FlowSlots, FlowsThatFellSilentGiveWay) {
  Flows flows(64);
  std::vector<SlotRef> old(56), recent(56);
  const auto send = [&](std::vector<SlotRef>* refs) {
    for (SlotRef& ref : *refs) {
      for (int i = 0; i < 4; ++i) flows.sample(&ref);
    }
  };
  send(&old);
  for (int round = 0; round < 20; ++round) send(&recent);
  size_t found = 0;
  for (const SlotRef& ref : recent) found += flows.slots.peek(ref) != nullptr;
  EXPECT_EQ(found, recent.size());
}

}  // namespace
}  // namespace tapline::rates
