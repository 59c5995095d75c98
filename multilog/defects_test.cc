// Tests that MultiLog behaves correctly where Confluo's published code has a defect or a limit.
#include <gtest/gtest.h>

#include <thread>

#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kMs = 1000000;

class Defects : public testing::Test {
 protected:
  void SetUp() override { open(""); }
  void open(const std::string& directory) {
    log_.reset();
    Options options(paper_schema());
    options.segment_rows = 1024;
    options.memory_bytes = size_t{64} << 20;
    options.background_threads = false;
    options.storage.directory = directory;
    auto opened = MultiLog::open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    log_ = std::move(*opened);
    writer_ = log_->writer(0) != nullptr ? log_->writer(0) : *log_->add_writer();
  }
  void append(uint64_t time_ns, uint16_t bytes = 100, uint16_t port = 80) {
    PaperRow row = make_paper_row(next_++, time_ns);
    row.bytes = bytes;
    row.dst_port = port;
    ASSERT_EQ(writer_->append(bytes_of(&row), 1).accepted, 1u);
  }
  size_t count(const QuerySpec& spec) {
    auto cursor = log_->query(spec);
    EXPECT_TRUE(cursor.ok()) << cursor.status().to_string();
    size_t count = 0;
    for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
      // Each row must be one that was written, not freed memory.
      for (const uint8_t* row : rows) EXPECT_EQ(std::memcmp(row + 34, make_paper_row(row_at(row).seq, 0).rest, 8), 0);
      count += rows.size();
    }
    return count;
  }
  Status add_sum(const std::string& name, uint32_t buckets = 64) {
    return log_->add_aggregate(
        {.name = name, .function = {.function = "SUM", .field = "bytes"}, .bucket_ns = kMs, .buckets = buckets});
  }

  std::unique_ptr<MultiLog> log_;
  Writer* writer_ = nullptr;
  uint64_t next_ = 0;
};

TEST_F(Defects, QueriesOfManyRowsReadNoFreedMemory) {
  for (int i = 0; i < 5000; ++i) append(kMs * i);
  ASSERT_TRUE(log_->add_index("dst_port").ok());
  EXPECT_EQ(count({.expression = "dst_port == 80"}), 5000u);
}

TEST_F(Defects, ASecondTriggerOnAnAggregateWorks) {
  ASSERT_TRUE(add_sum("sum").ok());
  ASSERT_TRUE(log_->add_trigger({.name = "low", .aggregate = "sum", .condition = "SUM > 50"}).ok());
  ASSERT_TRUE(
      log_->add_trigger({.name = "high", .aggregate = "sum", .condition = "sum > 150", .severity = Severity::kCritical})
          .ok());
  append(5 * kMs);
  log_->evaluate_triggers(1);
  append(5 * kMs + 1);
  log_->evaluate_triggers(10 * kMs);
  const auto alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].trigger, "low");
  EXPECT_EQ(alerts[1].trigger, "high");
  EXPECT_EQ(alerts[1].severity, Severity::kCritical);
  ASSERT_TRUE(log_->remove_trigger("low").ok());
  EXPECT_EQ(log_->remove_trigger("low").code(), Code::kNotFound);
}

TEST_F(Defects, AggregatesOverALongRangeAreFast) {
  ASSERT_TRUE(add_sum("sum").ok());
  for (int i = 0; i < 3000; ++i) append(1000 * kMs * i);
  // 2^64 ns span 1.8e13 buckets; only non-empty ones are visited.
  EXPECT_EQ(static_cast<uint64_t>(log_->read_aggregate("sum")->values[0].whole), 300000u);
  EXPECT_EQ(static_cast<uint64_t>(log_->read_aggregate("sum", 1, kAllTime - 1)->values[0].whole), 299900u);
  EXPECT_EQ(static_cast<uint64_t>(log_->read_aggregate("sum", 1000 * kMs * 10, 1000 * kMs * 20)->values[0].whole),
            1100u);
}

TEST_F(Defects, ATriggersWindowIsNotItsPeriod) {
  ASSERT_TRUE(add_sum("sum").ok());
  ASSERT_TRUE(
      log_->add_trigger(
              {.name = "t", .aggregate = "sum", .condition = "SUM >= 1000", .window_ns = 10 * kMs, .period_ns = kMs})
          .ok());
  // Each millisecond has 100 bytes: no millisecond has 1000, but any ten do.
  for (uint64_t ms = 100; ms < 109; ++ms) {
    append(ms * kMs);
    log_->evaluate_triggers(ms * kMs);
    EXPECT_TRUE(log_->take_alerts().empty());
  }
  append(109 * kMs);
  log_->evaluate_triggers(109 * kMs);
  const auto alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 100 * kMs);
  EXPECT_EQ(alerts[0].window_end_ns, 110 * kMs);
  // A trigger that is evaluated rarely still checks each window.
  ASSERT_TRUE(
      log_->add_trigger({.name = "seldom", .aggregate = "sum", .condition = "SUM > 5000", .period_ns = 1000 * kMs})
          .ok());
  log_->evaluate_triggers(2000 * kMs);
  for (uint64_t ms = 200; ms < 230; ++ms) append(ms * kMs, ms == 210 ? 6000 : 1);
  log_->evaluate_triggers(4000 * kMs);
  EXPECT_EQ(log_->take_alerts().size(), 2u);  // seldom, and t, whose window also has 6000
}

