// Compares a MultiLog with a model that is a vector of rows per writer behind a mutex, under random schedules with
// fixed seeds: appends of any size, definitions added and removed, freezes, late rows, memory running out. After each
// step both answer a random query. The same happens in the middle of appends, from a user function that runs while the
// writer is between a row and its tail: there readers must see everything published before, and nothing else.
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

Condition RandomLeaf(std::mt19937& random) {
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

Condition RandomCondition(std::mt19937& random, int depth = 0) {
  if (depth == 3 || random() % 3 == 0) return RandomLeaf(random);
  const Condition a = RandomCondition(random, depth + 1);
  if (random() % 4 == 0) return {"!(" + a.text + ")", [=](const PaperRow& r) { return !a.holds(r); }};
  const Condition b = RandomCondition(random, depth + 1);
  if (random() % 2 == 0)
    return {"(" + a.text + " && " + b.text + ")", [=](const PaperRow& r) { return a.holds(r) && b.holds(r); }};
  return {"(" + a.text + " or " + b.text + ")", [=](const PaperRow& r) { return a.holds(r) || b.holds(r); }};
}

struct ModelRow {
  uint32_t writer;
  uint64_t position;
  PaperRow row;
  auto Key() const { return std::make_pair(writer, position); }
};

class Model {
 public:
  void Append(uint32_t writer, const PaperRow& row) {
    const std::lock_guard lock(mutex_);
    writers_.resize(std::max<size_t>(writers_.size(), writer + 1));
    writers_[writer].push_back(row);
  }
  void CutTo(uint32_t writer, uint64_t rows) {
    const std::lock_guard lock(mutex_);
    writers_[writer].resize(rows);
  }
  // Rows from `from` to below `tails`, that hold, within the time.
  std::vector<ModelRow> Rows(const Snapshot& snapshot, const Predicate& holds, uint64_t low, uint64_t high,
                             const std::map<uint32_t, uint64_t>& from = {}) {
    const std::lock_guard lock(mutex_);
    std::vector<ModelRow> result;
    for (const Snapshot::View& view : snapshot.views()) {
      const uint32_t writer = view.log->number();
      uint64_t at = view.first;
      if (const auto found = from.find(writer); found != from.end()) at = std::max(at, found->second);
      for (; at < view.tail; ++at) {
        const PaperRow& row = writers_[writer][at];
        if (row.time_ns >= low && row.time_ns <= high && holds(row)) result.push_back({writer, at, row});
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
  std::map<uint32_t, uint64_t> from;  // tails when it was added
  bool has_aggregate = false;
};

class Schedule {
 public:
  explicit Schedule(uint32_t seed) : random_(seed) {
    Options options(PaperSchema());
    options.segment_rows = kSegmentRows;
    options.memory_bytes = size_t{48} * 32768;
    options.background_threads = false;
    options.user_functions = {{"PROBE", Probe()}};
    auto opened = MultiLog::Open(std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    log_ = std::move(*opened);
    for (int i = 0; i < 3; ++i) writers_.push_back(*log_->AddWriter());
    published_.resize(writers_.size());
    // Over all rows, so that there is always one.
    EXPECT_TRUE(
        log_->AddAggregate({.name = "all", .function = {.function = "PROBE"}, .bucket_ns = 50000, .buckets = 16}).ok());
  }

  void Step() {
    switch (random_() % 16) {
      case 0:
        AddFilter();
        break;
      case 1:
        RemoveFilter();
        break;
      case 2:
        AddOrRemoveIndex();
        break;
      case 3:
        FreezeOrUnfreeze();
        break;
      case 4:
        ASSERT_TRUE(log_->Maintain().ok());
        break;
      case 5:
        held_.push_back(log_->TakeSnapshot());
        break;
      case 6:
        held_.clear();
        break;
      default:
        Append();
        break;
    }
    Ask();
  }

  uint64_t probes() const { return probes_; }

 private:
  // The sum of bytes, which interrupts the writer now and then while the sum is being changed.
  UserFunction Probe() {
    UserFunction probe;
    probe.outputs = {"SUM"};
    probe.add = [this](Cells state, const Schema&, const uint8_t* bytes) {
      const PaperRow row = RowAt(bytes);
      state.Set(0, state.Get(0) + row.bytes);
      if (appending_ && probes_left_ > 0 && random_() % 4 == 0) Interrupt(row.seq);
    };
    probe.merge = [this](Cells into, Cells from) {
      into.Set(0, into.Get(0) + from.Get(0));
      if (!reading_ || random_() % 8 != 0) return;
      // The ring of buckets turns while it is being read.
      reading_ = false;
      Append(0);
      reading_ = true;
    };
    probe.values = [](Cells state) { return std::vector<Number>{Number::Whole(state.Get(0))}; };
    return probe;
  }

  // Within Append, at the row with this number. Rows are published in pieces that end where segments do.
  void Interrupt(uint64_t number) {
    appending_ = false;
    interrupted_ = true;
    --probes_left_;
    ++probes_;
    const uint64_t published = published_[appender_], at = published + (number - first_number_);
    published_[appender_] = std::max(published, at / kSegmentRows * kSegmentRows);
    switch (random_() % 8) {
      case 0:
        RemoveFilter();
        break;
      case 1:
        AddOrRemoveIndex();
        break;
      case 2:
        FreezeOrUnfreeze();
        break;
      case 3:
        ASSERT_TRUE(log_->Maintain().ok());
        break;
      default:
        break;
    }
    Ask();
    published_[appender_] = published;
    interrupted_ = false;
    appending_ = true;
  }

  void Append(uint64_t interruptions = 4) {
    const uint32_t writer = random_() % writers_.size();
    appender_ = writer;
    first_number_ = next_;
    std::vector<PaperRow> rows(1 + random_() % (random_() % 4 == 0 ? 700 : 20));
    for (PaperRow& row : rows) {
      time_ += random_() % 3000;
      const uint64_t late = random_() % 50 == 0 ? random_() % 3000000 : 0;
      row = MakePaperRow(next_++, time_ - std::min(late, time_));
    }
    for (const PaperRow& row : rows) model_.Append(writer, row);
    probes_left_ = interruptions;
    appending_ = true;
    const AppendResult result = writers_[writer]->Append(Bytes(rows.data()), rows.size());
    appending_ = false;
    EXPECT_EQ(result.accepted + result.dropped, rows.size());
    published_[writer] += result.accepted;
    EXPECT_EQ(writers_[writer]->tail(), published_[writer]);
    model_.CutTo(writer, published_[writer]);
  }

  void AddFilter() {
    if (filters_.size() >= 8) return;
    const std::string name = "f" + std::to_string(names_++);
    Known known{RandomCondition(random_), {}, random_() % 2 == 0};
    for (const Writer* writer : writers_) known.from[writer->number()] = published_[writer->number()];
    ASSERT_TRUE(log_->AddFilter(name, known.condition.text).ok()) << known.condition.text;
    if (known.has_aggregate) {
      FunctionSpec sum{.function = "SUM", .field = "bytes"};
      if (random_() % 2 == 0) sum = {.function = "PROBE"};
      ASSERT_TRUE(
          log_->AddAggregate({.name = "a" + name, .filter = name, .function = sum, .bucket_ns = 50000, .buckets = 16})
              .ok());
    }
    filters_[name] = std::move(known);
  }

  void RemoveFilter() {
    if (filters_.empty()) return;
    const auto found = std::next(filters_.begin(), random_() % filters_.size());
    if (found->second.has_aggregate) {
      EXPECT_EQ(log_->RemoveFilter(found->first).code(), Code::kInUse);
      ASSERT_TRUE(log_->RemoveAggregate("a" + found->first).ok());
    }
    ASSERT_TRUE(log_->RemoveFilter(found->first).ok());
    filters_.erase(found);
  }

  void AddOrRemoveIndex() {
    constexpr const char* kFields[] = {"src_ip", "dst_port", "bytes", "flags", "time_ns", "seq"};
    const std::string field = kFields[random_() % 6];
    const auto present = log_->indexes();
    const bool there = std::find(present.begin(), present.end(), field) != present.end();
    ASSERT_TRUE((there ? log_->RemoveIndex(field) : log_->AddIndex(field)).ok());
  }

  void FreezeOrUnfreeze() {
    if (frozen_ != 0) {
      const auto in_time = log_->Unfreeze(frozen_);
      ASSERT_TRUE(in_time.ok() && *in_time);
      frozen_ = 0;
      return;
    }
    const auto token = log_->Freeze(uint64_t{3600} * 1000000000);
    ASSERT_TRUE(token.ok());
    frozen_ = token->id;
    EXPECT_EQ(token->tails, published_);
    frozen_tails_ = token->tails;
  }

  Snapshot PickSnapshot() {
    Snapshot snapshot = log_->TakeSnapshot();
    EXPECT_EQ(snapshot.frozen(), frozen_ != 0);
    for (size_t i = 0; i < snapshot.views().size(); ++i) {
      const uint64_t tail = frozen_ != 0 ? frozen_tails_[i] : published_[i];
      EXPECT_EQ(snapshot.views()[i].tail, tail);
    }
    return snapshot;
  }

  void Ask() {
    const uint64_t low = random_() % 2 == 0 ? 0 : random_() % (time_ + 1);
    const uint64_t high = random_() % 2 == 0 ? kAllTime : low + random_() % 3000000;
    Snapshot snapshot = PickSnapshot();
    if (!held_.empty() && random_() % 2 == 0) {
      snapshot = std::move(held_.back());
      held_.pop_back();
    }
    if (!filters_.empty() && random_() % 2 == 0) return AskStored(std::move(snapshot), low, high);
    const Condition condition = RandomCondition(random_);
    Compare({.expression = condition.text, .time_low = low, .time_high = high}, std::move(snapshot), condition.holds,
            low, high);
  }

  void AskStored(Snapshot snapshot, uint64_t low, uint64_t high) {
    const auto& [name, known] = *std::next(filters_.begin(), random_() % filters_.size());
    if (known.has_aggregate) {
      reading_ = !interrupted_;
      const auto value = log_->ReadAggregate("a" + name, snapshot, low, high);
      reading_ = false;
      ASSERT_TRUE(value.ok());
      // Rows that memory had no room for any more are in what was aggregated before, but in no recount.
      bool all_there = true;
      for (const Snapshot::View& view : snapshot.views())
        all_there = all_there && view.first <= known.from.at(view.log->number());
      if (all_there) {
        uint64_t sum = 0;
        for (const ModelRow& row : model_.Rows(snapshot, known.condition.holds, low, high, known.from))
          sum += row.row.bytes;
        EXPECT_EQ(static_cast<uint64_t>(value->values[0].whole), sum) << known.condition.text;
      }
    }
    const Condition extra =
        random_() % 2 == 0 ? Condition{"", [](const PaperRow&) { return true; }} : RandomLeaf(random_);
    Compare(
        {.expression = extra.text, .filter = name, .time_low = low, .time_high = high}, std::move(snapshot),
        [&](const PaperRow& row) { return known.condition.holds(row) && extra.holds(row); }, low, high);
  }

  void Compare(const QuerySpec& spec, Snapshot snapshot, const Predicate& holds, uint64_t low, uint64_t high) {
    const std::vector<ModelRow> expected = model_.Rows(snapshot, holds, low, high);
    auto cursor = log_->Query(spec, std::move(snapshot));
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    size_t found = 0;
    for (auto rows = cursor->Next(); !rows.empty(); rows = cursor->Next()) {
      for (size_t i = 0; i < rows.size(); ++i, ++found) {
        ASSERT_LT(found, expected.size()) << spec.filter << " " << spec.expression;
        ASSERT_EQ(std::make_pair(cursor->writer(), cursor->position(i)), expected[found].Key())
            << spec.filter << " " << spec.expression;
        ASSERT_EQ(std::memcmp(rows[i], &expected[found].row, sizeof(PaperRow)), 0);
      }
    }
    ASSERT_EQ(found, expected.size()) << spec.filter << " " << spec.expression;
    ASSERT_EQ(cursor->statistics().unreadable, 0u);
  }

  std::mt19937 random_;
  std::unique_ptr<MultiLog> log_;
  std::vector<Writer*> writers_;
  Model model_;
  std::map<std::string, Known> filters_;
  std::vector<Snapshot> held_;
  uint64_t time_ = 1000000, next_ = 0, names_ = 0, frozen_ = 0;
  // Rows of each writer that readers must see, if nothing is frozen.
  std::vector<uint64_t> published_;
  bool appending_ = false, interrupted_ = false, reading_ = false;
  uint32_t appender_ = 0;
  uint64_t first_number_ = 0, probes_left_ = 0, probes_ = 0;
  std::vector<uint64_t> frozen_tails_;
};

class ModelTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ModelTest, AnswersAsTheModelDoes) {
  Schedule schedule(GetParam());
  for (int step = 0; step < 250 && !testing::Test::HasFatalFailure(); ++step) schedule.Step();
  EXPECT_GT(schedule.probes(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ModelTest, testing::Range(1u, 9u));

}  // namespace
}  // namespace tapline::multilog
