// The defects that were found in Confluo's published code (and its limits), each tested for the correct behaviour.
#include <gtest/gtest.h>

#include <thread>

#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kMs = 1000000;

class Defects : public testing::Test {
 protected:
  void SetUp() override { Open(""); }
  void Open(const std::string& directory) {
    log_.reset();
    Options options(PaperSchema());
    options.segment_rows = 1024;
    options.memory_bytes = size_t{64} << 20;
    options.background_threads = false;
    options.storage.directory = directory;
    auto opened = MultiLog::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    log_ = std::move(*opened);
    writer_ = log_->writer(0) != nullptr ? log_->writer(0) : *log_->AddWriter();
  }
  void Append(uint64_t time_ns, uint16_t bytes = 100, uint16_t port = 80) {
    PaperRow row = MakePaperRow(next_++, time_ns);
    row.bytes = bytes;
    row.dst_port = port;
    ASSERT_EQ(writer_->Append(Bytes(&row), 1).accepted, 1u);
  }
  size_t Count(const QuerySpec& spec) {
    auto cursor = log_->Query(spec);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    size_t count = 0;
    for (auto rows = cursor->Next(); !rows.empty(); rows = cursor->Next()) {
      // Each row is one that was written, not what lay in freed memory.
      for (const uint8_t* row : rows) EXPECT_EQ(std::memcmp(row + 34, MakePaperRow(RowAt(row).seq, 0).rest, 8), 0);
      count += rows.size();
    }
    return count;
  }
  Status AddSum(const std::string& name, uint32_t buckets = 64) {
    return log_->AddAggregate(
        {.name = name, .function = {.function = "SUM", .field = "bytes"}, .bucket_ns = kMs, .buckets = buckets});
  }

  std::unique_ptr<MultiLog> log_;
  Writer* writer_ = nullptr;
  uint64_t next_ = 0;
};

TEST_F(Defects, QueriesOfManyRowsReadNoFreedMemory) {
  for (int i = 0; i < 5000; ++i) Append(kMs * i);
  ASSERT_TRUE(log_->AddIndex("dst_port").ok());
  EXPECT_EQ(Count({.expression = "dst_port == 80"}), 5000u);
}

TEST_F(Defects, ASecondTriggerOnAnAggregateWorks) {
  ASSERT_TRUE(AddSum("sum").ok());
  ASSERT_TRUE(log_->AddTrigger({.name = "low", .aggregate = "sum", .condition = "SUM > 50"}).ok());
  ASSERT_TRUE(
      log_->AddTrigger({.name = "high", .aggregate = "sum", .condition = "sum > 150", .severity = Severity::kCritical})
          .ok());
  Append(5 * kMs);
  log_->EvaluateTriggers(1);
  Append(5 * kMs + 1);
  log_->EvaluateTriggers(10 * kMs);
  const auto alerts = log_->TakeAlerts();
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].trigger, "low");
  EXPECT_EQ(alerts[1].trigger, "high");
  EXPECT_EQ(alerts[1].severity, Severity::kCritical);
  ASSERT_TRUE(log_->RemoveTrigger("low").ok());
  EXPECT_EQ(log_->RemoveTrigger("low").code(), Code::kNotFound);
}

TEST_F(Defects, AggregatesOverALongRangeAnswerAtOnce) {
  ASSERT_TRUE(AddSum("sum").ok());
  for (int i = 0; i < 3000; ++i) Append(1000 * kMs * i);
  // 2^64 ns have 1.8e13 buckets; only non-empty ones are visited.
  EXPECT_EQ(static_cast<uint64_t>(log_->ReadAggregate("sum")->values[0].whole), 300000u);
  EXPECT_EQ(static_cast<uint64_t>(log_->ReadAggregate("sum", 1, kAllTime - 1)->values[0].whole), 299900u);
  EXPECT_EQ(static_cast<uint64_t>(log_->ReadAggregate("sum", 1000 * kMs * 10, 1000 * kMs * 20)->values[0].whole),
            1100u);
}

TEST_F(Defects, ATriggersWindowIsNotItsPeriod) {
  ASSERT_TRUE(AddSum("sum").ok());
  ASSERT_TRUE(
      log_->AddTrigger(
              {.name = "t", .aggregate = "sum", .condition = "SUM >= 1000", .window_ns = 10 * kMs, .period_ns = kMs})
          .ok());
  // 100 a millisecond: no millisecond has 1000, but ten of them have.
  for (uint64_t ms = 100; ms < 109; ++ms) {
    Append(ms * kMs);
    log_->EvaluateTriggers(ms * kMs);
    EXPECT_TRUE(log_->TakeAlerts().empty());
  }
  Append(109 * kMs);
  log_->EvaluateTriggers(109 * kMs);
  const auto alerts = log_->TakeAlerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 100 * kMs);
  EXPECT_EQ(alerts[0].window_end_ns, 110 * kMs);
  // A trigger that is evaluated rarely still sees each window.
  ASSERT_TRUE(
      log_->AddTrigger({.name = "seldom", .aggregate = "sum", .condition = "SUM > 5000", .period_ns = 1000 * kMs})
          .ok());
  log_->EvaluateTriggers(2000 * kMs);
  for (uint64_t ms = 200; ms < 230; ++ms) Append(ms * kMs, ms == 210 ? 6000 : 1);
  log_->EvaluateTriggers(4000 * kMs);
  EXPECT_EQ(log_->TakeAlerts().size(), 2u);  // seldom, and t, whose window has 6000 too
}

