// Tests the intervals of parsers, which follow packet time.
#include <memory>
#include <stdexcept>

#include "parsers/engine/engine_fixture.h"

namespace tapline {
namespace {

// A parser that emits the end of each of its intervals.
class Clock final : public Parser {
 public:
  explicit Clock(const char* name, int64_t interval_ns)
      : schema_({.name = name, .fields = {{"end_ns", FieldType::kI64}}}), interval_ns_(interval_ns) {}
  const Schema& schema() const override { return schema_; }
  Needs needs() const override { return {.packets = false, .interval_ns = interval_ns_}; }
  void set_arguments(uint32_t, std::span<const Value> arguments) override { interval_ns_ = arguments[0].as_i64(); }
  void on_interval(int64_t end_ns, Emitter& out) override {
    EXPECT_EQ(out.now_ns(), end_ns - 1);
    TupleHeader header;
    header.time_ns = out.now_ns();
    header.queries = 1;
    out.emit(header, {Value::i64(end_ns - kStart)});
  }

 private:
  Schema schema_;
  int64_t interval_ns_;
};

std::vector<std::unique_ptr<Parser>> clocks() {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::make_unique<Clock>("slow", kNsPerSecond));
  parsers.push_back(std::make_unique<Clock>("fast", 10 * kNsPerMs));
  return parsers;
}

Lines ends_of(const Harness& harness, uint32_t parser) {
  Lines ends;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple.parser == parser) ends.push_back(tuple["end_ns"]);
  }
  return ends;
}

TEST(Engine, EachParserHasItsOwnIntervals) {
  static_assert(kStart % kNsPerSecond == 0);
  Harness harness(clocks());
  std::vector<Frame> frames;
  for (const int64_t time_ms : {0, 3, 9, 10, 25, 1500, 2000}) {
    frames.push_back(testing::tcp_frame({}, kStart + time_ms * kNsPerMs));
  }
  harness.feed(frames);
  // Only intervals with packets end. The harness fails the test if the times of tuples decrease.
  EXPECT_EQ(ends_of(harness, 0), (Lines{"1000000000", "2000000000"}));
  EXPECT_EQ(ends_of(harness, 1), (Lines{"10000000", "20000000", "30000000", "1510000000"}));
}

TEST(Engine, AnAddedParserBeginsInTheMiddleOfAnInterval) {
  Harness harness(clocks());
  harness.engine().set_parser_queries(1, 0);
  harness.feed({testing::tcp_frame({}, kStart), testing::tcp_frame({}, kStart + 95 * kNsPerMs)});
  harness.engine().set_parser_queries(1, 1);
  harness.engine().advance(kStart + 99 * kNsPerMs);
  EXPECT_EQ(ends_of(harness, 1), Lines{});
  harness.engine().advance(kStart + 100 * kNsPerMs);
  EXPECT_EQ(ends_of(harness, 1), (Lines{"100000000"}));
}

// The change comes in the middle of an interval, which then ends earlier or later than planned.
TEST(Engine, ArgumentsChangeAnInterval) {
  Harness harness(clocks());
  const auto choose = [&](int64_t interval_ns) {
    harness.engine().set_arguments(0, 1, std::vector<Value>{Value::i64(interval_ns)});
  };
  choose(500 * kNsPerMs);
  harness.feed({testing::tcp_frame({}, kStart), testing::tcp_frame({}, kStart + 510 * kNsPerMs)});
  choose(20 * kNsPerMs);
  harness.feed({testing::tcp_frame({}, kStart + 530 * kNsPerMs)});
  choose(kNsPerSecond);
  harness.engine().advance(kStart + kNsPerSecond);
  EXPECT_EQ(ends_of(harness, 0), (Lines{"500000000", "520000000", "1000000000"}));
  EXPECT_THROW(choose(kShortestIntervalNs - 1), std::invalid_argument);
}

TEST(Engine, IntervalsEndUpToTheEndOfTime) {
  Harness harness(clocks());
  harness.feed({testing::tcp_frame({}, 0), testing::tcp_frame({}, kLatestTimeNs)});
  harness.engine().advance(INT64_MAX);
  harness.engine().advance(INT64_MAX);
  EXPECT_EQ(harness.engine().now_ns(), INT64_MAX);
  std::vector<std::unique_ptr<Parser>> too_short;
  too_short.push_back(std::make_unique<Clock>("hasty", kShortestIntervalNs - 1));
  EXPECT_THROW(Harness{std::move(too_short)}, std::invalid_argument);
}

}  // namespace
}  // namespace tapline
