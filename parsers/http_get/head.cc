#include "parsers/http_get/head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "parsers/http_get/control_scanner.h"

namespace tapline::http {
namespace {

constexpr size_t kMaxMethodBytes = 32;
constexpr std::array<std::string_view, 12> kUsualMethods = {"GET ",     "POST ",     "HEAD ",   "PUT ",
                                                            "DELETE ",  "OPTIONS ",  "PATCH ",  "TRACE ",
                                                            "CONNECT ", "PROPFIND ", "REPORT ", "LOCK "};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The classes of all byte values, in one table, since every byte of a request line is tested for both.
constexpr uint8_t kToken = 1, kControl = 2;
constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes = {};
  for (int i = 0; i < 256; ++i) {
    const auto c = static_cast<char>(i);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_digit(c) || letter) classes[i] |= kToken;
    if (i < 0x20 && c != '\t' && c != '\r') classes[i] |= kControl;
  }
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) classes[static_cast<uint8_t>(c)] |= kToken;
  return classes;
}();
bool is_token_char(char c) { return (kClasses[static_cast<uint8_t>(c)] & kToken) != 0; }
bool is_control(char c) { return (kClasses[static_cast<uint8_t>(c)] & kControl) != 0; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\r' || text.front() == '\n'))
    text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i] && text[i] != lower[i]) return false;
  }
  return true;
}

// Returns true for "http/" in any case, followed by a digit.
bool is_version(std::string_view word) {
  return word.size() >= 6 && equals_ignoring_case(word.substr(0, 5), "http/") && is_digit(word[5]);
}

StartKind look_at_status_line(std::string_view bytes) {
  // The shape of "HTTP/1.1 200".
  static constexpr std::string_view kShape = "HTTP/d.d ddd";
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (i == bytes.size()) return StartKind::kMaybe;
    if (kShape[i] == 'd' ? !is_digit(bytes[i]) : bytes[i] != kShape[i]) return StartKind::kNot;
  }
  if (bytes.size() == kShape.size()) return StartKind::kMaybe;
  const char next_char = bytes[kShape.size()];
  return is_blank(next_char) || next_char == '\r' || next_char == '\n' ? StartKind::kResponse : StartKind::kNot;
}

struct RequestLine {
  std::string_view method;
  std::string_view url;
  bool versioned;
};

// Splits a request line without its line end. The URL is everything between the first and the last space: some clients
// send URLs with spaces.
RequestLine split_request_line(std::string_view line) {
  const size_t method_end = std::min(line.find(' '), line.size());
  std::string_view rest = trim(line.substr(method_end));
  const size_t last = rest.rfind(' ');
  const std::string_view word = last == std::string_view::npos ? std::string_view() : rest.substr(last + 1);
  if (is_version(word)) return {line.substr(0, method_end), trim(rest.substr(0, last)), true};
  return {line.substr(0, method_end), rest, false};
}

bool is_usual_method(std::string_view method) {
  return std::any_of(kUsualMethods.begin(), kUsualMethods.end(),
                     [&](std::string_view usual) { return usual.substr(0, usual.size() - 1) == method; });
}

// Returns true for a request line. A line without a version, although servers respond to it (RFC 9112 section 3), is
// accepted only if it is unlikely to be another protocol's command.
bool is_request(const RequestLine& line) {
  if (line.versioned) return !line.url.empty();
  if (is_usual_method(line.method))
    return line.url.empty() || line.url[0] == '/' || line.url[0] == '*' || is_version(line.url);
  const bool is_upper =
      std::all_of(line.method.begin(), line.method.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  return is_upper && line.method.size() >= 3 && line.url.starts_with('/');
}

StartKind look_at_request_line(std::string_view bytes) {
  size_t method_end = 0;
  while (method_end < bytes.size() && is_token_char(bytes[method_end])) ++method_end;
  if (method_end > kMaxMethodBytes) return StartKind::kNot;
  if (method_end == bytes.size()) return StartKind::kMaybe;
  if (method_end == 0 || bytes[method_end] != ' ') return StartKind::kNot;
  const size_t line_end = bytes.find('\n', method_end);
  const std::string_view line = bytes.substr(0, line_end);
  // Some clients send control characters in URLs, which are accepted if everything else is HTTP.
  const bool controls = std::any_of(line.begin() + method_end, line.end(), [](char c) { return is_control(c); });
  if (controls && !is_usual_method(line.substr(0, method_end))) return StartKind::kNot;
  if (line_end == std::string_view::npos) return StartKind::kMaybe;
  const RequestLine parts = split_request_line(line);
  return is_request(parts) && (!controls || parts.versioned) ? StartKind::kRequest : StartKind::kNot;
}

std::string_view authority_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos || scheme > 8) return {};
  const std::string_view rest = url.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?#"));
}

