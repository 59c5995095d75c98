#include "monitors/shape/sql_template.h"

#include <algorithm>

#include "monitors/shape/characters.h"

namespace tapline {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
// Returns true for a character of a name; bytes beyond ASCII count as letters.
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '@' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class SqlTemplate {
 public:
  SqlTemplate(std::string_view statement, std::string* out) : in_(statement), out_(out), begin_(out->size()) {}

  void write() {
    while (at_ < in_.size()) next();
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool comes(std::string_view text) const { return in_.substr(at_, text.size()) == text; }

  void next() {
    const char c = peek();
    if (is_space(c)) {
      blank_ = true;
      ++at_;
    } else if (comes("/*")) {
      skip_to("*/", 2);
    } else if (comes("--") || c == '#') {
      skip_to("\n", 1);
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (c == '$' && is_dollar_quote()) {
      dollar_quoted();
    } else if (c == '`') {
      name(std::min(in_.find('`', at_ + 1), in_.size() - 1) + 1);
    } else if (is_name(c)) {
      word();
    } else {
      symbol(c);
    }
  }

  void skip_to(std::string_view end, size_t offset) {
    const size_t position = in_.find(end, at_ + offset);
    at_ = position == std::string_view::npos ? in_.size() : position + end.size();
    blank_ = true;
  }

  // Replaces a quoted string. A quote that is doubled or follows a backslash is part of the string.
  void quoted(char quote) {
    for (++at_; at_ < in_.size(); ++at_) {
      if (in_[at_] == '\\') {
        ++at_;
      } else if (in_[at_] == quote) {
        if (peek(1) != quote) break;
        ++at_;
      }
    }
    at_ = std::min(at_ + 1, in_.size());
    literal();
  }

  void number() {
    while (at_ < in_.size()) {
      const bool exponent = (in_[at_] == 'e' || in_[at_] == 'E') && (peek(1) == '-' || peek(1) == '+');
      if (!exponent && !is_name(in_[at_]) && in_[at_] != '.') break;
      at_ += exponent ? 2 : 1;
    }
    literal();
  }

  // Returns true at the start of PostgreSQL's $$…$$ or $tag$…$tag$; $1 is a parameter.
  bool is_dollar_quote() const {
    size_t end = at_ + 1;
    while (end < in_.size() && is_name(in_[end]) && in_[end] != '$') ++end;
    return end < in_.size() && in_[end] == '$' && !is_digit(peek(1));
  }
  void dollar_quoted() {
    const std::string_view tag = in_.substr(at_, in_.find('$', at_ + 1) + 1 - at_);
    skip_to(tag, tag.size());
    literal();
  }

  void name(size_t end) {
    put(in_.substr(at_, end - at_));
    at_ = end;
  }

  void word() {
    size_t end = at_;
    while (end < in_.size() && is_name(in_[end])) ++end;
    // N'…', X'…', E'…' and _utf8'…' are literals, including the prefix.
    const bool prefix = end < in_.size() && in_[end] == '\'' && (end - at_ == 1 || in_[at_] == '_');
    if (!prefix) return name(end);
    at_ = end;
    quoted('\'');
  }

  // Writes a literal as `?`, or nothing if the previous literal is in the same list: `1, 2` becomes `?`.
  void literal() {
    if (ends_with("?,")) {
      out_->pop_back();
      blank_ = hold_ = false;
      return;
    }
    put("?");
  }
  void symbol(char c) {
    ++at_;
    if (c == ')' && ends_with("(?),(?")) {
      out_->resize(out_->size() - 3);
      blank_ = hold_ = false;
      return;
    }
    if (c == '?') return literal();
    // Writes no space inside parentheses or before commas, so that equal lists have one form.
    if (c == ',' || c == ')') blank_ = false;
    if (c == '(' && ends_with("),")) blank_ = false;
    put({&c, 1});
    if (c == '(' || (c == ',' && (ends_with("?,") || ends_with("),")))) hold_ = true;
  }

  bool ends_with(std::string_view text) const {
    const std::string_view written = std::string_view(*out_).substr(begin_);
    return written.size() >= text.size() && written.substr(written.size() - text.size()) == text;
  }

  void put(std::string_view text) {
    // The space after a comma was held back because a literal might have followed.
    const bool after_comma = hold_ && ends_with(",") && text != "(" && text != "?";
    if (out_->size() > begin_ && (after_comma || (blank_ && !hold_))) out_->push_back(' ');
    blank_ = hold_ = false;
    out_->append(text);
  }

  std::string_view in_;
  std::string* out_;
  size_t begin_;
  size_t at_ = 0;
  bool blank_ = false;  // white space was read since the last output
  bool hold_ = false;   // true if no space may be written before the next output
};

}  // namespace

void append_sql_template(std::string_view statement, std::string* out) { SqlTemplate(statement, out).write(); }

}  // namespace tapline
