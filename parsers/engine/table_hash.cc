#include "parsers/engine/table_hash.h"

#include <random>

namespace tapline {

// Draws odd keys, so that multiplying by a key loses no information.
TableHasher::TableHasher() {
  std::random_device random;
  for (uint64_t& word : key_) word = (static_cast<uint64_t>(random()) << 32 | random()) | 1;
}

}  // namespace tapline
