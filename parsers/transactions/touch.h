#pragma once

#include <cstddef>

namespace tapline {

// Fetches an object into the cache. Uses loads whose values are never used: a prefetch is dropped if the page's
// translation is not cached, which is nearly always so on a heap of small pages in a virtual machine.
inline void touch(const void* object, size_t bytes) {
  const auto* data = static_cast<const volatile std::byte*>(object);
  for (size_t i = 0; i < bytes; i += 64) (void)data[i];
  (void)data[bytes - 1];
}

}  // namespace tapline