// Returns the end of the header field at `begin`. Lines that begin with white space continue the previous one (obsolete
// folding, RFC 9112 section 5.2).
size_t header_end(std::string_view bytes, size_t begin) {
  size_t position = begin;
  while (true) {
    const size_t line_end = bytes.find('\n', position);
    if (line_end == std::string_view::npos) return bytes.size();
    position = line_end + 1;
    if (position >= bytes.size() || !is_blank(bytes[position])) return position;
  }
}

std::string_view unfold(std::string_view value, std::string* scratch) {
  if (value.find('\n') == std::string_view::npos) return value;
  scratch->clear();
  for (const char c : value) {
    if (c == '\r' || c == '\n') continue;
    if (is_blank(c) && !scratch->empty() && scratch->back() == ' ') continue;
    scratch->push_back(is_blank(c) ? ' ' : c);
  }
  return *scratch;
}

std::optional<uint64_t> parse_length(std::string_view value) {
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  const bool is_whole = end == value.data() + value.size() || *end == ',';
  if (error != std::errc() || !is_whole || length > (uint64_t{1} << 62)) return std::nullopt;
  return length;
}

// Reads a Transfer-Encoding field. The last coding of the last field decides (RFC 9112 section 6.1).
void take_coding(std::string_view codings, Head* head) {
  const std::string_view last = trim(codings.substr(codings.rfind(',') + 1));
  head->chunked = equals_ignoring_case(last, "chunked");
  head->coded = !head->chunked && !equals_ignoring_case(last, "identity");
}

// Returns true if the name of a relevant field (Host, Content-Length or Transfer-Encoding) begins with this letter.
bool may_matter(char first) {
  const char lower = static_cast<char>(first | 0x20);
  return lower == 'h' || lower == 'c' || lower == 't';
}

void take_header(std::string_view header, Head* head, std::string* scratch) {
  if (!may_matter(header.front())) return;
  const size_t colon = header.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = trim(header.substr(0, colon));
  const auto value = [&] { return trim(header.substr(colon + 1)); };
  if (name.size() == 4 && head->host.empty() && equals_ignoring_case(name, "host")) {
    head->host = unfold(value(), scratch);
  } else if (name.size() == 14 && !head->content_length && equals_ignoring_case(name, "content-length")) {
    head->content_length = parse_length(value());
  } else if (name.size() == 17 && equals_ignoring_case(name, "transfer-encoding")) {
    take_coding(value(), head);
  }
}

void parse_start_line(std::string_view line, Head* head) {
  if (line.starts_with("HTTP/")) {
    std::from_chars(line.data() + 9, line.data() + 12, head->status);
    return;
  }
  const RequestLine parts = split_request_line(line);
  head->request = true;
  head->method = parts.method;
  head->url = parts.url;
  head->versioned = parts.versioned;
}

// The position of a line's terminator, and of the next line. take_line() returns false if the line at `begin` has no
// end, or contains control characters.
struct Line {
  size_t end;
  size_t next;
};
bool take_line(std::string_view bytes, size_t begin, ControlScanner* controls, Line* line) {
  const size_t control = controls->next(begin);
  if (control == std::string_view::npos) return false;
  const size_t newline = control + (bytes[control] == '\r');
  if (newline >= bytes.size() || bytes[newline] != '\n') return false;
  *line = {control, newline + 1};
  return true;
}

