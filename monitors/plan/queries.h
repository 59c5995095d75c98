// The query slots of one process. One thread writes a slot while no lane looks at it, and announces it to the lanes
// afterwards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "monitors/plan/query_spec.h"

namespace tapline {

struct Queries {
  std::array<QuerySpec, kMaxQueries> specs = {};
  // The bits of the slots in use.
  uint64_t taken = 0;
  // The bits of queries whose streams another monitor takes over, so that they end here without an end of stream.
  std::atomic<uint64_t> abandoned = 0;
  // Guards changes of `taken` or of a slot while other threads may read which queries exist. Lanes never lock it.
  std::mutex mutex;
};

}  // namespace tapline
