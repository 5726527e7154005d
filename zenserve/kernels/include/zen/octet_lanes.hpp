// Elements of Fr in lanes (see octet.hpp): eight, at once or four and four, or twelve, four of them words. The lanes see
// memory's elements divided by 2^extra_bits, 2^4 or 2^5, so factor form is as many times an element: a product with a factor
// then has memory's form again.
//
// Between a load and a store digits are not carried and values are not reduced. The product of x < 35 r and a factor
// is below 2 r, so scattering adds at most 2 r a layer, 4 r where the twiddle is one: 25 r after 11 layers. Gathering
// doubles the sums: they are bounded again after every two layers, so that these begin below 4 r and end below 20 r.
#pragma once

#include <new>
#include <type_traits>

#if !defined(ZEN_LANES)
#include <cpuid.h>
#endif

#if defined(ZEN_LANES)
#include "lane_fr.hpp"
#else
#include "mixed_fr.hpp"
#endif

namespace zen {

struct One {};

template <class Part>
class FactorOf;

// Eight elements, or as many as so many parts have.
template <class Part, int count>
struct Group {
  static constexpr int parts = count, size = parts * Part::lanes;
  using Factor = FactorOf<Group>;
  using At = std::conditional_t<parts == 1, Group, Group&>;
  Part x[parts];

  // Of each part, made where they stay.
  template <class Make>
  static ZEN_FN Group of(Make make) {
    Group r;
    ZEN_UNROLL for (int k = 0; k < parts; k++) ::new (static_cast<void*>(&r.x[k])) Part(make(k));
    return r;
  }
  // Compilers copy so many bytes by a call.
  ZEN_FN void copy_to(Group& to) const {
    ZEN_UNROLL for (int k = 0; k < parts; k++) copy(x[k], to.x[k]);
  }
  static ZEN_LANE_FN Group adjacent(const Fr* p) {
    return of([&](int k) __attribute__((always_inline)) { return loaded<Part>(p + Part::lanes * k); });
  }
  static ZEN_LANE_FN Group strided(const Fr* p, long s) {
    const Fr* from[size];
    ZEN_UNROLL for (int i = 0; i < size; i++) from[i] = p + i * s;
    return gathered(from);
  }
  static ZEN_LANE_FN Group gathered(const Fr* const (&from)[size]) {
    return of([&](int k) __attribute__((always_inline)) {
      return loaded<Part>(*reinterpret_cast<const Fr* const(*)[Part::lanes]>(from + Part::lanes * k));
    });
  }
  ZEN_LANE_FN void store_adjacent(Fr* p) const {
    ZEN_UNROLL for (int k = 0; k < parts; k++) store(p + Part::lanes * k, canonical(x[k]));
  }
  ZEN_LANE_FN Group stored(Fr* p) const {
    const Group r = of([&](int k) __attribute__((always_inline)) { return canonical(x[k]); });
    ZEN_UNROLL for (int k = 0; k < parts; k++) store(p + Part::lanes * k, r.x[k]);
    return r;
  }
  ZEN_LANE_FN void store_strided(Fr* p, long s) const {
    Fr* to[size];
    ZEN_UNROLL for (int i = 0; i < size; i++) to[i] = p + i * s;
    ZEN_UNROLL for (int k = 0; k < parts; k++)
      store(*reinterpret_cast<Fr* const(*)[Part::lanes]>(to + Part::lanes * k), canonical(x[k]));
  }

  friend ZEN_FN Group operator+(const Group& a, const Group& b) {
    return of([&](int k) __attribute__((always_inline)) { return a.x[k] + b.x[k]; });
  }
  ZEN_FN void operator+=(const Group& b) {
    ZEN_UNROLL for (int k = 0; k < parts; k++) add(x[k], b.x[k]);
  }
  // b <= 3 r
  friend ZEN_FN Group operator-(const Group& a, const Group& b) { return less<4>(a, b); }
  // a - b + m r
  template <u64 m>
  static ZEN_FN Group less(const Group& a, const Group& b) {
    return of([&](int k) __attribute__((always_inline)) { return difference<m>(a.x[k], b.x[k]); });
  }
  // Below 3 r if *this is and b below r: 2^factor_bits b brings back what two elements of memory lack.
  ZEN_FN Group times(const Group& b) const {
    return of([&](int k) __attribute__((always_inline)) { return plain_product(x[k], b.x[k]); });
  }
  // Below 2 r if *this and b are below 5 r.
  ZEN_FN Group rough(const Group& b) const {
    return of([&](int k) __attribute__((always_inline)) { return rough_product(x[k], b.x[k]); });
  }
  // Of carried elements of memory: below 2 r, carried.
  ZEN_FN Group plain() const {
    return of([&](int k) __attribute__((always_inline)) { return reduced(x[k]); });
  }
  // Of a value below 35 r: below 2 r, carried.
  ZEN_LANE_FN Group bounded() const {
    return of([&](int k) __attribute__((always_inline)) { return zen::bounded(x[k]); });
  }
  ZEN_LANE_FN void bound() {
    ZEN_UNROLL for (int k = 0; k < parts; k++) x[k] = zen::bounded(x[k]);
  }
  friend ZEN_FN unsigned differs(const Group& a, const Group& b) {
    unsigned bits = 0;
    ZEN_UNROLL for (int k = 0; k < parts; k++) {
      const LaneFr left = canonical(a.x[k]), right = canonical(b.x[k]);
      Lanes difference{};
      ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) difference |= left.v[i] ^ right.v[i];
      bits |= bits_of(difference != 0) << (lane_count * k);
    }
    return bits;
  }
};

