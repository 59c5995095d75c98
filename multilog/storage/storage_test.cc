// Tests durability on a disk that loses unsynced data (power cuts), fills up or fails. Also tests archived segments,
// damage and retention.
#include "multilog/storage/storage.h"

#include <gtest/gtest.h>

#include <random>

#include "multilog/multilog.h"
#include "multilog/testing/forgetful_file_system.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kSegmentRows = 256;

class StorageTest : public testing::Test {
 protected:
  explicit StorageTest(uint32_t seed = 1) : files_(seed) {}

  std::unique_ptr<MultiLog> open(Durability durability = Durability::kGroupCommit, size_t segments = 64) {
    Options options(paper_schema());
    options.segment_rows = kSegmentRows;
    options.memory_bytes = segments * 20480;
    options.background_threads = false;
    options.storage.directory = "/d";
    options.storage.files = &files_;
    options.storage.durability = durability;
    options.storage.retain_bytes = retain_bytes_;
    options.storage.retain_ns = retain_ns_;
    auto opened = MultiLog::open(std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return std::move(*opened);
  }
  // Appends rows. If memory is full, makes room in `log`, since there is no storage thread here.
  static void append(MultiLog* log, Writer* writer, uint64_t count) {
    std::vector<PaperRow> rows;
    for (uint64_t i = 0; i < count; ++i)
      rows.push_back(make_paper_row(writer->tail() + i, 1000 * (writer->tail() + i), writer->number()));
    const uint64_t accepted = writer->append(bytes_of(rows.data()), count).accepted;
    if (accepted == count) return;
    ASSERT_TRUE(log->maintain().ok());
    ASSERT_EQ(writer->append(bytes_of(rows.data() + accepted), count - accepted).accepted, count - accepted);
  }
  // Expects all readable rows of all writers to be as they were appended, and in order. Returns the number of
  // unreadable segments.
  static uint64_t check_rows(const MultiLog& log) {
    auto cursor = log.query({});
    std::map<uint32_t, uint64_t> next;
    for (const auto& view : cursor->snapshot().views()) next[view.log->number()] = view.first;
    for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
      for (size_t i = 0; i < rows.size(); ++i) {
        const uint64_t position = cursor->position(i);
        const PaperRow expected = make_paper_row(position, 1000 * position, cursor->writer());
        EXPECT_EQ(std::memcmp(rows[i], &expected, sizeof expected), 0)
            << "writer " << cursor->writer() << " row " << position;
        EXPECT_GE(position, next[cursor->writer()]);
        next[cursor->writer()] = position + 1;
      }
    }
    return cursor->statistics().unreadable;
  }

  ForgetfulFileSystem files_;
  uint64_t retain_bytes_ = 0, retain_ns_ = 0;
};

class PowerCuts : public StorageTest, public testing::WithParamInterface<uint32_t> {
 protected:
  PowerCuts() : StorageTest(GetParam()) {}
};

