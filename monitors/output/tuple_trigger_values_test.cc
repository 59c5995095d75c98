// Compares triggers whose conditions combine several values with their definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "monitors/output/tuple_triggers.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

using Aggregate = TupleTrigger::Aggregate;
using trigger::Instruction;
using trigger::Op;

const Schema& requests() {
  static const Schema schema = {
      .name = "requests",
      .fields = {{"server", FieldType::kString}, {"bytes", FieldType::kU64}, optional({"delay", FieldType::kU64})}};
  return schema;
}

struct Request {
  int64_t ms;
  std::string server;
  uint64_t bytes;
  std::optional<uint64_t> delay;
};

constexpr double kAbsent = -1;

struct SeenEvent {
  std::string group;
  double value;
  int64_t end_ms;
  bool certain, at_least;

  bool operator==(const SeenEvent&) const = default;
};

void PrintTo(const SeenEvent& event, std::ostream* out) {
  *out << event.group << " = " << event.value << " at " << event.end_ms << (event.certain ? "" : ", uncertain");
}

class Recorder final : public TupleTriggers::Sink {
 public:
  void on_event(const TupleTriggerEvent& event) override {
    EXPECT_EQ(event.value.low, event.value.high);
    EXPECT_TRUE(event.tuple.empty()) << "several tuples decide a condition on several values";
    const bool is_absent = event.value.presence == trigger::Presence::kAbsent;
    seen.push_back({std::string(event.group), is_absent ? kAbsent : event.value.low, event.window_end_ns / kNsPerMs,
                    event.certain, event.at_least});
  }
  void on_uncounted(uint64_t tuples) override { uncounted += tuples; }

  std::vector<SeenEvent> seen;
  uint64_t uncounted = 0;
};

Instruction operand(uint32_t number) { return {.op = Op::kOperand, .operand = number}; }
Instruction constant(double number) { return {.op = Op::kConstant, .constant = number}; }
Instruction apply(Op op) { return {.op = op}; }

trigger::Condition condition(trigger::Expression expression) {
  std::string error;
  auto made = trigger::Condition::make(std::move(expression), &error);
  EXPECT_TRUE(made) << error;
  return *made;
}

// Returns a trigger on max(delay) / count > 2 and sum(bytes) >= 20 by server.
TupleTrigger slow_server() {
  TupleTrigger trigger = {
      .parser = "requests", .group = {8}, .field = 2, .aggregate = Aggregate::kMax, .every_ns = 10 * kNsPerMs};
  trigger.operands.push_back({.aggregate = Aggregate::kCount});
  trigger.operands.push_back({.field = 1, .aggregate = Aggregate::kSum});
  trigger.when = condition({operand(0), operand(1), apply(Op::kDivide), constant(2), apply(Op::kGreater), operand(2),
                            constant(20), apply(Op::kGreaterEqual), apply(Op::kAnd)});
  return trigger;
}

std::vector<SeenEvent> run(const TupleTrigger& trigger, const std::vector<Request>& requests_sent, int64_t last_ms,
                           int64_t watched_since_ms = 0, uint64_t losses = 0) {
  const std::vector<TupleTrigger> triggers = {trigger};
  const std::vector<const Schema*> schemas = {&requests()};
  TupleTriggers tested(triggers, schemas);
  Recorder recorder;
  const int64_t since_ns = watched_since_ms * kNsPerMs;
  uint64_t lost = 0;
  for (const Request& request : requests_sent) {
    TupleHeader header;
    header.time_ns = request.ms * kNsPerMs;
    const Value values[] = {Value::string(request.server), Value::u64(request.bytes),
                            request.delay ? Value::u64(*request.delay) : Value::absent(FieldType::kU64)};
    tested.advance(header.time_ns, since_ns, lost, &recorder);
    tested.add(0, header, values, lost, &recorder);
    lost = losses;
  }
  tested.advance(last_ms * kNsPerMs, since_ns, lost, &recorder);
  EXPECT_EQ(recorder.uncounted, 0u);
  return recorder.seen;
}

TEST(TupleTriggerValues, AllComparisonsMustHoldInOneWindow) {
  const std::vector<Request> sent = {{1001, "a", 12, 5}, {1002, "a", 8, 1},     // 5 / 2 > 2, 20 bytes
                                     {1011, "a", 12, 5}, {1012, "a", 7, 1},     // 19 bytes
                                     {1021, "a", 30, 4}, {1022, "a", 30, 1},    // 4 / 2
                                     {1031, "a", 30, 9}, {1031, "b", 30, {}}};  // b has no delay
  EXPECT_EQ(run(slow_server(), sent, 1100),
            (std::vector<SeenEvent>{{"server=a", 2.5, 1010, true, false}, {"server=a", 9, 1040, true, false}}));
}

TEST(TupleTriggerValues, AnotherConditionEndsAnAlert) {
  TupleTrigger trigger = slow_server();
  trigger.lasts = condition({operand(1), constant(2), apply(Op::kGreaterEqual)});
  const std::vector<Request> sent = {{1001, "a", 30, 9},                      // begins
                                     {1011, "a", 1, 1},  {1012, "a", 1, 1},   // two requests: lasts
                                     {1021, "a", 1, 1},                       // ends
                                     {1031, "a", 1, 1},  {1032, "a", 1, 1}};  // does not begin
  const std::vector<SeenEvent> seen = run(trigger, sent, 1100);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1], (SeenEvent{"server=a", 0.5, 1020, true, false}));
}