// Carried, and below 2 r.
template <class Part, int count>
class FactorOf<Group<Part, count>> {
 public:
  using Values = Group<Part, count>;
  static ZEN_LANE_FN FactorOf same(const Fr& value) {
    const Part all = factor_of(everywhere<Part>(value));
    return made([&](int) __attribute__((always_inline)) { return all; });
  }
  static ZEN_FN FactorOf adjacent(const Fr* p) { return FactorOf(Values::adjacent(p)); }
  static ZEN_FN FactorOf strided(const Fr* p, long stride) { return FactorOf(Values::strided(p, stride)); }
  explicit ZEN_FN FactorOf(const Values& values)
      : FactorOf(Made{}, [&](int k) __attribute__((always_inline)) { return factor_of(values.x[k]); }) {}

  ZEN_FN const Part& part(int k) const { return values_.x[k]; }
  friend ZEN_FN Values operator*(const Values& a, const FactorOf& w) {
    return Values::of([&](int k) __attribute__((always_inline)) { return product(a.x[k], w.part(k)); });
  }

 private:
  struct Made {};
  template <class Make>
  ZEN_FN FactorOf(Made, Make make) : values_(Values::of(make)) {}
  template <class Make>
  static ZEN_FN FactorOf made(Make make) {
    return FactorOf(Made{}, make);
  }
  Values values_;
};

template <class Part, int count>
ZEN_FN void scatter(Group<Part, count>& a, Group<Part, count>& b, const FactorOf<Group<Part, count>>& w) {
  ZEN_UNROLL for (int k = 0; k < count; k++) scatter(a.x[k], b.x[k], w.part(k));
}
template <class Part, int count>
ZEN_FN void gather(Group<Part, count>& a, Group<Part, count>& b, const FactorOf<Group<Part, count>>& w) {
  ZEN_UNROLL for (int k = 0; k < count; k++) gather(a.x[k], b.x[k], w.part(k));
}
template <class Part, int count>
ZEN_FN void gather_sums(Group<Part, count>& a, Group<Part, count>& b, const FactorOf<Group<Part, count>>& w) {
  ZEN_UNROLL for (int k = 0; k < count; k++) gather_sums(a.x[k], b.x[k], w.part(k));
}
template <class Part, int count>
ZEN_FN void scatter(Group<Part, count>& a, Group<Part, count>& b, One) {
  const Group<Part, count> t = b;
  b = a - t;
  a = a + t;
}
template <class Part, int count>
ZEN_FN void gather(Group<Part, count>& a, Group<Part, count>& b, One) {
  const Group<Part, count> t = b;
  b = Group<Part, count>::template less<8>(a, t);
  a = a + t;
}
template <class Part, int count>
ZEN_FN void gather_sums(Group<Part, count>& a, Group<Part, count>& b, One) { gather(a, b, One{}); }

using Octet = Group<LaneFr, 8 / lane_count>;
using Factor = Octet::Factor;
#if defined(ZEN_LANES)
using Wide = Octet;
inline bool wide_butterflies() { return true; }
#else
using Wide = Group<MixedFr, 2>;

// Whether butterflies of twelve take less time, for each element, than those of eight: not on AMD's family 19h, of which a
// Zen 4 was measured, which has nothing to spare beside the lanes.
inline bool wide_butterflies() {
  static const bool wide = [] {
    unsigned version = 0, b = 0, c = 0, d = 0, most = 0, vendor = 0;
    if (!__get_cpuid(0, &most, &vendor, &c, &d) || !__get_cpuid(1, &version, &b, &c, &d)) return true;
    const unsigned family = (version >> 8 & 15) + (version >> 20 & 255);
    return vendor != signature_AMD_ebx || family != 0x19;
  }();
  return wide;
}
#endif

}  // namespace zen
