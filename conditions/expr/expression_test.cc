#include "conditions/expr/expression.h"

#include <gtest/gtest.h>

#include <random>

#include "conditions/expr/chunk_program.h"

namespace tapline::conditions {
namespace {

Schema test_schema() {
  return *Schema::make({{.name = "time_ns", .type = FieldType::kTime},
                        {.name = "srcIP", .type = FieldType::kIpv4},
                        {.name = "dstIP", .type = FieldType::kIpv4},
                        {.name = "srcIP6", .type = FieldType::kIpv6},
                        {.name = "mac", .type = FieldType::kMac},
                        {.name = "dstPort", .type = FieldType::kU16},
                        {.name = "pktSize", .type = FieldType::kU32},
                        {.name = "ipTTL", .type = FieldType::kU8},
                        {.name = "protocol", .type = FieldType::kU8},
                        {.name = "delta", .type = FieldType::kI32},
                        {.name = "load", .type = FieldType::kF64},
                        {.name = "ratio", .type = FieldType::kF32},
                        {.name = "syn", .type = FieldType::kBool},
                        {.name = "tag", .type = FieldType::kBytes, .bytes = 12},
                        {.name = "path", .type = FieldType::kU16, .elements = 5},
                        {.name = "hop_ns", .type = FieldType::kU64, .elements = 3},
                        {.name = "queue_depth", .type = FieldType::kU16, .optional = true}});
}

class Expressions : public testing::Test {
 protected:
  const Schema schema_ = test_schema();
  RowBuilder row_{schema_};

