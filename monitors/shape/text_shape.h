// The form in which a query wants a string to leave the monitor: a template that takes few different values, a URL's
// path, a hash, or nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/flow_hash.h"
#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"

namespace tapline {

enum class TextForm : uint8_t {
  kAsIs,
  kTemplate,  // the varying parts are replaced, according to the kind of string
  kPath,      // for URLs: without the first ? or # and everything after it
  kHash,      // 16 digits of a keyed hash; empty strings stay empty
  kOmit,      // an empty string
};

// The form of one field of a parser's tuples.
struct FieldShape {
  std::string parser = {};
  std::string field = {};
  TextForm form = TextForm::kAsIs;
};

// Appends the template of a string to `out`. In SQL, a literal or comment without an end extends to the end of the
// string.
//   kUrl    /user/17/page0587.html?q=x&p=2  ->  /user/{id}/page{n}.html?q={}&p={}
//   kSql    SELECT a FROM t WHERE id IN (1, 2) -- x  ->  SELECT a FROM t WHERE id IN (?)
//   kKey    user:17:profile  ->  user:{id}:profile
//   kPlain  like kKey
void append_template(TextKind kind, std::string_view text, std::string* out);

// Shapes one parser's tuples for one query. Reuses its memory for each tuple. Not thread-safe.
class TextShaper {
 public:
  // Returns null if no shape applies to this parser's fields. `schema` is not needed afterwards.
  static std::unique_ptr<TextShaper> make(const Schema& schema, std::span<const FieldShape> shapes, HashKey key);

  // Returns the values with their strings in the forms that the query wants, valid until the next call.
  std::span<const Value> shape(std::span<const Value> values);

 private:
  struct Text {
    size_t field;
    TextKind kind;
    TextForm form;
    std::string text = {};
  };

  explicit TextShaper(HashKey key) : key_(key) {}
  void shape(std::string_view source, Text* text) const;

  HashKey key_;
  std::vector<Text> texts_;
  std::vector<Value> values_;
};

}  // namespace tapline
