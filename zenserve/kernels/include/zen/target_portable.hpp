// Target: any CPU and compiler. Limbs have 64 bits, or 32 with ZEN_LIMB_BITS=32, which a test uses to show
// that the formulas above do not depend on the width.
#pragma once

#include <cstdint>

#include "safegcd.hpp"

#define ZEN_FN inline __attribute__((always_inline))
#define ZEN_UNROLL _Pragma("GCC unroll 12")

#if !defined(ZEN_LIMB_BITS)
#define ZEN_LIMB_BITS 64
#endif

namespace zen {

#if ZEN_LIMB_BITS == 64
using limb = u64;
using wide = unsigned __int128;
#else
using limb = uint32_t;
using wide = u64;
#endif

inline constexpr int limb_bits = ZEN_LIMB_BITS;

using safegcd::invert;

template <class P>
inline constexpr int limb_count = P::words * 64 / limb_bits;

template <class P>
constexpr limb modulus_limb(int i) {
  return limb(P::modulus[i * limb_bits / 64] >> (i * limb_bits % 64));
}

// t < 2 modulus  ->  out = t mod modulus
template <class P>
ZEN_FN void reduce_once(limb* out, const limb* t) {
  limb reduced[limb_count<P>];
  limb borrow = 0;
  ZEN_UNROLL for (int i = 0; i < limb_count<P>; i++) {
    const wide difference = wide(t[i]) - modulus_limb<P>(i) - borrow;
    reduced[i] = limb(difference);
    borrow = limb(difference >> limb_bits) & 1;
  }
  const limb keep = -borrow;
  ZEN_UNROLL for (int i = 0; i < limb_count<P>; i++) out[i] = (t[i] & keep) | (reduced[i] & ~keep);
}

template <class P>
ZEN_FN void add_mod(limb* out, const limb* a, const limb* b) {
  limb sum[limb_count<P>];
  limb carry = 0;
  ZEN_UNROLL for (int i = 0; i < limb_count<P>; i++) {
    const wide word = wide(a[i]) + b[i] + carry;
    sum[i] = limb(word);
    carry = limb(word >> limb_bits);
  }
  reduce_once<P>(out, sum);
}

template <class P>
ZEN_FN void sub_mod(limb* out, const limb* a, const limb* b) {
  limb difference[limb_count<P>];
  limb borrow = 0;
  ZEN_UNROLL for (int i = 0; i < limb_count<P>; i++) {
    const wide word = wide(a[i]) - b[i] - borrow;
    difference[i] = limb(word);
    borrow = limb(word >> limb_bits) & 1;
  }
  const limb mask = -borrow;
  limb carry = 0;
  ZEN_UNROLL for (int i = 0; i < limb_count<P>; i++) {
    const wide word = wide(difference[i]) + (modulus_limb<P>(i) & mask) + carry;
    out[i] = limb(word);
    carry = limb(word >> limb_bits);
  }
}

// Coarsely integrated operand scanning. The top word of both moduli leaves room, so that no row
// carries out of its last word (Botrel et al., "Faster big-integer modular multiplication for most
// moduli", hackmd.io/@gnark/modular_multiplication, 2020).
template <class P>
inline void mont_mul(limb* out, const limb* a, const limb* b) {
  constexpr int n = limb_count<P>;
  limb t[n] = {};
  ZEN_UNROLL for (int i = 0; i < n; i++) {
    wide product = wide(a[0]) * b[i] + t[0];
    limb carry_product = limb(product >> limb_bits);
    const limb m = limb(product) * limb(P::negative_inverse);
    wide reduction = wide(m) * modulus_limb<P>(0) + limb(product);
    limb carry_reduction = limb(reduction >> limb_bits);
    ZEN_UNROLL for (int j = 1; j < n; j++) {
      product = wide(a[j]) * b[i] + t[j] + carry_product;
      carry_product = limb(product >> limb_bits);
      reduction = wide(m) * modulus_limb<P>(j) + limb(product) + carry_reduction;
      carry_reduction = limb(reduction >> limb_bits);
      t[j - 1] = limb(reduction);
    }
    t[n - 1] = carry_product + carry_reduction;
  }
  reduce_once<P>(out, t);
}

template <class P>
inline void mont_square(limb* out, const limb* a) {
  mont_mul<P>(out, a, a);
}

template <class P>
inline void mont_sum_of_products(limb* out, const limb* a, const limb* b) {
  constexpr int n = limb_count<P>;
  limb t[n + 1] = {};
  const auto add_multiple = [&t](const limb* words, limb factor) {
    limb carry = 0;
    ZEN_UNROLL for (int j = 0; j < n; j++) {
      const wide word = wide(words[j]) * factor + t[j] + carry;
      t[j] = limb(word);
      carry = limb(word >> limb_bits);
    }
    t[n] += carry;
  };
  limb modulus[n];
  ZEN_UNROLL for (int i = 0; i < n; i++) modulus[i] = modulus_limb<P>(i);
  ZEN_UNROLL for (int i = 0; i < n; i++) {
    add_multiple(a, b[i]);
    add_multiple(a + n, b[n + i]);
    add_multiple(modulus, t[0] * limb(P::negative_inverse));
    ZEN_UNROLL for (int j = 0; j < n; j++) t[j] = t[j + 1];
    t[n] = 0;
  }
  reduce_once<P>(out, t);
}

}  // namespace zen
