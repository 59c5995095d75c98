// 10,000 generated conditions on 64 rows select the same rows in C++ as in Java (AgreementTest.java writes the file),
// row by row, by columns, by the normal form, and by the canonical text.
//
//   "TLCOND1\n" | fields u32 | per field: type u8, name | rows u32 | per row and field: present u8, value if present |
//   conditions u32 | per condition: tree, selected rows u64
//
// All numbers are little-endian; names, texts, addresses and trees are a length u32 and the bytes; numbers are u64.
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
  T Number() {
    T value{};
    std::memcpy(&value, Take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view Text() { return Take(Number<uint32_t>()); }
  std::string_view Take(size_t count) {
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

std::string File() {
  std::ifstream file(TAPLINE_SOURCE_DIR "/conditions/golden/conditions.bin", std::ios::binary);
  EXPECT_TRUE(file);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// By Column.Type of schema/tuple_batch.proto's names, as AgreementTest.java numbers them.
constexpr FieldType kTypes[] = {FieldType::kU64,  FieldType::kI64,  FieldType::kF64,
                                FieldType::kBool, FieldType::kText, FieldType::kAddress};

Schema ReadSchema(Reader* in) {
  std::vector<FieldSpec> fields{{.name = "time_ns", .type = FieldType::kTime}};
  for (auto count = in->Number<uint32_t>(); count > 0; --count) {
    const FieldType type = kTypes[in->Number<uint8_t>()];
    fields.push_back({.name = std::string(in->Text()), .type = type, .optional = true});
  }
  return *Schema::Make(std::move(fields));
}

std::vector<uint8_t> ReadRow(const Schema& schema, Reader* in) {
  RowBuilder row(schema);
  for (size_t i = 1; i < schema.fields().size(); ++i) {
    const FieldSpec& spec = schema.fields()[i].spec;
    if (in->Number<uint8_t>() == 0) continue;
    if (spec.type == FieldType::kText) {
      const std::string_view text = in->Text();
      const TextRef ref{text.data(), text.size()};
      row.SetBytes(spec.name, {reinterpret_cast<const char*>(&ref), sizeof ref});
    } else if (spec.type == FieldType::kAddress) {
      row.SetBytes(spec.name, AddressBytes(in->Text()));
    } else if (spec.type == FieldType::kF64) {
      row.SetFloat(spec.name, in->Number<double>());
    } else {
      row.Set(spec.name, in->Number<uint64_t>());
    }
  }
  return row.row();
}

TEST(Agreement, JavaSelectsTheSameRows) {
  Reader in(File());
  ASSERT_EQ(in.Take(8), "TLCOND1\n");
  const Schema schema = ReadSchema(&in);
  const auto count = in.Number<uint32_t>();
  ASSERT_EQ(count, 64u);
  std::vector<uint8_t> rows;
  for (uint32_t i = 0; i < count; ++i) {
    const auto row = ReadRow(schema, &in);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const auto conditions = in.Number<uint32_t>();
  ASSERT_EQ(conditions, 10000u);
  ChunkScratch scratch;
  for (uint32_t number = 0; number < conditions; ++number) {
    Tree tree;
    ASSERT_TRUE(tree.ParseFromString(std::string(in.Text())));
    const auto expected = in.Number<uint64_t>();
    const auto expression = Expression::Compile(tree, schema);
    ASSERT_TRUE(expression.ok()) << number << ": " << TextOf(tree) << ": " << expression.status().ToString();
    const auto again = Expression::Compile(expression->text(), schema);
    ASSERT_TRUE(again.ok()) << number << ": " << expression->text() << ": " << again.status().ToString();
    uint64_t selected = 0, from_text = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t* row = rows.data() + size_t{i} * schema.row_bytes();
      selected |= uint64_t{expression->Matches(row, schema)} << i;
      from_text |= uint64_t{again->Matches(row, schema)} << i;
    }
    ASSERT_EQ(selected, expected) << number << ": " << TextOf(tree);
    ASSERT_EQ(from_text, expected) << number << ": " << TextOf(tree);
    ChunkProgram program(schema);
    program.Add(*expression);
    scratch.Begin(program, rows.data(), schema.row_bytes(), count);
    ChunkBits bits;
    program.Select(0, &scratch, &bits);
    ASSERT_EQ(bits[0], expected) << number << ": " << TextOf(tree);
  }
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace tapline::conditions
