// Eight elements of Fr in lanes (see octet.hpp). The lanes see memory's elements divided by 2^4, so factor form is
// 2^4 times an element: a product with a factor then has memory's form again.
//
// Between a load and a store digits are not carried and values are not reduced. The product of x < 35 r and a factor
// is below 2 r, so scattering adds at most 2 r a layer, 4 r where the twiddle is one: 25 r after 11 layers. Gathering
// doubles the sums: they are bounded again after every two layers, so that these begin below 4 r and end below 20 r.
#pragma once

#include "lane_field.hpp"

namespace zen {

struct One {};

inline Fr to_factor(const Fr& x) { return x.doubled().doubled().doubled().doubled(); }
inline Fr from_factor(const Fr& x) {
  Fr sixteenth = Fr::zero();
  sixteenth.v[3] = limb(1) << 60;  // 2^-4 2^256
  return x * sixteenth;
}

struct Factor;

struct Octet {
  using At = Octet;
  LaneFr x;

  static ZEN_LANE_FN Octet adjacent(const Fr* p) { return {load(p)}; }
  static ZEN_LANE_FN Octet strided(const Fr* p, long s) {
    return {from_pairs(load_pair(p, p + s), load_pair(p + 2 * s, p + 3 * s), load_pair(p + 4 * s, p + 5 * s),
                       load_pair(p + 6 * s, p + 7 * s))};
  }
  static ZEN_LANE_FN Octet gathered(const Fr* const (&from)[8]) { return {gather(from)}; }
  ZEN_LANE_FN void store_adjacent(Fr* p) const { store(p, canonical()); }
  ZEN_LANE_FN void store_strided(Fr* p, long s) const {
    Lanes pairs[4];
    to_pairs(canonical(), pairs);
    ZEN_UNROLL for (int i = 0; i < 4; i++) store_pair(p + 2 * i * s, p + (2 * i + 1) * s, pairs[i]);
  }

  friend ZEN_FN Octet operator+(const Octet& a, const Octet& b) { return {a.x + b.x}; }
  // b <= 4 r
  friend ZEN_FN Octet operator-(const Octet& a, const Octet& b) { return {(a.x - b.x).plus_modulus<4>()}; }
  ZEN_FN Factor as_factor() const;
  // Of a value below 35 r: below 2 r, carried. The multiple of r to take off is read from the highest digit, which
  // makes it at most one too small.
  ZEN_LANE_FN Octet bounded() const {
    constexpr int top = LaneFr::digits - 1;
    constexpr const u64* modulus = multiple<FrParameters, 1>.digit;
    LaneFr r = x.carried();
    const Lanes quotient = add_high(Lanes{}, r.v[top], all_lanes((1ull << digit_bits) / (modulus[top] + 1)));
    ZEN_UNROLL for (int i = 0; i <= top; i++) {  // + quotient (2^260 - r), modulo 2^260
      const Lanes complement = all_lanes(i ? digit_mask - modulus[i] : digit_mask + 1 - modulus[i]);
      r.v[i] = add_low(r.v[i], quotient, complement);
      if (i < top) r.v[i + 1] = add_high(r.v[i + 1], quotient, complement);
    }
    r = r.carried();
    r.v[top] &= digit_mask;
    return {r};
  }
  ZEN_FN LaneFr canonical() const { return bounded().x.canonical(); }
  friend ZEN_FN unsigned differs(const Octet& a, const Octet& b) {
    const LaneFr left = a.canonical(), right = b.canonical();
    Lanes difference{};
    ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) difference |= left.v[i] ^ right.v[i];
    return bits_of(difference != 0);
  }
};

// Carried, and below 2 r unless it was made of an octet.
struct Factor {
  LaneFr x;

  static ZEN_LANE_FN Factor same(const Fr& value) {
    Lanes words[4];
    ZEN_UNROLL for (int i = 0; i < 4; i++) words[i] = all_lanes(value.v[i]);
    return Factor({LaneFr::from_words(words)});
  }
  static ZEN_FN Factor adjacent(const Fr* p) { return Factor(Octet::adjacent(p)); }
  static ZEN_FN Factor strided(const Fr* p, long stride) { return Factor(Octet::strided(p, stride)); }
  explicit ZEN_FN Factor(const Octet& values) : x(values.x) {}

  friend ZEN_FN Octet operator*(const Octet& a, const Factor& w) { return {a.x.carried() * w.x}; }

};

// 2^4 b, which brings back what two elements of memory lack. Below 16 r, for b below r: the product with what is below
// 3 r is below 3 r.
ZEN_FN Factor Octet::as_factor() const {
  LaneFr scaled;
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) scaled.v[i] = x.v[i] << 4;
  return Factor({scaled.carried()});
}

