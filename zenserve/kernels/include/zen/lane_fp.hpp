// Elements of Fp and of Fp2 side by side, as many as points are added at once: LaneFp::lanes, which are a vector's, or six.
#pragma once

#include "lane_field.hpp"
#if !defined(ZEN_LANES)
#include "mixed_fp.hpp"
#endif

namespace zen {

#if defined(ZEN_LANES)

using LaneFp = LanePrime<FpParameters>;

// Long enough to be called.
__attribute__((noinline)) inline LaneFp operator*(const LaneFp& a, const LaneFp& b) {
  return montgomery_sum<FpParameters, 1>({{a, b}});
}
// a[0] b + a[1] c for one reduction.
__attribute__((noinline)) inline LaneFp sum_of_products(const LaneFp* a, const LaneFp& b, const LaneFp& c) {
  return montgomery_sum<FpParameters, 2>({{a[0], b}, {a[1], c}});
}
// A square of its own would save 28 of 128 instructions, but takes longer: its doubled sums cannot take turns with m.
ZEN_FN LaneFp square(const LaneFp& a) { return a * a; }

#endif

// Elements of Fp2.
struct LaneFp2 {
  LaneFp c0, c1;

  friend ZEN_FN LaneFp2 operator+(const LaneFp2& a, const LaneFp2& b) { return {a.c0 + b.c0, a.c1 + b.c1}; }
  friend ZEN_FN LaneFp2 operator-(const LaneFp2& a, const LaneFp2& b) { return {a.c0 - b.c0, a.c1 - b.c1}; }
  friend ZEN_FN LaneFp2 select(const LaneFp::Truth& truth, const LaneFp2& a, const LaneFp2& b) {
    return {select(truth, a.c0, b.c0), select(truth, a.c1, b.c1)};
  }
  ZEN_FN LaneFp2 carried() const { return {c0.carried(), c1.carried()}; }
  ZEN_FN LaneFp2 settled() const { return {c0.settled(), c1.settled()}; }
  ZEN_FN LaneFp2 doubled() const { return {c0.doubled(), c1.doubled()}; }
  ZEN_FN LaneFp2 negated_where(const LaneFp::Truth& truth) const { return {c0.negated_where(truth), c1.negated_where(truth)}; }
  template <u64 k>
  ZEN_FN LaneFp2 plus_modulus() const {
    return {c0.plus_modulus<k>(), c1.plus_modulus<k>()};
  }
  template <u64 k>
  static ZEN_FN LaneFp2 carried_difference(const LaneFp2& a, const LaneFp2& b) {
    return {LaneFp::carried_difference<k>(a.c0, b.c0), LaneFp::carried_difference<k>(a.c1, b.c1)};
  }
  static ZEN_FN LaneFp2 settled_difference(const LaneFp2& a, const LaneFp2& b) {
    return {LaneFp::settled_difference(a.c0, b.c0), LaneFp::settled_difference(a.c1, b.c1)};
  }
  static ZEN_FN LaneFp2 settled_third(const LaneFp2& a, const LaneFp2& b, const LaneFp2& c) {
    return {LaneFp::settled_third(a.c0, b.c0, c.c0), LaneFp::settled_third(a.c1, b.c1, c.c1)};
  }

  // Four products, but only two reductions and no sums: cheaper here than Karatsuba's three of each.
  // Carried operands of at most 8 p, the left one of 4 p.
  friend ZEN_FN LaneFp2 operator*(const LaneFp2& a, const LaneFp2& b) {
    const LaneFp minus_c1 = LaneFp::carried_difference<8>(LaneFp::zero(), b.c1);
    return {sum_of_products(&a.c0, b.c0, minus_c1), sum_of_products(&a.c0, b.c1, b.c0)};
  }
  friend ZEN_FN LaneFp2 square(const LaneFp2& a) {
    const LaneFp sum = (a.c0 + a.c1).carried(), difference = LaneFp::carried_difference<8>(a.c0, a.c1);
    return {sum * difference, a.c0.doubled().carried() * a.c1};
  }
};

}  // namespace zen
