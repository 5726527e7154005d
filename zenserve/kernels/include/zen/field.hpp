// Prime fields in Montgomery form, the quadratic extension Fp2 = Fp[u]/(u^2 + 1), and batch inversion.
// Nothing here is constant-time as a whole: curve.hpp and msm.hpp branch on values.
#pragma once

#include "target.hpp"

namespace zen {

// An element of a prime field: a R mod modulus, canonical (< modulus), as little-endian limbs.
template <class P>
struct Prime {
  using Parameters = P;
  static constexpr int limbs = P::words * int(sizeof(u64) / sizeof(limb));
  limb v[limbs];

  static ZEN_FN Prime zero() { return Prime{}; }
  static ZEN_FN Prime one() { return from_words(P::one); }
  static ZEN_FN Prime from_words(const u64* w) {
    constexpr int per_word = sizeof(u64) / sizeof(limb), bits = 8 * sizeof(limb);
    Prime r;
    ZEN_UNROLL for (int i = 0; i < limbs; i++) r.v[i] = limb(w[i / per_word] >> (bits * (i % per_word)));
    return r;
  }
  ZEN_FN void to_words(u64* w) const {
    constexpr int per_word = sizeof(u64) / sizeof(limb), bits = 8 * sizeof(limb);
    ZEN_UNROLL for (int i = 0; i < P::words; i++) {
      w[i] = 0;
      for (int j = 0; j < per_word; j++) w[i] |= u64(v[per_word * i + j]) << (bits * j);
    }
  }

  friend ZEN_FN Prime operator+(const Prime& a, const Prime& b) {
    Prime r;
    add_mod<P>(r.v, a.v, b.v);
    return r;
  }
  friend ZEN_FN Prime operator-(const Prime& a, const Prime& b) {
    Prime r;
    sub_mod<P>(r.v, a.v, b.v);
    return r;
  }
  friend ZEN_FN Prime operator*(const Prime& a, const Prime& b) {
    Prime r;
    mont_mul<P>(r.v, a.v, b.v);
    return r;
  }
  friend ZEN_FN bool operator==(const Prime& a, const Prime& b) {
    limb difference = 0;
    ZEN_UNROLL for (int i = 0; i < limbs; i++) difference |= a.v[i] ^ b.v[i];
    return difference == 0;
  }
  ZEN_FN Prime operator-() const { return zero() - *this; }
  ZEN_FN Prime square() const {
    Prime r;
    mont_square<P>(r.v, v);
    return r;
  }
  ZEN_FN Prime doubled() const { return *this + *this; }
  ZEN_FN bool is_zero() const {
    limb any = 0;
    ZEN_UNROLL for (int i = 0; i < limbs; i++) any |= v[i];
    return any == 0;
  }

  // The integer's words in plain representation; and back (the integer must be < modulus).
  ZEN_FN Prime to_canonical() const {
    Prime r, unit{};
    unit.v[0] = 1;
    mont_mul<P>(r.v, v, unit.v);
    return r;
  }
  ZEN_FN Prime to_montgomery() const { return *this * from_words(P::radix_squared); }

  // this^e, e given as `count` little-endian 64-bit words; four bits at a time.
  Prime power(const u64* e, int count) const {
    Prime table[16];
    table[0] = one();
    for (int i = 1; i < 16; i++) table[i] = table[i - 1] * *this;
    Prime r = one();
    for (int i = 16 * count - 1; i >= 0; i--) {
      r = r.square().square().square().square();
      r = r * table[e[i / 16] >> (4 * (i % 16)) & 15];
    }
    return r;
  }

  // Zero goes to zero.
  Prime inverse() const {
    Prime r;
    invert<P>(r.v, v);
    return r.to_montgomery().to_montgomery();
  }
};

using Fr = Prime<FrParameters>;
using Fp = Prime<FpParameters>;

struct Fp2 {
  Fp c0, c1;

  static ZEN_FN Fp2 zero() { return {Fp::zero(), Fp::zero()}; }
  static ZEN_FN Fp2 one() { return {Fp::one(), Fp::zero()}; }

  friend ZEN_FN Fp2 operator+(const Fp2& a, const Fp2& b) { return {a.c0 + b.c0, a.c1 + b.c1}; }
  friend ZEN_FN Fp2 operator-(const Fp2& a, const Fp2& b) { return {a.c0 - b.c0, a.c1 - b.c1}; }
  // Four products, but two reductions and no sums: cheaper than Karatsuba's three of each and five sums.
  friend ZEN_FN Fp2 operator*(const Fp2& a, const Fp2& b) {
    const Fp2 conjugate = {b.c0, -b.c1}, swapped = {b.c1, b.c0};
    Fp2 r;
    mont_sum_of_products<FpParameters>(r.c0.v, a.words(), conjugate.words());
    mont_sum_of_products<FpParameters>(r.c1.v, a.words(), swapped.words());
    return r;
  }
  friend ZEN_FN bool operator==(const Fp2& a, const Fp2& b) { return a.c0 == b.c0 && a.c1 == b.c1; }
  ZEN_FN Fp2 operator-() const { return {-c0, -c1}; }
  ZEN_FN Fp2 square() const { return {(c0 + c1) * (c0 - c1), (c0 * c1).doubled()}; }
  ZEN_FN Fp2 doubled() const { return {c0.doubled(), c1.doubled()}; }
  ZEN_FN bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  ZEN_FN const limb* words() const { return reinterpret_cast<const limb*>(this); }

  ZEN_FN Fp norm() const {
    Fp r;
    mont_sum_of_products<FpParameters>(r.v, words(), words());
    return r;
  }

  Fp2 inverse() const {
    const Fp inverse_norm = norm().inverse();
    return {c0 * inverse_norm, -(c1 * inverse_norm)};
  }
};

// a b - c d; in Fp with one reduction.
template <class F>
ZEN_FN F difference_of_products(const F& a, const F& b, const F& c, const F& d) {
  return a * b - c * d;
}
ZEN_FN Fp difference_of_products(const Fp& a, const Fp& b, const Fp& c, const Fp& d) {
  const Fp2 left = {a, -c}, right = {b, d};
  Fp r;
  mont_sum_of_products<FpParameters>(r.v, left.words(), right.words());
  return r;
}

// Montgomery's trick: values[i] = 1 / values[i], one inversion and 3 n products; zeros stay zero.
// `scratch` holds n elements.
template <class F>
void batch_inverse(F* values, F* scratch, long n) {
  F product = F::one();
  for (long i = 0; i < n; i++) {
    scratch[i] = product;
    if (!values[i].is_zero()) product = product * values[i];
  }
  F inverse = product.inverse();
  for (long i = n - 1; i >= 0; i--) {
    if (values[i].is_zero()) continue;
    const F value = values[i];
    values[i] = inverse * scratch[i];
    inverse = inverse * value;
  }
}

}  // namespace zen
