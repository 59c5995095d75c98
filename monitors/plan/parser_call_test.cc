#include "monitors/plan/parser_call.h"

#include <gtest/gtest.h>

#include "monitors/plan/plan.h"

namespace tapline {
namespace {

const Schema kSchema = {.name = "queue",
                        .arguments = {{"every", FieldType::kI64, "ns", "", "1000000000", 100'000, 1e10, {}, 1000},
                                      {"room_size", FieldType::kU64, "bytes", "", "1000", 0, 1e12},
                                      {"share", FieldType::kF64, "", "", "0.01", 0, 1},
                                      {"exact", FieldType::kBool, "", "", "false"},
                                      {"side", FieldType::kString, "", "", "both", 0, 0, {"both", "arrivals"}}}};

// Returns the values of the arguments or, if there is an error, only its message.
std::vector<std::string> values_of(const std::string& text) {
  ParserCall call;
  std::vector<std::string> values;
  Status status = read_parser_call(text, &call);
  if (status.ok()) status = read_call_arguments(call, kSchema, &values);
  return status.ok() ? values : std::vector<std::string>{status.message()};
}

using Values = std::vector<std::string>;

TEST(ParserCall, ANameAloneUsesTheDefaults) {
  EXPECT_EQ(values_of("queue"), (Values{"1000000000", "1000", "0.01", "false", "both"}));
}

TEST(ParserCall, ValuesAreWrittenAsInQueries) {
  EXPECT_EQ(values_of("queue(every=1.5ms, room-size=64kB, SHARE=0.5, exact=TRUE, side=Arrivals)"),
            (Values{"1500000", "64000", "0.5", "true", "arrivals"}));
  EXPECT_EQ(values_of(" queue ( every = 100us ) "), (Values{"100000", "1000", "0.01", "false", "both"}));
  EXPECT_EQ(values_of("queue(every=10s,room_size=5)"), (Values{"10000000000", "5", "0.01", "false", "both"}));
}

TEST(ParserCall, InvalidValuesAreRejectedWithTheExpectedForm) {
  for (const char* every : {"99us", "10001ms", "100.5us", "1h", "1", "0s", "-1ms", "1.ns", "1..5ms", ".ms", "ms",
                            "fast", "99999999999999999999999s", "1e3us"}) {
    EXPECT_EQ(values_of("queue(every=" + std::string(every) + ")"),
              Values{"parser 'queue': argument 'every' can't be '" + std::string(every) +
                     "': expected a duration, 100us to 10s, in steps of 1us"});
  }
  EXPECT_EQ(values_of("queue(share=2)"),
            Values{"parser 'queue': argument 'share' can't be '2': expected a number, 0 to 1"});
  EXPECT_EQ(values_of("queue(side=left)"),
            Values{"parser 'queue': argument 'side' can't be 'left': expected one of both, arrivals"});
  EXPECT_EQ(values_of("queue(exact=1)"),
            Values{"parser 'queue': argument 'exact' can't be '1': expected true or false"});
  EXPECT_NE(values_of("queue(room_size=1.5)").at(0).find("can't be '1.5'"), std::string::npos);
}

TEST(ParserCall, InvalidArgumentsAreNamed) {
  EXPECT_EQ(values_of("queue(evry=1ms)"),
            Values{"parser 'queue': unknown argument 'evry'; did you mean 'every'? (--list-parsers shows all)"});
  EXPECT_EQ(values_of("queue(every=1ms,EVERY=2ms)"), Values{"parser 'queue': argument 'EVERY' is given twice"});
  for (const char* text : {"queue()", "queue(every)", "queue(=1ms)", "queue(every=)", "queue(every=1ms,)"}) {
    EXPECT_NE(values_of(text).at(0).find("is not an argument; write NAME=VALUE"), std::string::npos) << text;
  }
  for (const char* text :
       {"queue(", "queue(every=1ms", "queue(every=1ms)x", "queue(every=(1ms))", "queue(every=1ms))"}) {
    EXPECT_EQ(values_of(text), Values{"parser '" + std::string(text) + "' is not NAME or NAME(ARGUMENT=VALUE,…)"});
  }
  EXPECT_EQ(values_of("(every=1ms)"), Values{"'(every=1ms)' does not name a parser"});
  EXPECT_EQ(values_of(""), Values{"'' does not name a parser"});
}

TEST(ParserCall, QueriesWithoutPlansTakeArguments) {
  QuerySpec spec;
  ASSERT_TRUE(query_of_parsers({"link-load(every=1ms, link=10000000000)", "http_get", "flow_rate"}, &spec).ok());
  EXPECT_EQ(spec.parsers, (Values{"link_load", "http_get", "flow_rate"}));
  ASSERT_EQ(spec.arguments.size(), 2u);
  EXPECT_EQ(spec.arguments[0].values, (Values{"10000000000", "0", "0", "1000000", "edge", "0"}));
  EXPECT_EQ(spec.arguments[1].values, (Values{"0", "0", "0", "1000000000", "edge"}));
}

TEST(ParserCall, InvalidParsersOfQueriesAreNamed) {
  const auto error_of = [](const std::vector<std::string>& parsers) {
    QuerySpec spec;
    return query_of_parsers(parsers, &spec).message();
  };
  EXPECT_EQ(error_of({"http_get(every=1ms)"}), "parser 'http_get': it has no arguments");
  EXPECT_EQ(error_of({"link_load(every=1ms)", "link_load"}), "parser 'link_load' is named twice");
  EXPECT_EQ(error_of({"http_get", "http_get"}), "");
  EXPECT_NE(error_of({"lnk_load(every=1ms)"}).find("unknown parser 'lnk_load'; did you mean 'link_load'?"),
            std::string::npos);
}

TEST(ParserCall, DurationsUseTheLargestUnit) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(999), "999ns");
  EXPECT_EQ(duration_text(100'000), "100us");
  EXPECT_EQ(duration_text(1'500'000), "1500us");
  EXPECT_EQ(duration_text(90'000'000'000), "90s");
  EXPECT_EQ(duration_text(120'000'000'000), "2m");
}

}  // namespace
}  // namespace tapline
