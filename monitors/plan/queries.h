// A process's query slots. One thread writes a slot while no lane reads it, and announces it to the lanes afterwards.
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
  // The bits of queries whose streams another monitor takes over, so this monitor does not mark their end.
  std::atomic<uint64_t> abandoned = 0;
  // Guards changes to `taken` or to a slot while other threads may read which queries exist. Lanes never lock it.
  std::mutex mutex;
};

}  // namespace tapline
