// Target: any CPU with 64-bit integers and a compiler that has unsigned __int128.
#pragma once

#include "safegcd.hpp"

#define ZEN_FN inline __attribute__((always_inline))
#define ZEN_UNROLL _Pragma("GCC unroll 8")

namespace zen {

inline constexpr const char* target_name = "portable";

using limb = u64;
using safegcd::invert;
using wide = unsigned __int128;

// t < 2 modulus  ->  out = t mod modulus
template <class P>
ZEN_FN void reduce_once(limb* out, const limb* t) {
  limb reduced[P::words];
  limb borrow = 0;
  ZEN_UNROLL for (int i = 0; i < P::words; i++) {
    const wide difference = wide(t[i]) - P::modulus[i] - borrow;
    reduced[i] = limb(difference);
    borrow = limb(difference >> 64) & 1;
  }
  const limb keep = -borrow;
  ZEN_UNROLL for (int i = 0; i < P::words; i++) out[i] = (t[i] & keep) | (reduced[i] & ~keep);
}

template <class P>
ZEN_FN void add_mod(limb* out, const limb* a, const limb* b) {
  limb sum[P::words];
  limb carry = 0;
  ZEN_UNROLL for (int i = 0; i < P::words; i++) {
    const wide word = wide(a[i]) + b[i] + carry;
    sum[i] = limb(word);
    carry = limb(word >> 64);
  }
  reduce_once<P>(out, sum);
}

template <class P>
ZEN_FN void sub_mod(limb* out, const limb* a, const limb* b) {
  limb difference[P::words];
  limb borrow = 0;
  ZEN_UNROLL for (int i = 0; i < P::words; i++) {
    const wide word = wide(a[i]) - b[i] - borrow;
    difference[i] = limb(word);
    borrow = limb(word >> 64) & 1;
  }
  const limb mask = -borrow;
  limb carry = 0;
  ZEN_UNROLL for (int i = 0; i < P::words; i++) {
    const wide word = wide(difference[i]) + (P::modulus[i] & mask) + carry;
    out[i] = limb(word);
    carry = limb(word >> 64);
  }
}

// Coarsely integrated operand scanning. The top word of both moduli leaves room, so that no row
// carries out of its last word (Botrel et al., "Faster big-integer modular multiplication for most
// moduli", hackmd.io/@gnark/modular_multiplication, 2020).
template <class P>
inline void mont_mul(limb* out, const limb* a, const limb* b) {
  constexpr int n = P::words;
  limb t[n] = {};
  ZEN_UNROLL for (int i = 0; i < n; i++) {
    wide product = wide(a[0]) * b[i] + t[0];
    limb carry_product = limb(product >> 64);
    const limb m = limb(product) * P::negative_inverse;
    wide reduction = wide(m) * P::modulus[0] + limb(product);
    limb carry_reduction = limb(reduction >> 64);
    ZEN_UNROLL for (int j = 1; j < n; j++) {
      product = wide(a[j]) * b[i] + t[j] + carry_product;
      carry_product = limb(product >> 64);
      reduction = wide(m) * P::modulus[j] + limb(product) + carry_reduction;
      carry_reduction = limb(reduction >> 64);
      t[j - 1] = limb(reduction);
    }
    t[n - 1] = carry_product + carry_reduction;
  }
  reduce_once<P>(out, t);
}

}  // namespace zen
