#include "parsers/engine/table_hash.h"

#include <random>

namespace tapline {

// Odd keys, so that multiplying by one loses no information.
TableHasher::TableHasher() {
  std::random_device random;
  for (uint64_t& word : key_) word = (static_cast<uint64_t>(random()) << 32 | random()) | 1;
}

}  // namespace tapline
