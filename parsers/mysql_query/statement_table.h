#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapline::mysql {

// The texts of a connection's prepared statements, by the IDs that the server assigned. Servers increment IDs, so the
// slot that an ID's lowest bits select is nearly always free. If it isn't, the table doubles until it has kMaxPlaces
// slots; after that, the newer statement takes the slot. Not thread-safe.
class StatementTable {
 public:
  static constexpr size_t kMaxPlaces = 1024;

  struct Statement {
    uint32_t id = 0;
    bool used = false;
    bool cut = false;
    std::string text = {};
  };

  // Returns null if the prepare was not seen, or if the statement was closed or evicted.
  const Statement* find(uint32_t id) const;
  void put(uint32_t id, std::string_view text, bool is_cut);
  void forget(uint32_t id);
  void clear();

  size_t text_bytes() const { return text_bytes_; }
  size_t memory_bytes() const { return text_bytes_ + places_.capacity() * sizeof(Statement); }

 private:
  Statement& place_of(uint32_t id) { return places_[id & (places_.size() - 1)]; }
  void grow();

  std::vector<Statement> places_;  // size is a power of two, or 0
  size_t text_bytes_ = 0;
};

}  // namespace tapline::mysql
