// Collects those headers of a request or response that are reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/http2_request/hpack.h"

namespace tapline::http2 {

// Buffers above this size are freed after use.
inline constexpr size_t kKeptTextBytes = 512;

// Clears the string, and frees its buffer if it is large.
void trim(std::string& text);

// Reads a decimal number; returns `fallback` if the text is not a number.
uint32_t number(std::string_view text, uint32_t fallback);

// The reported headers of one block.
class Headers final : public HeaderSink {
 public:
  void clear();
  void on_header(std::string_view name, std::string_view value) override;
  void on_unknown() override { unknown = true; }
  bool asks() const { return asks_; }
  std::string_view authority() const { return authority_.empty() ? host_ : authority_; }

  std::string method, path;
  uint32_t status = 0;
  bool unknown = false;  // true if some headers could not be read
  bool grpc = false;
  bool grpc_status_known = false;
  uint32_t grpc_status = 0;

 private:
  std::string authority_, host_;
  bool asks_ = false;
};

}  // namespace tapline::http2
