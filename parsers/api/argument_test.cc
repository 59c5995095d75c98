#include "parsers/api/argument.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

const Argument kDelay = {"delay", FieldType::kU64, "ns", "", "500000", 1000, 1e9};
const Argument kShare = {"share", FieldType::kF64, "", "", "0.01", 0, 1};
const Argument kOffset = {"offset", FieldType::kI64, "", "", "0", -5, 5};
const Argument kEvery = {"every", FieldType::kI64, "ns", "", "1000000", 100'000, 1e10, {}, 1000};
const Argument kExact = {"exact", FieldType::kBool, "", "", "false"};
const Argument kSide = {"side", FieldType::kString, "", "", "both", 0, 0, {"both", "arrivals"}};

std::string error_of(const Argument& argument, std::string_view text) {
  std::string error;
  return read_argument(argument, text, &error) ? "" : error;
}

TEST(Argument, ValuesAreParsedByType) {
  std::string error;
  EXPECT_EQ(read_argument(kDelay, "1000", &error)->as_u64(), 1000u);
  EXPECT_EQ(read_argument(kShare, "0.5", &error)->as_f64(), 0.5);
  EXPECT_EQ(read_argument(kOffset, "-5", &error)->as_i64(), -5);
  EXPECT_TRUE(read_argument(kExact, "true", &error)->as_bool());
  EXPECT_EQ(read_argument(kSide, "arrivals", &error)->as_string(), "arrivals");
  EXPECT_EQ(error, "");
}

TEST(Argument, InvalidValuesAreRejectedWithTheExpectedForm) {
  EXPECT_EQ(error_of(kDelay, "999"), "argument 'delay' can't be '999': expected a whole number, 1000 to 1000000000 ns");
  EXPECT_EQ(error_of(kShare, "1.01"), "argument 'share' can't be '1.01': expected a number, 0 to 1");
  EXPECT_EQ(error_of(kExact, "1"), "argument 'exact' can't be '1': expected true or false");
  EXPECT_EQ(error_of(kSide, "Both"), "argument 'side' can't be 'Both': expected one of both, arrivals");
  for (const char* text : {"", " 1000", "1000 ", "1e4", "0x1000", "-1000", "18446744073709551616", "1000.0"}) {
    EXPECT_NE(error_of(kDelay, text), "") << text;
  }
  for (const char* text : {"", "nan", "inf", "-0.1", "0,5", "0.5s"}) EXPECT_NE(error_of(kShare, text), "") << text;
  EXPECT_NE(error_of(kOffset, "-6"), "");
}

TEST(Argument, AMultipleOfTheStepIsRequired) {
  EXPECT_EQ(error_of(kEvery, "100500"),
            "argument 'every' can't be '100500': expected a multiple of 1000, 100000 to 10000000000 ns");
  for (const char* text : {"100000", "101000", "10000000000"}) EXPECT_EQ(error_of(kEvery, text), "") << text;
  for (const char* text : {"99000", "100001", "10000001000", "0", "-1000000", "9223372036854775807"}) {
    EXPECT_NE(error_of(kEvery, text), "") << text;
  }
}

TEST(Argument, TheIntervalIsFixedOrAnArgument) {
  const Schema fixed = {.name = "fixed", .interval_ns = 5'000'000, .arguments = {kDelay}};
  const Schema chosen_schema = {
      .name = "c", .interval_ns = 1'000'000, .interval_argument = "every", .arguments = {kDelay, kEvery}};
  EXPECT_EQ(interval_ns_of(fixed, std::vector<std::string>{"2000"}), 5'000'000);
  EXPECT_EQ(interval_ns_of(chosen_schema, {}), 1'000'000);
  EXPECT_EQ(interval_ns_of(chosen_schema, std::vector<std::string>{"2000", "250000"}), 250'000);
}

TEST(Argument, DefaultsAreOrdered) {
  const Schema schema = {.name = "s", .arguments = {kDelay, kSide}};
  const std::vector<Value> values = default_arguments(schema);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].as_u64(), 500'000u);
  EXPECT_EQ(values[1].as_string(), "both");
}

}  // namespace
}  // namespace tapline
