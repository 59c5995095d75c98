#include "monitors/agent/event_outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tapline {
namespace {

v1::EventBatch batch_of(const std::string& query, uint64_t incarnation, uint64_t first, int events) {
  v1::EventBatch batch;
  batch.set_query(query);
  batch.set_incarnation(incarnation);
  batch.set_first(first);
  batch.set_count(static_cast<uint32_t>(events));
  batch.set_events(std::string(40 * static_cast<size_t>(events), 'e'));
  return batch;
}

// Sends up to `at_most` batches. Returns them, each as its query and the number of its first event.
std::vector<std::string> sent_of(EventOutbox* outbox, size_t at_most = SIZE_MAX) {
  std::vector<std::string> sent;
  outbox->send([&](const v1::EventBatch& batch) {
    if (sent.size() == at_most) return false;
    sent.push_back(batch.query() + " " + std::to_string(batch.first()));
    return true;
  });
  return sent;
}

using Sent = std::vector<std::string>;

TEST(EventOutbox, EachBatchIsSentOnceOnALease) {
  EventOutbox outbox;
  outbox.add(batch_of("a", 1, 0, 2));
  outbox.add(batch_of("a", 1, 2, 2));
  outbox.add(batch_of("b", 1, 0, 1));
  EXPECT_EQ(sent_of(&outbox, 1), (Sent{"a 0"}));
  EXPECT_EQ(sent_of(&outbox), (Sent{"b 0", "a 2"}));
  EXPECT_EQ(sent_of(&outbox), Sent{});
  outbox.acknowledge("a", 1, 2);
  outbox.add(batch_of("a", 1, 4, 1));
  EXPECT_EQ(sent_of(&outbox), (Sent{"a 4"}));
}

TEST(EventOutbox, AnotherControlPlaneGetsUnacknowledgedEvents) {
  EventOutbox outbox;
  for (uint64_t first : {0, 2, 4}) outbox.add(batch_of("a", 1, first, 2));
  sent_of(&outbox);
  outbox.acknowledge("a", 1, 3);  // in the middle of a batch, which is therefore sent again
  outbox.resend();
  EXPECT_EQ(sent_of(&outbox), (Sent{"a 2", "a 4"}));
  outbox.acknowledge("a", 1, 6);
  outbox.resend();
  EXPECT_EQ(sent_of(&outbox), Sent{});
  EXPECT_EQ(outbox.bytes(), 0u);
}

TEST(EventOutbox, UnacknowledgedBatchesAreLimitedByAWindow) {
  EventOutbox outbox;
  const int events = 1000;
  for (uint64_t first = 0; first < 200'000; first += events) outbox.add(batch_of("a", 1, first, events));
  const size_t window = sent_of(&outbox).size();
  EXPECT_GT(window, 1u);
  EXPECT_LT(window, 200u);
  EXPECT_EQ(sent_of(&outbox), Sent{});
  EXPECT_TRUE(outbox.has_unsent("a"));
  EXPECT_FALSE(outbox.has_unsent("b"));
  outbox.acknowledge("a", 1, 2 * events);
  EXPECT_EQ(sent_of(&outbox).size(), 2u);
  outbox.resend();
  EXPECT_EQ(sent_of(&outbox).size(), window);
}

TEST(EventOutbox, QueriesTakeTurns) {
  EventOutbox outbox;
  const int events = 1000;
  for (uint64_t first = 0; first < 200'000; first += events) outbox.add(batch_of("busy", 1, first, events));
  const size_t window = sent_of(&outbox).size();
  outbox.add(batch_of("quiet", 1, 0, events));
  EXPECT_EQ(sent_of(&outbox), Sent{});
  outbox.acknowledge("busy", 1, 2 * events);
  EXPECT_EQ(sent_of(&outbox), (Sent{"quiet 0", "busy " + std::to_string(window * events)}));
}

TEST(EventOutbox, AcknowledgementsBelongToOneIncarnationOfTheMonitor) {
  EventOutbox outbox;
  outbox.add(batch_of("a", 1, 7, 1));
  outbox.add(batch_of("a", 2, 0, 1));
  outbox.acknowledge("a", 1, 7);
  outbox.acknowledge("none", 9, 9);
  EXPECT_EQ(sent_of(&outbox), (Sent{"a 7", "a 0"}));
  outbox.acknowledge("a", 2, 0);
  outbox.resend();
  EXPECT_EQ(sent_of(&outbox), (Sent{"a 0"}));
}

TEST(EventOutbox, IsBounded) {
  EventOutbox outbox;
  uint64_t first = 0;
  const int events = 1000;
  while (outbox.add(batch_of("a", 1, first, events))) first += events;
  EXPECT_GT(first, 100'000u);
  const size_t full = outbox.bytes();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(outbox.add(batch_of("a", 1, first, events)));
    first += events;
  }
  EXPECT_LE(outbox.bytes(), EventOutbox::kMaxBytes + 100);
  EXPECT_GT(outbox.bytes(), full - 100);
  outbox.acknowledge("a", 1, 2 * events);
  EXPECT_TRUE(outbox.add(batch_of("a", 1, first, events)));
}

TEST(EventOutbox, TheNumberOfDroppedEventsIsSentWithoutAnotherEvent) {
  EventOutbox outbox;
  uint64_t first = 0;
  const int events = 1000;
  while (outbox.add(batch_of("a", 1, first, events))) first += events;
  outbox.add(batch_of("a", 1, first + events, events));
  uint64_t next = 0;
  while (outbox.bytes() > 0) {
    outbox.send([&](const v1::EventBatch& batch) {
      next = batch.first() + batch.count();
      return true;
    });
    outbox.acknowledge("a", 1, next);
  }
  EXPECT_EQ(next, first + 2 * events);
}

}  // namespace
}  // namespace tapline
