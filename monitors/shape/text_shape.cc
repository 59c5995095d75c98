#include "monitors/shape/text_shape.h"

#include <algorithm>

#include "monitors/shape/characters.h"
#include "monitors/shape/sql_template.h"

namespace tapline {
namespace {

// Runs of fewer digits within a word are part of a name: v2, oauth2, h264.
constexpr size_t kMinNumberDigits = 3;
constexpr size_t kMinHexDigits = 8;
// Words of at least this length that contain 3 digits, or a digit and letters of both cases, are tokens.
constexpr size_t kMinTokenBytes = 20;

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

size_t count_digits(std::string_view word) {
  return static_cast<size_t>(std::count_if(word.begin(), word.end(), is_digit));
}

// Returns true for a number, a UUID, a hash or a token, since these take many different values.
bool is_id(std::string_view word) {
  const size_t digits = count_digits(word);
  if (digits == 0) return false;
  if (digits == word.size()) return true;
  const bool hex = std::all_of(word.begin(), word.end(), [](char c) { return is_hex(c) || c == '-'; });
  if (hex && word.size() >= kMinHexDigits) return true;
  const bool token = std::all_of(word.begin(), word.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '=' || c == '%' || c == '+' || c == '~';
  });
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool mixed = std::any_of(word.begin(), word.end(), is_upper) && std::any_of(word.begin(), word.end(), is_lower);
  return token && word.size() >= kMinTokenBytes && (digits >= 3 || mixed);
}

// Appends one word: {id} for an ID, or else the word with each long number replaced by {n}.
void append_word(std::string_view word, std::string* out) {
  if (is_id(word)) {
    out->append("{id}");
    return;
  }
  for (size_t i = 0; i < word.size();) {
    size_t end = i;
    while (end < word.size() && is_digit(word[end])) ++end;
    if (end - i >= kMinNumberDigits) {
      out->append("{n}");
      i = end;
    } else {
      end = std::max(end, i + 1);
      out->append(word.substr(i, end - i));
      i = end;
    }
  }
}

void append_words(std::string_view text, std::string_view separators, std::string* out) {
  while (true) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    append_word(text.substr(0, end), out);
    if (end == text.size()) return;
    out->push_back(text[end]);
    text.remove_prefix(end + 1);
  }
}

// Keeps parameter names and drops their values.
void append_parameters(std::string_view parameters, std::string* out) {
  char separator = '?';
  while (!parameters.empty()) {
    const size_t end = std::min(parameters.find_first_of("&;"), parameters.size());
    const std::string_view one = parameters.substr(0, end);
    const size_t equals = one.find('=');
    out->push_back(separator);
    // Without an equals sign, the whole text is a value.
    append_word(one.substr(0, equals == std::string_view::npos ? 0 : equals), out);
    out->append(equals == std::string_view::npos ? "{}" : "={}");
    separator = '&';
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
}

std::string_view path_of(std::string_view url) { return url.substr(0, url.find_first_of("?#")); }

void append_url(std::string_view url, std::string* out) {
  url = url.substr(0, url.find('#'));
  const std::string_view path = path_of(url);
  // The host of an absolute URL is kept.
  const size_t scheme = path.find("://");
  size_t begin = scheme == std::string_view::npos || scheme > 8 ? 0 : std::min(path.find('/', scheme + 3), path.size());
  // The text before an @ is a user name and password.
  const size_t position = path.substr(0, begin).rfind('@');
  if (position != std::string_view::npos) {
    out->append(path.substr(0, scheme + 3));
    out->append(path.substr(position + 1, begin - position - 1));
  } else {
    out->append(path.substr(0, begin));
  }
  append_words(path.substr(begin), "/.,", out);
  if (path.size() < url.size()) append_parameters(url.substr(path.size() + 1), out);
}

void append_hash(HashKey key, std::string_view text, std::string* out) {
  const uint64_t hash = keyed_hash(key, text);
  for (int shift = 60; shift >= 0; shift -= 4) out->push_back("0123456789abcdef"[hash >> shift & 0xf]);
}

}  // namespace

void append_template(TextKind kind, std::string_view text, std::string* out) {
  switch (kind) {
    case TextKind::kUrl:
      return append_url(text, out);
    case TextKind::kSql:
      return append_sql_template(text, out);
    default:
      return append_words(text, ":/.,|; ", out);
  }
}

std::unique_ptr<TextShaper> TextShaper::make(const Schema& schema, std::span<const FieldShape> shapes, HashKey key) {
  std::unique_ptr<TextShaper> shaper(new TextShaper(key));
  for (const FieldShape& shape : shapes) {
    if (shape.parser != schema.name || shape.form == TextForm::kAsIs) continue;
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      if (field.name == shape.field) shaper->texts_.push_back({i, text_kind_of(field), shape.form});
    }
  }
  if (shaper->texts_.empty()) return nullptr;
  return shaper;
}

std::span<const Value> TextShaper::shape(std::span<const Value> values) {
  values_.assign(values.begin(), values.end());
  for (Text& text : texts_) {
    if (!values[text.field].present()) continue;
    shape(values[text.field].as_string(), &text);
    values_[text.field] = Value::string(text.text);
  }
  return values_;
}

void TextShaper::shape(std::string_view source, Text* text) const {
  text->text.clear();
  if (source.empty() || text->form == TextForm::kOmit) return;
  if (text->form == TextForm::kTemplate) return append_template(text->kind, source, &text->text);
  if (text->form == TextForm::kPath) {
    text->text.append(path_of(source));
    return;
  }
  append_hash(key_, source, &text->text);
}

}  // namespace tapline
