#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tapline::http {

// A string that is stored inside the object if it is at most kInside bytes long, and on the heap otherwise.
class ShortText {
 public:
  static constexpr size_t kInside = 80;

  ShortText() = default;
  ShortText(ShortText&& other) noexcept { take(other); }
  ShortText& operator=(ShortText&& other) noexcept {
    if (this == &other) return *this;
    clear();
    take(other);
    return *this;
  }
  ~ShortText() { clear(); }

  // Stores the concatenation of the three strings. REQUIRES: the result is shorter than 4 GiB.
  void assign(std::string_view first, std::string_view second, std::string_view third) {
    clear();
    const size_t bytes = first.size() + second.size() + third.size();
    char* cursor = bytes <= kInside ? inside_ : allocate(bytes);
    for (const std::string_view part : {first, second, third}) cursor = std::copy(part.begin(), part.end(), cursor);
    bytes_ = static_cast<uint32_t>(bytes);
  }
  void clear() {
    if (bytes_ > kInside) delete[] outside();
    bytes_ = 0;
  }

  std::string_view view() const { return {bytes_ > kInside ? outside() : inside_, bytes_}; }
  size_t heap_bytes() const { return bytes_ > kInside ? bytes_ : 0; }

 private:
  void take(ShortText& other) {
    std::memcpy(inside_, other.inside_, sizeof inside_);
    bytes_ = other.bytes_;
    other.bytes_ = 0;
  }
  char* allocate(size_t bytes) {
    char* text = new char[bytes];
    std::memcpy(inside_, &text, sizeof text);
    return text;
  }
  char* outside() const {
    char* text;
    std::memcpy(&text, inside_, sizeof text);
    return text;
  }

  uint32_t bytes_ = 0;
  char inside_[kInside];  // the text, or a pointer to it
};

}  // namespace tapline::http
