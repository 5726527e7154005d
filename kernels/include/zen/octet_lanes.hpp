// Eight elements of Fr in lanes (see octet.hpp), at once or four and four. The lanes see memory's elements divided by
// 2^extra_bits, 2^4 or 2^5, so factor form is as many times an element: a product with a factor then has memory's form
// again.
//
// Between a load and a store digits are not carried and values are not reduced. The product of x < 35 r and a factor
// is below 2 r, so scattering adds at most 2 r a layer, 4 r where the twiddle is one: 25 r after 11 layers. Gathering
// doubles the sums: they are bounded again after every two layers, so that these begin below 4 r and end below 20 r.
#pragma once

#include <new>
#include <type_traits>

#include "lane_field.hpp"

namespace zen {

struct One {};

inline constexpr int factor_bits = extra_bits<FrParameters>;

inline Fr to_factor(const Fr& x) {
  Fr r = x;
  for (int i = 0; i < factor_bits; i++) r = r.doubled();
  return r;
}
inline Fr from_factor(const Fr& x) {
  Fr fraction = Fr::zero();
  fraction.v[3] = limb(1) << (64 - factor_bits);  // 2^-factor_bits 2^256
  return x * fraction;
}

class Factor;

struct Octet {
  static constexpr int parts = 8 / lane_count;
  using At = std::conditional_t<parts == 1, Octet, Octet&>;
  LaneFr x[parts];

  // Of each part's lanes, made where they stay.
  template <class Make>
  static ZEN_FN Octet of(Make make) {
    Octet r;
    ZEN_UNROLL for (int k = 0; k < parts; k++) ::new (static_cast<void*>(&r.x[k])) LaneFr(make(k));
    return r;
  }
  // Compilers copy so many bytes by a call.
  ZEN_FN void copy_to(Octet& to) const {
    ZEN_UNROLL for (int k = 0; k < parts; k++)
      ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) to.x[k].v[i] = x[k].v[i];
  }
  static ZEN_LANE_FN Octet adjacent(const Fr* p) {
    return of([&](int k) __attribute__((always_inline)) { return load(p + lane_count * k); });
  }
  static ZEN_LANE_FN Octet strided(const Fr* p, long s) {
    return gathered({p, p + s, p + 2 * s, p + 3 * s, p + 4 * s, p + 5 * s, p + 6 * s, p + 7 * s});
  }
  static ZEN_LANE_FN Octet gathered(const Fr* const (&from)[8]) {
    return of([&](int k) __attribute__((always_inline)) {
      return gather(*reinterpret_cast<const Fr* const(*)[lane_count]>(from + lane_count * k));
    });
  }
  ZEN_LANE_FN void store_adjacent(Fr* p) const {
    ZEN_UNROLL for (int k = 0; k < parts; k++) store(p + lane_count * k, canonical(k));
  }
  ZEN_LANE_FN Octet stored(Fr* p) const {
    const Octet r = of([&](int k) __attribute__((always_inline)) { return canonical(k); });
    ZEN_UNROLL for (int k = 0; k < parts; k++) store(p + lane_count * k, r.x[k]);
    return r;
  }
  ZEN_LANE_FN void store_strided(Fr* p, long s) const {
    Fr* const to[8] = {p, p + s, p + 2 * s, p + 3 * s, p + 4 * s, p + 5 * s, p + 6 * s, p + 7 * s};
    ZEN_UNROLL for (int k = 0; k < parts; k++)
      store(*reinterpret_cast<Fr* const(*)[lane_count]>(to + lane_count * k), canonical(k));
  }

