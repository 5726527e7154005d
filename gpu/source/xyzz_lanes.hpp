// XYZZ sums in four neighbouring threads, a coordinate in each: x, y, zz, zzz. An addition takes four products one
// after the other, not fourteen, for where few additions wait for each other. The formulas are those of zen/curve.hpp.
// All threads of a warp call together.
#pragma once

#include "segmented.hpp"
#include "zen/curve.hpp"

namespace zen {

// The element that thread `lane` of 32 holds.
template <class F>
ZEN_FN F read_lane(const F& a, int lane) {
  F r;
  const limb* from = reinterpret_cast<const limb*>(&a);
  limb* to = reinterpret_cast<limb*>(&r);
  ZEN_UNROLL for (int i = 0; i < int(sizeof(F) / sizeof(limb)); i++) to[i] = __shfl_sync(whole_warp, from[i], lane);
  return r;
}

template <class F>
ZEN_FN F select(bool condition, const F& a, const F& b) {
  F r;
  const limb *yes = reinterpret_cast<const limb*>(&a), *no = reinterpret_cast<const limb*>(&b);
  limb* to = reinterpret_cast<limb*>(&r);
  ZEN_UNROLL for (int i = 0; i < int(sizeof(F) / sizeof(limb)); i++) to[i] = condition ? yes[i] : no[i];
  return r;
}

template <class F>
struct XyzzLanes {
  using Element = Xyzz<F>;
  using Part = F;
  static constexpr int threads = 4;

  static ZEN_FN F get(const Element* from) { return load(reinterpret_cast<const F*>(from) + coordinate()); }
  static ZEN_FN void put(Element* to, const F& part) { store(reinterpret_cast<F*>(to) + coordinate(), part); }
  static ZEN_FN F negated(const F& part) { return select(coordinate() == 1, -part, part); }

  static F add(const F& a, const F& b) {
    const int k = coordinate();
    const F cross = a * of(b, k ^ 2);  // u1 = x zz', s1 = y zzz', u2, s2
    const F other = of(cross, k ^ 2);
    const F difference = select(k < 2, other, cross) - select(k < 2, cross, other);  // p, r, p, r
    const F second = select(k < 2, difference, a) * select(k < 2, difference, b);  // p^2, r^2, zz zz', zzz zzz'
    const F pp = of(second, 0), u1 = of(cross, 0), s1 = of(cross, 1);
    const F third = select(k == 0, difference, select(k == 1, u1, second)) * pp;  // ppp, q, the sum's zz
    const F ppp = of(third, 0);
    const F x3 = second - ppp - third.doubled();  // in y's thread
    const F fourth = select(k == 0, s1, select(k == 1, difference, second)) * select(k == 1, third - x3, ppp);
    const F exchanged = of(select(k == 0, fourth, x3), k ^ 1);
    F sum = select(k == 0, exchanged, select(k == 1, fourth - exchanged, select(k == 2, third, fourth)));

    const bool a_infinite = any_of(a.is_zero(), 2), b_infinite = any_of(b.is_zero(), 2);
    const bool equal_x = any_of(difference.is_zero(), 0), equal_y = any_of(difference.is_zero(), 1);
    const bool equal = equal_x && equal_y && !a_infinite && !b_infinite;  // opposite ones give zz = 0 as they are
    if (__any_sync(whole_warp, equal)) sum = select(equal, doubled(a), sum);
    return select(a_infinite, b, select(b_infinite, a, sum));
  }

  static F doubled(const F& a) {
    const int k = coordinate();
    const F u = select(k == 1, a.doubled(), a);
    const F squared = u.square();  // x^2, v = (2 y)^2
    const F x_squared = of(squared, 0), v = of(squared, 1);
    const F m = x_squared.doubled() + x_squared;
    const F second = select(k == 3, m, u) * select(k == 3, m, v);  // s = x v, w = 2 y v, the double's zz, m^2
    const F w = of(second, 1), x3 = of(second, 3) - second.doubled();  // in x's thread
    const F third = select(k == 0, m, select(k == 1, second, a)) * select(k == 0, second - x3, select(k == 1, a, w));
    const F y3 = of(third, 0) - third;  // in y's thread
    return select(k == 0, x3, select(k == 1, y3, select(k == 2, second, third)));
  }

 private:
  static ZEN_FN int coordinate() { return threadIdx.x % 4; }
  // What the point's thread of that coordinate holds.
  static ZEN_FN F of(const F& part, int coordinate) { return read_lane(part, int(threadIdx.x % 32 & ~3u) | coordinate); }
  static ZEN_FN bool any_of(bool condition, int coordinate) {
    return __ballot_sync(whole_warp, condition) >> ((threadIdx.x % 32 & ~3u) | coordinate) & 1;
  }
};

}  // namespace zen
