// Scalars as sign and magnitude, and their digits.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "field.hpp"

namespace zen {

// A scalar of absolute value at most (r - 1) / 2, canonical, with its sign apart: small negative
// witness values stay small.
struct SignedScalar {
  u64 magnitude[5];  // 254 bits; the last word is zero, so that digits may be read past the top
  bool negative;

  static SignedScalar from(const Fr& montgomery) {
    const Fr value = montgomery.to_canonical();
    SignedScalar r{};
    r.negative = exceeds_half(value);
    const Fr magnitude = r.negative ? -value : value;
    std::memcpy(r.magnitude, magnitude.v, sizeof magnitude.v);
    return r;
  }

  int bit_length() const {
    for (int i = 3; i >= 0; i--)
      if (magnitude[i]) return 64 * i + 64 - __builtin_clzll(magnitude[i]);
    return 0;
  }

  struct Digit {
    uint32_t magnitude;
    bool negative;
  };

  // Booth digit `window` of width c: its magnitude is at most 2^(c-1), and the sum over windows of digit 2^(c window)
  // is the scalar. It depends on c + 1 bits only, so that no carry runs from window to window. 1 <= c <= 30.
  Digit digit(int window, int c) const {
    u64 bits = magnitude[0] << 1;
    if (window) {
      const unsigned low = unsigned(window * c) - 1;
      std::memcpy(&bits, reinterpret_cast<const char*>(magnitude) + low / 8, sizeof bits);
      bits >>= low % 8;
    }
    const uint32_t half = uint32_t((bits & ((1u << c) - 1)) + 1) >> 1;
    const bool top = bits >> c & 1;
    return {top ? (1u << (c - 1)) - half : half, top != negative};
  }

 private:
  static bool exceeds_half(const Fr& value) {
    for (int i = 3; i >= 0; i--)
      if (value.v[i] != FrParameters::half[i]) return value.v[i] > FrParameters::half[i];
    return false;
  }
};

// The number of digits of width c of a magnitude of this many bits.
constexpr int digit_count(int bits, int c) { return bits / c + 1; }

constexpr int longest_scalar = 254;

}  // namespace zen