TEST_F(Defects, LateAndReplayedDataAlerts) {
  ASSERT_TRUE(AddSum("sum").ok());
  ASSERT_TRUE(log_->AddTrigger({.name = "t", .aggregate = "sum", .condition = "SUM > 500"}).ok());
  Append(10000 * kMs);
  log_->EvaluateTriggers(kMs);
  EXPECT_TRUE(log_->TakeAlerts().empty());
  // A few buckets late, and then hours: its bucket has long left the ring of 64.
  Append(9990 * kMs, 600);
  log_->EvaluateTriggers(3 * kMs);
  auto alerts = log_->TakeAlerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 9990 * kMs);
  EXPECT_TRUE(alerts[0].late);
  Append(7 * kMs, 600);
  log_->EvaluateTriggers(5 * kMs);
  alerts = log_->TakeAlerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 7 * kMs);
  // A newer row may come before it is evaluated.
  Append(10010 * kMs, 1);
  Append(10005 * kMs, 600);
  log_->EvaluateTriggers(6 * kMs);
  alerts = log_->TakeAlerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 10005 * kMs);
  // And one row from the dawn of time does not keep the engine from finding the next.
  Append(0, 1);
  Append(5000 * kMs, 700);
  log_->EvaluateTriggers(8 * kMs);
  ASSERT_EQ(log_->TakeAlerts().size(), 1u);
}

// A late row counts in every window that it lies in, also in those that end after its own bucket.
TEST_F(Defects, ALateRowAlertsInWindowsThatEndBehindIt) {
  ASSERT_TRUE(AddSum("sum").ok());
  ASSERT_TRUE(
      log_->AddTrigger(
              {.name = "t", .aggregate = "sum", .condition = "SUM > 500", .window_ns = 4 * kMs, .period_ns = kMs})
          .ok());
  const auto expect_one_alert_behind = [&](uint64_t ms, uint64_t now_ms) {
    Append((ms + 2) * kMs, 400);
    Append((ms + 10) * kMs, 1);
    log_->EvaluateTriggers(now_ms * kMs);
    ASSERT_TRUE(log_->TakeAlerts().empty());
    Append(ms * kMs, 200);
    log_->EvaluateTriggers((now_ms + 2) * kMs);
    const auto alerts = log_->TakeAlerts();
    ASSERT_FALSE(alerts.empty());
    EXPECT_EQ(alerts[0].window_end_ns, (ms + 3) * kMs);
  };
  expect_one_alert_behind(1000, 1);
  Append(9000 * kMs, 1);
  log_->EvaluateTriggers(5 * kMs);
  // Its bucket has left the ring, so the log is read.
  expect_one_alert_behind(2000, 7);
}

TEST_F(Defects, WindowsBelowALimitAlertOnceTheyHavePassed) {
  ASSERT_TRUE(AddSum("sum").ok());
  ASSERT_TRUE(log_->AddTrigger({.name = "quiet", .aggregate = "sum", .condition = "SUM < 50"}).ok());
  Append(100 * kMs);
  log_->EvaluateTriggers(kMs);
  Append(101 * kMs, 10);
  log_->EvaluateTriggers(3 * kMs);
  EXPECT_TRUE(log_->TakeAlerts().empty());
  Append(103 * kMs);
  log_->EvaluateTriggers(5 * kMs);
  // 101 had 10 bytes and 102 none.
  const auto alerts = log_->TakeAlerts();
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].window_begin_ns, 101 * kMs);
  EXPECT_EQ(alerts[1].window_begin_ns, 102 * kMs);
}

TEST_F(Defects, CooldownIsInEventTime) {
  ASSERT_TRUE(AddSum("sum").ok());
  ASSERT_TRUE(
      log_->AddTrigger({.name = "t", .aggregate = "sum", .condition = "SUM > 50", .cooldown_ns = 10 * kMs}).ok());
  for (uint64_t ms = 100; ms < 125; ++ms) {
    Append(ms * kMs);
    log_->EvaluateTriggers(ms * kMs);
  }
  EXPECT_EQ(log_->TakeAlerts().size(), 3u);
  EXPECT_EQ(log_->trigger_statistics().suppressed, 22u);
}

TEST_F(Defects, AFilterThatDoesNotParseIsAnError) {
  const Status status = log_->AddFilter("web", "dst_port == 80 &&");
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.position(), 17u);
  EXPECT_TRUE(log_->filters().empty());
  EXPECT_EQ(log_->Query({.expression = "nonsense == 3"}).status().code(), Code::kInvalid);
  EXPECT_EQ(log_->AddAggregate({.name = "a", .filter = "web"}).code(), Code::kNotFound);
}

