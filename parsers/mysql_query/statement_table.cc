#include "parsers/mysql_query/statement_table.h"

#include <utility>

namespace tapline::mysql {

const StatementTable::Statement* StatementTable::find(uint32_t id) const {
  if (places_.empty()) return nullptr;
  const Statement& place = places_[id & (places_.size() - 1)];
  return place.used && place.id == id ? &place : nullptr;
}

void StatementTable::put(uint32_t id, std::string_view text, bool is_cut) {
  if (places_.empty()) grow();
  while (place_of(id).used && place_of(id).id != id && places_.size() < kMaxPlaces) grow();
  Statement& place = place_of(id);
  text_bytes_ += text.size() - place.text.size();
  place.id = id;
  place.used = true;
  place.cut = is_cut;
  place.text.assign(text);
}

void StatementTable::forget(uint32_t id) {
  if (find(id) == nullptr) return;
  Statement& place = place_of(id);
  text_bytes_ -= place.text.size();
  place = Statement();
}

void StatementTable::clear() {
  places_ = {};
  text_bytes_ = 0;
}

// Doubles the number of slots, so that fewer IDs share one. IDs that had separate slots keep separate ones.
void StatementTable::grow() {
  std::vector<Statement> wider(places_.empty() ? 4 : places_.size() * 2);
  for (Statement& statement : places_) {
    if (statement.used) wider[statement.id & (wider.size() - 1)] = std::move(statement);
  }
  places_.swap(wider);
}

}  // namespace tapline::mysql
