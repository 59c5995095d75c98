#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tapline::postgres {

// Texts by name, at most kMaxTexts: if there are more, an earlier one is evicted. Not thread-safe.
class NamedTexts {
 public:
  static constexpr size_t kMaxTexts = 1024;

  struct Text {
    std::string text = {};
    bool cut = false;
  };

  // Returns null if there is none.
  const Text* find(std::string_view name) const {
    const auto it = texts_.find(name);
    return it == texts_.end() ? nullptr : &it->second;
  }

  void put(std::string_view name, std::string_view text, bool is_cut) {
    forget(name);
    if (texts_.size() == kMaxTexts) forget(texts_.begin()->first);
    bytes_ += name.size() + text.size() + kPlaceBytes;
    texts_.emplace(std::string(name), Text{std::string(text), is_cut});
  }

  void forget(std::string_view name) {
    const auto it = texts_.find(name);
    if (it == texts_.end()) return;
    bytes_ -= it->first.size() + it->second.text.size() + kPlaceBytes;
    texts_.erase(it);
  }

  size_t memory_bytes() const { return bytes_; }

 private:
  static constexpr size_t kPlaceBytes = 128;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  std::unordered_map<std::string, Text, Hash, std::equal_to<>> texts_;
  size_t bytes_ = 0;
};

}  // namespace tapline::postgres
