// Short Weierstrass curves y^2 = x^3 + b: affine points and XYZZ accumulators (x = X/ZZ, y = Y/ZZZ,
// ZZ^3 = ZZZ^2). Formulas: Explicit-Formulas Database, short Weierstrass with a = 0, "xyzz"
// (add-2008-s, madd-2008-s, dbl-2008-s-1, mdbl-2008-s-1). All of them are complete here: equal,
// opposite and infinite arguments are told apart.
#pragma once

#include "field.hpp"

namespace zen {

template <class F>
ZEN_FN F tripled(const F& a) {
  return a.doubled() + a;
}

template <class F>
struct Affine {
  F x, y;  // infinity is (0, 0), which is on neither curve

  static ZEN_FN Affine infinity() { return {F::zero(), F::zero()}; }
  ZEN_FN bool is_infinity() const { return x.is_zero() && y.is_zero(); }
  ZEN_FN Affine operator-() const { return {x, -y}; }
  friend ZEN_FN bool operator==(const Affine& a, const Affine& b) { return a.x == b.x && a.y == b.y; }
};

template <class F>
struct Xyzz {
  F x, y, zz, zzz;  // infinity has zz = 0

  static ZEN_FN Xyzz infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
  static ZEN_FN Xyzz from(const Affine<F>& p) {
    return p.is_infinity() ? infinity() : Xyzz{p.x, p.y, F::one(), F::one()};
  }
  ZEN_FN bool is_infinity() const { return zz.is_zero(); }

  ZEN_FN Xyzz operator-() const { return {x, -y, zz, zzz}; }

  Affine<F> to_affine() const {
    return is_infinity() ? Affine<F>::infinity() : to_affine(zzz.inverse());
  }
  // Where 1 / zzz is known; 0 for infinity.
  ZEN_FN Affine<F> to_affine(const F& inverse_zzz) const {
    const F inverse_z = inverse_zzz * zz;
    return {x * inverse_z.square(), y * inverse_zzz};
  }

  Xyzz doubled() const {
    if (is_infinity()) return *this;
    const F u = y.doubled(), v = u.square(), w = u * v, s = x * v;
    const F m = tripled(x.square());
    const F x3 = m.square() - s.doubled();
    return {x3, difference_of_products(m, s - x3, w, y), v * zz, w * zzz};
  }

  Xyzz operator+(const Affine<F>& q) const {
    if (q.is_infinity()) return *this;
    if (is_infinity()) return from(q);
    const F p = q.x * zz - x, r = q.y * zzz - y;
    if (p.is_zero()) return r.is_zero() ? from(q).doubled() : infinity();
    return finish(p, r, x, y, zz, zzz);
  }

  Xyzz operator+(const Xyzz& q) const {
    if (q.is_infinity()) return *this;
    if (is_infinity()) return q;
    const F u1 = x * q.zz, s1 = y * q.zzz;
    const F p = q.x * zz - u1, r = q.y * zzz - s1;
    if (p.is_zero()) return r.is_zero() ? doubled() : infinity();
    return finish(p, r, u1, s1, zz * q.zz, zzz * q.zzz);
  }