// Appends, commits, archives and loses power repeatedly. Each time, at least the committed rows must still exist, as a
// prefix.
TEST_P(PowerCuts, LoseNoCommittedRow) {
  std::mt19937 random(GetParam() * 7919);
  std::vector<uint64_t> committed(2, 0);
  for (int life = 0; life < 12; ++life) {
    auto log = open(Durability::kGroupCommit, 8);
    for (const Status& problem : log->recovery().problems)
      EXPECT_EQ(problem.code(), Code::kCorrupt) << problem.to_string();
    while (log->writers() < 2) ASSERT_TRUE(log->add_writer().ok());
    for (uint32_t i = 0; i < 2; ++i) ASSERT_GE(log->writer(i)->tail(), committed[i]) << "life " << life;
    EXPECT_EQ(check_rows(*log), 0u);
    if (life == 3) {
      EXPECT_TRUE(log->add_index("dst_port").ok());
    }
    if (life == 5) {
      EXPECT_TRUE(log->add_filter("web", "dst_port == 443").ok());
    }
    if (life > 5) {
      EXPECT_EQ(log->filters().size(), 1u);
    }
    for (int step = 0; step < 12; ++step) {
      Writer* writer = log->writer(random() % 2);
      append(log.get(), writer, 1 + random() % 150);
      if (random() % 3 != 0) continue;
      const Status status = writer->commit();
      ASSERT_TRUE(status.ok()) << status.to_string();
      committed[writer->number()] = writer->tail();
    }
    files_.crash();
    // The log's destructor writes files, which is not possible after a power cut, so its writes are undone.
    const ForgetfulFileSystem::State at_the_cut = files_.save();
    log.reset();
    files_.restore(at_the_cut);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PowerCuts, testing::Range(1u, 13u));

TEST_F(StorageTest, MemoryIsBoundedByArchivingAndQueriesSeeAll) {
  auto log = open(Durability::kInterval, 8);
  ASSERT_TRUE(log->add_index("dst_port").ok());
  Writer* writer = *log->add_writer();
  uint64_t expected = 0;
  for (int i = 0; i < 100; ++i) {
    append(log.get(), writer, 100);
    ASSERT_TRUE(log->maintain().ok());
  }
  for (uint64_t i = 0; i < 10000; ++i) expected += make_paper_row(i, 0).dst_port == 443;
  EXPECT_LE(log->statistics().segment_bytes, 8u * 20480);
  EXPECT_EQ(check_rows(*log), 0u);
  auto count = [&](const MultiLog& opened_log) {
    return opened_log.aggregate({.expression = "dst_port == 443"}, {.function = "COUNT"})->values[0].as_double();
  };
  EXPECT_EQ(count(*log), static_cast<double>(expected));
  EXPECT_EQ(
      log->aggregate({.time_low = 1000 * 200, .time_high = 1000 * 299}, {.function = "COUNT"})->values[0].as_double(),
      100);
  // An index that is added later is also built over archived segments.
  ASSERT_TRUE(log->add_index("src_ip").ok());
  const double of_address =
      log->aggregate({.expression = "src_ip == 10.0.1.7"}, {.function = "COUNT"})->values[0].as_double();
  ASSERT_TRUE(log->remove_index("src_ip").ok());
  EXPECT_EQ(log->aggregate({.expression = "src_ip == 10.0.1.7"}, {.function = "COUNT"})->values[0].as_double(),
            of_address);
  ASSERT_TRUE(log->close().ok());
  log = open();
  EXPECT_EQ(log->writer(0)->tail(), 10000u);
  EXPECT_GT(log->recovery().segments, 30u);
  EXPECT_EQ(check_rows(*log), 0u);
  EXPECT_EQ(count(*log), static_cast<double>(expected));
}

TEST_F(StorageTest, AFullDiskIsANamedErrorAndTemporary) {
  auto log = open();
  Writer* writer = *log->add_writer();
  append(log.get(), writer, 100);
  ASSERT_TRUE(writer->commit().ok());
  files_.set_room(1000);
  append(log.get(), writer, 100);
  EXPECT_EQ(writer->commit().code(), Code::kDiskFull);
  EXPECT_EQ(log->storage_status().code(), Code::kDiskFull);
  EXPECT_EQ(writer->durable(), 100u);
  EXPECT_EQ(check_rows(*log), 0u);
  EXPECT_EQ(log->take_snapshot().rows(), 200u);
  files_.set_room(~uint64_t{0});
  EXPECT_TRUE(writer->commit().ok());
  EXPECT_EQ(writer->durable(), 200u);
}

TEST_F(StorageTest, AfterAFailedSyncTheFileIsRewritten) {
  auto log = open();
  Writer* writer = *log->add_writer();
  append(log.get(), writer, 50);
  ASSERT_TRUE(writer->commit().ok());
  append(log.get(), writer, 50);
  files_.fail_syncs(1);
  EXPECT_EQ(writer->commit().code(), Code::kIoError);
  EXPECT_TRUE(writer->commit().ok());
  files_.crash();
  log = open();
  EXPECT_EQ(log->writer(0)->tail(), 100u);
}

TEST_F(StorageTest, ADamagedSegmentIsNamedAndTheRestStaysReadable) {
  auto log = open(Durability::kInterval, 8);
  Writer* writer = *log->add_writer();
  for (int i = 0; i < 40; ++i) {
    append(log.get(), writer, 100);
    ASSERT_TRUE(log->maintain().ok());
  }
  ASSERT_TRUE(log->close().ok());
  log.reset();
  ASSERT_TRUE(files_.spoil("w0-00000002.seg", 20));   // in the segment's header
  ASSERT_TRUE(files_.spoil("w0-00000004.seg", 600));  // in the segment's rows
  log = open(Durability::kInterval, 64);
  ASSERT_EQ(log->recovery().problems.size(), 1u);
  EXPECT_EQ(log->recovery().problems[0].to_string(), "corrupt: w0-00000002.seg has a damaged header");
  EXPECT_EQ(log->recovery().lost_rows, kSegmentRows);
  EXPECT_EQ(check_rows(*log), 2u);
  EXPECT_EQ(log->aggregate({}, {.function = "COUNT"})->values[0].as_double(), 4000 - 2 * kSegmentRows);
  EXPECT_EQ(log->writer(0)->tail(), 4000u);
}

// The journal of a damaged segment is used if it still exists. If it is truncated, the log ends there, or, if there are
// later segments, has a gap. No row may be loaded twice.
TEST_F(StorageTest, ATruncatedJournalReplacesADamagedSegmentOnlyAtTheEnd) {
  for (const bool is_last : {true, false}) {
    files_.restore({});
    auto log = open(Durability::kGroupCommit, 8);
    Writer* writer = *log->add_writer();
    append(log.get(), writer, 100);
    ASSERT_TRUE(writer->commit().ok());
    const std::vector<uint8_t> journal = files_.save().at("/d/w0-00000000.wal");
    for (int i = 0; i < 39; ++i) {
      append(log.get(), writer, 100);
      ASSERT_TRUE(log->maintain().ok());
    }
    ASSERT_TRUE(log->close().ok());
    log.reset();
    ForgetfulFileSystem::State files = files_.save();
    ASSERT_TRUE(files.contains("/d/w0-00000000.seg") && files.contains("/d/w0-00000001.seg"));
    if (is_last) std::erase_if(files, [](const auto& file) { return file.first > "/d/w0-00000000.seg"; });
    files["/d/w0-00000000.wal"] = journal;
    files["/d/w0-00000000.seg"][20] ^= 1;
    files_.restore(files);
    log = open();
    EXPECT_EQ(check_rows(*log), is_last ? 0u : 1u);
    EXPECT_EQ(log->writer(0)->tail(), is_last ? 100u : 4000u);
    EXPECT_EQ(log->recovery().lost_rows, is_last ? kSegmentRows - 100 : kSegmentRows);
    EXPECT_EQ(log->aggregate({}, {.function = "COUNT"})->values[0].as_double(), is_last ? 100 : 4000 - kSegmentRows);
  }
}

TEST_F(StorageTest, RetentionBySizeAndAge) {
  retain_bytes_ = 60000;
  auto log = open(Durability::kInterval, 8);
  Writer* writer = *log->add_writer();
  for (int i = 0; i < 100; ++i) {
    append(log.get(), writer, 100);
    ASSERT_TRUE(log->maintain().ok());
  }
  const uint64_t removed = log->statistics().removed;
  EXPECT_GT(removed, 1000u);
  EXPECT_EQ(log->take_snapshot().rows() + removed, 10000u);
  EXPECT_EQ(check_rows(*log), 0u);
  ASSERT_TRUE(log->close().ok());
  log.reset();
  retain_bytes_ = 0;
  retain_ns_ = 1000 * 3000;
  log = open(Durability::kInterval, 8);
  EXPECT_EQ(log->take_snapshot().views()[0].first, removed);
  ASSERT_TRUE(log->maintain().ok());
  EXPECT_GE(log->take_snapshot().views()[0].first, 10000u - 3000 - kSegmentRows);
  EXPECT_EQ(check_rows(*log), 0u);
}

TEST_F(StorageTest, AnotherSchemaIsRejected) {
  const auto open = [&](const char* field) {
    Options options(*Schema::make({{.name = field, .type = FieldType::kTime}}));
    options.segment_rows = kSegmentRows;
    options.background_threads = false;
    options.storage.directory = "/d";
    options.storage.files = &files_;
    return MultiLog::open(std::move(options)).status().code();
  };
  EXPECT_EQ(open("t"), Code::kOk);
  EXPECT_EQ(open("t"), Code::kOk);
  for (const char* database : {"u", "longer"}) EXPECT_EQ(open(database), Code::kInvalid) << database;
}

}  // namespace
}  // namespace tapline::multilog
