// A monitor process's query slots. Only one thread writes slots; it writes a slot while no lane reads it, then
// announces it to the lanes.
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
  // Must be locked to change `taken`, and by threads other than the writer and the lanes to read it or a slot.
  std::mutex mutex;
};

}  // namespace tapline
