// Eight words of 64 bits side by side, as GCC's vector extension has them: +, -, &, |, <<, >>, == and ?: work lane
// by lane. Only the two halves of a 52-bit product are the processor's own (AVX-512 IFMA); without it they are
// loops, so that everything built on this header runs, and is tested, on any machine.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512IFMA__)
#include <immintrin.h>
#endif

#include "target.hpp"

namespace zen {

inline constexpr int lane_count = 8;

using Lanes = u64 __attribute__((vector_size(8 * lane_count)));
using SignedLanes = int64_t __attribute__((vector_size(8 * lane_count)));  // also what == and < make: -1 or 0
using UnalignedLanes = u64 __attribute__((vector_size(8 * lane_count), aligned(8)));

inline constexpr int digit_bits = 52;  // of the limbs that IFMA multiplies
inline constexpr u64 digit_mask = ~0ull >> (64 - digit_bits);

ZEN_FN Lanes all_lanes(u64 value) { return Lanes{} + value; }
ZEN_FN Lanes load_lanes(const u64* p) { return *reinterpret_cast<const UnalignedLanes*>(p); }
ZEN_FN void store_lanes(u64* p, Lanes v) { *reinterpret_cast<UnalignedLanes*>(p) = v; }

#if defined(__AVX512IFMA__)

#define ZEN_LANE_FN ZEN_FN  // of functions with many products of digits

// sum + the low (high) 52 bits of the product of a's and b's low 52 bits.
ZEN_FN Lanes add_low(Lanes sum, Lanes a, Lanes b) {
  return Lanes(_mm512_madd52lo_epu64(__m512i(sum), __m512i(a), __m512i(b)));
}
ZEN_FN Lanes add_high(Lanes sum, Lanes a, Lanes b) {
  return Lanes(_mm512_madd52hi_epu64(__m512i(sum), __m512i(a), __m512i(b)));
}
// Bit i: whether lane i of a comparison's result is true.
ZEN_FN unsigned bits_of(SignedLanes truth) { return _mm512_movepi64_mask(__m512i(truth)); }

#else

#define ZEN_LANE_FN inline __attribute__((noinline))  // each product is a loop: compilers would take minutes

ZEN_FN Lanes add_low(Lanes sum, Lanes a, Lanes b) {
  for (int i = 0; i < lane_count; i++) sum[i] += (a[i] & digit_mask) * (b[i] & digit_mask) & digit_mask;
  return sum;
}
ZEN_FN Lanes add_high(Lanes sum, Lanes a, Lanes b) {
  for (int i = 0; i < lane_count; i++)
    sum[i] += u64((unsigned __int128)(a[i] & digit_mask) * (b[i] & digit_mask) >> digit_bits);
  return sum;
}
ZEN_FN unsigned bits_of(SignedLanes truth) {
  unsigned bits = 0;
  for (int i = 0; i < lane_count; i++) bits |= unsigned(truth[i] & 1) << i;
  return bits;
}

#endif

ZEN_FN Lanes shift_signed(Lanes v, unsigned bits) { return Lanes(SignedLanes(v) >> bits); }

// The comparison's result with these bits.
ZEN_FN SignedLanes truth_of(unsigned bits) {
  return (all_lanes(bits) & Lanes{1, 2, 4, 8, 16, 32, 64, 128}) != 0;
}
// table[index] in each lane, index < 8.
ZEN_FN Lanes look_up(Lanes table, Lanes index) { return __builtin_shuffle(table, index); }

// rows[i] lane j <-> rows[j] lane i.
ZEN_FN void transpose(Lanes (&rows)[8]) {
  Lanes pairs[8], quads[8];
  ZEN_UNROLL for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  ZEN_UNROLL for (int i = 0; i < 8; i += 4) {
    ZEN_UNROLL for (int k = 0; k < 2; k++) {
      quads[i + k] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + k + 2] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  ZEN_UNROLL for (int k = 0; k < 4; k++) {
    rows[k] = __builtin_shufflevector(quads[k], quads[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    rows[k + 4] = __builtin_shufflevector(quads[k], quads[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

}  // namespace zen
