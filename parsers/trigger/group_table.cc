#include "parsers/trigger/group_table.h"

#include <random>

namespace tapline::trigger {

// Draws odd keys: the last one is a factor, which must not be zero.
GroupHasher::GroupHasher() {
  std::random_device random;
  for (uint64_t& word : key_) word = (uint64_t{random()} << 32 | random()) | 1;
}

}  // namespace tapline::trigger