TEST_F(Defects, LateAndReplayedDataAlerts) {
  ASSERT_TRUE(add_sum("sum").ok());
  ASSERT_TRUE(log_->add_trigger({.name = "t", .aggregate = "sum", .condition = "SUM > 500"}).ok());
  append(10000 * kMs);
  log_->evaluate_triggers(kMs);
  EXPECT_TRUE(log_->take_alerts().empty());
  // The first row is 10 buckets late. The next one is 10 s late: its bucket is older than all 64 buckets in the ring.
  append(9990 * kMs, 600);
  log_->evaluate_triggers(3 * kMs);
  auto alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 9990 * kMs);
  EXPECT_TRUE(alerts[0].late);
  append(7 * kMs, 600);
  log_->evaluate_triggers(5 * kMs);
  alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 7 * kMs);
  // A newer row may precede a late one in the same evaluation.
  append(10010 * kMs, 1);
  append(10005 * kMs, 600);
  log_->evaluate_triggers(6 * kMs);
  alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].window_begin_ns, 10005 * kMs);
  // A row with a very old timestamp must not prevent the engine from finding the next row.
  append(0, 1);
  append(5000 * kMs, 700);
  log_->evaluate_triggers(8 * kMs);
  ASSERT_EQ(log_->take_alerts().size(), 1u);
}

// A late row must count in every window that contains it, including those that end after its bucket.
TEST_F(Defects, ALateRowAlertsInWindowsThatEndAfterIt) {
  ASSERT_TRUE(add_sum("sum").ok());
  ASSERT_TRUE(
      log_->add_trigger(
              {.name = "t", .aggregate = "sum", .condition = "SUM > 500", .window_ns = 4 * kMs, .period_ns = kMs})
          .ok());
  const auto expect_one_alert_behind = [&](uint64_t ms, uint64_t now_ms) {
    append((ms + 2) * kMs, 400);
    append((ms + 10) * kMs, 1);
    log_->evaluate_triggers(now_ms * kMs);
    ASSERT_TRUE(log_->take_alerts().empty());
    append(ms * kMs, 200);
    log_->evaluate_triggers((now_ms + 2) * kMs);
    const auto alerts = log_->take_alerts();
    ASSERT_FALSE(alerts.empty());
    EXPECT_EQ(alerts[0].window_end_ns, (ms + 3) * kMs);
  };
  expect_one_alert_behind(1000, 1);
  append(9000 * kMs, 1);
  log_->evaluate_triggers(5 * kMs);
  // The row's bucket is older than the ring, so its windows are computed from the log.
  expect_one_alert_behind(2000, 7);
}

TEST_F(Defects, WindowsBelowALimitAlertOnceTheyHavePassed) {
  ASSERT_TRUE(add_sum("sum").ok());
  ASSERT_TRUE(log_->add_trigger({.name = "quiet", .aggregate = "sum", .condition = "SUM < 50"}).ok());
  append(100 * kMs);
  log_->evaluate_triggers(kMs);
  append(101 * kMs, 10);
  log_->evaluate_triggers(3 * kMs);
  EXPECT_TRUE(log_->take_alerts().empty());
  append(103 * kMs);
  log_->evaluate_triggers(5 * kMs);
  // Bucket 101 had 10 bytes, and bucket 102 had none.
  const auto alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].window_begin_ns, 101 * kMs);
  EXPECT_EQ(alerts[1].window_begin_ns, 102 * kMs);
}

TEST_F(Defects, CooldownIsInEventTime) {
  ASSERT_TRUE(add_sum("sum").ok());
  ASSERT_TRUE(
      log_->add_trigger({.name = "t", .aggregate = "sum", .condition = "SUM > 50", .cooldown_ns = 10 * kMs}).ok());
  for (uint64_t ms = 100; ms < 125; ++ms) {
    append(ms * kMs);
    log_->evaluate_triggers(ms * kMs);
  }
  EXPECT_EQ(log_->take_alerts().size(), 3u);
  EXPECT_EQ(log_->trigger_statistics().suppressed, 22u);
}

TEST_F(Defects, AnInvalidFilterIsAnError) {
  const Status status = log_->add_filter("web", "dst_port == 80 &&");
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.position(), 17u);
  EXPECT_TRUE(log_->filters().empty());
  EXPECT_EQ(log_->query({.expression = "nonsense == 3"}).status().code(), Code::kInvalid);
  EXPECT_EQ(log_->add_aggregate({.name = "a", .filter = "web"}).code(), Code::kNotFound);
}

