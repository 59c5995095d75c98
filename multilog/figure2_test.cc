// Reproduces Figure 2 of the Confluo paper with the library alone: two flows share a switch that drops packets for
// one of three reasons, and the monitored and diagnostic data show which one. Also covers other uses of aggregates.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "multilog/aggregate/sketches.h"
#include "multilog/multilog.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kMs = 1000000;

Schema flow_schema() {
  return *Schema::make({{.name = "ts", .type = FieldType::kTime},
                        {.name = "flow", .type = FieldType::kU32},
                        {.name = "priority", .type = FieldType::kU8},
                        {.name = "seq", .type = FieldType::kU64},
                        {.name = "bytes", .type = FieldType::kU32},
                        {.name = "path", .type = FieldType::kU16, .elements = 3},
                        {.name = "queue_depth", .type = FieldType::kU16, .optional = true}});
}

// Returns the function of Figure 2: the greatest sequence number and its packet's timestamp. The greater sequence
// number wins, so states can be merged in any order.
UserFunction max_seq() {
  UserFunction function;
  function.words = 2;
  function.outputs = {"SEQ", "TS"};
  const auto take = [](Cells state, uint64_t seq, uint64_t ts) {
    if (seq <= state.get(0)) return;
    state.set(0, seq);
    state.set(1, ts);
  };
  function.add = [take](Cells state, const Schema& schema, const uint8_t* row) {
    take(state, key_of(schema.find("seq")->column, row), key_of(schema.find("ts")->column, row));
  };
  function.merge = [take](Cells target, Cells source) { take(target, source.get(0), source.get(1)); };
  function.values = [](Cells state) {
    return std::vector<Number>{Number::of_whole(state.get(0)), Number::of_whole(state.get(1))};
  };
  return function;
}

enum class Scenario { kEqualPriority, kUnequalPriority, kPeriodicBug };

class Network {
 public:
  explicit Network(Scenario scenario) : scenario_(scenario) {
    Options options(flow_schema());
    options.segment_rows = 1024;
    options.memory_bytes = size_t{32} << 20;
    options.background_threads = false;
    options.user_functions = {{"MAXSEQ", max_seq()}};
    log_ = std::move(*MultiLog::open(std::move(options)));
    writer_ = *log_->add_writer();
    for (const char* flow : {"1", "2"}) {
      const std::string n = flow;
      check(log_->add_filter("flow" + n, "flow == " + n));
      check(log_->add_aggregate({.name = "maxseq" + n,
                                 .filter = "flow" + n,
                                 .function = {.function = "MAXSEQ"},
                                 .outputs = {"SEQ" + n, "TS" + n}}));
      check(log_->add_filter("rtms" + n, "flow == " + n + " && seq < SEQ" + n + " && ts > TS" + n + " + 2ms"));
      check(log_->add_aggregate({.name = "R" + n,
                                 .filter = "rtms" + n,
                                 .function = {.function = "COUNT"},
                                 .bucket_ns = kMs,
                                 .buckets = 4096}));
      check(log_->add_trigger({.name = "T" + n, .aggregate = "R" + n, .condition = "COUNT > 0", .period_ns = kMs}));
    }
  }

  // Sends the two flows' packets alternately, one every 100 us for 2 s. A dropped packet is retransmitted after 5 ms,
  // and its flow pauses until then.
  void run() {
    std::mt19937 random(3);
    for (uint64_t time_ns = 0; time_ns < 2000 * kMs; time_ns += 100000) {
      const uint32_t flow = 1 + time_ns / 100000 % 2;
      send(time_ns, flow, 1000 + time_ns / 100000 * 1500);
      if (!drops(time_ns, flow, random)) continue;
      // The dropped packet arrives only as a retransmission, late and with a lower sequence number than its flow's
      // newest packet.
      lost_.push_back({time_ns + 5 * kMs, flow, 999 + time_ns / 100000 * 1500});
    }
    log_->evaluate_triggers(kMs);
  }

  Scenario diagnose() {
    const auto alerts = log_->take_alerts();
    EXPECT_FALSE(alerts.empty());
    const double c1 = log_->aggregate({.filter = "rtms1"}, {.function = "COUNT"})->values[0].as_double();
    const double c2 = log_->aggregate({.filter = "rtms2"}, {.function = "COUNT"})->values[0].as_double();
    const double p1 =
        log_->aggregate({.filter = "flow1"}, {.function = "MAX", .field = "priority"})->values[0].as_double();
    const double p2 =
        log_->aggregate({.filter = "flow2"}, {.function = "MAX", .field = "priority"})->values[0].as_double();
    if (p1 < p2 && c1 > 0 && c2 < c1 / 20) return Scenario::kUnequalPriority;
    // Computes the mean and deviation of the intervals between the flows' retransmissions, with times rounded down to
    // 10 ms.
    std::vector<double> times;
    for (const char* filter : {"rtms1", "rtms2"}) {
      auto cursor = log_->query({.filter = filter});
      for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next())
        for (const uint8_t* row : rows) times.push_back(static_cast<double>(load_as<uint64_t>(row) / (10 * kMs)) * 10);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    double sum = 0, squares = 0;
    for (size_t i = 1; i < times.size(); ++i)
      sum += times[i] - times[i - 1], squares += (times[i] - times[i - 1]) * (times[i] - times[i - 1]);
    const double n = static_cast<double>(times.size() - 1), mean = sum / n,
                 deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
    if (std::abs(mean - 100) < 1 && deviation < 1) return Scenario::kPeriodicBug;
    EXPECT_EQ(p1, p2);
    EXPECT_NEAR(c1, c2, 0.3 * (c1 + c2));
    return Scenario::kEqualPriority;
  }