  friend ZEN_FN Octet operator+(const Octet& a, const Octet& b) {
    return of([&](int k) __attribute__((always_inline)) { return a.x[k] + b.x[k]; });
  }
  ZEN_FN void operator+=(const Octet& b) {
    ZEN_UNROLL for (int k = 0; k < parts; k++)
      ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) x[k].v[i] += b.x[k].v[i];
  }
  // b <= 3 r
  friend ZEN_FN Octet operator-(const Octet& a, const Octet& b) { return less<4>(a, b); }
  // a - b + m r
  template <u64 m>
  static ZEN_FN Octet less(const Octet& a, const Octet& b) {
    return of([&](int k) __attribute__((always_inline)) { return difference<m>(a.x[k], b.x[k]); });
  }
  // Below 3 r if *this is and b below r: 2^factor_bits b brings back what two elements of memory lack.
  ZEN_FN Octet times(const Octet& b) const {
    return of([&](int k) __attribute__((always_inline)) {
      LaneFr scaled;
      ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) scaled.v[i] = b.x[k].v[i] << factor_bits;
      return operand(x[k]) * operand(scaled);
    });
  }
  // Below 2 r if *this and b are below 5 r.
  ZEN_FN Octet rough(const Octet& b) const {
    return of([&](int k) __attribute__((always_inline)) { return operand(x[k]) * operand(b.x[k]); });
  }
  // Of carried elements of memory: below 2 r, carried.
  ZEN_FN Octet plain() const {
    return of([&](int k) __attribute__((always_inline)) { return reduced(x[k]); });
  }
  // Of a value below 35 r: below 2 r, carried.
  ZEN_LANE_FN Octet bounded() const {
    return of([&](int k) __attribute__((always_inline)) { return bounded(k); });
  }
  ZEN_LANE_FN void bound() {
    ZEN_UNROLL for (int k = 0; k < parts; k++) x[k] = bounded(k);
  }
  friend ZEN_FN unsigned differs(const Octet& a, const Octet& b) {
    unsigned bits = 0;
    ZEN_UNROLL for (int k = 0; k < parts; k++) {
      const LaneFr left = a.canonical(k), right = b.canonical(k);
      Lanes difference{};
      ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) difference |= left.v[i] ^ right.v[i];
      bits |= bits_of(difference != 0) << (lane_count * k);
    }
    return bits;
  }

 private:
  // The multiple of r to take off is read from the highest two digits, before any is carried, which makes it at most one
  // too small: a value that differences made is far from zero.
  ZEN_LANE_FN LaneFr bounded(int k) const {
    constexpr int top = LaneFr::digits - 1;
    constexpr const u64* modulus = multiple<FrParameters, 1>.digit;
    LaneFr r = x[k];
    const Lanes quotient = rough_quotient(r.v[top] + shift_signed(r.v[top - 1], digit_bits), modulus[top] + 1);
    Lanes beyond{};
    ZEN_UNROLL for (int i = 0; i <= top; i++)  // + quotient (R' - r), modulo R'
      add_uncarried(r.v[i], i < top ? r.v[i + 1] : beyond, quotient, all_lanes(i ? digit_mask - modulus[i] : digit_mask + 1 - modulus[i]));
    r = carried(r);
    r.v[top] &= digit_mask;
    return r;
  }
  // What is bounded is hardly ever r or more: then its highest digit is not below r's.
  ZEN_FN LaneFr canonical(int k) const {
    constexpr int top = LaneFr::digits - 1;
    const LaneFr r = bounded(k);
    if (bits_of(SignedLanes(r.v[top]) >= int64_t(multiple<FrParameters, 1>.digit[top]))) [[unlikely]]
      return r.canonical();
    return r;
  }
};

// Carried, and below 2 r.
class Factor {
 public:
  static ZEN_LANE_FN Factor same(const Fr& value) {
    Lanes words[4];
    ZEN_UNROLL for (int i = 0; i < 4; i++) words[i] = all_lanes(value.v[i]);
    const LaneFr everywhere = LaneFr::from_words(words);
    return made([&](int) __attribute__((always_inline)) { return everywhere; });
  }
  static ZEN_FN Factor adjacent(const Fr* p) { return Factor(Octet::adjacent(p)); }
  static ZEN_FN Factor strided(const Fr* p, long stride) { return Factor(Octet::strided(p, stride)); }
  explicit ZEN_FN Factor(const Octet& values) : values_(values) {}

  ZEN_FN const LaneFr& part(int k) const { return values_.x[k]; }
  friend ZEN_FN Octet operator*(const Octet& a, const Factor& w) {
    return Octet::of([&](int k) __attribute__((always_inline)) { return operand(a.x[k]) * w.part(k); });
  }

 private:
  struct Made {};
  template <class Make>
  ZEN_FN Factor(Made, Make make) : values_(Octet::of(make)) {}
  template <class Make>
  static ZEN_FN Factor made(Make make) {
    return Factor(Made{}, make);
  }
  Octet values_;
};

ZEN_FN void scatter(Octet& a, Octet& b, const Factor& w) {
  ZEN_UNROLL for (int k = 0; k < Octet::parts; k++) scatter(a.x[k], b.x[k], w.part(k));
}
ZEN_FN void gather(Octet& a, Octet& b, const Factor& w) {
  ZEN_UNROLL for (int k = 0; k < Octet::parts; k++) gather(a.x[k], b.x[k], w.part(k));
}
ZEN_FN void gather_sums(Octet& a, Octet& b, const Factor& w) {
  ZEN_UNROLL for (int k = 0; k < Octet::parts; k++) gather_sums(a.x[k], b.x[k], w.part(k));
}
ZEN_FN void scatter(Octet& a, Octet& b, One) {
  const Octet t = b;
  b = a - t;
  a = a + t;
}
ZEN_FN void gather(Octet& a, Octet& b, One) {
  const Octet t = b;
  b = Octet::less<8>(a, t);
  a = a + t;
}

ZEN_FN void gather_sums(Octet& a, Octet& b, One) { gather(a, b, One{}); }

}  // namespace zen
