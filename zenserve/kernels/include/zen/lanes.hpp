// Words of 64 bits side by side, as GCC's vector extension has them: +, -, &, |, <<, >>, == and ?: work lane by lane.
// Elements of a field lie in them in digits, and what multiplies these is the processor's own.
//
//   ZEN_LANES        eight, and digits of 52 bits: AVX-512 IFMA has the two halves of their products. Without it these
//                    are loops, so that what is built on this header runs, and is tested, on any machine.
//   otherwise        four, and digits of 29 bits: AVX2 has whole products of 32-bit halves, and their sums have room
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "target.hpp"

namespace zen {

#if defined(ZEN_LANES)
inline constexpr int lane_count = 8, digit_bits = 52;
#else
inline constexpr int lane_count = 4, digit_bits = 29;
#endif
// Products of digits fit into a lane.
inline constexpr bool whole_products = 2 * digit_bits < 64;

using Lanes = u64 __attribute__((vector_size(8 * lane_count)));
using SignedLanes = int64_t __attribute__((vector_size(8 * lane_count)));  // also what == and < make: -1 or 0
using UnalignedLanes = u64 __attribute__((vector_size(8 * lane_count), aligned(8)));

inline constexpr u64 digit_mask = ~0ull >> (64 - digit_bits);

ZEN_FN Lanes all_lanes(u64 value) { return Lanes{} + value; }
constexpr u64 shift_signed(u64 v, unsigned bits) { return v >> bits; }  // of a constant, which is not negative
ZEN_FN Lanes load_lanes(const u64* p) { return *reinterpret_cast<const UnalignedLanes*>(p); }
ZEN_FN void store_lanes(u64* p, Lanes v) { *reinterpret_cast<UnalignedLanes*>(p) = v; }

#if !defined(ZEN_LANES)

#define ZEN_LANE_FN ZEN_FN  // of functions with many products of digits

// a b, of the lower halves of their lanes; and with signs.
ZEN_FN Lanes product(Lanes a, Lanes b) { return Lanes(_mm256_mul_epu32(__m256i(a), __m256i(b))); }
ZEN_FN Lanes signed_product(Lanes a, Lanes b) { return Lanes(_mm256_mul_epi32(__m256i(a), __m256i(b))); }
// sum += a b. Left alone GCC makes all products first and has no registers for them; and their order is thought out.
ZEN_FN void add_product(Lanes& sum, const Lanes& a, Lanes b) {
  Lanes made;
  asm volatile("vpmuludq %[a], %[b], %[made]\n\t vpaddq %[made], %[sum], %[sum]"
      : [sum] "+x"(sum), [made] "=&x"(made)
      : [a] "m"(a), [b] "x"(b));
}
// sum -= a b
ZEN_FN void subtract_product(Lanes& sum, const Lanes& a, Lanes b) {
  Lanes made;
  asm volatile("vpmuludq %[a], %[b], %[made]\n\t vpsubq %[made], %[sum], %[sum]"
      : [sum] "+x"(sum), [made] "=&x"(made)
      : [a] "m"(a), [b] "x"(b));
}
// The low digit of a product.
ZEN_FN Lanes low_digit(Lanes a, Lanes b) { return product(a, b) & digit_mask; }
// (low, next) += a b, as digits that are not carried.
ZEN_FN void add_uncarried(Lanes& low, Lanes&, Lanes a, Lanes b) { low += product(a, b); }
// a / divisor, or one less, for a < 2^20 and 2^16 < divisor < 2^18.
ZEN_FN Lanes rough_quotient(Lanes a, u64 divisor) { return product(a, all_lanes((1ull << 44) / divisor)) >> 44; }
ZEN_FN unsigned bits_of(SignedLanes truth) { return unsigned(_mm256_movemask_pd(__m256d(truth))); }

#elif defined(__AVX512IFMA__)

#define ZEN_LANE_FN ZEN_FN

// sum + the low (high) 52 bits of the product of a's and b's low 52 bits.
ZEN_FN Lanes add_low(Lanes sum, Lanes a, Lanes b) {
  return Lanes(_mm512_madd52lo_epu64(__m512i(sum), __m512i(a), __m512i(b)));
}
ZEN_FN Lanes add_high(Lanes sum, Lanes a, Lanes b) {
  return Lanes(_mm512_madd52hi_epu64(__m512i(sum), __m512i(a), __m512i(b)));
}
// sum + factor times the eight digits of 32 bits at `words`, each less 2^31. The factor is of 32 bits, signed.
ZEN_FN Lanes add_signed_digits(Lanes sum, const u64* words, int64_t factor) {
  const __m256i digits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  const __m256i biased = _mm256_xor_si256(digits, _mm256_set1_epi32(INT32_MIN));
  const __m512i wide = _mm512_maskz_cvtepu32_epi64(__mmask8(-1), biased);  // without a mask compilers see what is not set
  return sum + Lanes(_mm512_maskz_mul_epi32(__mmask8(-1), wide, _mm512_set1_epi64(factor)));
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
ZEN_FN Lanes add_signed_digits(Lanes sum, const u64* words, int64_t factor) {
  for (int i = 0; i < lane_count; i++)
    sum[i] += u64((int64_t(uint32_t(words[i / 2] >> 32 * (i % 2))) - (int64_t(1) << 31)) * factor);
  return sum;
}
ZEN_FN unsigned bits_of(SignedLanes truth) {
  unsigned bits = 0;
  for (int i = 0; i < lane_count; i++) bits |= unsigned(truth[i] & 1) << i;
  return bits;
}

#endif

#if defined(ZEN_LANES)

ZEN_FN Lanes low_digit(Lanes a, Lanes b) { return add_low(Lanes{}, a, b); }
ZEN_FN void add_uncarried(Lanes& low, Lanes& next, Lanes a, Lanes b) {
  low = add_low(low, a, b);
  next = add_high(next, a, b);
}
ZEN_FN Lanes rough_quotient(Lanes a, u64 divisor) {
  return add_high(Lanes{}, a, all_lanes((1ull << digit_bits) / divisor));
}
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

#else

// AVX2 shifts no signs into 64 bits.
ZEN_FN Lanes shift_signed(Lanes v, unsigned bits) {
  constexpr u64 sign = 1ull << 63;
  return ((v + sign) >> bits) - (sign >> bits);
}
ZEN_FN SignedLanes truth_of(unsigned bits) { return (all_lanes(bits) & Lanes{1, 2, 4, 8}) != 0; }

// rows[i] lane j <-> rows[j] lane i.
ZEN_FN void transpose(Lanes (&rows)[4]) {
  const Lanes a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6), b = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  const Lanes c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6), d = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), rows[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7), rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

#endif

}  // namespace zen