 private:
  struct LostSegment {
    uint64_t retransmission_ns;
    uint32_t flow;
    uint64_t seq;
  };
  static void check(const Status& status) { ASSERT_TRUE(status.ok()) << status.to_string(); }

  bool drops(uint64_t time_ns, uint32_t flow, std::mt19937& random) const {
    switch (scenario_) {
      case Scenario::kEqualPriority:
        return random() % 50 == 0;
      case Scenario::kUnequalPriority:
        return flow == 1 && random() % 25 == 0;
      default:
        return time_ns % (100 * kMs) < 200000;
    }
  }
  void send(uint64_t sent_ns, uint32_t flow, uint64_t seq) {
    while (!lost_.empty() && lost_.front().retransmission_ns <= sent_ns) {
      append(lost_.front().retransmission_ns, lost_.front().flow, lost_.front().seq);
      lost_.erase(lost_.begin());
    }
    if (!lost_.empty() && lost_.front().flow == flow && lost_.front().retransmission_ns > sent_ns) {
      // A sender pauses after a loss, so its retransmission arrives long after the packet with the greatest sequence
      // number.
      return;
    }
    append(sent_ns, flow, seq);
  }
  void append(uint64_t time_ns, uint32_t flow, uint64_t seq) {
    RowBuilder row(log_->schema());
    row.set("ts", 1000000000 + time_ns).set("flow", flow).set("seq", seq).set("bytes", 1500);
    row.set("priority", scenario_ == Scenario::kUnequalPriority && flow == 2 ? 2 : 1);
    ASSERT_EQ(writer_->append(row.row().data(), 1).accepted, 1u);
  }

  const Scenario scenario_;
  std::unique_ptr<MultiLog> log_;
  Writer* writer_;
  std::vector<LostSegment> lost_;
};

