#include "conditions/simd/kernels.h"

#include <array>

namespace tapline::conditions::simd {

extern const Kernels kKernelsV2, kKernelsV3, kKernelsV4;

namespace {

struct Choice {
  std::array<const Kernels*, 3> kernels{&kKernelsV2, nullptr, nullptr};
  size_t count = 1;

  Choice() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) kernels[count++] = &kKernelsV3;
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
      kernels[count++] = &kKernelsV4;
  }
};

const Choice& chosen() {
  static const Choice choice;
  return choice;
}

}  // namespace

const Kernels& best() { return *chosen().kernels[chosen().count - 1]; }
std::span<const Kernels* const> available() { return {chosen().kernels.data(), chosen().count}; }

}  // namespace tapline::conditions::simd
