// Checks that C++ reads the golden samples as Java does (GoldenTest.java): decodes them, compares their values, and
// encodes them to the same bytes again.
#include <arpa/inet.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "schema/plan.pb.h"
#include "schema/tuple_batch.pb.h"

namespace tapline {
namespace {

using nlohmann::json;

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(TAPLINE_SOURCE_DIR) + "/schema/golden/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

uint64_t number_at(const v1::Column& column, uint32_t row) {
  uint64_t raw = 0;
  for (uint32_t i = 0; i < column.width(); ++i) {
    raw |= uint64_t{static_cast<uint8_t>(column.data()[row * column.width() + i])} << (8 * i);
  }
  return column.base() + raw;
}

std::string entry_at(const v1::Column& column, uint64_t entry) {
  const int index = static_cast<int>(entry);
  const uint32_t begin = index == 0 ? 0 : column.dictionary_end(index - 1);
  return column.dictionary().substr(begin, column.dictionary_end(index) - begin);
}

std::string address_text(const std::string& bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

bool is_present(const v1::Column& column, uint32_t row) {
  return column.present().empty() || (static_cast<uint8_t>(column.present()[row / 8]) >> row % 8 & 1) != 0;
}

json value_at(const v1::Column& column, uint32_t row) {
  if (!is_present(column, row)) return nullptr;
  const uint64_t number = number_at(column, row);
  switch (column.type()) {
    case v1::Column::I64:
      return static_cast<int64_t>(number);
    case v1::Column::F64:
      return std::bit_cast<double>(number);
    case v1::Column::BOOL:
      return number != 0;
    case v1::Column::STRING:
      return entry_at(column, number);
    case v1::Column::ADDRESS:
      return address_text(entry_at(column, number));
    default:
      return number;
  }
}

std::string hex16(uint64_t number) {
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

TEST(Golden, TuplesHoldTheRowsOfTheJsonFile) {
  v1::TupleBatch batch;
  ASSERT_TRUE(batch.ParseFromString(read_file("tuples.batch")));
  std::istringstream lines(read_file("tuples.rows.jsonl"));
  std::string line;
  uint32_t row = 0;
  for (; std::getline(lines, line); ++row) {
    json decoded;
    for (const v1::Column& column : batch.columns()) decoded[column.name()] = value_at(column, row);
    decoded["flow_hash"] = hex16(decoded["flow_hash"].get<uint64_t>());
    EXPECT_EQ(decoded, json::parse(line)) << "row " << row;
  }
  EXPECT_EQ(row, batch.rows());
}

TEST(Golden, AccountingBalances) {
  v1::TupleBatch batch;
  ASSERT_TRUE(batch.ParseFromString(read_file("tuples.batch")));
  uint64_t packets = batch.accounting().packets_out();
  uint64_t tuples = batch.rows();
  for (const v1::Dropped& dropped : batch.accounting().dropped()) {
    if (dropped.unit() == v1::Dropped::PACKETS) packets += dropped.count();
    if (dropped.unit() == v1::Dropped::TUPLES) tuples += dropped.count();
  }
  EXPECT_EQ(packets, batch.accounting().packets_in());
  EXPECT_EQ(tuples, batch.accounting().tuples_in());
}

class GoldenBatch : public testing::TestWithParam<const char*> {};

TEST_P(GoldenBatch, EncodesAgainToTheSameBytes) {
  const std::string bytes = read_file(GetParam());
  v1::TupleBatch batch;
  ASSERT_TRUE(batch.ParseFromString(bytes));
  EXPECT_EQ(batch.GetReflection()->GetUnknownFields(batch).field_count(), 0);
  EXPECT_EQ(batch.SerializeAsString(), bytes);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenBatch, testing::Values("tuples.batch", "heartbeat.batch", "end_of_stream.batch"));

class GoldenPlan : public testing::TestWithParam<const char*> {};

TEST_P(GoldenPlan, EncodesAgainToTheSameJson) {
  const std::string text = read_file(GetParam());
  v1::Plan plan;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &plan);
  ASSERT_TRUE(parsed.ok()) << parsed.ToString();
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string printed;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(plan, &printed, options).ok());
  EXPECT_EQ(json::parse(printed), json::parse(text));
}

TEST_P(GoldenPlan, RefusesAnUnknownField) {
  json plan = json::parse(read_file(GetParam()));
  plan["no_such_field"] = 1;
  v1::Plan ignored;
  EXPECT_FALSE(google::protobuf::util::JsonStringToMessage(plan.dump(), &ignored).ok());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPlan, testing::Values("top_k.plan.json", "diff_group.plan.json"));

}  // namespace
}  // namespace tapline
