// Tests that snapshots over several logs by Confluo's Algorithm 1 never show an effect without its cause (NSDI'19 §4,
// Figure 7), whereas reading the tails one after another does.
//
// Each writer makes a chain of marks: it writes the next mark, on another log, only after the previous mark has become
// visible, just as a packet is forwarded only after it has been received. A snapshot is correct if it contains a prefix
// of each chain. Messages are delayed and nodes pause at random. TAPLINE_SNAPSHOTS is the number of snapshots (2,000; a
// million in `make soak`).
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "multilog/multilog.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kLogs = 6;
constexpr uint32_t kChains = 2;
constexpr uint64_t kForEver = 60'000'000'000;

uint64_t snapshots() {
  const char* text = std::getenv("TAPLINE_SNAPSHOTS");
  return text == nullptr ? 2'000 : std::strtoull(text, nullptr, 10);
}

// Returns the log to which a chain writes this mark.
uint32_t log_of(uint32_t chain, uint64_t mark) {
  uint64_t x = (mark + 1) * 0x9e3779b97f4a7c15 + chain * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 30)) * 0x94d049bb133111eb;
  return static_cast<uint32_t>((x >> 33) % kLogs);
}

class Nodes {
 public:
  Nodes() {
    for (auto& log : logs_) {
      Options options(*Schema::make({{.name = "time", .type = FieldType::kTime}}));
      options.memory_bytes = size_t{256} << 20;
      options.background_threads = false;
      log = std::move(*MultiLog::open(std::move(options)));
      for (uint32_t chain = 0; chain < kChains; ++chain) writers_.push_back(*log->add_writer());
    }
    for (uint32_t chain = 0; chain < kChains; ++chain) threads_.emplace_back([this, chain] { write(chain); });
  }
  ~Nodes() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  // Takes a snapshot by Algorithm 1.
  std::vector<std::vector<uint64_t>> snapshot(std::mt19937* random) {
    std::vector<std::vector<uint64_t>> tails(kLogs);
    std::array<FreezeToken, kLogs> tokens;
    for (uint32_t i = 0; i < kLogs; ++i) {
      delay(random);
      tokens[i] = *logs_[i]->freeze(kForEver);
      tails[i] = tokens[i].tails;
    }
    for (uint32_t i = 0; i < kLogs; ++i) {
      delay(random);
      EXPECT_TRUE(*logs_[i]->unfreeze(tokens[i].id));
    }
    return tails;
  }

  // Reads the tails one after another, without freezing the logs.
  std::vector<std::vector<uint64_t>> naive(std::mt19937* random) {
    std::vector<std::vector<uint64_t>> tails(kLogs);
    for (uint32_t i = 0; i < kLogs; ++i) {
      delay(random);
      const tapline::multilog::Snapshot snapshot = logs_[i]->take_snapshot();
      for (const auto& view : snapshot.views()) tails[i].push_back(view.tail);
    }
    return tails;
  }

  // Returns true if the tails contain a prefix of each chain, no shorter than in earlier calls.
  bool is_atomic(const std::vector<std::vector<uint64_t>>& tails) {
    for (uint32_t chain = 0; chain < kChains; ++chain) {
      uint64_t marks = 0;
      for (uint32_t log = 0; log < kLogs; ++log) marks += tails[log][chain];
      Counted& counted = counted_[chain];
      if (marks < counted.marks) return false;
      for (; counted.marks < marks; ++counted.marks) ++counted.on[log_of(chain, counted.marks)];
      for (uint32_t log = 0; log < kLogs; ++log) {
        if (tails[log][chain] != counted.on[log]) return false;
      }
    }
    return true;
  }

  uint64_t marks() const { return marks_.load(); }

 private:
  struct Counted {
    uint64_t marks = 0;
    std::array<uint64_t, kLogs> on = {};
  };

  static void delay(std::mt19937* random) {
    const uint32_t operation = (*random)() % 64;
    if (operation == 0) std::this_thread::sleep_for(std::chrono::microseconds((*random)() % 50));
    if (operation < 16) std::this_thread::yield();
  }

  bool is_visible(uint32_t log, uint32_t chain, uint64_t position) const {
    return logs_[log]->take_snapshot().views()[chain].tail > position;
  }