class Figure2 : public testing::TestWithParam<Scenario> {};
TEST_P(Figure2, DistinguishesTheThreeCauses) {
  Network network(GetParam());
  network.run();
  EXPECT_EQ(network.diagnose(), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Scenarios, Figure2,
                         testing::Values(Scenario::kEqualPriority, Scenario::kUnequalPriority, Scenario::kPeriodicBug));

class Aggregates : public testing::Test {
 protected:
  void SetUp() override {
    Options options(flow_schema());
    options.segment_rows = 1024;
    options.memory_bytes = size_t{32} << 20;
    options.background_threads = false;
    options.user_functions = {{"MAXSEQ", max_seq()}};
    log_ = std::move(*MultiLog::open(std::move(options)));
    for (int i = 0; i < 2; ++i) writers_[i] = *log_->add_writer();
  }
  void append(int writer, uint64_t ts, uint32_t flow, uint64_t seq, uint32_t bytes, int depth = -1) {
    RowBuilder row(log_->schema());
    row.set("ts", ts).set("flow", flow).set("seq", seq).set("bytes", bytes).set("path", flow % 7, 1);
    if (depth >= 0) row.set("queue_depth", static_cast<uint64_t>(depth));
    writers_[writer]->append(row.row().data(), 1);
  }
  std::unique_ptr<MultiLog> log_;
  Writer* writers_[2];
};

TEST_F(Aggregates, SketchesMergeOverWritersAndBuckets) {
  ASSERT_TRUE(
      log_->add_aggregate(
              {.name = "flows", .function = {.function = "DISTINCT", .field = "flow"}, .bucket_ns = kMs, .buckets = 8})
          .ok());
  ASSERT_TRUE(log_->add_aggregate({.name = "sizes",
                                   .function = {.function = "QUANTILE", .field = "bytes", .quantiles = {0.5, 0.99}},
                                   .bucket_ns = kMs,
                                   .buckets = 8})
                  .ok());
  for (uint32_t i = 0; i < 20000; ++i) append(i % 2, i * 10000, i % 5000, i, 1 + i % 1000);
  const auto flows = log_->read_aggregate("flows");
  EXPECT_NEAR(flows->values[0].as_double(), 5000, 5000 * 3 * 0.023);
  const auto sizes = log_->read_aggregate("sizes");
  EXPECT_EQ(sizes->names, (std::vector<std::string>{"P50", "P99"}));
  EXPECT_NEAR((*sizes)["P50"].as_double(), 500, 500 * 0.016);
  EXPECT_NEAR((*sizes)["P99"].as_double(), 990, 990 * 0.016);
  // The same functions compute ad-hoc aggregates, and those of time ranges whose buckets were evicted, from the rows.
  EXPECT_NEAR(
      log_->aggregate({.expression = "flow < 100"}, {.function = "DISTINCT", .field = "flow"})->values[0].as_double(),
      100, 5);
  EXPECT_NEAR(log_->read_aggregate("flows", 0, 999 * 10000)->values[0].as_double(), 1000, 70);
}

TEST_F(Aggregates, QuantileCountersContainTheirValues) {
  for (uint64_t value :
       {uint64_t{0}, uint64_t{31}, uint64_t{32}, uint64_t{33}, uint64_t{1000}, uint64_t{1} << 40, ~uint64_t{0}}) {
    const uint32_t counter = QuantileSketch::counter_of(value);
    ASSERT_LT(counter, QuantileSketch::kWords);
    EXPECT_LE(QuantileSketch::min_of(counter), value);
    if (counter + 1 < QuantileSketch::kWords) {
      EXPECT_GT(QuantileSketch::min_of(counter + 1), value);
    }
  }
}

TEST_F(Aggregates, GroupsAreBoundedAndNothingIsLost) {
  FunctionSpec by_flow{.function = "SUM", .field = "bytes", .group_by = {"flow"}, .max_groups = 4};
  ASSERT_TRUE(
      log_->add_aggregate({.name = "by_flow", .function = by_flow, .bucket_ns = 1000 * kMs, .buckets = 4}).ok());
  ASSERT_TRUE(log_->add_trigger({.name = "heavy", .aggregate = "by_flow", .condition = "SUM > 250"}).ok());
  for (uint32_t i = 0; i < 100; ++i) append(0, kMs, i % 10, i, 1 + (i % 10 == 2) * 99);
  const auto value = log_->read_aggregate("by_flow");
  ASSERT_EQ(value->groups.size(), 5u);
  EXPECT_EQ(value->groups[2].keys, std::vector<uint64_t>{2});
  EXPECT_EQ(value->groups[2].outputs[0].as_double(), 1000);
  EXPECT_TRUE(value->groups[4].is_rest);
  EXPECT_EQ(value->groups[4].outputs[0].as_double(), 60);
  EXPECT_EQ(value->values[0].as_double(), 1090);
  log_->evaluate_triggers(kMs);
  const auto alerts = log_->take_alerts();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].group, std::vector<uint64_t>{2});
}

TEST_F(Aggregates, AFilterComparesWithTheGroupOfItsRow) {
  ASSERT_TRUE(log_->add_aggregate({.name = "last",
                                   .function = {.function = "MAXSEQ", .group_by = {"flow"}},
                                   .buckets = 2,
                                   .outputs = {"SEQ", "TS"}})
                  .ok());
  ASSERT_TRUE(log_->add_filter("again", "seq <= SEQ").ok());
  EXPECT_EQ(log_->remove_aggregate("last").code(), Code::kInUse);
  for (uint32_t i = 0; i < 50; ++i) append(0, i, i % 5, 10 + i, 1);
  append(0, 51, 0, 20, 1);  // flow 0 is at 55, so this is a retransmission
  append(0, 52, 9, 3, 1);   // flow 9 is new, so there is nothing to compare with
  EXPECT_EQ(log_->query({.filter = "again"})->next().size(), 1u);
}

TEST_F(Aggregates, MissingFieldsDoNotCount) {
  ASSERT_TRUE(log_->add_aggregate({.name = "depth", .function = {.function = "AVG", .field = "queue_depth"}}).ok());
  ASSERT_TRUE(log_->add_index("queue_depth").ok());
  EXPECT_FALSE(log_->read_aggregate("depth")->values[0].present);
  for (int i = 0; i < 2000; ++i) append(0, kMs, 1, 1, 1, i % 2 == 0 ? 10 + i % 4 : -1);
  EXPECT_EQ(log_->read_aggregate("depth")->values[0].as_double(), 11);
  EXPECT_EQ(log_->aggregate({.expression = "queue_depth >= 0"}, {.function = "COUNT"})->values[0].as_double(), 1000);
  EXPECT_EQ(log_->aggregate({}, {.function = "COUNT", .field = "queue_depth"})->values[0].as_double(), 1000);
  EXPECT_EQ(log_->aggregate({.expression = "path contains 1", .within = {"queue_depth == 12"}}, {.function = "COUNT"})
                ->values[0]
                .as_double(),
            500);
}

}  // namespace
}  // namespace tapline::multilog
