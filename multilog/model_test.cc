// Compares a MultiLog with a model (a vector of rows per writer, behind a mutex) under random schedules with fixed
// seeds: appends of any size, definitions that are added and removed, freezes, late rows, and memory that runs out.
// After each step, both evaluate a random query. They also do so in the middle of appends, from a user function that
// runs after rows are written and before the tail is: readers must then see everything published before, and nothing
// else.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <set>

#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

using Predicate = std::function<bool(const PaperRow&)>;

struct Condition {
  std::string text;
  Predicate holds;
};

Condition random_leaf(std::mt19937& random) {
  const uint32_t ip = kPaperNet + random() % 256;
  const std::string last = std::to_string(ip & 255);
  const uint16_t port = kPaperPorts[random() % 10];
  const uint32_t number = random() % 1500;
  switch (random() % 10) {
    case 0:
      return {"src_ip == 10.0.1." + last, [=](const PaperRow& r) { return r.src_ip == ip; }};
    case 1:
      return {"dst_port=" + std::to_string(port), [=](const PaperRow& r) { return r.dst_port == port; }};
    case 2:
      return {"bytes < " + std::to_string(number) + "B", [=](const PaperRow& r) { return r.bytes < number; }};
    case 3:
      return {"dst_ip in 10.0.1.64/26", [](const PaperRow& r) { return (r.dst_ip & 0xffffffc0) == kPaperNet + 64; }};
    case 4:
      return {"src_ip like 10.*.1." + last, [=](const PaperRow& r) { return (r.src_ip & 255) == (ip & 255); }};
    case 5:
      return {"src_port in {80, 443, 8000..9000}",
              [](const PaperRow& r) { return r.src_port == 80 || r.src_port == 443 || r.src_port == 8080; }};
    case 6:
      return {"src_port == dst_port", [](const PaperRow& r) { return r.src_port == r.dst_port; }};
    case 7:
      return {"window + 100 >= bytes", [](const PaperRow& r) { return r.window + 100 >= r.bytes; }};
    case 8:
      return {"flags != " + std::to_string(number % 32), [=](const PaperRow& r) { return r.flags != number % 32; }};
    default:
      return {"ttl > " + std::to_string(number % 256), [=](const PaperRow& r) { return r.ttl > number % 256; }};
  }
}

Condition random_condition(std::mt19937& random, int depth = 0) {
  if (depth == 3 || random() % 3 == 0) return random_leaf(random);
  const Condition a = random_condition(random, depth + 1);
  if (random() % 4 == 0) return {"!(" + a.text + ")", [=](const PaperRow& r) { return !a.holds(r); }};
  const Condition b = random_condition(random, depth + 1);
  if (random() % 2 == 0)
    return {"(" + a.text + " && " + b.text + ")", [=](const PaperRow& r) { return a.holds(r) && b.holds(r); }};
  return {"(" + a.text + " or " + b.text + ")", [=](const PaperRow& r) { return a.holds(r) || b.holds(r); }};
}

struct ModelRow {
  uint32_t writer;
  uint64_t position;
  PaperRow row;
  auto key() const { return std::make_pair(writer, position); }
};