  void write(uint32_t chain) {
    std::mt19937 random(chain);
    std::array<uint64_t, kLogs> written = {};
    for (uint64_t mark = 0; !stop_.load(std::memory_order_relaxed); ++mark) {
      const uint32_t log = log_of(chain, mark);
      const uint64_t time = mark;
      writers_[log * kChains + chain]->append(reinterpret_cast<const uint8_t*>(&time), 1);
      marks_.fetch_add(1, std::memory_order_relaxed);
      // After a dropped row, the chain can't be checked.
      ASSERT_EQ(writers_[log * kChains + chain]->dropped(), 0u);
      while (!is_visible(log, chain, written[log]) && !stop_.load(std::memory_order_relaxed)) std::this_thread::yield();
      ++written[log];
      delay(&random);
    }
  }

  std::array<std::unique_ptr<MultiLog>, kLogs> logs_;
  std::vector<Writer*> writers_;
  std::vector<std::thread> threads_;
  std::array<Counted, kChains> counted_;
  std::atomic<uint64_t> marks_{0};
  std::atomic<bool> stop_{false};
};

TEST(Snapshots, NoEffectWithoutItsCause) {
  Nodes nodes;
  std::mt19937 random(7);
  const uint64_t wanted = snapshots();
  for (uint64_t i = 0; i < wanted; ++i) ASSERT_TRUE(nodes.is_atomic(nodes.snapshot(&random))) << "snapshot " << i;
  EXPECT_GT(nodes.marks(), wanted / 4) << "the writers made progress meanwhile";
}

// The check above can fail: if tails are read one after another, some show an effect without its cause.
TEST(Snapshots, ReadingTailsOneAfterTheOtherIsNotAtomic) {
  Nodes nodes;
  std::mt19937 random(7);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < 200'000 && wrong == 0; ++i) wrong += !nodes.is_atomic(nodes.naive(&random));
  EXPECT_GT(wrong, 0u);
}

// When a coordinator ends a freeze that has expired, unfreeze() must return false, since rows may have become visible
// in the meantime.
TEST(Snapshots, AnExpiredFreezeWasNotKept) {
  Options options(*Schema::make({{.name = "time", .type = FieldType::kTime}}));
  options.background_threads = false;
  const auto log = std::move(*MultiLog::open(std::move(options)));
  Writer* writer = *log->add_writer();
  const auto append = [&](uint64_t time) { writer->append(reinterpret_cast<const uint8_t*>(&time), 1); };
  const auto visible = [&] { return log->take_snapshot().views()[0].tail; };
  const auto wait = [] {
    const int64_t begin_ns = monotonic_ns();
    while (monotonic_ns() < begin_ns + 1000) std::this_thread::yield();
  };
  append(1);
  const FreezeToken kept_token = *log->freeze(kForEver);
  append(2);
  EXPECT_EQ(visible(), 1u);
  EXPECT_EQ(log->freeze(kForEver).status().code(), Code::kFrozen);
  EXPECT_TRUE(*log->unfreeze(kept_token.id));
  EXPECT_FALSE(*log->unfreeze(kept_token.id));
  EXPECT_EQ(visible(), 2u);

  // The first expiry is detected by unfreeze(), the second by a reader, and the third by another freeze().
  const FreezeToken unnoticed = *log->freeze(1);
  wait();
  EXPECT_FALSE(*log->unfreeze(unnoticed.id));

  const FreezeToken expired = *log->freeze(1);
  append(3);
  const int64_t deadline_ns = monotonic_ns() + 10'000'000'000;
  while (visible() < 3) ASSERT_LT(monotonic_ns(), deadline_ns) << "an expired freeze still blocks readers";
  EXPECT_FALSE(*log->unfreeze(expired.id));

  const FreezeToken replaced = *log->freeze(1);
  wait();
  const FreezeToken next = *log->freeze(kForEver);
  EXPECT_FALSE(*log->unfreeze(replaced.id));
  append(4);
  EXPECT_EQ(visible(), 3u);
  EXPECT_TRUE(*log->unfreeze(next.id));
  EXPECT_FALSE(log->unfreeze(next.id + 1).ok());
}

}  // namespace
}  // namespace tapline::multilog
