// The places for queries of one process. A place is written by one thread while no lane looks at it, and told to the
// lanes afterwards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "monitors/plan/query_spec.h"

namespace tapline {

struct Queries {
  std::array<QuerySpec, kMostQueries> specs = {};
  // Bits of the places that are taken.
  uint64_t taken = 0;
  // Bits of those whose streams another monitor goes on with: they end here without saying that they have ended.
  std::atomic<uint64_t> abandoned = 0;
  // Held by whoever changes `taken` or a place while others may ask which queries there are. Never by a lane.
  std::mutex mutex;
};

}  // namespace tapline
