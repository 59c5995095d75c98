#include "parsers/http2_request/headers.h"

#include <charconv>

namespace tapline::http2 {

void trim(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptTextBytes) text.shrink_to_fit();
}

uint32_t number(std::string_view text, uint32_t fallback) {
  uint32_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? value : fallback;
}

void Headers::clear() {
  for (std::string* text : {&method, &path, &authority_, &host_}) trim(*text);
  status = grpc_status = 0;
  unknown = grpc = grpc_status_known = asks_ = false;
}

void Headers::on_header(std::string_view name, std::string_view value) {
  if (name.starts_with(':')) {
    asks_ = asks_ || name != ":status";
    if (name == ":method") method = value;
    if (name == ":path") path = value;
    if (name == ":authority") authority_ = value;
    if (name == ":status") status = number(value, 0);
  } else if (name == "host") {
    host_ = value;
  } else if (name == "content-type") {
    grpc = value.starts_with("application/grpc") && !value.starts_with("application/grpc-web");
  } else if (name == "grpc-status") {
    grpc = grpc_status_known = true;
    grpc_status = number(value, UINT32_MAX);
  }
}

}  // namespace tapline::http2
