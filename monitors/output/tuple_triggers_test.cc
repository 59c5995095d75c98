#include "monitors/output/tuple_triggers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "monitors/output/batch_output_fixture.h"

namespace tapline {
namespace {

using Aggregate = TupleTrigger::Aggregate;
using Comparison = TupleTrigger::Comparison;

const Schema& loads() {
  static const Schema schema = {.name = "loads",
                                .fields = {{"port", FieldType::kString}, optional({"share", FieldType::kF64})}};
  return schema;
}

struct SeenEvent {
  std::string group;
  double value;  // lower bound of the event's value
  int64_t end_ms;
  bool at_least, certain, partial;
  std::string tuple;
  TupleOmission omission;
  double high;
  std::string exemplars;
};

class Recorder final : public TupleTriggers::Sink {
 public:
  void on_event(const TupleTriggerEvent& event) override {
    seen.push_back({std::string(event.group), event.value.low, event.window_end_ns / kMs, event.at_least, event.certain,
                    event.partial, std::string(event.tuple), event.omission, event.value.high,
                    std::string(event.exemplars)});
  }
  void on_uncounted(uint64_t tuples) override { uncounted += tuples; }

  std::vector<SeenEvent> seen;
  uint64_t uncounted = 0;
};

// Returns a trigger on max(share) > 0.9 per port, in windows of 10 ms.
TupleTrigger full_port() {
  return {.parser = "loads",
          .group = {8},
          .field = 1,
          .aggregate = Aggregate::kMax,
          .threshold = 0.9,
          .clear = 0.9,
          .every_ns = 10 * kMs,
          .monotone = true};
}

class TupleTriggersTest : public testing::Test {
 protected:
  void open(TupleTrigger trigger, size_t max_groups = TupleTriggers::kMaxGroups,
            size_t max_value_bytes = TupleTriggers::kMaxValueBytes) {
    triggers_ = {std::move(trigger)};
    tested_ = std::make_unique<TupleTriggers>(triggers_, schemas_, max_groups, max_value_bytes);
  }
  void add(int64_t ms, std::string_view port, Value share) {
    TupleHeader header;
    header.time_ns = ms * kMs;
    const Value values[] = {Value::string(port), share};
    tested_->advance(header.time_ns, watched_since_ns_, losses_, &recorder_);
    tested_->add(0, header, values, losses_, &recorder_);
  }
  void add(int64_t ms, std::string_view port, double share) { add(ms, port, Value::f64(share)); }
  void advance(int64_t ms) { tested_->advance(ms * kMs, watched_since_ns_, losses_, &recorder_); }
  size_t kept_bytes() const { return tested_->kept_bytes(); }
  // Returns the window ends of all events so far, in ms.
  std::vector<int64_t> ends() const {
    std::vector<int64_t> ends;
    for (const SeenEvent& seen : recorder_.seen) ends.push_back(seen.end_ms);
    return ends;
  }

