// Tests many filters, some of them sets of keys: compares the dispatch by key with evaluating each filter on each row.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "conditions/expr/row_dispatch.h"
#include "multilog/base/conditions.h"
#include "multilog/multilog.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kHops = 3;

Schema set_schema() {
  return *Schema::make({{.name = "t", .type = FieldType::kTime},
                        {.name = "port", .type = FieldType::kU16},
                        {.name = "protocol", .type = FieldType::kU8},
                        {.name = "flow", .type = FieldType::kU64},
                        {.name = "delta", .type = FieldType::kI32},
                        {.name = "path", .type = FieldType::kU32, .elements = kHops, .optional = true}});
}

// Makes a row of few distinct values, so that sets overlap, rows are in several sets, and lists repeat values.
std::vector<uint8_t> make_row(const Schema& schema, uint64_t time, std::mt19937* random) {
  RowBuilder row(schema);
  row.set("t", time).set("port", (*random)() % 40).set("protocol", (*random)() % 4).set("flow", (*random)() % 30);
  row.set("delta", (*random)() % 20 - 10);
  if ((*random)() % 4 != 0) {
    for (uint32_t hop = 0; hop < kHops; ++hop) row.set("path", (*random)() % 12, hop);
  }
  return row.row();
}

std::string make_filter(std::mt19937* random) {
  const std::string number = std::to_string((*random)() % 40), low = std::to_string((*random)() % 8);
  const std::string high = std::to_string(8 + (*random)() % 4);
  switch ((*random)() % 9) {
    case 0:
      return "path contains " + low;
    case 1:
      return "path contains {" + low + ", " + high + "}";
    case 2:
      return "port == " + number + " || protocol == 2";
    case 3:
      return "port in " + low + ".." + high + " || path[1] == " + low;
    case 4:
      return "flow == " + number;
    case 5:
      return "path contains 3 && port < " + number;
    case 6:
      return "delta == -" + low;
    case 7:
      return "path not contains " + low;
    default:
      return "port > " + number;
  }
}

TEST(Sets, IsSet) {
  const Schema schema = set_schema();
  const auto is_set = [&](const char* text) { return RowDispatch::is_set(*Expression::compile(text, schema)); };
  EXPECT_TRUE(is_set("path contains 7"));
  EXPECT_TRUE(is_set("port in {80, 443, 8000..8010} || protocol == 6"));
  EXPECT_FALSE(is_set(""));
  EXPECT_FALSE(is_set("port == 80 && protocol == 6"));
  EXPECT_FALSE(is_set("port > 80"));
  EXPECT_FALSE(is_set("path not contains 7"));
}

TEST(Sets, EverySatisfiedExpressionIsACandidate) {
  const Schema schema = set_schema();
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Expression> expressions;
    for (int i = 0; i < 30; ++i) expressions.push_back(*Expression::compile(make_filter(&random), schema));
    RowDispatch dispatch(schema);
    for (uint32_t i = 0; i < expressions.size(); ++i) dispatch.add(i, expressions[i]);
    dispatch.finish();
    for (uint64_t time = 1; time <= 50; ++time) {
      const std::vector<uint8_t> row = make_row(schema, time, &random);
      std::vector<bool> candidate(expressions.size());
      dispatch.for_each_candidate(row.data(), [&](uint32_t number) { candidate[number] = true; });
      for (uint32_t i = 0; i < expressions.size(); ++i) {
        const bool holds = expressions[i].matches(row.data(), schema);
        ASSERT_TRUE(candidate[i] || !holds) << expressions[i].text();
        ASSERT_TRUE(holds || !candidate[i] || !RowDispatch::is_set(expressions[i])) << expressions[i].text();
      }
    }
  }
}

// Appends in pieces of several sizes, which covers all paths through filtering, and checks which rows the filters keep
// and the aggregates count.
TEST(Sets, FiltersKeepAndCountMatchingRows) {
  std::mt19937 random(2);
  for (const uint64_t piece : {1, 7, 9, 32, 63, 64, 65, 200, 1024}) {
    Options options(set_schema());
    options.background_threads = false;
    options.memory_bytes = size_t{64} << 20;
    const Schema schema = options.schema;
    auto log = std::move(*MultiLog::open(std::move(options)));
    Writer* writer = *log->add_writer();
    std::vector<Expression> expressions;
    for (uint32_t i = 0; i < 120; ++i) {
      expressions.push_back(*Expression::compile(make_filter(&random), schema));
      const std::string name = "f" + std::to_string(i);
      ASSERT_TRUE(log->add_filter(name, expressions[i].text()).ok());
      AggregateSpec count;
      count.name = name + "_count";
      count.filter = name;
      count.function.function = "COUNT";
      ASSERT_TRUE(log->add_aggregate(count).ok());
    }
    std::vector<std::vector<uint8_t>> rows;
    for (uint64_t time = 1; time <= 2048; ++time) rows.push_back(make_row(schema, time, &random));
    for (size_t offset = 0; offset < rows.size(); offset += piece) {
      std::vector<uint8_t> batch;
      for (size_t i = offset; i < std::min<size_t>(rows.size(), offset + piece); ++i)
        batch.insert(batch.end(), rows[i].begin(), rows[i].end());
      ASSERT_EQ(writer->append(batch.data(), batch.size() / schema.row_bytes()).dropped, 0u);
    }
    for (uint32_t i = 0; i < expressions.size(); ++i) {
      std::vector<uint64_t> wanted, kept;
      for (const auto& row : rows) {
        if (expressions[i].matches(row.data(), schema)) wanted.push_back(time_of(schema, row.data()));
      }
      const std::string name = "f" + std::to_string(i);
      auto cursor = log->query({.expression = "", .filter = name, .within = {}});
      ASSERT_TRUE(cursor.ok());
      for (auto rows_found = cursor->next(); !rows_found.empty(); rows_found = cursor->next()) {
        for (const uint8_t* row : rows_found) kept.push_back(time_of(schema, row));
      }
      ASSERT_EQ(kept, wanted) << expressions[i].text() << " in pieces of " << piece;
      const auto count = log->read_aggregate(name + "_count");
      ASSERT_TRUE(count.ok());
      ASSERT_EQ((*count)["COUNT"].whole, static_cast<__int128>(wanted.size())) << expressions[i].text();
    }
  }
}

}  // namespace
}  // namespace tapline::multilog
