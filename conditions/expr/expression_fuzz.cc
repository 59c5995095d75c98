// Compiles any text. If that succeeds, evaluates the expression on a row directly, by columns and by its normal form;
// all three must agree.
#include <cstdlib>

#include "conditions/expr/chunk_program.h"
#include "conditions/expr/expression.h"

using namespace tapline::conditions;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Schema schema = *Schema::make({{.name = "t", .type = FieldType::kTime},
                                              {.name = "ip", .type = FieldType::kIpv4},
                                              {.name = "ip6", .type = FieldType::kIpv6},
                                              {.name = "mac", .type = FieldType::kMac},
                                              {.name = "port", .type = FieldType::kU16},
                                              {.name = "d", .type = FieldType::kI32},
                                              {.name = "load", .type = FieldType::kF64},
                                              {.name = "tag", .type = FieldType::kBytes, .bytes = 12},
                                              {.name = "path", .type = FieldType::kU16, .elements = 3},
                                              {.name = "depth", .type = FieldType::kU16, .optional = true}});
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto resolve = [](std::string_view name) -> std::optional<AggregateRef> {
    return name == "SEQ" ? std::optional<AggregateRef>({0, 0}) : std::nullopt;
  };
  const auto expression = Expression::compile(text, schema, resolve);
  if (!expression.ok()) {
    if (expression.status().message().empty() || !expression.status().position() ||
        *expression.status().position() > size)
      std::abort();
    return 0;
  }
  std::vector<uint8_t> row(schema.row_bytes());
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint8_t>(i * 37 + size);
  const bool scalar = expression->matches(row.data(), schema);
  ChunkProgram program(schema);
  program.add(*expression);
  ChunkScratch scratch;
  scratch.begin(program, row.data(), schema.row_bytes(), 1);
  ChunkBits bits;
  program.select(0, &scratch, &bits);
  if (!expression->depends_on_aggregate() && (bits[0] & 1) != scalar) std::abort();
  const auto clauses = expression->dnf();
  if (clauses) {
    bool has_any = false;
    for (const Clause& clause : *clauses) {
      bool all = true;
      for (const Leaf& leaf : clause) all = all && evaluate(leaf, row.data(), schema, {}) == Truth::kTrue;
      has_any = has_any || all;
    }
    if (has_any != scalar) std::abort();
  }
  return 0;
}
