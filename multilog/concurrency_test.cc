// Runs threads concurrently, so that ThreadSanitizer can find data races, and checks that only acceptable outcomes
// occur. Rows contain their writer and number, so each reader can verify that it sees a prefix.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kBucketNs = 1000000;

std::unique_ptr<MultiLog> opened(size_t memory_bytes, bool threads, uint32_t segment_rows = 1024) {
  Options options(paper_schema());
  options.segment_rows = segment_rows;
  options.memory_bytes = memory_bytes;
  options.background_threads = threads;
  auto opened = MultiLog::open(std::move(options));
  EXPECT_TRUE(opened.ok());
  return std::move(*opened);
}

// Makes a row in which ack is the writer, seq the row's number, bytes 100, and flags 1 in every fourth row.
PaperRow numbered_row(uint32_t writer, uint64_t number) {
  PaperRow row = make_paper_row(number, 1000000000 + number * 10000);
  row.ack = writer;
  row.seq = static_cast<uint32_t>(number);
  row.bytes = 100;
  row.flags = number % 4 == 0;
  return row;
}

void append_numbered(Writer* writer, uint64_t* next, uint64_t count) {
  std::vector<PaperRow> rows;
  for (uint64_t i = 0; i < count; ++i) rows.push_back(numbered_row(writer->number(), (*next)++));
  const AppendResult result = writer->append(bytes_of(rows.data()), rows.size());
  EXPECT_EQ(result.dropped, 0u);
}

// Checks that an aggregate and three queries (a scan, a filter, an index) each show exactly the rows of their
// snapshots.
void check_snapshot(const MultiLog& log) {
  const Snapshot snapshot = log.take_snapshot();
  uint64_t expected_quarter = 0;
  for (const auto& view : snapshot.views()) {
    expected_quarter += (view.tail + 3) / 4;
    EXPECT_EQ(view.first, 0u);
  }
  const auto sum = log.read_aggregate("sum", snapshot);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(static_cast<uint64_t>(sum->values[0].whole), expected_quarter * 100);
  const auto count_of = [&](const QuerySpec& spec) {
    Snapshot next_snapshot = log.take_snapshot();
    auto cursor = log.query(spec, std::move(next_snapshot));
    uint64_t count = 0, wanted = 0;
    for (const auto& view : cursor->snapshot().views())
      wanted += spec.filter.empty() && spec.expression == "ack < 100" ? view.tail : (view.tail + 3) / 4;
    std::vector<uint64_t> next(8, 0);
    for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
      for (size_t i = 0; i < rows.size(); ++i, ++count) {
        const PaperRow row = row_at(rows[i]);
        // Rows are in order, without gaps, and complete.
        EXPECT_EQ(row.seq, next[row.ack]);
        EXPECT_EQ(std::memcmp(rows[i] + 34, numbered_row(row.ack, row.seq).rest, 20), 0);
        next[row.ack] += spec.expression == "ack < 100" ? 1 : 4;
      }
    }
    EXPECT_EQ(count, wanted);
  };
  count_of({.expression = "ack < 100"});
  count_of({.filter = "quarter"});
  count_of({.expression = "flags == 1"});
}

