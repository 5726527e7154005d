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

class Factor;

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
  ZEN_LANE_FN Octet stored(Fr* p) const {
    const Octet r = {canonical()};
    store(p, r.x);
    return r;
  }
  ZEN_LANE_FN void store_strided(Fr* p, long s) const {
    Lanes pairs[4];
    to_pairs(canonical(), pairs);
    ZEN_UNROLL for (int i = 0; i < 4; i++) store_pair(p + 2 * i * s, p + (2 * i + 1) * s, pairs[i]);
  }

  friend ZEN_FN Octet operator+(const Octet& a, const Octet& b) { return {a.x + b.x}; }
  // b <= 4 r
  friend ZEN_FN Octet operator-(const Octet& a, const Octet& b) { return {(a.x - b.x).plus_modulus<4>()}; }
  // Below 3 r if *this is and b below r: 2^4 b brings back what two elements of memory lack.
  ZEN_FN Octet times(const Octet& b) const {
    LaneFr scaled;
    ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) scaled.v[i] = b.x.v[i] << 4;
    return {x.carried() * scaled.carried()};
  }
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

// Carried, and below 2 r.
class Factor {
 public:
  static ZEN_LANE_FN Factor same(const Fr& value) {
    Lanes words[4];
    ZEN_UNROLL for (int i = 0; i < 4; i++) words[i] = all_lanes(value.v[i]);
    return Factor({LaneFr::from_words(words)});
  }
  static ZEN_FN Factor adjacent(const Fr* p) { return Factor(Octet::adjacent(p)); }
  static ZEN_FN Factor strided(const Fr* p, long stride) { return Factor(Octet::strided(p, stride)); }
  explicit ZEN_FN Factor(const Octet& values) : x_(values.x) {}

  friend ZEN_FN Octet operator*(const Octet& a, const Factor& w) { return {a.x.carried() * w.x_}; }

 private:
  LaneFr x_;
};

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
