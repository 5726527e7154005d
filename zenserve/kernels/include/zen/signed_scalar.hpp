// Scalars as sign and magnitude, and their digits.
#pragma once

#include "field.hpp"

namespace zen {

// A scalar of absolute value at most (r - 1) / 2, canonical, with its sign apart: small negative
// witness values stay small.
struct SignedScalar {
  u64 doubled[8];  // twice the magnitude, of 254 bits; zeros follow, so that digits may be read past the top
  bool negative;

  static SignedScalar from(const Fr& montgomery) {
    const Fr value = montgomery.to_canonical();
    const bool negative = exceeds_half(value);
    u64 magnitude[4];
    (negative ? -value : value).to_words(magnitude);
    SignedScalar r{{}, negative};
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
      r.doubled[i] = magnitude[i] << 1 | carry;
      carry = magnitude[i] >> 63;
    }
    return r;
  }

  u64 magnitude(int word) const { return doubled[word] >> 1 | doubled[word + 1] << 63; }

  // Of magnitude 2^63 at most: the sum over words of 2^(64 i) word(i) is the scalar. A word from 2^63 on is what it lacks to
  // 2^64, taken away, and one more of the next: like Booth's digits it depends on the bit below, and no carry runs.
  SignedScalar word(int i) const {
    const u64 value = magnitude(i), below = i ? magnitude(i - 1) >> 63 : 0;
    const bool lacks = value >> 63;
    const u64 size = lacks ? -(value + below) : value + below;
    return {{size << 1, size >> 63}, negative != lacks};
  }

  struct Digit {
    unsigned magnitude;
    bool negative;
  };

  // Booth digit `window` of width c: its magnitude is at most 2^(c-1), and the sum over windows of digit 2^(c window)
  // is the scalar. It depends on c + 1 bits only, so that no carry runs from window to window. 1 <= c <= 30.
  Digit digit(int window, int c) const {
    const unsigned low = unsigned(window * c), word = low / 64, shift = low % 64;
    const u64 above = doubled[word + 1] << 1 << (63 - shift);
    const unsigned bits = unsigned(doubled[word] >> shift | above) & ((2u << c) - 1);
    const unsigned rounded = (bits + 1) >> 1, complement = (1u << c) - rounded;
    return {rounded < complement ? rounded : complement, bool(bits >> c) != negative};
  }

 private:
  static bool exceeds_half(const Fr& value) {
    u64 words[4];
    value.to_words(words);
    for (int i = 3; i >= 0; i--)
      if (words[i] != FrParameters::half[i]) return words[i] > FrParameters::half[i];
    return false;
  }
};

// The number of digits of width c of a magnitude of this many bits.
constexpr int digit_count(int bits, int c) { return bits / c + 1; }

constexpr int longest_scalar = 254, longest_word = 64, scalar_words = 4;

}  // namespace zen
