// The extension F_p[x] / (x^5 - 2) of BabyBear, of which vectors are five planes: all coefficients of 1, then all of x, ..
#pragma once

#include "bear.hpp"

namespace zen::bear {

inline constexpr int degree = 5;

struct Extension {
  Lanes c[degree];
};

ZEN_FN Extension add(const Extension& a, const Extension& b) {
  Extension out;
  ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = add(a.c[k], b.c[k]);
  return out;
}
ZEN_FN Extension sub(const Extension& a, const Extension& b) {
  Extension out;
  ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = sub(a.c[k], b.c[k]);
  return out;
}
ZEN_FN Extension mul(const Extension& a, Lanes b) {
  Extension out;
  ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = mul(a.c[k], b);
  return out;
}

// The other factor of many products: beside its coefficients twice each, as x^5 = 2.
struct Factor {
  Lanes c[degree], twice[degree];

  explicit ZEN_FN Factor(const Extension& b) {
    ZEN_UNROLL for (int k = 0; k < degree; k++) c[k] = b.c[k], twice[k] = add(b.c[k], b.c[k]);
  }
};

// Coefficient k of a product before its reduction, below p R, of the even lanes. Four products are below 2 p R, 64 bits hold
// no fifth.
template <int k>
ZEN_FN Wide coefficient(const Lanes (&a)[degree], const Lanes (&b)[degree], const Lanes (&twice)[degree]) {
  Wide sum{};
  ZEN_UNROLL for (int i = 0; i < degree; i++) {
    if (i == degree - 1) sum = settled(sum);
    sum += even_products(a[i], i <= k ? b[(k - i) % degree] : twice[(degree + k - i) % degree]);
  }
  return settled(sum);
}

ZEN_FN Extension mul(const Extension& a, const Factor& b) {
  Lanes odd_a[degree], odd_b[degree], odd_twice[degree];
  ZEN_UNROLL for (int i = 0; i < degree; i++) {
    odd_a[i] = odd_lanes(a.c[i]);
    odd_b[i] = odd_lanes(b.c[i]);
    odd_twice[i] = odd_lanes(b.twice[i]);
  }
  Extension out;
  const auto at = [&]<int k>() __attribute__((always_inline)) {
    out.c[k] = reduced(coefficient<k>(a.c, b.c, b.twice), coefficient<k>(odd_a, odd_b, odd_twice));
  };
  at.template operator()<0>();
  at.template operator()<1>();
  at.template operator()<2>();
  at.template operator()<3>();
  at.template operator()<4>();
  return out;
}
ZEN_FN Extension mul(const Extension& a, const Extension& b) { return mul(a, Factor(b)); }

// A sum of products that is reduced once: each of its words is below p R.
struct ProductSum {
  Wide even[degree]{}, odd[degree]{};

  ZEN_FN void add(const Extension& a, const Factor& b) {
    Lanes odd_a[degree], odd_b[degree], odd_twice[degree];
    ZEN_UNROLL for (int i = 0; i < degree; i++) {
      odd_a[i] = odd_lanes(a.c[i]);
      odd_b[i] = odd_lanes(b.c[i]);
      odd_twice[i] = odd_lanes(b.twice[i]);
    }
    ZEN_UNROLL for (int k = 0; k < degree; k++) {
      ZEN_UNROLL for (int i = 0; i < degree; i++) {
        const bool low = i <= k;
        even[k] += even_products(a.c[i], low ? b.c[(k - i + degree) % degree] : b.twice[(degree + k - i) % degree]);
        odd[k] += even_products(odd_a[i], low ? odd_b[(k - i + degree) % degree] : odd_twice[(degree + k - i) % degree]);
        if (i % 2 || i == degree - 1) even[k] = settled(even[k]), odd[k] = settled(odd[k]);  // of p R and two products
      }
    }
  }
  ZEN_FN Extension total() const {
    Extension out;
    ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = reduced(even[k], odd[k]);
    return out;
  }
};

// a b + c d.
ZEN_FN Extension two_products(const Extension& a, const Extension& b, const Extension& c, const Extension& d) {
  ProductSum sum;
  sum.add(a, Factor(b));
  sum.add(c, Factor(d));
  return sum.total();
}

// Elements i .. i + count - 1 of n in planes.
ZEN_FN Extension load(const uint32_t* planes, long n, long i, int count = lane_count) {
  Extension out;
  ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = load(planes + k * n + i, count);
  return out;
}
ZEN_FN void store(uint32_t* planes, long n, long i, const Extension& v, int count = lane_count) {
  ZEN_UNROLL for (int k = 0; k < degree; k++) store(planes + k * n + i, v.c[k], count);
}
// Element i of n in every lane.
ZEN_FN Extension broadcast(const uint32_t* planes, long n = 1, long i = 0) {
  Extension out;
  ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = all_lanes(planes[k * n + i]);
  return out;
}

}  // namespace zen::bear
