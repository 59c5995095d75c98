#include "multilog/headers/row_ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

namespace tapline::multilog {
namespace {

constexpr RowRing::Shape kSmall = {.row_bytes = 8, .batch_rows = 4, .batches = 2};

void put_number(uint8_t* bytes, uint64_t number) { std::memcpy(bytes, &number, sizeof number); }
uint64_t number_at(const uint8_t* bytes) {
  uint64_t number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

class RingFile {
 public:
  RingFile() : path_("/dev/shm/tapline-row-ring-test-" + std::to_string(getpid())) { unlink(path_.c_str()); }
  ~RingFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(RowRing, ReturnsRowsInOrderAndIsBounded) {
  auto ring = std::move(*RowRing::make(kSmall));
  for (uint64_t batch = 0; batch < 2; ++batch) {
    uint8_t* rows = ring->reserve();
    ASSERT_NE(rows, nullptr);
    put_number(rows, batch);
    ring->commit(1);
  }
  EXPECT_EQ(ring->reserve(), nullptr);
  uint32_t rows = 0;
  const uint8_t* batch = ring->front(&rows);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(rows, 1u);
  EXPECT_EQ(number_at(batch), 0u);
  ring->pop();
  EXPECT_NE(ring->reserve(), nullptr);
  EXPECT_EQ(number_at(ring->front(&rows)), 1u);
  ring->pop();
  EXPECT_EQ(ring->front(&rows), nullptr);
  EXPECT_FALSE(ring->ended());
  ring->close();
  EXPECT_TRUE(ring->ended());
  EXPECT_EQ(ring->committed(), 2u);
  EXPECT_EQ(ring->popped(), 2u);
}

// Passes numbers from one thread to another. The consumer checks that it gets every row, in order.
void carry(RowRing* producer, RowRing* consumer) {
  constexpr uint64_t kRows = 200'000;
  std::thread thread([&] {
    uint64_t next = 0;
    while (next < kRows) {
      uint8_t* rows = producer->reserve();
      if (rows == nullptr) {
        std::this_thread::yield();
        continue;
      }
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(1 + next % 16, kRows - next));
      for (uint32_t i = 0; i < count; ++i) put_number(rows + i * 8, next++);
      producer->commit(count);
    }
    producer->close();
  });
  uint64_t expected = 0;
  while (!consumer->ended()) {
    uint32_t rows = 0;
    const uint8_t* batch = consumer->front(&rows);
    if (batch == nullptr) {
      consumer->await(1000);
      continue;
    }
    for (uint32_t i = 0; i < rows; ++i) ASSERT_EQ(number_at(batch + i * 8), expected++);
    consumer->pop();
  }
  thread.join();
  EXPECT_EQ(expected, kRows);
  EXPECT_EQ(consumer->popped(), producer->committed());
}

// A consumer that missed the wake-up for a batch or for the end would sleep forever.
TEST(RowRing, PassesRowsBetweenThreads) {
  auto ring = std::move(*RowRing::make({.row_bytes = 8, .batch_rows = 16, .batches = 8}));
  carry(ring.get(), ring.get());
}

// Tests two mappings of one file, as two processes would have.
TEST(RowRing, PassesRowsBetweenTwoMappings) {
  const RingFile file;
  auto producer = std::move(*RowRing::create(file.path(), {.row_bytes = 8, .batch_rows = 16, .batches = 8}));
  auto consumer = std::move(*RowRing::attach(file.path(), 8));
  EXPECT_EQ(RowRing::create(file.path(), kSmall).status().code(), Code::kExists);
  carry(producer.get(), consumer.get());
}

// After a consumer is killed, the next one starts with the first batch that was not popped.
TEST(RowRing, AnotherConsumerResumesWhereTheFirstStopped) {
  const RingFile file;
  auto producer = std::move(*RowRing::create(file.path(), {.row_bytes = 8, .batch_rows = 1, .batches = 8}));
  for (uint64_t i = 0; i < 3; ++i) {
    put_number(producer->reserve(), i);
    producer->commit(1);
  }
  uint32_t rows = 0;
  {
    auto first = std::move(*RowRing::attach(file.path(), 8));
    first->front(&rows);
    first->pop();
    first->front(&rows);
  }
  auto second = std::move(*RowRing::attach(file.path(), 8));
  EXPECT_EQ(number_at(second->front(&rows)), 1u);
}

TEST(RowRing, RejectsInvalidFiles) {
  const RingFile file;
  EXPECT_EQ(RowRing::attach(file.path(), 8).status().code(), Code::kNotFound);
  std::ofstream(file.path()) << "short";
  EXPECT_EQ(RowRing::attach(file.path(), 8).status().code(), Code::kInvalid);
  std::ofstream(file.path()) << std::string(4096, 'x');
  EXPECT_EQ(RowRing::attach(file.path(), 8).status().code(), Code::kInvalid);
  unlink(file.path().c_str());
  auto ring = std::move(*RowRing::create(file.path(), kSmall));
  EXPECT_EQ(RowRing::attach(file.path(), 16).status().code(), Code::kInvalid);
  EXPECT_EQ(truncate(file.path().c_str(), 256), 0);
  EXPECT_EQ(RowRing::attach(file.path(), 8).status().code(), Code::kInvalid);
  EXPECT_EQ(RowRing::make({.row_bytes = 8, .batch_rows = 4, .batches = 3}).status().code(), Code::kInvalid);
  EXPECT_EQ(RowRing::make({.row_bytes = 4096, .batch_rows = 4096, .batches = 4096}).status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace tapline::multilog