// a = a w, b = b v, step by step together: one product alone waits for itself most of the time, and what follows it in the
// program is too far away to begin.
ZEN_LANE_FN void multiply_both(Octet& a, const Factor& w, Octet& b, const Factor& v) {
  constexpr int digits = LaneFr::digits;
  constexpr const u64* modulus = multiple<FrParameters, 1>.digit;
  const Lanes inverse = all_lanes(FrParameters::negative_inverse & digit_mask);
  const LaneFr* const factors[2] = {&w.x, &v.x};
  Octet* const octets[2] = {&a, &b};
  Lanes x[2][digits], t[2][2 * digits] = {}, carry[2] = {}, m[2];
  ZEN_UNROLL for (int i = 0; i < digits; i++) ZEN_UNROLL for (int k = 0; k < 2; k++) {
    const Lanes digit = octets[k]->x.v[i] + carry[k];
    x[k][i] = i < digits - 1 ? digit & digit_mask : digit;
    carry[k] = shift_signed(digit, digit_bits);
  }
  ZEN_UNROLL for (int i = 0; i < digits; i++) {
    ZEN_UNROLL for (int j = 0; j < digits; j++)
      ZEN_UNROLL for (int k = 0; k < 2; k++) t[k][i + j] = add_low(t[k][i + j], x[k][j], factors[k]->v[i]);
    ZEN_UNROLL for (int j = 0; j < digits; j++)
      ZEN_UNROLL for (int k = 0; k < 2; k++) t[k][i + j + 1] = add_high(t[k][i + j + 1], x[k][j], factors[k]->v[i]);
  }
  ZEN_UNROLL for (int i = 0; i < digits; i++) {  // as LaneProduct::reduced
    ZEN_UNROLL for (int k = 0; k < 2; k++) m[k] = add_low(Lanes{}, t[k][i], inverse);
    ZEN_UNROLL for (int k = 0; k < 2; k++) t[k][i + 1] += (t[k][i] + digit_mask) >> digit_bits;
    ZEN_UNROLL for (int j = 0; j < digits; j++) {
      const Lanes p = all_lanes(modulus[j]);
      ZEN_UNROLL for (int k = 0; k < 2; k++) t[k][i + j + 1] = add_high(t[k][i + j + 1], m[k], p);
    }
    ZEN_UNROLL for (int j = 1; j < digits; j++) {
      const Lanes p = all_lanes(modulus[j]);
      ZEN_UNROLL for (int k = 0; k < 2; k++) t[k][i + j] = add_low(t[k][i + j], m[k], p);
    }
  }
  carry[0] = carry[1] = Lanes{};
  ZEN_UNROLL for (int i = 0; i < digits; i++) ZEN_UNROLL for (int k = 0; k < 2; k++) {
    const Lanes digit = t[k][digits + i] + carry[k];
    octets[k]->x.v[i] = i < digits - 1 ? digit & digit_mask : digit;
    carry[k] = digit >> digit_bits;
  }
}

ZEN_FN void scatter_both(Octet& a, Octet& b, const Factor& w, Octet& c, Octet& d, const Factor& v) {
  Octet t = b, s = d;
  multiply_both(t, w, s, v);
  b = {(a.x - t.x).plus_modulus<2>()};
  a = a + t;
  d = {(c.x - s.x).plus_modulus<2>()};
  c = c + s;
}
ZEN_FN void gather_both(Octet& a, Octet& b, const Factor& w, Octet& c, Octet& d, const Factor& v) {
  Octet t = {(a.x - b.x).plus_modulus<8>()}, s = {(c.x - d.x).plus_modulus<8>()};
  a = a + b;
  c = c + d;
  multiply_both(t, w, s, v);
  b = t;
  d = s;
}

ZEN_FN void scatter(Octet& a, Octet& b, const Factor& w) {
  const Octet t = b * w;
  b = {(a.x - t.x).plus_modulus<2>()};
  a = a + t;
}
ZEN_FN void gather(Octet& a, Octet& b, const Factor& w) {
  const Octet difference = {(a.x - b.x).plus_modulus<8>()};
  a = a + b;
  b = difference * w;
}
ZEN_FN void scatter(Octet& a, Octet& b, One) {
  const Octet t = b;
  b = a - t;
  a = a + t;
}
ZEN_FN void gather(Octet& a, Octet& b, One) {
  const Octet t = b;
  b = {(a.x - t.x).plus_modulus<8>()};
  a = a + t;
}

}  // namespace zen