TEST(TupleTriggerValues, LossesAndPartialWindowsMakeEventsUncertainOrPreventThem) {
  const std::vector<Request> sent = {{1001, "a", 30, 9}, {1002, "a", 1, 1}};
  ASSERT_EQ(run(slow_server(), sent, 1100).size(), 1u);
  EXPECT_TRUE(run(slow_server(), sent, 1100)[0].certain);
  EXPECT_FALSE(run(slow_server(), sent, 1100, 0, 7)[0].certain) << "tuples were lost after the first";
  // The window began before the watch. The missing requests could lower the quotient.
  EXPECT_TRUE(run(slow_server(), sent, 1100, 1001).empty());
  TupleTrigger rising = slow_server();
  rising.when = condition({operand(0), operand(1), apply(Op::kAdd), constant(2), apply(Op::kGreater)});
  EXPECT_EQ(run(rising, sent, 1100, 1001).size(), 1u);
}

// The value of an aggregate of some requests; nullopt without any value.
std::optional<double> aggregated(const TupleTrigger& value, const std::vector<Request>& sent) {
  std::vector<double> numbers;
  for (const Request& request : sent) {
    if (!value.field) numbers.push_back(1);
    if (value.field == 1u) numbers.push_back(static_cast<double>(request.bytes));
    if (value.field == 2u && request.delay) numbers.push_back(static_cast<double>(*request.delay));
  }
  if (numbers.empty()) return std::nullopt;
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  switch (value.aggregate) {
    case Aggregate::kMax:
      return *std::max_element(numbers.begin(), numbers.end());
    case Aggregate::kMin:
      return *std::min_element(numbers.begin(), numbers.end());
    case Aggregate::kMean:
      return sum / static_cast<double>(numbers.size());
    default:
      return sum;
  }
}

// Computes the events of "first / second > a or third < b" from each window's requests.
std::vector<SeenEvent> expected(const TupleTrigger& trigger, double a, double b, const std::vector<Request>& sent,
                                int64_t last_ms) {
  std::vector<SeenEvent> events;
  const int64_t every_ms = trigger.every_ns / kNsPerMs;
  for (int64_t end_ms = every_ms; end_ms <= last_ms; end_ms += every_ms) {
    for (const std::string server : {"a", "b", "c"}) {
      std::vector<Request> own;
      std::copy_if(sent.begin(), sent.end(), std::back_inserter(own), [&](const Request& request) {
        return request.server == server && request.ms < end_ms && request.ms >= end_ms - every_ms * trigger.panes;
      });
      const auto first = aggregated(trigger, own), second = aggregated(trigger.operands[0], own),
                 third = aggregated(trigger.operands[1], own);
      const bool divided = first && second && *second != 0;
      const double quotient = divided ? *first / *second : 0;
      if ((divided && quotient > a) || (third && *third < b)) {
        events.push_back({"server=" + server, divided ? quotient : kAbsent, end_ms, true, false});
      }
    }
  }
  return events;
}

TEST(TupleTriggerValues, EventsAreThoseOfTheDefinition) {
  std::mt19937_64 random(11);
  const auto any_value = [&random]() -> TupleTrigger {
    if (random() % 4 == 0) return {.aggregate = Aggregate::kCount};
    constexpr Aggregate kAny[] = {Aggregate::kSum, Aggregate::kMax, Aggregate::kMin, Aggregate::kMean};
    return {.field = static_cast<uint32_t>(1 + random() % 2), .aggregate = kAny[random() % 4]};
  };
  size_t events = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    TupleTrigger trigger = any_value();
    trigger.parser = "requests";
    trigger.group = {8};
    trigger.every_ns = kNsPerMs * static_cast<int64_t>(1 + random() % 10);
    trigger.panes = static_cast<uint32_t>(1 + random() % 4);
    trigger.operands = {any_value(), any_value()};
    const double a = static_cast<double>(random() % 30) / 10, b = static_cast<double>(random() % 6);
    trigger.when = condition({operand(0), operand(1), apply(Op::kDivide), constant(a), apply(Op::kGreater), operand(2),
                              constant(b), apply(Op::kLess), apply(Op::kOr)});
    std::vector<Request> sent;
    int64_t ms = 1050;
    for (int i = 0; i < 40; ++i) {
      ms += static_cast<int64_t>(random() % 4 == 0 ? random() % 40 : random() % 3);
      const auto delay = random() % 3 == 0 ? std::nullopt : std::optional<uint64_t>(random() % 9);
      sent.push_back({ms, std::string(1, static_cast<char>('a' + random() % 3)), random() % 9, delay});
    }
    std::vector<SeenEvent> seen = run(trigger, sent, ms + 100);
    const auto by_window = [](const SeenEvent& one, const SeenEvent& other) {
      return std::tie(one.end_ms, one.group) < std::tie(other.end_ms, other.group);
    };
    std::sort(seen.begin(), seen.end(), by_window);
    ASSERT_EQ(seen, expected(trigger, a, b, sent, ms + 100)) << "seed " << seed;
    events += seen.size();
  }
  EXPECT_GT(events, 1000u);
}

}  // namespace
}  // namespace tapline
