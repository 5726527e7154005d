// Fp6 = Fp2[v]/(v^3 - xi), xi = 1 + u, and Fp12 = Fp6[w]/(w^2 - v). Products after Devegili, O hEigeartaigh,
// Scott, Dahab (ePrint 2006/471); squares in the cyclotomic subgroup after Granger and Scott (ePrint 2009/565).
#pragma once

#include "field.hpp"

namespace zen {

ZEN_FN Fp2 times_xi(const Fp2& a) { return {a.c0 - a.c1, a.c0 + a.c1}; }
ZEN_FN Fp2 conjugate(const Fp2& a) { return {a.c0, -a.c1}; }
ZEN_FN Fp2 operator*(const Fp2& a, const Fp& b) { return {a.c0 * b, a.c1 * b}; }

struct Fp6 {
  Fp2 c0, c1, c2;

  static Fp6 zero() { return {Fp2::zero(), Fp2::zero(), Fp2::zero()}; }
  static Fp6 one() { return {Fp2::one(), Fp2::zero(), Fp2::zero()}; }

  friend Fp6 operator+(const Fp6& a, const Fp6& b) { return {a.c0 + b.c0, a.c1 + b.c1, a.c2 + b.c2}; }
  friend Fp6 operator-(const Fp6& a, const Fp6& b) { return {a.c0 - b.c0, a.c1 - b.c1, a.c2 - b.c2}; }
  // Karatsuba: six products in Fp2.
  friend Fp6 operator*(const Fp6& a, const Fp6& b) {
    const Fp2 v0 = a.c0 * b.c0, v1 = a.c1 * b.c1, v2 = a.c2 * b.c2;
    return {v0 + times_xi((a.c1 + a.c2) * (b.c1 + b.c2) - v1 - v2),
            (a.c0 + a.c1) * (b.c0 + b.c1) - v0 - v1 + times_xi(v2),
            (a.c0 + a.c2) * (b.c0 + b.c2) - v0 - v2 + v1};
  }
  friend bool operator==(const Fp6& a, const Fp6& b) { return a.c0 == b.c0 && a.c1 == b.c1 && a.c2 == b.c2; }
  Fp6 operator-() const { return {-c0, -c1, -c2}; }

  Fp6 times_v() const { return {times_xi(c2), c0, c1}; }
  // this * (b0 + b1 v): five products in Fp2.
  Fp6 times_linear(const Fp2& b0, const Fp2& b1) const {
    const Fp2 v0 = c0 * b0, v1 = c1 * b1;
    return {v0 + times_xi(c2 * b1), (c0 + c1) * (b0 + b1) - v0 - v1, c2 * b0 + v1};
  }

  Fp6 inverse() const {
    const Fp2 t0 = c0.square() - times_xi(c1 * c2), t1 = times_xi(c2.square()) - c0 * c1, t2 = c1.square() - c0 * c2;
    const Fp2 norm = (c0 * t0 + times_xi(c2 * t1 + c1 * t2)).inverse();
    return {t0 * norm, t1 * norm, t2 * norm};
  }
};

struct Fp12 {
  Fp6 c0, c1;

  static Fp12 one() { return {Fp6::one(), Fp6::zero()}; }

  friend Fp12 operator*(const Fp12& a, const Fp12& b) {
    const Fp6 low = a.c0 * b.c0, high = a.c1 * b.c1;
    return {low + high.times_v(), (a.c0 + a.c1) * (b.c0 + b.c1) - low - high};
  }
  friend bool operator==(const Fp12& a, const Fp12& b) { return a.c0 == b.c0 && a.c1 == b.c1; }

  Fp12 square() const {
    const Fp6 product = c0 * c1;
    return {(c0 + c1) * (c0 + c1.times_v()) - product - product.times_v(), product + product};
  }
  // this^(p^6): the inverse of elements of the cyclotomic subgroup.
  Fp12 conjugate() const { return {c0, -c1}; }
  Fp12 inverse() const {
    const Fp6 norm = (c0 * c0 - (c1 * c1).times_v()).inverse();
    return {c0 * norm, -(c1 * norm)};
  }

  // this^p: a w^i goes to conjugate(a) xi^(i (p - 1) / 6) w^i.
  Fp12 frobenius() const {
    return {{term(c0.c0, 0), term(c0.c1, 2), term(c0.c2, 4)}, {term(c1.c0, 1), term(c1.c1, 3), term(c1.c2, 5)}};
  }

  // The square, for elements of the cyclotomic subgroup only: three squares in Fp4 = Fp2[s]/(s^2 - xi).
  Fp12 cyclotomic_square() const {
    const Pair a = square_fp4(c0.c0, c1.c1), b = square_fp4(c1.c0, c0.c2), c = square_fp4(c0.c1, c1.c2);
    return {{minus_twice(a.real, c0.c0), minus_twice(b.real, c0.c1), minus_twice(c.real, c0.c2)},
            {plus_twice(times_xi(c.imaginary), c1.c0), plus_twice(a.imaginary, c1.c1), plus_twice(b.imaginary, c1.c2)}};
  }

 private:
  struct Pair {
    Fp2 real, imaginary;
  };
  static Pair square_fp4(const Fp2& a, const Fp2& b) {
    const Fp2 aa = a.square(), bb = b.square();
    return {aa + times_xi(bb), (a + b).square() - aa - bb};
  }
  static ZEN_FN Fp2 minus_twice(const Fp2& t, const Fp2& z) { return (t - z).doubled() + t; }  // 3 t - 2 z
  static ZEN_FN Fp2 plus_twice(const Fp2& t, const Fp2& z) { return (t + z).doubled() + t; }   // 3 t + 2 z
  static ZEN_FN Fp2 term(const Fp2& a, int i) {
    return zen::conjugate(a) * Fp2{Fp::from_words(frobenius_factors[i][0]), Fp::from_words(frobenius_factors[i][1])};
  }
};

}  // namespace zen