  bool matches(const std::string& text) {
    auto expression = Expression::compile(text, schema_);
    EXPECT_TRUE(expression.ok()) << text << ": " << expression.status().to_string();
    if (!expression.ok()) return false;
    const bool scalar = expression->matches(row_.row().data(), schema_);
    // Evaluates the expression by chunks, with each instruction set.
    ChunkProgram program(schema_);
    program.add(*expression);
    for (const simd::Kernels* kernels : simd::available()) {
      ChunkScratch scratch(*kernels);
      scratch.begin(program, row_.row().data(), schema_.row_bytes(), 1);
      ChunkBits bits;
      program.select(0, &scratch, &bits);
      EXPECT_EQ(bits[0], scalar ? 1u : 0u) << text << " with " << kernels->name;
    }
    // Evaluates the expression's normal form.
    if (const auto clauses = expression->dnf()) {
      bool has_any = false;
      for (const Clause& clause : *clauses) {
        bool all = true;
        for (const Leaf& leaf : clause) all = all && evaluate(leaf, row_.row().data(), schema_, {}) == Truth::kTrue;
        has_any = has_any || all;
      }
      EXPECT_EQ(has_any, scalar) << text;
    }
    return scalar;
  }
  std::string error_of(const std::string& text) {
    const auto expression = Expression::compile(text, schema_);
    return expression.ok() ? "" : expression.status().to_string();
  }
};

TEST_F(Expressions, AcceptEveryExampleOfTable2) {
  row_.set("srcIP", 0x0a010302)
      .set("dstIP", 0xc0a80001)
      .set("dstPort", 80)
      .set("pktSize", 99)
      .set("ipTTL", 2)
      .set("protocol", 17);
  EXPECT_TRUE(matches("dstPort==80"));
  EXPECT_TRUE(matches("dstPort = 80"));
  EXPECT_TRUE(matches("ipTTL<3"));
  EXPECT_TRUE(matches("srcIP in 10.1.3.0/24"));
  EXPECT_FALSE(matches("srcIP in 10.1.4.0/24"));
  EXPECT_TRUE(matches("dstIP like 192.*.*.1"));
  EXPECT_FALSE(matches("dstIP like 192.*.*.2"));
  EXPECT_TRUE(matches("srcIP=10.1.3.2 && pktSize<100B"));
  EXPECT_TRUE(matches("dstPort==80 || dstPort==443"));
  EXPECT_TRUE(matches("protocol!=TCP"));
  EXPECT_TRUE(matches("!(dstPort == 443)"));
  EXPECT_TRUE(matches("not dstPort in {22, 443} and 3 > ipTTL"));
  EXPECT_TRUE(matches(""));
}

TEST_F(Expressions, UnitsRangesAndSets) {
  row_.set("pktSize", 1500).set("time_ns", 1500000).set("dstPort", 8080);
  EXPECT_TRUE(matches("pktSize >= 1.5KB && pktSize < 1KiB + 500B"));
  EXPECT_TRUE(matches("pktSize < 1GB"));
  EXPECT_TRUE(matches("time_ns == 1.5ms && time_ns > 1ms"));
  EXPECT_TRUE(matches("dstPort in 8000..8100"));
  EXPECT_TRUE(matches("dstPort in [8000, 8080]"));
  EXPECT_TRUE(matches("dstPort in {80, 8000..8100, 0x50}"));
  EXPECT_TRUE(matches("dstPort not in {80, 443}"));
  EXPECT_FALSE(matches("dstPort in {80, 443}"));
}

TEST_F(Expressions, EveryType) {
  row_.set("mac", 0x001122334455)
      .set("delta", static_cast<uint64_t>(-5))
      .set_float("load", 0.75)
      .set_float("ratio", -2.5)
      .set("syn", 1);
  row_.set_bytes("srcIP6", std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16)).set_bytes("tag", "hello");
  EXPECT_TRUE(matches("mac == 00:11:22:33:44:55 && mac like 00:11:*:*:*:55 && mac in 00:11:22:00:00:00/24"));
  EXPECT_TRUE(matches("delta == -5 && delta < 0 && delta > -6 && delta in -7..-5"));
  EXPECT_TRUE(matches("load > 0.5 && load <= 0.75 && ratio < -2 && load != 1"));
  EXPECT_TRUE(
      matches("syn == true && syn"
              " == 1"));
  EXPECT_TRUE(
      matches("srcIP6 == 2001:db8::1 && srcIP6 in 2001:db8::/32 && srcIP6 < 2001:db8::2 && srcIP6 >= 2001:db8::1"));
  EXPECT_TRUE(matches("srcIP6 like 2001:db8:*:*:*:*:*:1"));
  EXPECT_FALSE(matches("srcIP6 > 2001:db8::1 || srcIP6 != 2001:db8::1"));
  EXPECT_TRUE(matches("tag == \"hello\" && tag < \"help\""));
  row_.set_float("load", std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(matches("load > 0 || load <= 0 || load == 1"));
}

TEST_F(Expressions, FieldsAgainstFieldsAndLists) {
  row_.set("srcIP", 7).set("dstIP", 7).set("pktSize", 100).set("dstPort", 90).set("path", 3, 0).set("path", 9, 4);
  row_.set("hop_ns", 1000, 0).set("hop_ns", 51000, 1);
  EXPECT_TRUE(matches("srcIP == dstIP"));
  EXPECT_TRUE(matches("pktSize > dstPort && pktSize - dstPort == 10"));
  EXPECT_TRUE(matches("hop_ns[1] - hop_ns[0] > 10us"));
  EXPECT_TRUE(matches("path contains 9 && path[0] == 3 && path not contains 4 && path contains {1, 3}"));
  EXPECT_FALSE(matches("path contains 7"));
}

TEST_F(Expressions, AMissingFieldSatisfiesNoComparison) {
  for (const char* text :
       {"queue_depth == 0", "queue_depth != 0", "!(queue_depth == 0)", "!(queue_depth > 5)", "queue_depth + 1 > 0"})
    EXPECT_FALSE(matches(text)) << text;
  EXPECT_TRUE(matches("!has(queue_depth)"));
  EXPECT_TRUE(matches("queue_depth > 0 || pktSize == 0"));
  row_.set("queue_depth", 10);
  EXPECT_TRUE(matches("queue_depth > 5 && has(queue_depth) && queue_depth - ipTTL == 10"));
}

TEST_F(Expressions, ErrorsHaveAReasonAndAPosition) {
  EXPECT_EQ(error_of("dstPrt == 80"), "invalid at 0: unknown field 'dstPrt'");
  EXPECT_EQ(error_of("dstPort == 70000"), "invalid at 11: out of range for a field of type u16");
  EXPECT_EQ(error_of("dstPort == -1"), "invalid at 12: out of range for a field of type u16");
  EXPECT_EQ(error_of("srcIP == 10.0.0"), "invalid at 9: '10.0.0' is not an IPv4 address");
  EXPECT_EQ(error_of("srcIP in 10.0.0.0/40"), "invalid at 18: a prefix length must be 0 to 32");
  EXPECT_EQ(error_of("srcIP == dstPort"), "invalid at 9: can't compare ipv4 with u16");
  EXPECT_EQ(error_of("srcIP + 1 > 3"), "invalid at 0: fields of type ipv4 do not support arithmetic");
  EXPECT_EQ(error_of("dstPort < 1.5"), "invalid at 10: expected a whole number");
  EXPECT_EQ(error_of("pktSize < 5parsecs"), "invalid at 11: unknown unit 'parsecs'");
  EXPECT_EQ(error_of("(dstPort == 80"), "invalid at 14: expected ')' before the end");
  EXPECT_EQ(error_of("dstPort == 80)"), "invalid at 13: unexpected ')'");
  EXPECT_EQ(error_of("dstPort =="), "invalid at 10: expected a field or a value before the end");
  EXPECT_EQ(error_of("dstPort 80"), "invalid at 8: expected a comparison instead of '80'");
  EXPECT_EQ(error_of("dstPort like 8*"), "invalid at 13: 'like' applies only to addresses");
  EXPECT_EQ(error_of("dstIP like 1.2.3"), "invalid at 11: a pattern must have as many parts as an address");
  EXPECT_EQ(error_of("path == 3"), "invalid at 0: path is a list; use path[0] or path contains …");
  EXPECT_EQ(error_of("path[5] == 3"), "invalid at 5: field path has 5 elements");
  EXPECT_EQ(error_of("dstPort in 90..80"), "invalid at 11: the range ends before it begins");
  EXPECT_EQ(error_of("dstPort == 80 # web"), "invalid at 14: unexpected character");
  EXPECT_EQ(error_of("1 == 1"), "invalid at 0: a comparison needs a field");
  EXPECT_EQ(error_of("tag == \"hello"), "invalid at 7: the quoted string has no closing quote");
}

TEST_F(Expressions, HugeAndDeeplyNestedTextsAreRejected) {
  std::string nested = "ipTTL < 3";
  nested.insert(0, 100, '(').append(100, ')');
  EXPECT_EQ(error_of(nested), "invalid at 100: nested too deeply");
  std::string negated = "(ipTTL < 3)";
  negated.insert(0, 60000, '!');
  EXPECT_EQ(error_of(negated), "invalid at 100: nested too deeply");
  EXPECT_EQ(error_of(std::string(70000, ' ')), "invalid at 65536: longer than 64 KiB");
  std::string long_list = "ipTTL<1";
  for (int i = 0; i < 4999; ++i) long_list += "||ipTTL<1";
  EXPECT_EQ(error_of(long_list), "invalid at 36864: more than 4096 comparisons");
}

TEST_F(Expressions, TheNormalFormIsCanonical) {
  auto dnf = [&](const std::string& text) { return *Expression::compile(text, schema_)->dnf(); };
  EXPECT_TRUE(dnf("dstPort == 80 && dstPort == 443").empty());
  EXPECT_EQ(dnf("dstPort > 80 && dstPort <= 81")[0][0].ranges, (KeyRanges{{81, 81}}));
  EXPECT_EQ(dnf("(ipTTL == 1 || ipTTL == 2) && (dstPort == 80 || pktSize < 9)").size(), 4u);
  EXPECT_EQ(dnf("dstPort == 80 || 80 == dstPort").size(), 1u);
  EXPECT_EQ(dnf("ipTTL < 3 || true").size(), 1u);
  EXPECT_TRUE(dnf("ipTTL < 3 || true")[0].empty());
  std::string wide = "ipTTL == 0";
  for (int i = 1; i < 8; ++i)
    wide += " && (pktSize + dstPort == " + std::to_string(i) + " || pktSize - dstPort == " + std::to_string(i) + ")";
  EXPECT_FALSE(Expression::compile(wide, schema_)->dnf().has_value());
}

// Compares chunks of up to 1000 rows with row-by-row evaluation.
TEST_F(Expressions, ChunksAgreeWithRows) {
  std::mt19937 random(7);
  std::vector<uint8_t> rows;
  constexpr uint32_t kRows = 1000;
  for (uint32_t i = 0; i < kRows; ++i) {
    RowBuilder row(schema_);
    row.set("srcIP", 0x0a010300 + random() % 8)
        .set("dstPort", random() % 4)
        .set("ipTTL", random() % 256)
        .set("pktSize", random());
    row.set("time_ns", uint64_t{random()} << 32 | random())
        .set("delta", random())
        .set_float("load", random() % 100 / 10.0);
    if (random() % 2 == 0) row.set("queue_depth", random() % 10);
    rows.insert(rows.end(), row.row().begin(), row.row().end());
  }
  for (const char* text :
       {"dstPort == 2", "dstPort != 2", "ipTTL in {1..100, 200}", "pktSize > 2GB && srcIP == 10.1.3.2",
        "time_ns > 4611686018427387904", "delta < 0 || queue_depth < 3", "!(queue_depth in {1, 3, 5, 7})",
        "load >= 5 && load < 7", "srcIP like *.1.*.4",
        "ipTTL in {1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43}", "pktSize > dstPort"}) {
    const auto expression = Expression::compile(text, schema_);
    ASSERT_TRUE(expression.ok()) << text;
    ChunkProgram program(schema_);
    program.add(*expression);
    for (const simd::Kernels* kernels : simd::available()) {
      ChunkScratch scratch(*kernels);
      for (uint32_t count = 1; count <= kRows; count += 37) {
        scratch.begin(program, rows.data(), schema_.row_bytes(), count);
        ChunkBits bits;
        program.select(0, &scratch, &bits);
        for (uint32_t i = 0; i < kChunkRows; ++i) {
          const bool expected = i < count && expression->matches(rows.data() + i * schema_.row_bytes(), schema_);
          ASSERT_EQ(bits[i / 64] >> i % 64 & 1, expected)
              << text << " row " << i << " of " << count << " with " << kernels->name;
        }
      }
    }
  }
}

TEST(Schemas, AreChecked) {
  EXPECT_FALSE(Schema::make({{.name = "a", .type = FieldType::kU8}}).ok());
  EXPECT_FALSE(Schema::make({{.name = "t", .type = FieldType::kTime}, {.name = "t", .type = FieldType::kU8}}).ok());
  EXPECT_FALSE(Schema::make({{.name = "t", .type = FieldType::kTime}, {.name = "0a", .type = FieldType::kU8}}).ok());
  const Schema schema = test_schema();
  const auto reparsed = Schema::from_text(schema.to_text());
  ASSERT_TRUE(reparsed.ok()) << reparsed.status().to_string();
  EXPECT_EQ(reparsed->to_text(), schema.to_text());
  EXPECT_EQ(reparsed->row_bytes(), schema.row_bytes());
}

}  // namespace
}  // namespace tapline::conditions