  std::vector<TupleTrigger> triggers_;
  std::vector<const Schema*> schemas_ = {&loads()};
  std::unique_ptr<TupleTriggers> tested_;
  Recorder recorder_;
  int64_t watched_since_ns_ = 0;
  uint64_t losses_ = 0;
};

TEST_F(TupleTriggersTest, AMaximumFiresAsItIsCrossedAndOnceInAWindow) {
  open(full_port());
  add(1001, "a", 0.5);
  EXPECT_TRUE(recorder_.seen.empty());
  add(1002, "a", 0.95);
  add(1003, "a", 0.99);
  add(1003, "b", 0.2);
  ASSERT_EQ(recorder_.seen.size(), 1u);
  EXPECT_EQ(recorder_.seen[0].group, "port=a");
  EXPECT_EQ(recorder_.seen[0].value, 0.95);
  EXPECT_TRUE(recorder_.seen[0].at_least);
  advance(1010);
  EXPECT_EQ(ends(), (std::vector<int64_t>{1010}));
  add(1012, "a", 0.97);
  EXPECT_EQ(recorder_.seen.size(), 1u) << "the alert is in force: its windows are reported as they end";
  advance(1020);
  EXPECT_EQ(ends(), (std::vector<int64_t>{1010, 1020}));
  EXPECT_EQ(recorder_.seen[1].value, 0.97);
  EXPECT_FALSE(recorder_.seen[1].at_least);
}

// Returns the share in an event's tuple, or -1 if the event has no tuple.
double share_of(const SeenEvent& event) {
  const size_t share = event.tuple.find("\"share\":");
  return share == std::string::npos ? -1 : std::stod(event.tuple.substr(share + 8));
}

TEST_F(TupleTriggersTest, AnEventHasTheTupleWithTheMaximum) {
  open(full_port());
  add(1001, "a", 0.95);
  add(1002, "b \"\\", 0.2);
  for (const double share : {0.1, 0.93, 0.99, 0.98, 0.3}) add(1012, "a", share);
  advance(1020);
  ASSERT_EQ(ends(), (std::vector<int64_t>{1010, 1020}));
  EXPECT_EQ(recorder_.seen[0].tuple,
            "{\"time_ns\":1001000000,\"flow_id\":\"0000000000000000-00000000\",\"client_known_by\":\"port\",\"src_ip\":"
            "\"::\",\"src_port\":0,\"dst_ip\":\"::\",\"dst_port\":0,\"port\":\"a\",\"share\":0.95}");
  EXPECT_EQ(share_of(recorder_.seen[1]), 0.99);
  advance(1050);
  EXPECT_EQ(kept_bytes(), 0u);
}

TEST_F(TupleTriggersTest, TheMaximumOfAWindowMayBeInAnyOfItsPanes) {
  TupleTrigger trigger = full_port();
  trigger.panes = 3;
  open(trigger);
  const double shares[] = {0.91, 0.97, 0.95, 0.2, 0.92, 0.1};
  for (int64_t pane = 0; pane < 6; ++pane) add(1000 + 10 * pane, "a", shares[pane]);
  advance(1060);
  ASSERT_EQ(ends(), (std::vector<int64_t>{1010, 1020, 1030, 1040, 1050, 1060}));
  for (const SeenEvent& event : recorder_.seen) EXPECT_EQ(share_of(event), event.value);
}

TEST_F(TupleTriggersTest, AMinimumHasItsTuple) {
  TupleTrigger trigger = full_port();
  trigger.aggregate = Aggregate::kMin;
  trigger.comparison = Comparison::kBelow;
  trigger.threshold = trigger.clear = 0.2;
  trigger.monotone = true;
  open(trigger);
  for (const double share : {0.5, 0.1, 0.15}) add(1001, "a", share);
  ASSERT_EQ(ends(), (std::vector<int64_t>{1010}));
  EXPECT_EQ(share_of(recorder_.seen[0]), 0.1);
}

TEST_F(TupleTriggersTest, ASumHasTheTupleThatCrossedTheThreshold) {
  TupleTrigger trigger = full_port();
  trigger.aggregate = Aggregate::kSum;
  open(trigger);
  for (const double share : {0.5, 0.25, 0.375, 0.125}) add(1001, "a", share);
  add(1011, "a", 1.5);
  advance(1020);
  ASSERT_EQ(ends(), (std::vector<int64_t>{1010, 1020}));
  EXPECT_EQ(share_of(recorder_.seen[0]), 0.375);
  EXPECT_EQ(share_of(recorder_.seen[1]), -1) << "the window's end decided it";
  EXPECT_EQ(recorder_.seen[1].omission, TupleOmission::kNone) << "several tuples decided it";
}

// Each group keeps a tuple of 10 kB.
TEST_F(TupleTriggersTest, TuplesTakeBoundedMemory) {
  TupleTrigger trigger = full_port();
  trigger.after = 2;
  open(trigger);
  const auto port = [](int number) { return std::to_string(number) + std::string(10'000, 'x'); };
  for (int number = 0; number < 2000; ++number) add(1000, port(number), 1.0);
  EXPECT_LE(kept_bytes(), KeptTuples::kMaxBytes);
  EXPECT_GT(kept_bytes(), KeptTuples::kMaxBytes - 20'000);
  for (int number = 0; number < 2000; ++number) add(1010, port(number), 1.0);
  advance(1020);
  EXPECT_EQ(recorder_.seen.size(), 2000u) << "events are reported even without a tuple";
  const auto with_tuple = std::count_if(recorder_.seen.begin(), recorder_.seen.end(),
                                        [](const SeenEvent& event) { return share_of(event) == 1.0; });
  EXPECT_GT(with_tuple, 700);
  EXPECT_LT(with_tuple, 2000);
  const auto without_room = std::count_if(recorder_.seen.begin(), recorder_.seen.end(), [](const SeenEvent& event) {
    return event.omission == TupleOmission::kNoRoom;
  });
  EXPECT_EQ(with_tuple + without_room, 2000) << "each omission has a reason";
  recorder_ = {};
  advance(1050);
  EXPECT_EQ(kept_bytes(), 0u);
  for (const int64_t ms : {1100, 1110}) add(ms, std::string(20'000, 'x'), 1.0);
  advance(1120);
  ASSERT_EQ(recorder_.seen.size(), 1u);
  EXPECT_EQ(recorder_.seen[0].tuple, "") << "it is longer than KeptTuples::kMaxText";
  EXPECT_EQ(recorder_.seen[0].omission, TupleOmission::kTooLong);
}

TEST_F(TupleTriggersTest, AnAlertLastsUntilItIsClear) {
  TupleTrigger trigger = full_port();
  trigger.clear = 0.8;
  open(trigger);
  const double shares[] = {0.95, 0.85, 0.7, 0.85, 0.95};
  for (int64_t window = 0; window < 5; ++window) add(1000 + 10 * window, "a", shares[window]);
  advance(1050);
  EXPECT_EQ(ends(), (std::vector<int64_t>{1010, 1020, 1050}));
}

TEST_F(TupleTriggersTest, AnAlertEndsWithAWindowWithoutTuples) {
  TupleTrigger trigger = full_port();
  trigger.after = 2;
  open(trigger);
  for (const int64_t ms : {1000, 1010, 1020, 1040, 1050}) add(ms, "a", 1.0);
  advance(1060);
  EXPECT_EQ(ends(), (std::vector<int64_t>{1020, 1030, 1060}));
}

TEST_F(TupleTriggersTest, ACooldownSeparatesTheBeginningsOfAlerts) {
  TupleTrigger trigger = full_port();
  trigger.cooldown_ns = 30 * kMs;
  open(trigger);
  for (const int64_t ms : {1000, 1020, 1040}) {
    add(ms, "a", 1.0);
    advance(ms + 20);
  }
  EXPECT_EQ(ends(), (std::vector<int64_t>{1010, 1050}));
}

TEST_F(TupleTriggersTest, AnAbsentValueMeetsNothing) {
  TupleTrigger trigger = full_port();
  trigger.comparison = Comparison::kBelow;
  trigger.monotone = false;
  open(trigger);
  add(1001, "a", Value::absent(FieldType::kF64));
  add(1001, "b", 0.5);
  advance(1010);
  ASSERT_EQ(recorder_.seen.size(), 1u);
  EXPECT_EQ(recorder_.seen[0].group, "port=b");
}

TEST_F(TupleTriggersTest, PartialWindowsAreNeverBelow) {
  TupleTrigger trigger = full_port();
  trigger.comparison = Comparison::kBelow;
  trigger.monotone = false;
  watched_since_ns_ = 1005 * kMs;
  open(trigger);
  add(1006, "a", 0.5);
  add(1012, "a", 0.5);
  add(1022, "a", 0.5);
  tested_->finish(1025 * kMs, watched_since_ns_, 0, &recorder_);
  EXPECT_EQ(ends(), (std::vector<int64_t>{1020}));
}

TEST_F(TupleTriggersTest, LossesMakeOnlyValuesUncertainThatMoreTuplesCouldChange) {
  TupleTrigger mean = full_port();
  mean.aggregate = Aggregate::kMean;
  mean.monotone = false;
  for (const bool monotone : {false, true}) {
    recorder_ = {};
    losses_ = 0;
    TupleTrigger trigger = monotone ? full_port() : mean;
    trigger.clear = 0.5;
    open(trigger);
    add(1000, "a", 1.0);
    add(1010, "a", 1.0);
    losses_ = 3;
    add(1015, "a", 1.0);
    add(1020, "a", 1.0);
    advance(1030);
    ASSERT_EQ(ends(), (std::vector<int64_t>{1010, 1020, 1030}));
    EXPECT_TRUE(recorder_.seen[0].certain);
    EXPECT_EQ(recorder_.seen[1].certain, monotone);
    EXPECT_TRUE(recorder_.seen[2].certain);
  }
}

TEST_F(TupleTriggersTest, TuplesOfGroupsWithoutRoomAreCounted) {
  open(full_port(), 2);
  for (const std::string port : {"a", "b", "c", "d", "a"}) add(1000, port, 0.1);
  EXPECT_EQ(recorder_.uncounted, 2u);
  advance(1030);
  for (const std::string port : {"c", "d"}) add(1030, port, 0.1);
  EXPECT_EQ(recorder_.uncounted, 2u) << "groups without tuples make room for others";
}

// Returns the aggregate of a window's tuples. REQUIRES: `values` is not empty.
double aggregated(const TupleTrigger& trigger, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  switch (trigger.aggregate) {
    case Aggregate::kCount:
      return count;
    case Aggregate::kSum:
      return sum;
    case Aggregate::kMax:
      return values.back();
    case Aggregate::kMin:
      return values.front();
    case Aggregate::kMean:
      return sum / count;
    case Aggregate::kRate:
      return sum * 1e9 / static_cast<double>(trigger.every_ns * trigger.panes);
    case Aggregate::kDistinct:
      return static_cast<double>(std::set<double>(values.begin(), values.end()).size());
    case Aggregate::kPercentile:
      return values[static_cast<size_t>(std::ceil(trigger.share * count)) - 1];
  }
  return 0;
}

// Computes the expected events from their definition, each window's from all of its tuples.
std::set<std::tuple<int64_t, std::string>> expected(const TupleTrigger& trigger,
                                                    const std::vector<std::tuple<int64_t, std::string, double>>& tuples,
                                                    int64_t last_ms) {
  std::set<std::tuple<int64_t, std::string>> events;
  std::map<std::string, bool> in_force;
  const int64_t every_ms = trigger.every_ns / kMs;
  for (int64_t end_ms = 1000 - 1000 % every_ms + every_ms; end_ms <= last_ms; end_ms += every_ms) {
    for (const std::string port : {"a", "b", "c"}) {
      std::vector<double> values;
      for (const auto& [ms, tuple_port, value] : tuples) {
        if (tuple_port == port && ms < end_ms && ms >= end_ms - every_ms * trigger.panes) values.push_back(value);
      }
      const double value = values.empty() ? 0 : aggregated(trigger, values);
      const double threshold = in_force[port] ? trigger.clear : trigger.threshold;
      const bool is_above = trigger.comparison == Comparison::kAbove;
      in_force[port] = !values.empty() && (is_above ? value > threshold : value < threshold);
      if (in_force[port]) events.insert({end_ms, "port=" + port});
    }
  }
  return events;
}

TEST_F(TupleTriggersTest, EventsAreThoseOfTheDefinition) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 2000; ++run) {
    TupleTrigger trigger = full_port();
    trigger.aggregate = static_cast<Aggregate>(random() % 8);
    trigger.share = static_cast<double>(1 + random() % 100) / 100;
    if (trigger.aggregate == Aggregate::kDistinct) {
      trigger.distinct_field = static_cast<uint32_t>(common_fields().size()) + 1;
      trigger.field.reset();
    }
    trigger.comparison = random() % 2 == 0 ? Comparison::kAbove : Comparison::kBelow;
    trigger.threshold = static_cast<double>(random() % 8) + 0.5;
    trigger.clear = trigger.threshold + (trigger.comparison == Comparison::kAbove ? -1 : 1);
    trigger.every_ns = kMs * static_cast<int64_t>(1 + random() % 10);
    trigger.panes = static_cast<uint32_t>(1 + random() % 4);
    trigger.monotone = trigger.comparison == Comparison::kAbove && trigger.aggregate <= Aggregate::kMax;
    if (trigger.aggregate == Aggregate::kRate) trigger.threshold *= 100, trigger.clear *= 100;
    recorder_ = {};
    open(trigger);
    std::vector<std::tuple<int64_t, std::string, double>> tuples;
    int64_t ms = 1050;
    for (int i = 0; i < 60; ++i) {
      ms += static_cast<int64_t>(random() % 4 == 0 ? random() % 40 : random() % 3);
      tuples.emplace_back(ms, std::string(1, static_cast<char>('a' + random() % 3)), static_cast<double>(random() % 5));
      add(ms, std::get<1>(tuples.back()), std::get<2>(tuples.back()));
    }
    const int64_t last_ms = ms + 100;
    advance(last_ms);
    std::set<std::tuple<int64_t, std::string>> events;
    for (const SeenEvent& seen : recorder_.seen) {
      EXPECT_TRUE(events.insert({seen.end_ms, seen.group}).second) << "reported twice";
      if (trigger.aggregate == Aggregate::kMax || trigger.aggregate == Aggregate::kMin) {
        EXPECT_EQ(share_of(seen), seen.value);
      }
    }
    ASSERT_EQ(events, expected(trigger, tuples, last_ms)) << "run " << run;
  }
}

// 20,000 values in a window of two panes must be estimated within bounds that are at most 10 % off.
TEST_F(TupleTriggersTest, ManyValuesAreEstimated) {
  for (const Aggregate aggregate : {Aggregate::kDistinct, Aggregate::kPercentile}) {
    TupleTrigger trigger = full_port();
    trigger.aggregate = aggregate;
    trigger.panes = 2;
    trigger.share = 0.9;
    if (aggregate == Aggregate::kDistinct) trigger.distinct_field = 9;
    recorder_ = {};
    open(trigger);
    for (int i = 0; i < 20'000; ++i) add(1000 + i / 1000, "a", i + 1.0);
    advance(1020);
    ASSERT_EQ(ends(), (std::vector<int64_t>{1010, 1020}));
    const SeenEvent& event = recorder_.seen[1];
    const double truth = aggregate == Aggregate::kDistinct ? 20'000 : 18'000;
    EXPECT_TRUE(event.certain);
    EXPECT_LT(event.value, event.high);
    EXPECT_GT(event.value, 0.9 * truth);
    EXPECT_LT(event.high, 1.1 * truth);
    if (aggregate == Aggregate::kDistinct) continue;
    EXPECT_LE(event.value, truth);
    EXPECT_GE(event.high, truth);
  }
}

TEST_F(TupleTriggersTest, ValuesTakeBoundedMemory) {
  for (const Aggregate aggregate : {Aggregate::kDistinct, Aggregate::kPercentile}) {
    TupleTrigger trigger = full_port();
    trigger.aggregate = aggregate;
    trigger.threshold = trigger.clear = 50;
    trigger.share = 0.5;
    if (aggregate == Aggregate::kDistinct) trigger.distinct_field = 9;
    recorder_ = {};
    open(trigger, TupleTriggers::kMaxGroups, 4096);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 1000; ++i) add(1000 + 20 * round, "a", i);
      for (int i = 0; i < 20; ++i) add(1000 + 20 * round, "b", i);
    }
    advance(1060);
    ASSERT_GE(recorder_.seen.size(), 3u);
    for (const SeenEvent& event : recorder_.seen) {
      if (event.group != "port=a") continue;
      EXPECT_LE(event.value, aggregate == Aggregate::kDistinct ? 1000 : 499);
      EXPECT_GE(event.high, aggregate == Aggregate::kDistinct ? 1000 : 499);
      EXPECT_EQ(event.certain, event.value > 50);
    }
    EXPECT_GT(recorder_.uncounted, 0u) << "each value without room is counted";
    EXPECT_LE(recorder_.uncounted, 3000u) << "only group a has too many";
  }
}

// Events must name the latest flows of their window's tuples, at most eight.
TEST_F(TupleTriggersTest, EventsNameFlows) {
  TupleTrigger trigger = full_port();
  trigger.panes = 2;
  open(trigger);
  const auto add_of_flow = [&](int64_t ms, uint8_t client) {
    const uint8_t source[4] = {10, 0, 0, client}, destination[4] = {10, 0, 1, 1};
    TupleHeader header;
    header.time_ns = ms * kMs;
    header.src_ip = IpAddress::v4(source);
    header.src_port = 40000;
    header.dst_ip = IpAddress::v4(destination);
    header.dst_port = 80;
    const Value values[] = {Value::string("a"), Value::f64(0.95)};
    tested_->advance(header.time_ns, watched_since_ns_, losses_, &recorder_);
    tested_->add(0, header, values, losses_, &recorder_);
  };
  const auto flow = [](int client) { return "10.0.0." + std::to_string(client) + ":40000-10.0.1.1:80"; };
  add_of_flow(1001, 1);
  add_of_flow(1002, 2);
  add_of_flow(1003, 1);
  advance(1010);
  ASSERT_EQ(recorder_.seen.size(), 1u);
  EXPECT_EQ(recorder_.seen[0].exemplars, flow(1) + " " + flow(2));
  add(1015, "a", 0.99);
  advance(1020);
  EXPECT_EQ(recorder_.seen.at(1).exemplars, flow(1) + " " + flow(2)) << "a tuple without addresses has no flow";
  add(1025, "a", 0.99);
  advance(1030);
  EXPECT_EQ(recorder_.seen.at(2).exemplars, "") << "the flows have no tuples in this window";
  for (uint8_t client = 1; client <= 10; ++client) add_of_flow(1030 + client, client);
  advance(1050);
  const std::string& named = recorder_.seen.back().exemplars;
  EXPECT_EQ(std::count(named.begin(), named.end(), ' '), 7);
  EXPECT_EQ(named.find(flow(1) + " "), std::string::npos) << "the oldest made room";
  EXPECT_NE(named.find(flow(3)), std::string::npos);
  EXPECT_NE(named.find(flow(10)), std::string::npos);
}

}  // namespace
}  // namespace tapline
