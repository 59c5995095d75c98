// Tests that 10,000 generated conditions on 64 rows select the same rows in C++ as in Java (AgreementTest.java writes
// the file), when evaluated row by row, by columns, and after being parsed again from their canonical text.
//
//   "TLCOND1\n" | fields u32 | per field: type u8, name | rows u32 | per row and field: present u8, value if present |
//   conditions u32 | per condition: tree, selected rows u64
//
// All numbers are little-endian; names, strings, addresses and trees are a u32 length followed by the bytes; all other
// values have 8 bytes.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "conditions/expr/chunk_program.h"
#include "conditions/expr/expression.h"

namespace tapline::conditions {
namespace {

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number<uint32_t>()); }
  std::string_view take(size_t count) {
    EXPECT_LE(at_ + count, bytes_.size());
    const std::string_view taken(bytes_.data() + at_, count);
    at_ += count;
    return taken;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  const std::string bytes_;
  size_t at_ = 0;
};

std::string file() {
  std::ifstream file(TAPLINE_SOURCE_DIR "/conditions/golden/conditions.bin", std::ios::binary);
  EXPECT_TRUE(file);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// The types in the order of Column.Type in schema/tuple_batch.proto, as AgreementTest.java numbers them.
constexpr FieldType kTypes[] = {FieldType::kU64,  FieldType::kI64,  FieldType::kF64,
                                FieldType::kBool, FieldType::kText, FieldType::kAddress};

Schema read_schema(Reader* in) {
  std::vector<FieldSpec> fields{{.name = "time_ns", .type = FieldType::kTime}};
  for (auto count = in->number<uint32_t>(); count > 0; --count) {
    const FieldType type = kTypes[in->number<uint8_t>()];
    fields.push_back({.name = std::string(in->text()), .type = type, .optional = true});
  }
  return *Schema::make(std::move(fields));
}

std::vector<uint8_t> read_row(const Schema& schema, Reader* in) {
  RowBuilder row(schema);
  for (size_t i = 1; i < schema.fields().size(); ++i) {
    const FieldSpec& spec = schema.fields()[i].spec;
    if (in->number<uint8_t>() == 0) continue;
    if (spec.type == FieldType::kText) {
      const std::string_view text = in->text();
      const TextRef ref{text.data(), text.size()};
      row.set_bytes(spec.name, {reinterpret_cast<const char*>(&ref), sizeof ref});
    } else if (spec.type == FieldType::kAddress) {
      row.set_bytes(spec.name, address_bytes(in->text()));
    } else if (spec.type == FieldType::kF64) {
      row.set_float(spec.name, in->number<double>());
    } else {
      row.set(spec.name, in->number<uint64_t>());
    }
  }
  return row.row();
}

TEST(Agreement, JavaSelectsTheSameRows) {
  Reader in(file());
  ASSERT_EQ(in.take(8), "TLCOND1\n");
  const Schema schema = read_schema(&in);
  const auto count = in.number<uint32_t>();
  ASSERT_EQ(count, 64u);
  std::vector<uint8_t> rows;
  for (uint32_t i = 0; i < count; ++i) {
    const auto row = read_row(schema, &in);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const auto conditions = in.number<uint32_t>();
  ASSERT_EQ(conditions, 10000u);
  ChunkScratch scratch;
  for (uint32_t number = 0; number < conditions; ++number) {
    Tree tree;
    ASSERT_TRUE(tree.ParseFromString(std::string(in.text())));
    const auto expected = in.number<uint64_t>();
    const auto expression = Expression::compile(tree, schema);
    ASSERT_TRUE(expression.ok()) << number << ": " << text_of(tree) << ": " << expression.status().to_string();
    const auto reparsed = Expression::compile(expression->text(), schema);
    ASSERT_TRUE(reparsed.ok()) << number << ": " << expression->text() << ": " << reparsed.status().to_string();
    uint64_t selected = 0, from_text = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t* row = rows.data() + size_t{i} * schema.row_bytes();
      selected |= uint64_t{expression->matches(row, schema)} << i;
      from_text |= uint64_t{reparsed->matches(row, schema)} << i;
    }
    ASSERT_EQ(selected, expected) << number << ": " << text_of(tree);
    ASSERT_EQ(from_text, expected) << number << ": " << text_of(tree);
    ChunkProgram program(schema);
    program.add(*expression);
    scratch.begin(program, rows.data(), schema.row_bytes(), count);
    ChunkBits bits;
    program.select(0, &scratch, &bits);
    ASSERT_EQ(bits[0], expected) << number << ": " << text_of(tree);
  }
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace tapline::conditions