TEST(Concurrency, EveryReadSeesAPrefixOfEachWriter) {
  const auto log = opened(size_t{96} << 20, true);
  std::vector<Writer*> writers{*log->add_writer(), *log->add_writer()};
  ASSERT_TRUE(log->add_filter("quarter", "flags == 1").ok());
  ASSERT_TRUE(log->add_index("flags").ok());
  ASSERT_TRUE(log->add_aggregate({.name = "sum",
                                  .filter = "quarter",
                                  .function = {.function = "SUM", .field = "bytes"},
                                  .bucket_ns = kBucketNs,
                                  .buckets = 64})
                  .ok());
  ASSERT_TRUE(log->add_trigger({.name = "t", .aggregate = "sum", .condition = "SUM > 100", .period_ns = 500000}).ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (Writer* writer : writers) {
    threads.emplace_back([writer] {
      std::mt19937 random(writer->number());
      for (uint64_t next = 0; next < 200000;) append_numbered(writer, &next, 1 + random() % 1500);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; !stop.load(); ++i) {
      const std::string name = "f" + std::to_string(i);
      EXPECT_TRUE(log->add_filter(name, "dst_port == 443 && bytes > 3").ok());
      EXPECT_TRUE(log->add_index("dst_port").ok());
      EXPECT_TRUE(log->remove_index("dst_port").ok());
      EXPECT_TRUE(log->remove_filter(name).ok());
      const auto token = log->freeze(1000000);
      if (token.ok()) (void)log->unfreeze(token->id).ok();
    }
  });
  std::thread reader([&] {
    while (!stop.load()) check_snapshot(*log);
  });
  threads[0].join();
  threads[1].join();
  stop.store(true);
  threads[2].join();
  reader.join();
  check_snapshot(*log);
  EXPECT_GE(log->writer(0)->tail(), 200000u);
  // Waits until the trigger thread has been scheduled.
  for (int i = 0; i < 10000 && log->trigger_statistics().alerts == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(log->trigger_statistics().alerts, 0u);
}

// Two writers append a row each while a reader takes two snapshots. The second one must still show all rows of the
// first; no other outcomes are acceptable.
TEST(Concurrency, ReadersOfTwoWritersSeeAcceptableOutcomesOnly) {
  const auto log = opened(size_t{8} << 20, false, 64);
  Writer *a = *log->add_writer(), *b = *log->add_writer();
  std::set<std::string> seen;
  const std::set<std::string> acceptable = {"00 00", "00 10", "00 01", "00 11", "10 10",
                                            "10 11", "01 01", "01 11", "11 11"};
  for (uint64_t round = 0; round < 400; ++round) {
    std::atomic<int> ready{0};
    auto wait_for_all = [&ready] {
      ready.fetch_add(1);
      while (ready.load() < 3) std::this_thread::yield();
    };
    std::thread first(
        [&] { wait_for_all(), a->append(bytes_of(std::vector<PaperRow>{numbered_row(0, round)}.data()), 1); });
    std::thread second(
        [&] { wait_for_all(), b->append(bytes_of(std::vector<PaperRow>{numbered_row(1, round)}.data()), 1); });
    std::string outcome;
    wait_for_all();
    for (int look = 0; look < 2; ++look) {
      const Snapshot snapshot = log->take_snapshot();
      for (const auto& view : snapshot.views()) outcome += view.tail > round ? '1' : '0';
      outcome += look == 0 ? " " : "";
    }
    first.join();
    second.join();
    seen.insert(outcome);
    ASSERT_TRUE(acceptable.contains(outcome)) << outcome;
  }
  EXPECT_FALSE(seen.empty());
}

// When a reader sees that a posting was counted, the posting must already be written, even while the writer is in the
// middle of a slow batch.
TEST(Concurrency, OffsetsAreWrittenBeforeTheyAreCounted) {
  constexpr uint32_t kBatch = 512;
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    std::vector<uint8_t> arena(size_t{1} << 20);
    Segment segment(0, kMaxSegmentRows, 8, arena.data(), arena.size(), nullptr);
    FilterPostings* postings = segment.open_postings(1, 0);
    std::thread writer([&] {
      std::vector<uint32_t> offsets(kBatch);
      for (uint32_t first = 0; first < kMaxSegmentRows; first += kBatch) {
        for (uint32_t i = 0; i < kBatch; ++i) offsets[i] = first + i;
        EXPECT_TRUE(segment.append_postings(postings, offsets.data(), kBatch));
      }
    });
    for (uint32_t count = 0; count < kMaxSegmentRows && !HasFailure();) {
      count = postings->count.load(std::memory_order_acquire);
      const uint16_t* offsets = postings->offsets.load(std::memory_order_acquire);
      for (uint32_t i = count > kBatch ? count - kBatch : 0; i < count; ++i) EXPECT_EQ(offsets[i], i);
    }
    writer.join();
  }
}

// A writer is stopped in the middle of an append: inside the aggregate's user function, after its rows are written and
// before its tail is.
TEST(Concurrency, AStoppedWriterBlocksNoOtherThread) {
  std::atomic<bool> stopped{false}, go_on{false};
  Options options(paper_schema());
  options.segment_rows = 1024;
  options.memory_bytes = size_t{32} << 20;
  options.background_threads = false;
  UserFunction stop;
  stop.outputs = {"N"};
  stop.add = [&](Cells state, const Schema&, const uint8_t* row) {
    state.set(0, state.get(0) + 1);
    if (row_at(row).seq != 7 || row_at(row).ack != 0 || go_on.load()) return;
    stopped.store(true);
    while (!go_on.load()) std::this_thread::yield();
  };
  stop.merge = [](Cells target, Cells source) { target.set(0, target.get(0) + source.get(0)); };
  stop.values = [](Cells state) { return std::vector<Number>{Number::of_whole(state.get(0))}; };
  options.user_functions = {{"STOP", stop}};
  auto log = std::move(*MultiLog::open(std::move(options)));
  Writer *a = *log->add_writer(), *b = *log->add_writer();
  ASSERT_TRUE(log->add_aggregate({.name = "n", .function = {.function = "STOP"}}).ok());
  std::thread stalled([&] {
    uint64_t next = 0;
    append_numbered(a, &next, 5);
    append_numbered(a, &next, 5);
  });
  while (!stopped.load()) std::this_thread::yield();
  uint64_t next = 0;
  append_numbered(b, &next, 3000);
  EXPECT_EQ(b->tail(), 3000u);
  const Snapshot snapshot = log->take_snapshot();
  EXPECT_EQ(snapshot.views()[0].tail, 5u);
  EXPECT_EQ(snapshot.views()[1].tail, 3000u);
  // The stopped writer is changing its bucket, so readers fold the rows before its tail instead; these exclude row 7.
  const auto value = log->read_aggregate("n", snapshot);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(static_cast<uint64_t>(value->values[0].whole), 3005u);
  go_on.store(true);
  stalled.join();
  EXPECT_EQ(static_cast<uint64_t>(log->read_aggregate("n")->values[0].whole), 3010u);
}

TEST(Concurrency, MemoryRunsOutWhileReadersAreActive) {
  const auto log = opened(size_t{4} << 20, true);
  Writer* writer = *log->add_writer();
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      auto cursor = log->query({.expression = "bytes == 100"});
      uint64_t count = 0, wanted = 0;
      for (const auto& view : cursor->snapshot().views()) wanted += view.tail - view.first;
      for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) count += rows.size();
      EXPECT_EQ(count, wanted);
    }
  });
  uint64_t expected = 0;
  for (int i = 0; i < 600; ++i) {
    std::vector<PaperRow> rows;
    for (int j = 0; j < 500; ++j) rows.push_back(numbered_row(0, expected++));
    writer->append(bytes_of(rows.data()), rows.size());
  }
  stop.store(true);
  reader.join();
  const auto statistics = log->statistics();
  EXPECT_EQ(statistics.appended + statistics.dropped, expected);
  EXPECT_LE(statistics.segment_bytes, size_t{4} << 20);
}

