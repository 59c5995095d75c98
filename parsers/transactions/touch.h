#pragma once

#include <cstddef>

namespace tapline {

// Has an object on its way into the cache. By loads whose values nobody waits for: a prefetch is dropped where the
// page's translation is not cached either, which on a heap of small pages in a virtual machine is nearly always.
inline void touch(const void* object, size_t bytes) {
  const auto* at = static_cast<const volatile std::byte*>(object);
  for (size_t i = 0; i < bytes; i += 64) (void)at[i];
  (void)at[bytes - 1];
}

}  // namespace tapline