TEST_F(Defects, AverageWorks) {
  for (const char* function : {"AVG", "STDEV", "MIN", "MAX", "COUNT"})
    ASSERT_TRUE(log_->add_aggregate(
                        {.name = std::string("of_") + function, .function = {.function = function, .field = "bytes"}})
                    .ok());
  for (const uint16_t bytes : {2, 4, 4, 4, 5, 5, 7, 9}) append(kMs, bytes);
  EXPECT_EQ(log_->read_aggregate("of_AVG")->values[0].as_double(), 5);
  EXPECT_DOUBLE_EQ(log_->read_aggregate("of_STDEV")->values[0].as_double(), 2);
  EXPECT_EQ(log_->read_aggregate("of_MIN")->values[0].as_double(), 2);
  EXPECT_EQ(log_->read_aggregate("of_MAX")->values[0].as_double(), 9);
  EXPECT_EQ(log_->read_aggregate("of_COUNT")->values[0].as_double(), 8);
  EXPECT_EQ(log_->add_aggregate({.name = "bad", .function = {.function = "MEDIAN", .field = "bytes"}}).code(),
            Code::kInvalid);
  EXPECT_EQ(log_->add_aggregate({.name = "bad", .function = {.function = "SUM", .field = "src_ip"}}).code(),
            Code::kInvalid);
}

// A time range must select exactly its rows, also at the boundaries of segments.
TEST_F(Defects, TimeRangesSelectRowsInsteadOfSegments) {
  for (uint64_t i = 0; i < 3 * 1024; ++i) append(kMs * (i + 1));
  const auto rows_of = [&](const std::string& expression, uint64_t low = 0, uint64_t high = kAllTime) {
    return count({.expression = expression, .filter = "", .within = {}, .time_low = low, .time_high = high});
  };
  EXPECT_EQ(rows_of("dst_port == 80", kMs * 1024, kMs * 1025), 2u);
  EXPECT_EQ(rows_of("dst_port == 80", kMs * 2048, kMs * 2048), 1u);
  EXPECT_EQ(rows_of("dst_port == 80", kMs * 2049, kMs * 2049), 1u);
  const std::string first = "time_ns <= " + std::to_string(kMs), last = "time_ns >= " + std::to_string(kMs * 3072);
  EXPECT_EQ(rows_of(first + " || " + last), 2u);
  EXPECT_EQ(rows_of(last + " || " + first), 2u);
}

TEST_F(Defects, AnIndexAddedLaterCoversEarlierRows) {
  for (int i = 0; i < 3000; ++i) append(kMs * i, 100, i % 3 == 0 ? 443 : 80);
  EXPECT_EQ(count({.expression = "dst_port == 443"}), 1000u);
  ASSERT_TRUE(log_->add_index("dst_port").ok());
  EXPECT_EQ(count({.expression = "dst_port == 443"}), 1000u);
  EXPECT_NE(log_->explain({.expression = "dst_port == 443"})->find("2 by index"), std::string::npos)
      << *log_->explain({.expression = "dst_port == 443"});
  EXPECT_EQ(log_->add_index("dst_port").code(), Code::kExists);
  ASSERT_TRUE(log_->remove_index("dst_port").ok());
  EXPECT_EQ(count({.expression = "dst_port == 443"}), 1000u);
}

TEST_F(Defects, ADurableLogWithAFilterLoads) {
  const std::string directory = testing::TempDir() + "/multilog_defects_" + std::to_string(getpid());
  open(directory);
  ASSERT_TRUE(log_->add_filter("web", "dst_port == 443").ok());
  ASSERT_TRUE(
      log_->add_aggregate({.name = "sum", .filter = "web", .function = {.function = "SUM", .field = "bytes"}}).ok());
  ASSERT_TRUE(log_->add_trigger({.name = "t", .aggregate = "sum", .condition = "SUM > 1MB"}).ok());
  ASSERT_TRUE(log_->add_index("dst_port").ok());
  for (int i = 0; i < 3000; ++i) append(kMs * i, 100, i % 3 == 0 ? 443 : 80);
  ASSERT_TRUE(log_->close().ok());
  open(directory);
  EXPECT_TRUE(log_->recovery().problems.empty());
  EXPECT_EQ(log_->filters(), std::vector<std::string>{"web"});
  EXPECT_EQ(log_->indexes(), std::vector<std::string>{"dst_port"});
  EXPECT_EQ(count({.filter = "web"}), 1000u);
  EXPECT_EQ(static_cast<uint64_t>(log_->read_aggregate("sum")->values[0].whole), 100000u);
  EXPECT_EQ(log_->remove_aggregate("sum").code(), Code::kInUse);
  EXPECT_TRUE(log_->remove_trigger("t").ok());
  next_ = 3000;
  append(1, 100, 443);
  EXPECT_EQ(count({.filter = "web"}), 1001u);
  log_.reset();
  (void)!system(("rm -r " + directory).c_str());
}

}  // namespace
}  // namespace tapline::multilog
