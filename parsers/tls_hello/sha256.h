#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tapline::tls {

// SHA-256 (FIPS 180-4 section 6.2) of a whole text: fingerprints are made of it, no secrets.
std::array<uint8_t, 32> sha256(std::span<const uint8_t> text);

}  // namespace tapline::tls