class Model {
 public:
  void append(uint32_t writer, const PaperRow& row) {
    const std::lock_guard lock(mutex_);
    writers_.resize(std::max<size_t>(writers_.size(), writer + 1));
    writers_[writer].push_back(row);
  }
  void cut_to(uint32_t writer, uint64_t rows) {
    const std::lock_guard lock(mutex_);
    writers_[writer].resize(rows);
  }
  // Returns the snapshot's rows, starting at `first_positions`, that satisfy the condition within the time range.
  std::vector<ModelRow> rows(const Snapshot& snapshot, const Predicate& holds, uint64_t low, uint64_t high,
                             const std::map<uint32_t, uint64_t>& first_positions = {}) {
    const std::lock_guard lock(mutex_);
    std::vector<ModelRow> result;
    for (const Snapshot::View& view : snapshot.views()) {
      const uint32_t writer = view.log->number();
      uint64_t position = view.first;
      if (const auto it = first_positions.find(writer); it != first_positions.end())
        position = std::max(position, it->second);
      for (; position < view.tail; ++position) {
        const PaperRow& row = writers_[writer][position];
        if (row.time_ns >= low && row.time_ns <= high && holds(row)) result.push_back({writer, position, row});
      }
    }
    return result;
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<PaperRow>> writers_;
};

constexpr uint32_t kSegmentRows = 256;

struct Known {
  Condition condition;
  std::map<uint32_t, uint64_t> from;  // tails when the aggregate was added
  bool has_aggregate = false;
};

class Schedule {
 public:
  explicit Schedule(uint32_t seed) : random_(seed) {
    Options options(paper_schema());
    options.segment_rows = kSegmentRows;
    options.memory_bytes = size_t{48} * 32768;
    options.background_threads = false;
    options.user_functions = {{"PROBE", probe()}};
    auto opened = MultiLog::open(std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    log_ = std::move(*opened);
    for (int i = 0; i < 3; ++i) writers_.push_back(*log_->add_writer());
    published_.resize(writers_.size());
    // An aggregate over all rows always exists.
    EXPECT_TRUE(
        log_->add_aggregate({.name = "all", .function = {.function = "PROBE"}, .bucket_ns = 50000, .buckets = 16})
            .ok());
  }

  void step() {
    switch (random_() % 16) {
      case 0:
        add_filter();
        break;
      case 1:
        remove_filter();
        break;
      case 2:
        add_or_remove_index();
        break;
      case 3:
        freeze_or_unfreeze();
        break;
      case 4:
        ASSERT_TRUE(log_->maintain().ok());
        break;
      case 5:
        snapshots_.push_back(log_->take_snapshot());
        break;
      case 6:
        snapshots_.clear();
        break;
      default:
        append();
        break;
    }
    run_query();
  }

  uint64_t probes() const { return probes_; }

 private:
  // Returns a function that sums bytes. Sometimes it interrupts an append while the sum is being changed, or appends
  // while the sum is being read.
  UserFunction probe() {
    UserFunction probe;
    probe.outputs = {"SUM"};
    probe.add = [this](Cells state, const Schema&, const uint8_t* bytes) {
      const PaperRow row = row_at(bytes);
      state.set(0, state.get(0) + row.bytes);
      if (appending_ && probes_left_ > 0 && random_() % 4 == 0) interrupt(row.seq);
    };
    probe.merge = [this](Cells target, Cells source) {
      target.set(0, target.get(0) + source.get(0));
      if (!reading_ || random_() % 8 != 0) return;
      // Makes the ring of buckets advance while it is being read.
      reading_ = false;
      append(0);
      reading_ = true;
    };
    probe.values = [](Cells state) { return std::vector<Number>{Number::of_whole(state.get(0))}; };
    return probe;
  }

  // Runs the checks within append(), at the row with this number. Rows are published in pieces, which end at the
  // boundaries of segments.
  void interrupt(uint64_t number) {
    appending_ = false;
    interrupted_ = true;
    --probes_left_;
    ++probes_;
    const uint64_t published = published_[appender_], at = published + (number - first_number_);
    published_[appender_] = std::max(published, at / kSegmentRows * kSegmentRows);
    switch (random_() % 8) {
      case 0:
        remove_filter();
        break;
      case 1:
        add_or_remove_index();
        break;
      case 2:
        freeze_or_unfreeze();
        break;
      case 3:
        ASSERT_TRUE(log_->maintain().ok());
        break;
      default:
        break;
    }
    run_query();
    published_[appender_] = published;
    interrupted_ = false;
    appending_ = true;
  }

  void append(uint64_t interruptions = 4) {
    const uint32_t writer = random_() % writers_.size();
    appender_ = writer;
    first_number_ = next_;
    std::vector<PaperRow> rows(1 + random_() % (random_() % 4 == 0 ? 700 : 20));
    for (PaperRow& row : rows) {
      time_ += random_() % 3000;
      const uint64_t late = random_() % 50 == 0 ? random_() % 3000000 : 0;
      row = make_paper_row(next_++, time_ - std::min(late, time_));
    }
    for (const PaperRow& row : rows) model_.append(writer, row);
    probes_left_ = interruptions;
    appending_ = true;
    const AppendResult result = writers_[writer]->append(bytes_of(rows.data()), rows.size());
    appending_ = false;
    EXPECT_EQ(result.accepted + result.dropped, rows.size());
    published_[writer] += result.accepted;
    EXPECT_EQ(writers_[writer]->tail(), published_[writer]);
    model_.cut_to(writer, published_[writer]);
  }

  void add_filter() {
    if (filters_.size() >= 8) return;
    const std::string name = "f" + std::to_string(names_++);
    Known known{random_condition(random_), {}, random_() % 2 == 0};
    for (const Writer* writer : writers_) known.from[writer->number()] = published_[writer->number()];
    ASSERT_TRUE(log_->add_filter(name, known.condition.text).ok()) << known.condition.text;
    if (known.has_aggregate) {
      FunctionSpec sum{.function = "SUM", .field = "bytes"};
      if (random_() % 2 == 0) sum = {.function = "PROBE"};
      ASSERT_TRUE(
          log_->add_aggregate({.name = "a" + name, .filter = name, .function = sum, .bucket_ns = 50000, .buckets = 16})
              .ok());
    }
    filters_[name] = std::move(known);
  }

  void remove_filter() {
    if (filters_.empty()) return;
    const auto entry = std::next(filters_.begin(), random_() % filters_.size());
    if (entry->second.has_aggregate) {
      EXPECT_EQ(log_->remove_filter(entry->first).code(), Code::kInUse);
      ASSERT_TRUE(log_->remove_aggregate("a" + entry->first).ok());
    }
    ASSERT_TRUE(log_->remove_filter(entry->first).ok());
    filters_.erase(entry);
  }

  void add_or_remove_index() {
    constexpr const char* kFields[] = {"src_ip", "dst_port", "bytes", "flags", "time_ns", "seq"};
    const std::string field = kFields[random_() % 6];
    const auto present = log_->indexes();
    const bool is_present = std::find(present.begin(), present.end(), field) != present.end();
    ASSERT_TRUE((is_present ? log_->remove_index(field) : log_->add_index(field)).ok());
  }

  void freeze_or_unfreeze() {
    if (frozen_ != 0) {
      const auto in_time = log_->unfreeze(frozen_);
      ASSERT_TRUE(in_time.ok() && *in_time);
      frozen_ = 0;
      return;
    }
    const auto token = log_->freeze(uint64_t{3600} * 1000000000);
    ASSERT_TRUE(token.ok());
    frozen_ = token->id;
    EXPECT_EQ(token->tails, published_);
    frozen_tails_ = token->tails;
  }

  Snapshot pick_snapshot() {
    Snapshot snapshot = log_->take_snapshot();
    EXPECT_EQ(snapshot.frozen(), frozen_ != 0);
    for (size_t i = 0; i < snapshot.views().size(); ++i) {
      const uint64_t tail = frozen_ != 0 ? frozen_tails_[i] : published_[i];
      EXPECT_EQ(snapshot.views()[i].tail, tail);
    }
    return snapshot;
  }

  void run_query() {
    const uint64_t low = random_() % 2 == 0 ? 0 : random_() % (time_ + 1);
    const uint64_t high = random_() % 2 == 0 ? kAllTime : low + random_() % 3000000;
    Snapshot snapshot = pick_snapshot();
    if (!snapshots_.empty() && random_() % 2 == 0) {
      snapshot = std::move(snapshots_.back());
      snapshots_.pop_back();
    }
    if (!filters_.empty() && random_() % 2 == 0) return query_stored(std::move(snapshot), low, high);
    const Condition condition = random_condition(random_);
    compare({.expression = condition.text, .time_low = low, .time_high = high}, std::move(snapshot), condition.holds,
            low, high);
  }

  void query_stored(Snapshot snapshot, uint64_t low, uint64_t high) {
    const auto& [name, known] = *std::next(filters_.begin(), random_() % filters_.size());
    if (known.has_aggregate) {
      reading_ = !interrupted_;
      const auto value = log_->read_aggregate("a" + name, snapshot, low, high);
      reading_ = false;
      ASSERT_TRUE(value.ok());
      // Once rows have been evicted, the aggregate includes them only if it is read from buckets, so it can't be
      // compared with the model's sum.
      bool all_present = true;
      for (const Snapshot::View& view : snapshot.views())
        all_present = all_present && view.first <= known.from.at(view.log->number());
      if (all_present) {
        uint64_t sum = 0;
        for (const ModelRow& row : model_.rows(snapshot, known.condition.holds, low, high, known.from))
          sum += row.row.bytes;
        EXPECT_EQ(static_cast<uint64_t>(value->values[0].whole), sum) << known.condition.text;
      }
    }
    const Condition extra =
        random_() % 2 == 0 ? Condition{"", [](const PaperRow&) { return true; }} : random_leaf(random_);
    compare(
        {.expression = extra.text, .filter = name, .time_low = low, .time_high = high}, std::move(snapshot),
        [&](const PaperRow& row) { return known.condition.holds(row) && extra.holds(row); }, low, high);
  }

  void compare(const QuerySpec& spec, Snapshot snapshot, const Predicate& holds, uint64_t low, uint64_t high) {
    const std::vector<ModelRow> expected = model_.rows(snapshot, holds, low, high);
    auto cursor = log_->query(spec, std::move(snapshot));
    ASSERT_TRUE(cursor.ok()) << cursor.status().to_string();
    size_t index = 0;
    for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
      for (size_t i = 0; i < rows.size(); ++i, ++index) {
        ASSERT_LT(index, expected.size()) << spec.filter << " " << spec.expression;
        ASSERT_EQ(std::make_pair(cursor->writer(), cursor->position(i)), expected[index].key())
            << spec.filter << " " << spec.expression;
        ASSERT_EQ(std::memcmp(rows[i], &expected[index].row, sizeof(PaperRow)), 0);
      }
    }
    ASSERT_EQ(index, expected.size()) << spec.filter << " " << spec.expression;
    ASSERT_EQ(cursor->statistics().unreadable, 0u);
  }

  std::mt19937 random_;
  std::unique_ptr<MultiLog> log_;
  std::vector<Writer*> writers_;
  Model model_;
  std::map<std::string, Known> filters_;
  std::vector<Snapshot> snapshots_;
  uint64_t time_ = 1000000, next_ = 0, names_ = 0, frozen_ = 0;
  // The number of each writer's rows that readers must see while nothing is frozen.
  std::vector<uint64_t> published_;
  bool appending_ = false, interrupted_ = false, reading_ = false;
  uint32_t appender_ = 0;
  uint64_t first_number_ = 0, probes_left_ = 0, probes_ = 0;
  std::vector<uint64_t> frozen_tails_;
};

class ModelTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ModelTest, AgreesWithTheModel) {
  Schedule schedule(GetParam());
  for (int step = 0; step < 250 && !testing::Test::HasFatalFailure(); ++step) schedule.step();
  EXPECT_GT(schedule.probes(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ModelTest, testing::Range(1u, 9u));

}  // namespace
}  // namespace tapline::multilog
