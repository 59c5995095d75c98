#pragma once

#include <cstddef>

namespace tapline {

// Fetches an object into the cache. Loads, rather than prefetches: a prefetch is dropped if the page's translation is
// not cached, which is nearly always the case on a heap of small pages in a virtual machine.
inline void touch(const void* object, size_t bytes) {
  const auto* data = static_cast<const volatile std::byte*>(object);
  for (size_t i = 0; i < bytes; i += 64) (void)data[i];
  (void)data[bytes - 1];
}

}  // namespace tapline
