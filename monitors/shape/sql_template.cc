#include "monitors/shape/sql_template.h"

#include <algorithm>

namespace tapline {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
// Bytes beyond ASCII are letters.
bool IsName(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '@' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class SqlTemplate {
 public:
  SqlTemplate(std::string_view statement, std::string* out) : in_(statement), out_(out), begin_(out->size()) {}

  void Write() {
    while (at_ < in_.size()) Next();
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool Comes(std::string_view text) const { return in_.substr(at_, text.size()) == text; }

  void Next() {
    const char c = Peek();
    if (IsSpace(c)) {
      blank_ = true;
      ++at_;
    } else if (Comes("/*")) {
      SkipTo("*/", 2);
    } else if (Comes("--") || c == '#') {
      SkipTo("\n", 1);
    } else if (c == '\'' || c == '"') {
      Quoted(c);
    } else if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      Number();
    } else if (c == '$' && IsDollarQuote()) {
      DollarQuoted();
    } else if (c == '`') {
      Name(std::min(in_.find('`', at_ + 1), in_.size() - 1) + 1);
    } else if (IsName(c)) {
      Word();
    } else {
      Symbol(c);
    }
  }

  void SkipTo(std::string_view end, size_t from) {
    const size_t found = in_.find(end, at_ + from);
    at_ = found == std::string_view::npos ? in_.size() : found + end.size();
    blank_ = true;
  }

  // A quote that is doubled, or follows a backslash, is part of the text.
  void Quoted(char quote) {
    for (++at_; at_ < in_.size(); ++at_) {
      if (in_[at_] == '\\') {
        ++at_;
      } else if (in_[at_] == quote) {
        if (Peek(1) != quote) break;
        ++at_;
      }
    }
    at_ = std::min(at_ + 1, in_.size());
    Literal();
  }

  void Number() {
    while (at_ < in_.size()) {
      const bool exponent = (in_[at_] == 'e' || in_[at_] == 'E') && (Peek(1) == '-' || Peek(1) == '+');
      if (!exponent && !IsName(in_[at_]) && in_[at_] != '.') break;
      at_ += exponent ? 2 : 1;
    }
    Literal();
  }

  // $$…$$ and $tag$…$tag$ of PostgreSQL; $1 is a parameter.
  bool IsDollarQuote() const {
    size_t end = at_ + 1;
    while (end < in_.size() && IsName(in_[end]) && in_[end] != '$') ++end;
    return end < in_.size() && in_[end] == '$' && !IsDigit(Peek(1));
  }
  void DollarQuoted() {
    const std::string_view tag = in_.substr(at_, in_.find('$', at_ + 1) + 1 - at_);
    SkipTo(tag, tag.size());
    Literal();
  }

  void Name(size_t end) {
    Put(in_.substr(at_, end - at_));
    at_ = end;
  }

  void Word() {
    size_t end = at_;
    while (end < in_.size() && IsName(in_[end])) ++end;
    // N'…', X'…', E'…', _utf8'…' are literals as a whole.
    const bool prefix = end < in_.size() && in_[end] == '\'' && (end - at_ == 1 || in_[at_] == '_');
    if (!prefix) return Name(end);
    at_ = end;
    Quoted('\'');
  }

  // Keeps only the first of `?, ?` and `(?), (?)`.
  void Literal() {
    if (EndsWith("?,")) {
      out_->pop_back();
      blank_ = hold_ = false;
      return;
    }
    Put("?");
  }
  void Symbol(char c) {
    ++at_;
    if (c == ')' && EndsWith("(?),(?")) {
      out_->resize(out_->size() - 3);
      blank_ = hold_ = false;
      return;
    }
    if (c == '?') return Literal();
    // Writes no blank within parentheses and before commas, so that lists look alike however they were written.
    if (c == ',' || c == ')') blank_ = false;
    if (c == '(' && EndsWith("),")) blank_ = false;
    Put({&c, 1});
    if (c == '(' || (c == ',' && (EndsWith("?,") || EndsWith("),")))) hold_ = true;
  }

  bool EndsWith(std::string_view text) const {
    const std::string_view written = std::string_view(*out_).substr(begin_);
    return written.size() >= text.size() && written.substr(written.size() - text.size()) == text;
  }

  void Put(std::string_view text) {
    // A blank after a comma that was held back to see whether a literal follows.
    const bool after_comma = hold_ && EndsWith(",") && text != "(" && text != "?";
    if (out_->size() > begin_ && (after_comma || (blank_ && !hold_))) out_->push_back(' ');
    blank_ = hold_ = false;
    out_->append(text);
  }

  std::string_view in_;
  std::string* out_;
  size_t begin_;
  size_t at_ = 0;
  bool blank_ = false;  // white space came since the last output
  bool hold_ = false;   // no blank is due now
};

}  // namespace

void AppendSqlTemplate(std::string_view statement, std::string* out) { SqlTemplate(statement, out).Write(); }

}  // namespace tapline
