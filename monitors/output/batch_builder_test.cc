#include "monitors/output/batch_builder.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace tapline {
namespace {

const Schema& all_types() {
  static const Schema schema = {.name = "all_types",
                                .fields = {{"count", FieldType::kU64},
                                           {"delta", FieldType::kI64, "ns"},
                                           {"ratio", FieldType::kF64},
                                           {"flag", FieldType::kBool},
                                           {"text", FieldType::kString}}};
  return schema;
}

struct Row {
  TupleHeader header;
  uint64_t count;
  int64_t delta;
  double ratio;
  bool flag;
  std::string text;

  std::vector<Value> values() const {
    return {Value::u64(count), Value::i64(delta), Value::f64(ratio), Value::boolean(flag), Value::string(text)};
  }
};

// Reads a value independently of the encoder, as tuple_batch.proto describes the format.
uint64_t number_at(const v1::Column& column, uint32_t row) {
  uint64_t number = 0;
  for (uint32_t i = 0; i < column.width(); ++i) {
    number |= uint64_t{static_cast<uint8_t>(column.data()[row * column.width() + i])} << 8 * i;
  }
  return number + column.base();
}

std::string text_at(const v1::Column& column, uint32_t row) {
  auto entry = static_cast<int>(number_at(column, row));
  uint32_t begin = entry == 0 ? 0 : column.dictionary_end(entry - 1);
  return column.dictionary().substr(begin, column.dictionary_end(entry) - begin);
}

std::string bytes_of(const IpAddress& address) {
  auto bytes = address.bytes();
  return {bytes.begin(), bytes.end()};
}

void expect_row(const v1::TupleBatch& batch, uint32_t row, const Row& expected) {
  auto column = [&](int i) -> const v1::Column& { return batch.columns(i); };
  EXPECT_EQ(static_cast<int64_t>(number_at(column(0), row)), expected.header.time_ns);
  EXPECT_EQ(number_at(column(1), row), expected.header.flow_hash);
  EXPECT_EQ(number_at(column(2), row), expected.header.flow_incarnation);
  EXPECT_EQ(text_at(column(3), row), name_of(expected.header.client_known_by));
  EXPECT_EQ(text_at(column(4), row), bytes_of(expected.header.src_ip));
  EXPECT_EQ(number_at(column(5), row), expected.header.src_port);
  EXPECT_EQ(text_at(column(6), row), bytes_of(expected.header.dst_ip));
  EXPECT_EQ(number_at(column(7), row), expected.header.dst_port);
  EXPECT_EQ(number_at(column(8), row), expected.count);
  EXPECT_EQ(static_cast<int64_t>(number_at(column(9), row)), expected.delta);
  EXPECT_EQ(number_at(column(10), row), std::bit_cast<uint64_t>(expected.ratio));
  EXPECT_EQ(number_at(column(11), row), expected.flag);
  EXPECT_EQ(text_at(column(12), row), expected.text);
}

v1::TupleBatch decode(const std::string& bytes) {
  v1::TupleBatch batch;
  EXPECT_TRUE(batch.ParseFromString(bytes));
  return batch;
}

class RandomRows {
 public:
  explicit RandomRows(uint32_t seed) : random_(seed), spread_(random_() % 64) {}

  Row next() {
    uint8_t address[16];
    for (uint8_t& byte : address) byte = static_cast<uint8_t>(random_() % 3);
    Row row;
    row.header.time_ns = static_cast<int64_t>(number());
    row.header.flow_hash = random_();
    row.header.flow_incarnation = static_cast<uint32_t>(random_());
    row.header.client_known_by = static_cast<ClientKnownBy>(random_() % 4);
    row.header.src_port = static_cast<uint16_t>(random_());
    row.header.dst_port = static_cast<uint16_t>(random_() % 2);
    row.header.src_ip = random_() % 2 ? IpAddress::v4(address) : IpAddress::v6(address);
    row.header.dst_ip = IpAddress::v4(address);
    row.count = number();
    row.delta = static_cast<int64_t>(number()) * (random_() % 2 ? 1 : -1);
    row.ratio = std::bit_cast<double>(random_());
    row.flag = random_() % 2;
    row.text = std::string(random_() % 5, static_cast<char>(random_() % 256));
    return row;
  }

