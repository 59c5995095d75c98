#include "parsers/http2_request/upgrade.h"

#include <algorithm>

#include "parsers/http2_request/headers.h"

namespace tapline::http2 {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

// Returns the value of an HTTP/1.1 header without surrounding white space; empty if there is none.
std::string_view header_of(std::string_view head, std::string_view name) {
  for (size_t line = head.find("\r\n"); line + 2 < head.size(); line = head.find("\r\n", line + 2)) {
    const std::string_view rest = head.substr(line + 2);
    if (rest.size() <= name.size() || rest[name.size()] != ':' || !same_word(rest.substr(0, name.size()), name))
      continue;
    std::string_view value = rest.substr(name.size() + 1, rest.find("\r\n") - name.size() - 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    return value;
  }
  return {};
}

}  // namespace

bool read_upgrade(std::string_view head, UpgradeHead* upgrade) {
  const size_t method_end = head.find(' '), path_end = head.find(" HTTP/1.1\r\n");
  if (path_end == std::string_view::npos || path_end <= method_end || head.find("\r\n") < path_end) return false;
  if (!same_word(header_of(head, "upgrade"), "h2c")) return false;
  upgrade->method = head.substr(0, method_end);
  upgrade->path = head.substr(method_end + 1, path_end - method_end - 1);
  upgrade->host = header_of(head, "host");
  upgrade->body_bytes = number(header_of(head, "content-length"), 0);
  return true;
}

bool begins_like_request(std::string_view bytes) {
  return !bytes.empty() && bytes[0] >= 'A' && bytes[0] <= 'Z' && !bytes.starts_with("HTTP/");
}

}  // namespace tapline::http2
