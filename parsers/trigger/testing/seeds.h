#pragma once

#include <cstdint>
#include <cstdlib>

namespace tapline::trigger::testing {

// AddressSanitizer is a macro in GCC and a feature in Clang.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define TAPLINE_SANITIZED
#endif
#endif
#if defined(TAPLINE_SANITIZED) || defined(__SANITIZE_ADDRESS__)
inline constexpr uint32_t kSeedDivisor = 5;  // a seed takes eight times as long under a sanitizer
#else
inline constexpr uint32_t kSeedDivisor = 1;
#endif

// Returns the number of random cases, which TRIGGER_SEEDS overrides.
inline uint32_t seeds(uint32_t usual) {
  const char* seeds_text = std::getenv("TRIGGER_SEEDS");
  return seeds_text == nullptr ? usual / kSeedDivisor : static_cast<uint32_t>(std::atoi(seeds_text));
}

}  // namespace tapline::trigger::testing