 private:
  uint64_t number() { return random_() >> spread_; }
  std::mt19937_64 random_;
  uint64_t spread_;
};

TEST(BatchBuilderTest, RandomTuplesAreDecodedUnchanged) {
  BatchBuilder builder(all_types(), 4096);
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomRows random(seed);
    std::vector<Row> rows(1 + seed * 7 % 300);
    for (Row& row : rows) {
      row = random.next();
      ASSERT_TRUE(builder.fits(row.values()));
      builder.append(row.header, row.values());
    }
    v1::TupleBatch batch = decode(builder.encode({.query = "q", .sequence = seed}));
    ASSERT_EQ(batch.rows(), rows.size());
    ASSERT_EQ(batch.columns_size(), 13);
    for (uint32_t i = 0; i < rows.size(); ++i) expect_row(batch, i, rows[i]);
    EXPECT_EQ(builder.rows(), 0u);
  }
}

TEST(BatchBuilderTest, HeaderAndAccounting) {
  Accounting accounting;
  accounting.packets_in = 10;
  accounting.packets_out = 7;
  accounting.bytes_in = 1000;
  accounting.tuples_in = 5;
  accounting.dropped[index_of(Drop::kUnsampled)] = 3;
  accounting.dropped[index_of(LossReason::kGap)] = 99;
  BatchBuilder builder(all_types(), 16);
  v1::TupleBatch batch = decode(builder.encode({.query = "q",
                                                .monitor = "m",
                                                .incarnation = 5,
                                                .epoch = 6,
                                                .lane = 7,
                                                .sequence = 8,
                                                .watermark_ns = -9,
                                                .end_of_stream = true,
                                                .sampling_rate = 0.5,
                                                .accounting = &accounting}));
  EXPECT_EQ(batch.format(), 1u);
  EXPECT_EQ(batch.query(), "q");
  EXPECT_EQ(batch.parser(), "all_types");
  EXPECT_EQ(batch.monitor(), "m");
  EXPECT_EQ(batch.incarnation(), 5u);
  EXPECT_EQ(batch.epoch(), 6u);
  EXPECT_EQ(batch.lane(), 7u);
  EXPECT_EQ(batch.sequence(), 8u);
  EXPECT_EQ(batch.watermark_ns(), -9);
  EXPECT_TRUE(batch.end_of_stream());
  EXPECT_EQ(batch.sampling_rate(), 0.5);
  EXPECT_EQ(batch.rows(), 0u);
  EXPECT_EQ(batch.columns_size(), 0);
  EXPECT_EQ(batch.accounting().packets_in(), 10u);
  EXPECT_EQ(batch.accounting().packets_out(), 7u);
  EXPECT_EQ(batch.accounting().bytes_in(), 1000u);
  EXPECT_EQ(batch.accounting().tuples_in(), 5u);
  ASSERT_EQ(batch.accounting().dropped_size(), 2);
  EXPECT_EQ(batch.accounting().dropped(0).reason(), "unsampled");
  EXPECT_EQ(batch.accounting().dropped(0).unit(), v1::Dropped::PACKETS);
  EXPECT_EQ(batch.accounting().dropped(0).count(), 3u);
  EXPECT_EQ(batch.accounting().dropped(1).unit(), v1::Dropped::STREAM_BYTES);
}

// The stream job, dashboards and alerts use the names of the monitor's drop reasons.
TEST(BatchBuilderTest, EveryReasonIsEncoded) {
  const std::vector<std::pair<std::string, v1::Dropped::Unit>> own = {
      {"unsampled", v1::Dropped::PACKETS},         {"nic_missed", v1::Dropped::PACKETS},
      {"nic_no_buffer", v1::Dropped::PACKETS},     {"kernel_missed", v1::Dropped::PACKETS},
      {"capture_truncated", v1::Dropped::PACKETS}, {"capture_corrupt", v1::Dropped::PACKETS},
      {"queue_full", v1::Dropped::TUPLES},         {"delivery_failed", v1::Dropped::TUPLES},
      {"worker_ring_full", v1::Dropped::PACKETS},  {"output_full", v1::Dropped::TUPLES},
      {"rate_fell", v1::Dropped::TUPLES},          {"duplicate", v1::Dropped::PACKETS},
      {"monitor_restarted", v1::Dropped::PACKETS}, {"monitor_restarted_tuples", v1::Dropped::TUPLES},
      {"monitor_restarted", v1::Dropped::FLOWS},   {"no_credit", v1::Dropped::PACKETS},
      {"mirror_lost", v1::Dropped::PACKETS}};
  ASSERT_EQ(own.size(), static_cast<size_t>(kOwnDrops));
  Accounting accounting;
  for (int i = 0; i < kDropReasons; ++i) accounting.dropped[i] = 1000 + static_cast<uint64_t>(i);
  BatchBuilder builder(all_types(), 16);
  const v1::TupleBatch batch = decode(builder.encode({.query = "q", .accounting = &accounting}));
  ASSERT_EQ(batch.accounting().dropped_size(), kDropReasons);
  for (int i = 0; i < kDropReasons; ++i) {
    const v1::Dropped& dropped = batch.accounting().dropped(i);
    EXPECT_EQ(dropped.count(), 1000 + static_cast<uint64_t>(i));
    if (i >= kOwnDrops) continue;
    EXPECT_EQ(dropped.reason(), own[i].first);
    EXPECT_EQ(dropped.unit(), own[i].second) << own[i].first;
  }
}

