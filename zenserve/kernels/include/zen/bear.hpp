// BabyBear: the integers modulo p = 15 2^27 + 1, words of 32 bits in Montgomery form (R = 2^32), below p, side by side in
// vectors. CPU only.
//
// Three operations are the processor's own: products of the even lanes, the least of two words, and the high halves of words
// of 64 bits in the order of lanes. All else is written once.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "target.hpp"

namespace zen::bear {

#if defined(__AVX512F__)
inline constexpr int lane_count = 16;
#elif defined(__AVX2__)
inline constexpr int lane_count = 8;
#else
inline constexpr int lane_count = 4;
#endif

using Lanes = uint32_t __attribute__((vector_size(4 * lane_count)));
using Wide = uint64_t __attribute__((vector_size(4 * lane_count)));  // half as many words of 64 bits

inline constexpr uint32_t modulus = 0x78000001, generator = 31;
inline constexpr int two_adicity = 27;

// 1 / p modulo 2^32, by Newton's steps.
constexpr uint32_t make_inverse() {
  uint32_t x = 1;
  for (int i = 0; i < 5; i++) x *= 2 - modulus * x;
  return x;
}
inline constexpr uint32_t inverse_modulus = make_inverse();
inline constexpr uint32_t one = uint32_t((uint64_t(1) << 32) % modulus);          // R
inline constexpr uint32_t square_of_r = uint32_t(uint64_t(one) * one % modulus);  // R^2

constexpr uint32_t times(uint32_t a, uint32_t b) {  // plain integers
  return uint32_t(uint64_t(a) * b % modulus);
}
constexpr uint32_t power(uint32_t base, uint64_t exponent) {
  uint32_t result = 1;
  for (; exponent; exponent >>= 1, base = times(base, base))
    if (exponent & 1) result = times(result, base);
  return result;
}
constexpr uint32_t to_montgomery(uint32_t a) { return times(a, one); }

ZEN_FN Lanes all_lanes(uint32_t value) { return Lanes{} + value; }
ZEN_FN Wide all_wide(uint64_t value) { return Wide{} + value; }
ZEN_FN Lanes load(const uint32_t* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
ZEN_FN void store(uint32_t* p, Lanes v) { std::memcpy(p, &v, sizeof v); }

#if defined(__AVX512F__)

// a_i b_i of the even lanes; and of signed ones.
ZEN_FN Wide even_products(Lanes a, Lanes b) { return Wide(_mm512_maskz_mul_epu32(__mmask8(-1), __m512i(a), __m512i(b))); }
ZEN_FN Wide signed_products(Wide a, Wide b) { return Wide(_mm512_maskz_mul_epi32(__mmask8(-1), __m512i(a), __m512i(b))); }
ZEN_FN Lanes least(Lanes a, Lanes b) { return Lanes(_mm512_maskz_min_epu32(__mmask16(-1), __m512i(a), __m512i(b))); }
ZEN_FN Lanes high_halves(Wide even, Wide odd) {
  return Lanes(_mm512_mask_shuffle_epi32(__m512i(odd), 0x5555, __m512i(even), _MM_PERM_DDBB));
}
ZEN_FN Wide widened(const int8_t* p) {
  return Wide(_mm512_maskz_cvtepi8_epi64(__mmask8(-1), _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
ZEN_FN Wide widened(const int16_t* p) {
  return Wide(_mm512_maskz_cvtepi16_epi64(__mmask8(-1), _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
ZEN_FN Wide widened(const uint32_t* p) {
  return Wide(_mm512_maskz_cvtepu32_epi64(__mmask8(-1), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}

#elif defined(__AVX2__)

ZEN_FN Wide even_products(Lanes a, Lanes b) { return Wide(_mm256_mul_epu32(__m256i(a), __m256i(b))); }
ZEN_FN Wide signed_products(Wide a, Wide b) { return Wide(_mm256_mul_epi32(__m256i(a), __m256i(b))); }
ZEN_FN Lanes least(Lanes a, Lanes b) { return Lanes(_mm256_min_epu32(__m256i(a), __m256i(b))); }
ZEN_FN Lanes high_halves(Wide even, Wide odd) {
  return Lanes(_mm256_blend_epi32(__m256i(even >> 32), __m256i(odd), 0xAA));
}
ZEN_FN Wide widened(const int8_t* p) {
  int32_t four;
  std::memcpy(&four, p, 4);
  return Wide(_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four)));
}
ZEN_FN Wide widened(const int16_t* p) {
  return Wide(_mm256_cvtepi16_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
ZEN_FN Wide widened(const uint32_t* p) {
  return Wide(_mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

#else

inline constexpr uint64_t low_half = 0xFFFFFFFF;
ZEN_FN Wide even_products(Lanes a, Lanes b) { return (Wide(a) & low_half) * (Wide(b) & low_half); }
ZEN_FN Wide signed_products(Wide a, Wide b) { return a * b; }  // of words that are extended already
ZEN_FN Lanes least(Lanes a, Lanes b) { return a < b ? a : b; }
ZEN_FN Lanes high_halves(Wide even, Wide odd) { return Lanes((even >> 32) | (odd & ~low_half)); }
template <class Entry>
ZEN_FN Wide widened(const Entry* p) {
  Wide v;
  for (int i = 0; i < lane_count / 2; i++) v[i] = uint64_t(int64_t(p[i]));
  return v;
}

#endif

// The odd lanes in place of the even ones.
ZEN_FN Lanes odd_lanes(Lanes a) { return Lanes(Wide(a) >> 32); }

ZEN_FN Lanes add(Lanes a, Lanes b) {
  const Lanes sum = a + b;
  return least(sum, sum - modulus);
}
ZEN_FN Lanes sub(Lanes a, Lanes b) {
  const Lanes difference = a - b;
  return least(difference, difference + modulus);
}
ZEN_FN Lanes neg(Lanes a) { return sub(Lanes{}, a); }

// T / R modulo p of sums T < p R in the even and odd lanes: T less m p, m = T / p modulo R, whose low halves are zero.
ZEN_FN Lanes reduced(Wide even, Wide odd) {
  const Lanes inverse = all_lanes(inverse_modulus), p = all_lanes(modulus);
  even -= even_products(Lanes(even_products(Lanes(even), inverse)), p);
  odd -= even_products(Lanes(even_products(Lanes(odd), inverse)), p);
  const Lanes high = high_halves(even, odd);
  return least(high, high + modulus);
}

// T modulo p R, for T < 2 p R.
ZEN_FN Wide settled(Wide sum) {
  const Lanes less = Lanes(sum) - Lanes(all_wide(uint64_t(modulus) << 32));
  return Wide(least(Lanes(sum), less));
}

ZEN_FN Lanes mul(Lanes a, Lanes b) {
  return reduced(even_products(a, b), even_products(odd_lanes(a), odd_lanes(b)));
}

// For each `lane_count` of n words visit(i, count): there are `count` of them from place i on.
template <class Visit>
ZEN_FN void for_lanes(long begin, long end, Visit visit) {
  long i = begin;
  for (; i + lane_count <= end; i += lane_count) visit(i, lane_count);
  if (i < end) visit(i, int(end - i));
}
ZEN_FN Lanes load(const uint32_t* p, int count) {
  if (count == lane_count) return load(p);
  Lanes v{};
  std::memcpy(&v, p, size_t(count) * 4);
  return v;
}
ZEN_FN void store(uint32_t* p, Lanes v, int count) {
  if (count == lane_count)
    store(p, v);
  else
    std::memcpy(p, &v, size_t(count) * 4);
}

}  // namespace zen::bear