// Reads a line such as "GET /a HTTP/1.1": a usual method, one space, a target without spaces at its ends, one space,
// the version.
bool take_ordinary_request_line(std::string_view line, Head* head) {
  constexpr size_t kVersionBytes = 9;
  for (const std::string_view method : kUsualMethods) {
    if (!line.starts_with(method)) continue;
    if (line.size() <= method.size() + kVersionBytes) return false;
    const std::string_view version = line.substr(line.size() - kVersionBytes);
    const std::string_view url = line.substr(method.size(), line.size() - method.size() - kVersionBytes);
    if (!version.starts_with(" HTTP/1.") || !is_digit(version.back())) return false;
    if (is_blank(url.front()) || is_blank(url.back())) return false;
    head->request = head->versioned = true;
    head->method = method.substr(0, method.size() - 1);
    head->url = url;
    return true;
  }
  return false;
}

}  // namespace

size_t parse_ordinary_head(std::string_view bytes, Head* head) {
  ControlScanner controls(bytes);
  Line line;
  if (!take_line(bytes, 0, &controls, &line)) return 0;
  const std::string_view first = bytes.substr(0, line.end);
  if (look_at_status_line(bytes) == StartKind::kResponse) {
    parse_start_line(first, head);
  } else if (!take_ordinary_request_line(first, head)) {
    return 0;
  }
  for (size_t begin = line.next; begin < bytes.size(); begin = line.next) {
    if (is_blank(bytes[begin]) || !take_line(bytes, begin, &controls, &line)) return 0;
    if (line.end == begin) {
      if (head->request && head->host.empty()) head->host = authority_of(head->url);
      return line.next;
    }
    take_header(bytes.substr(begin, line.next - begin), head, nullptr);
  }
  return 0;
}

StartKind look_at(std::string_view bytes) {
  if (bytes.empty()) return StartKind::kMaybe;
  if (bytes[0] == 'H') {
    const StartKind look = look_at_status_line(bytes);
    if (look != StartKind::kNot) return look;
  }
  return look_at_request_line(bytes);
}

bool may_resume_at(std::string_view bytes) {
  const StartKind look = look_at(bytes);
  if (look != StartKind::kMaybe) return look != StartKind::kNot;
  const auto has_common_prefix = [&](std::string_view word) {
    const size_t common = std::min(word.size(), bytes.size());
    return bytes.substr(0, common) == word.substr(0, common);
  };
  return has_common_prefix("HTTP/1.") || std::any_of(kUsualMethods.begin(), kUsualMethods.end(), has_common_prefix);
}

bool is_simple_request(std::string_view bytes) {
  if (!bytes.starts_with("GET /") || bytes.find('\n') != bytes.size() - 1) return false;
  return look_at(bytes) == StartKind::kRequest && !split_request_line(trim(bytes)).versioned;
}

bool is_http2_preface(std::string_view bytes) { return bytes.starts_with("PRI * HTTP/2.0"); }

bool may_continue_line(std::string_view line, std::string_view further_text) {
  return is_usual_method(line.substr(0, line.find(' '))) ||
         std::none_of(further_text.begin(), further_text.end(), is_control);
}

size_t find_head_end(std::string_view bytes, size_t* resume) {
  for (size_t position = bytes.find('\n', *resume); position != std::string_view::npos;
       position = bytes.find('\n', position + 1)) {
    const std::string_view next = bytes.substr(position + 1, 2);
    if (next.starts_with('\n')) return position + 2;
    if (next == "\r\n") return position + 3;
    if (next.empty() || next == "\r") {
      *resume = position;
      return std::string_view::npos;
    }
  }
  *resume = bytes.size();
  return std::string_view::npos;
}

Head parse_head(std::string_view bytes, std::string* scratch) {
  Head head;
  size_t position = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
  parse_start_line(trim(bytes.substr(0, position)), &head);
  while (position < bytes.size()) {
    const size_t end = header_end(bytes, position);
    take_header(bytes.substr(position, end - position), &head, scratch);
    position = end;
  }
  if (head.request && head.host.empty()) head.host = authority_of(head.url);
  return head;
}

}  // namespace tapline::http