TEST(BatchBuilderTest, ColumnsAreAsNarrowAsTheirRange) {
  BatchBuilder builder(all_types(), 16);
  for (int i = 0; i < 2; ++i) {
    Row row = {};
    row.header.time_ns = 1'700'000'000'000'000'000 + i * 255;
    row.count = (uint64_t{1} << 40) + i * 256;
    row.delta = i == 0 ? -40000 : 40000;
    builder.append(row.header, row.values());
  }
  v1::TupleBatch batch = decode(builder.encode({}));
  EXPECT_EQ(batch.columns(0).width(), 1u);
  EXPECT_EQ(batch.columns(0).base(), 1'700'000'000'000'000'000u);
  EXPECT_EQ(batch.columns(8).width(), 2u);
  EXPECT_EQ(batch.columns(9).width(), 4u);
  EXPECT_EQ(batch.columns(10).width(), 8u);
  EXPECT_EQ(batch.columns(10).base(), 0u);
  EXPECT_EQ(batch.columns(11).width(), 1u);
}

TEST(BatchBuilderTest, DictionariesHaveNoDuplicates) {
  BatchBuilder builder(all_types(), 4096);
  for (int i = 0; i < 1000; ++i) {
    Row row = {};
    row.text = "text " + std::to_string(i % 300);
    builder.append(row.header, row.values());
  }
  v1::TupleBatch batch = decode(builder.encode({}));
  EXPECT_EQ(batch.columns(12).dictionary_end_size(), 300);
  EXPECT_EQ(batch.columns(12).width(), 2u);
}

TEST(BatchBuilderTest, RowsAreBounded) {
  BatchBuilder builder(all_types(), 3);
  Row row = {};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(builder.fits(row.values()));
    builder.append(row.header, row.values());
  }
  EXPECT_FALSE(builder.fits(row.values()));
  builder.encode({});
  EXPECT_TRUE(builder.fits(row.values()));
}

TEST(BatchBuilderTest, TheWorstBatchIsBelowKafkasBound) {
  std::mt19937_64 random(7);
  for (size_t text_bytes : {0, 1, 79, 4000, 32'768, 100'000}) {
    BatchBuilder builder(all_types(), 1'000'000);
    while (true) {
      Row row = {};
      row.header.time_ns = static_cast<int64_t>(random());
      row.header.flow_hash = row.count = random();
      row.delta = static_cast<int64_t>(random());
      uint8_t address[16];
      for (uint8_t& byte : address) byte = static_cast<uint8_t>(random());
      row.header.src_ip = row.header.dst_ip = IpAddress::v6(address);
      row.text.resize(text_bytes);
      for (char& letter : row.text) letter = static_cast<char>(random());
      if (!builder.fits(row.values())) break;
      builder.append(row.header, row.values());
    }
    EXPECT_GT(builder.rows(), 1u);
    EXPECT_LT(builder.encode({}).size(), kMaxBatchBytes) << text_bytes;
  }
}

TEST(BatchBuilderTest, LongStringsAreCut) {
  BatchBuilder builder(all_types(), 16);
  Row row = {};
  row.text = std::string(2 * kMaxStringBytes, 'x');
  builder.append(row.header, row.values());
  EXPECT_EQ(text_at(decode(builder.encode({})).columns(12), 0).size(), kMaxStringBytes);
}

}  // namespace
}  // namespace tapline
