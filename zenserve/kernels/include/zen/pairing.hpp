// Products of optimal ate pairings (Vercauteren, ePrint 2008/096): Miller's loop over |z| for all pairs at once,
// so that they share its squares, in affine coordinates, so that they share one inversion a step.
#pragma once

#include <vector>

#include "curve.hpp"
#include "tower.hpp"

namespace zen {

// One pair on its way through the loop: T runs over multiples of Q. The line through T with this slope, at P, is
//   y_P w^3 - slope x_P w^2 + (slope x_T - y_T)
// up to a factor from a subfield: y^2 = x^3 + 4 xi is the M-type twist, (x, y) -> (x / w^2, y / w^3).
// Divided by y_P, which no subgroup point has zero, it costs 10 products in Fp2 to multiply by.
struct MillerPair {
  Affine<Fp2> q, t;
  Fp inverse_y, minus_x_over_y;

  void step(Fp12& f, const Fp2& slope, const Fp2& other_x) {
    const Fp2 constant = (slope * t.x - t.y) * inverse_y, linear = slope * minus_x_over_y;
    f = {f.c0.times_linear(constant, linear) + f.c1.times_v().times_v(),
         f.c0.times_v() + f.c1.times_linear(constant, linear)};
    const Fp2 x = slope.square() - t.x - other_x;
    t = {x, slope * (t.x - x) - t.y};
  }
};

// Points of the subgroups; a pair with infinity contributes one. The result lacks the conjugation for z < 0:
// its inverse, after the final exponentiation, is the product of the pairings.
inline Fp12 miller_loop(const Affine<Fp>* p, const Affine<Fp2>* q, long n) {
  std::vector<MillerPair> pairs;
  std::vector<Fp> inverses;
  for (long i = 0; i < n; i++) {
    if (p[i].is_infinity() || q[i].is_infinity()) continue;
    pairs.push_back({q[i], q[i], p[i].y, -p[i].x});
    inverses.push_back(p[i].y);
  }
  const long count = long(pairs.size());
  std::vector<Fp> scratch_fp(count);
  batch_inverse(inverses.data(), scratch_fp.data(), count);
  for (long i = 0; i < count; i++) {
    pairs[i].inverse_y = inverses[i];
    pairs[i].minus_x_over_y = pairs[i].minus_x_over_y * inverses[i];
  }

  std::vector<Fp2> denominators(count), scratch(count);
  Fp12 f = Fp12::one();
  for (int bit = 62 - __builtin_clzll(z_magnitude[0]); bit >= 0; bit--) {
    f = f.square();
    for (long i = 0; i < count; i++) denominators[i] = pairs[i].t.y.doubled();
    batch_inverse(denominators.data(), scratch.data(), count);
    for (long i = 0; i < count; i++) {
      const Fp2 xx = pairs[i].t.x.square();
      pairs[i].step(f, (xx.doubled() + xx) * denominators[i], pairs[i].t.x);
    }
    if (!(z_magnitude[0] >> bit & 1)) continue;
    for (long i = 0; i < count; i++) denominators[i] = pairs[i].t.x - pairs[i].q.x;
    batch_inverse(denominators.data(), scratch.data(), count);
    for (long i = 0; i < count; i++)
      pairs[i].step(f, (pairs[i].t.y - pairs[i].q.y) * denominators[i], pairs[i].q.x);
  }
  return f;
}

// a^z in the cyclotomic subgroup.
inline Fp12 power_z(const Fp12& a) {
  Fp12 r = a;
  for (int bit = 62 - __builtin_clzll(z_magnitude[0]); bit >= 0; bit--) {
    r = r.cyclotomic_square();
    if (z_magnitude[0] >> bit & 1) r = r * a;
  }
  return r.conjugate();  // z < 0
}

// f^(3 (p^12 - 1) / r), one exactly where f^((p^12 - 1) / r) is, for the values lie in a group of order r. The
// hard part is Hayashida, Hayasaka, Teruya (ePrint 2020/875):
//   3 (p^4 - p^2 + 1) / r = (z - 1)^2 (z + p) (z^2 + p^2 - 1) + 3
inline Fp12 final_exponentiation(const Fp12& f) {
  const Fp12 unitary = f.conjugate() * f.inverse();  // p^6 - 1
  const Fp12 easy = unitary.frobenius().frobenius() * unitary;  // p^2 + 1
  Fp12 r = power_z(easy) * easy.conjugate();
  r = power_z(r) * r.conjugate();
  r = power_z(r) * r.frobenius();
  r = power_z(power_z(r)) * r.frobenius().frobenius() * r.conjugate();
  return r * easy.cyclotomic_square() * easy;
}

inline bool pairing_product_is_one(const Affine<Fp>* p, const Affine<Fp2>* q, long n) {
  return final_exponentiation(miller_loop(p, q, n)) == Fp12::one();
}

}  // namespace zen