TEST_F(Defects, AverageWorks) {
  for (const char* function : {"AVG", "STDEV", "MIN", "MAX", "COUNT"})
    ASSERT_TRUE(log_->AddAggregate(
                        {.name = std::string("of_") + function, .function = {.function = function, .field = "bytes"}})
                    .ok());
  for (const uint16_t bytes : {2, 4, 4, 4, 5, 5, 7, 9}) Append(kMs, bytes);
  EXPECT_EQ(log_->ReadAggregate("of_AVG")->values[0].AsDouble(), 5);
  EXPECT_DOUBLE_EQ(log_->ReadAggregate("of_STDEV")->values[0].AsDouble(), 2);
  EXPECT_EQ(log_->ReadAggregate("of_MIN")->values[0].AsDouble(), 2);
  EXPECT_EQ(log_->ReadAggregate("of_MAX")->values[0].AsDouble(), 9);
  EXPECT_EQ(log_->ReadAggregate("of_COUNT")->values[0].AsDouble(), 8);
  EXPECT_EQ(log_->AddAggregate({.name = "bad", .function = {.function = "MEDIAN", .field = "bytes"}}).code(),
            Code::kInvalid);
  EXPECT_EQ(log_->AddAggregate({.name = "bad", .function = {.function = "SUM", .field = "src_ip"}}).code(),
            Code::kInvalid);
}

// Segments outside a query's time are skipped; those that only touch it are not.
TEST_F(Defects, TimesAreBoundsOfRowsNotOfSegments) {
  for (uint64_t i = 0; i < 3 * 1024; ++i) Append(kMs * (i + 1));
  const auto count = [&](const std::string& expression, uint64_t low = 0, uint64_t high = kAllTime) {
    return Count({.expression = expression, .filter = "", .within = {}, .time_low = low, .time_high = high});
  };
  EXPECT_EQ(count("dst_port == 80", kMs * 1024, kMs * 1025), 2u);
  EXPECT_EQ(count("dst_port == 80", kMs * 2048, kMs * 2048), 1u);
  EXPECT_EQ(count("dst_port == 80", kMs * 2049, kMs * 2049), 1u);
  const std::string first = "time_ns <= " + std::to_string(kMs), last = "time_ns >= " + std::to_string(kMs * 3072);
  EXPECT_EQ(count(first + " || " + last), 2u);
  EXPECT_EQ(count(last + " || " + first), 2u);
}

TEST_F(Defects, AnIndexAddedLaterKnowsEarlierRows) {
  for (int i = 0; i < 3000; ++i) Append(kMs * i, 100, i % 3 == 0 ? 443 : 80);
  EXPECT_EQ(Count({.expression = "dst_port == 443"}), 1000u);
  ASSERT_TRUE(log_->AddIndex("dst_port").ok());
  EXPECT_EQ(Count({.expression = "dst_port == 443"}), 1000u);
  EXPECT_NE(log_->Explain({.expression = "dst_port == 443"})->find("2 by index"), std::string::npos)
      << *log_->Explain({.expression = "dst_port == 443"});
  EXPECT_EQ(log_->AddIndex("dst_port").code(), Code::kExists);
  ASSERT_TRUE(log_->RemoveIndex("dst_port").ok());
  EXPECT_EQ(Count({.expression = "dst_port == 443"}), 1000u);
}

TEST_F(Defects, ADurableLogWithAFilterLoads) {
  const std::string directory = testing::TempDir() + "/multilog_defects_" + std::to_string(getpid());
  Open(directory);
  ASSERT_TRUE(log_->AddFilter("web", "dst_port == 443").ok());
  ASSERT_TRUE(
      log_->AddAggregate({.name = "sum", .filter = "web", .function = {.function = "SUM", .field = "bytes"}}).ok());
  ASSERT_TRUE(log_->AddTrigger({.name = "t", .aggregate = "sum", .condition = "SUM > 1MB"}).ok());
  ASSERT_TRUE(log_->AddIndex("dst_port").ok());
  for (int i = 0; i < 3000; ++i) Append(kMs * i, 100, i % 3 == 0 ? 443 : 80);
  ASSERT_TRUE(log_->Close().ok());
  Open(directory);
  EXPECT_TRUE(log_->recovery().problems.empty());
  EXPECT_EQ(log_->filters(), std::vector<std::string>{"web"});
  EXPECT_EQ(log_->indexes(), std::vector<std::string>{"dst_port"});
  EXPECT_EQ(Count({.filter = "web"}), 1000u);
  EXPECT_EQ(static_cast<uint64_t>(log_->ReadAggregate("sum")->values[0].whole), 100000u);
  EXPECT_EQ(log_->RemoveAggregate("sum").code(), Code::kInUse);
  EXPECT_TRUE(log_->RemoveTrigger("t").ok());
  next_ = 3000;
  Append(1, 100, 443);
  EXPECT_EQ(Count({.filter = "web"}), 1001u);
  log_.reset();
  (void)!system(("rm -r " + directory).c_str());
}

}  // namespace
}  // namespace tapline::multilog