 private:
  // The common tail of both additions: u, s are this point's coordinates over the common denominator.
  static ZEN_FN Xyzz finish(const F& p, const F& r, const F& u, const F& s, const F& zz, const F& zzz) {
    const F pp = p.square(), ppp = p * pp, q = u * pp;
    const F x3 = r.square() - ppp - q.doubled();
    return {x3, difference_of_products(r, q - x3, s, ppp), zz * pp, zzz * ppp};
  }
};

// +-p +- q in two steps, around an inversion that many additions share: what the slope is divided by, or zero where the
// sum needs no slope; and the sum, given the inverse.
template <class F>
ZEN_FN F slope_denominator(const Affine<F>& p, const Affine<F>& q, bool negate_p = false, bool negate_q = false) {
  if (p.is_infinity() || q.is_infinity()) return F::zero();
  const F difference = q.x - p.x;
  if (!difference.is_zero()) return difference;
  const F y = negate_p ? -p.y : p.y;
  return y == (negate_q ? -q.y : q.y) ? y.doubled() : F::zero();
}

template <class F>
ZEN_FN Affine<F> add_by_slope(const Affine<F>& p, const Affine<F>& q, const F& inverse, bool negate_p = false,
                              bool negate_q = false) {
  const F y1 = negate_p ? -p.y : p.y;
  if (inverse.is_zero()) {
    if (q.is_infinity()) return {p.x, y1};
    if (p.is_infinity()) return {q.x, negate_q ? -q.y : q.y};
    return Affine<F>::infinity();  // opposite points
  }
  const F slope = (p.x == q.x ? tripled(p.x.square()) : (negate_q ? -q.y : q.y) - y1) * inverse;
  const F x3 = slope.square() - p.x - q.x;
  return {x3, slope * (p.x - x3) - y1};
}

// scalar * p for a canonical little-endian scalar of `count` 64-bit words: double and add.
template <class F>
Xyzz<F> scalar_multiply(const Affine<F>& p, const u64* scalar, int count) {
  Xyzz<F> r = Xyzz<F>::infinity();
  for (int i = 64 * count - 1; i >= 0; i--) {
    r = r.doubled();
    if (scalar[i / 64] >> (i % 64) & 1) r = r + p;
  }
  return r;
}

// The constant b of the curve over each coordinate field: 4 for G1, 4 (1 + u) for G2.
ZEN_FN Fp curve_b(const Fp&) { return Fp::one().doubled().doubled(); }
ZEN_FN Fp2 curve_b(const Fp2&) {
  const Fp four = curve_b(Fp{});
  return {four, four};
}

inline Affine<Fp> g1_generator() { return {Fp::from_words(g1_generator_x[0]), Fp::from_words(g1_generator_y[0])}; }
inline Affine<Fp2> g2_generator() {
  return {{Fp::from_words(g2_generator_x[0]), Fp::from_words(g2_generator_x[1])},
          {Fp::from_words(g2_generator_y[0]), Fp::from_words(g2_generator_y[1])}};
}

template <class F>
bool is_on_curve(const Affine<F>& p) {
  return p.is_infinity() || p.y.square() == p.x.square() * p.x + curve_b(p.x);
}

// A map that multiplies the points of the subgroup by a constant, `eigenvalue`, for two or three products:
// by z^2 in G1 (Gallant, Lambert, Vanstone 2001), by |z| in G2 (Galbraith, Lin, Scott 2009). Scalars below
// r / 2 have `parts` digits to that base.
template <class F>
struct Endomorphism;

template <>
struct Endomorphism<Fp> {
  static constexpr int parts = 2, eigenvalue_words = 2;
  static constexpr const u64* eigenvalue = z_squared;
  static ZEN_FN Affine<Fp> of(const Affine<Fp>& p) {  // y times -1
    return {p.x * Fp::from_words(g1_endomorphism_x[0]), -p.y};
  }
};

template <>
struct Endomorphism<Fp2> {
  static constexpr int parts = 4, eigenvalue_words = 1;
  static constexpr const u64* eigenvalue = z_magnitude;
  static ZEN_FN Affine<Fp2> of(const Affine<Fp2>& p) {
    return {scaled(p.x, g2_endomorphism_x), scaled(p.y, g2_endomorphism_y)};
  }

 private:
  static ZEN_FN Fp2 scaled(const Fp2& a, const u64 (&factor)[2][6]) {
    return Fp2{a.c0, -a.c1} * Fp2{Fp::from_words(factor[0]), Fp::from_words(factor[1])};
  }
};

// Whether r * p = 0, for points on the curve: exactly there the endomorphism multiplies by its eigenvalue
// (Scott, ePrint 2021/1130, sections 4 and 5).
template <class F>
bool in_subgroup(const Affine<F>& p) {
  using E = Endomorphism<F>;
  return (scalar_multiply(p, E::eigenvalue, E::eigenvalue_words) + -E::of(p)).is_infinity();
}

}  // namespace zen