// Threads that have nothing to do must sleep until work wakes them.
TEST(Concurrency, IdleThreadsSleepUntilThereIsWork) {
  const auto log = opened(size_t{16} << 20, true);
  Writer* writer = *log->add_writer();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(log->statistics().wakeups, 0u);
  ASSERT_TRUE(
      log->add_aggregate({.name = "sum", .filter = "", .function = {.function = "SUM", .field = "bytes"}}).ok());
  ASSERT_TRUE(log->add_trigger({.name = "any", .aggregate = "sum", .condition = "SUM > 0"}).ok());
  // Appends until memory is full and the oldest rows are evicted.
  for (uint64_t number = 0; log->statistics().removed == 0; ++number) {
    const PaperRow row = numbered_row(0, number);
    writer->append(bytes_of(&row), 1);
  }
  while (log->take_alerts().empty()) std::this_thread::yield();
  EXPECT_GT(log->statistics().wakeups, 0u);
}

TEST(Freezing, UnfreezeReportsAnExpiry) {
  const auto log = opened(size_t{8} << 20, false);
  Writer* writer = *log->add_writer();
  uint64_t next = 0;
  append_numbered(writer, &next, 10);
  const auto token = log->freeze(uint64_t{60} * 1000000000);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token->tails, std::vector<uint64_t>{10});
  EXPECT_EQ(log->freeze(1).status().code(), Code::kFrozen);
  append_numbered(writer, &next, 10);
  EXPECT_EQ(log->take_snapshot().rows(), 10u);
  EXPECT_EQ(writer->tail(), 20u);
  EXPECT_TRUE(*log->unfreeze(token->id));
  EXPECT_EQ(log->take_snapshot().rows(), 20u);
  EXPECT_FALSE(*log->unfreeze(token->id));
  // When a freeze expires, rows become visible automatically, and the coordinator is informed that its snapshot is
  // void.
  const auto brief = log->freeze(1);
  ASSERT_TRUE(brief.ok());
  append_numbered(writer, &next, 5);
  EXPECT_EQ(log->take_snapshot().rows(), 25u);
  EXPECT_FALSE(*log->unfreeze(brief->id));
  EXPECT_FALSE(log->unfreeze(99).ok());
}

}  // namespace
}  // namespace tapline::multilog
