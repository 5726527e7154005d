// Target: NVIDIA GPUs, compiled by NVRTC with every function a device function. Limbs have 32 bits. The carry
// flag lives from one asm statement to the next, which volatile keeps in order. Where a statement has two instructions,
// & keeps what the first one writes apart from what the second one reads.
#pragma once

#include "safegcd.hpp"

#define ZEN_FN __forceinline__
#define ZEN_UNROLL _Pragma("unroll")

namespace zen {

inline constexpr const char* target_name = "cuda";

using limb = unsigned int;

template <class P>
inline constexpr int limb_count = 2 * P::words;

template <class P>
constexpr limb modulus_limb(int i) {
  return limb(P::modulus[i / 2] >> (32 * (i % 2)));
}

namespace ptx {

// acc[2 .. n) += a[2], a[4], .. times b + the open carry: products of two limbs each, side by side, in one carry chain
// that is left open.
template <int n>
ZEN_FN void continue_multiply_add(limb* acc, const limb* a, limb b) {
  ZEN_UNROLL for (int j = 2; j < n; j += 2)
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %0; madc.hi.cc.u32 %1, %2, %3, %1;" : "+&r"(acc[j]), "+&r"(acc[j + 1]) : "r"(a[j]), "r"(b));
}

// The same from acc[0] on, with no carry before.
template <int n>
ZEN_FN void multiply_add(limb* acc, const limb* a, limb b) {
  asm volatile("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.cc.u32 %1, %2, %3, %1;" : "+&r"(acc[0]), "+&r"(acc[1]) : "r"(a[0]), "r"(b));
  continue_multiply_add<n>(acc, a, b);
}

template <int n>
ZEN_FN void multiply(limb* acc, const limb* a, limb b) {
  ZEN_UNROLL for (int j = 0; j < n; j += 2)
    asm volatile("mul.lo.u32 %0, %2, %3; mul.hi.u32 %1, %2, %3;" : "=&r"(acc[j]), "=&r"(acc[j + 1]) : "r"(a[j]), "r"(b));
}

// acc = acc / 2^64 + a[0], a[2], .. times b + the open carry, which is closed.
template <int n>
ZEN_FN void shift_multiply_add(limb* acc, const limb* a, limb b) {
  ZEN_UNROLL for (int j = 0; j < n - 2; j += 2)
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %4; madc.hi.cc.u32 %1, %2, %3, %5;"
                 : "=&r"(acc[j]), "=&r"(acc[j + 1]) : "r"(a[j]), "r"(b), "r"(acc[j + 2]), "r"(acc[j + 3]));
  asm volatile("madc.lo.cc.u32 %0, %2, %3, 0; madc.hi.u32 %1, %2, %3, 0;" : "=&r"(acc[n - 2]), "=&r"(acc[n - 1]) : "r"(a[n - 2]), "r"(b));
}

ZEN_FN void add_carry(limb& a) { asm volatile("addc.u32 %0, %0, 0;" : "+r"(a)); }

// `even` and `odd` hold a sum's limbs from even and odd positions, so that every product of two limbs lands on a
// pair of its own: (even + 2^32 odd) += a b, which must stay below 2^(32 (n + 1)).
template <int n>
ZEN_FN void add_row(limb* even, limb* odd, const limb* a, limb b) {
  multiply_add<n>(odd, a + 1, b);
  multiply_add<n>(even, a, b);
  add_carry(odd[n - 1]);
}

// The same after a division by 2^32, where even[0] is zero: the names of `even` and `odd` change places.
template <int n>
ZEN_FN void shift_add_row(limb* even, limb* odd, const limb* a, limb b) {
  asm volatile("add.cc.u32 %0, %0, %1;" : "+r"(even[0]) : "r"(odd[1]));
  shift_multiply_add<n>(odd, a + 1, b);
  multiply_add<n>(even, a, b);
  add_carry(odd[n - 1]);
}

// Whether the modulus begins with the limbs 1 and 2^32 - 1, as Fr's does.
template <class P>
inline constexpr bool begins_simply = P::modulus[0] == 0xffffffff00000001;

// Add the multiple of the modulus that makes even[0] zero.
template <class P>
ZEN_FN void reduce_row(limb* even, limb* odd) {
  constexpr int n = limb_count<P>;
  limb modulus[n];
  ZEN_UNROLL for (int i = 0; i < n; i++) modulus[i] = modulus_limb<P>(i);
  if constexpr (begins_simply<P>) {
    // m = -even[0]; times the first two limbs without products: m (2^32 - 1) = 2^32 m - m, and m itself.
    limb m, low, high;
    asm volatile("sub.u32 %0, 0, %1;" : "=r"(m) : "r"(even[0]));
    asm volatile("sub.cc.u32 %0, 0, %2; subc.u32 %1, %2, 0;" : "=&r"(low), "=&r"(high) : "r"(m));
    asm volatile("add.cc.u32 %0, %0, %2; addc.cc.u32 %1, %1, %3;" : "+&r"(odd[0]), "+&r"(odd[1]) : "r"(low), "r"(high));
    continue_multiply_add<n>(odd, modulus + 1, m);
    asm volatile("add.cc.u32 %0, %0, %2; addc.cc.u32 %1, %1, 0;" : "+&r"(even[0]), "+&r"(even[1]) : "r"(m));
    continue_multiply_add<n>(even, modulus, m);
    add_carry(odd[n - 1]);
  } else {
    add_row<n>(even, odd, modulus, even[0] * limb(P::negative_inverse));
  }
}

// The same after a division by 2^32.
template <class P>
ZEN_FN void shift_reduce_row(limb* even, limb* odd) {
  constexpr int n = limb_count<P>;
  limb modulus[n];
  ZEN_UNROLL for (int i = 0; i < n; i++) modulus[i] = modulus_limb<P>(i);
  asm volatile("add.cc.u32 %0, %0, %1;" : "+r"(even[0]) : "r"(odd[1]));
  const limb m = even[0] * limb(P::negative_inverse);
  shift_multiply_add<n>(odd, modulus + 1, m);
  multiply_add<n>(even, modulus, m);
  add_carry(odd[n - 1]);
}

// acc += a[0], a[2], .. a[count - 1 or 2] times b; acc has no more above but earlier carries.
ZEN_FN void add_upper_row(limb* acc, const limb* a, int count, limb b) {
  if (count <= 0) return;
  asm volatile("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.cc.u32 %1, %2, %3, %1;" : "+&r"(acc[0]), "+&r"(acc[1]) : "r"(a[0]), "r"(b));
  ZEN_UNROLL for (int j = 2; j < count; j += 2)
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %0; madc.hi.cc.u32 %1, %2, %3, %1;" : "+&r"(acc[j]), "+&r"(acc[j + 1]) : "r"(a[j]), "r"(b));
  add_carry(acc[count + count % 2]);
}

// acc += the sum of a[i]^2 2^(64 i).
template <int n>
ZEN_FN void add_squares(limb* acc, const limb* a) {
  asm volatile("mad.lo.cc.u32 %0, %2, %2, %0; madc.hi.cc.u32 %1, %2, %2, %1;" : "+&r"(acc[0]), "+&r"(acc[1]) : "r"(a[0]));
  ZEN_UNROLL for (int i = 1; i < n; i++)
    asm volatile("madc.lo.cc.u32 %0, %2, %2, %0; madc.hi.cc.u32 %1, %2, %2, %1;" : "+&r"(acc[2 * i]), "+&r"(acc[2 * i + 1]) : "r"(a[i]));
}

template <int n>
ZEN_FN void add(limb* out, const limb* a, const limb* b) {
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(out[0]) : "r"(a[0]), "r"(b[0]));
  ZEN_UNROLL for (int i = 1; i < n; i++) asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(out[i]) : "r"(a[i]), "r"(b[i]));
}

// out = a - b; the borrow as 0 or all ones.
template <int n>
ZEN_FN limb subtract(limb* out, const limb* a, const limb* b) {
  limb borrow;
  asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(out[0]) : "r"(a[0]), "r"(b[0]));
  ZEN_UNROLL for (int i = 1; i < n; i++) asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(out[i]) : "r"(a[i]), "r"(b[i]));
  asm volatile("subc.u32 %0, 0, 0;" : "=r"(borrow));
  return borrow;
}

}  // namespace ptx

// t < 2 modulus  ->  out = t mod modulus
template <class P>
ZEN_FN void reduce_once(limb* out, const limb* t) {
  constexpr int n = limb_count<P>;
  limb modulus[n], reduced[n];
  ZEN_UNROLL for (int i = 0; i < n; i++) modulus[i] = modulus_limb<P>(i);
  const limb borrow = ptx::subtract<n>(reduced, t, modulus);
  ZEN_UNROLL for (int i = 0; i < n; i++) out[i] = borrow ? t[i] : reduced[i];
}

template <class P>
ZEN_FN void add_mod(limb* out, const limb* a, const limb* b) {
  limb sum[limb_count<P>];
  ptx::add<limb_count<P>>(sum, a, b);
  reduce_once<P>(out, sum);
}

template <class P>
ZEN_FN void sub_mod(limb* out, const limb* a, const limb* b) {
  constexpr int n = limb_count<P>;
  limb difference[n], correction[n];
  const limb borrow = ptx::subtract<n>(difference, a, b);
  ZEN_UNROLL for (int i = 0; i < n; i++) correction[i] = modulus_limb<P>(i) & borrow;
  ptx::add<n>(out, difference, correction);
}

// even + odd 2^32 -> out, once; below twice the modulus before.
template <class P>
ZEN_FN void finish(limb* out, limb* even, limb* odd) {
  constexpr int n = limb_count<P>;
  ptx::add<n - 1>(even, even, odd + 1);
  ptx::add_carry(even[n - 1]);
  reduce_once<P>(out, even);
}

// Operand scanning, one row for each limb of b, reduced as it goes. The top limb of both moduli leaves room for
// the sum of a row.
template <class P>
ZEN_FN void product(limb* out, const limb* a, const limb* b) {
  constexpr int n = limb_count<P>;
  limb even[n], odd[n];
  ptx::multiply<n>(odd, a + 1, b[0]);
  ptx::multiply<n>(even, a, b[0]);
  ptx::reduce_row<P>(even, odd);
  ZEN_UNROLL for (int i = 1; i < n; i++) {
    limb *const low = i % 2 ? odd : even, *const high = i % 2 ? even : odd;
    ptx::shift_add_row<n>(low, high, a, b[i]);
    ptx::reduce_row<P>(low, high);
  }
  finish<P>(out, even, odd);
}

// A square has each product of two different limbs twice: rows multiply what lies above the diagonal by 2, then the
// squares of limbs are added, then all is reduced: 234 multiplications in Fp where a product takes 300.
template <class P>
ZEN_FN void square(limb* out, const limb* a) {
  constexpr int n = limb_count<P>;
  limb even[2 * n] = {}, odd[2 * n] = {};
  ZEN_UNROLL for (int i = 0; i < n - 1; i++) {
    limb twice[n];
    ZEN_UNROLL for (int j = i + 1; j < n; j++) twice[j] = a[j] << 1 | (j > i + 1 ? a[j - 1] >> 31 : 0);
    ptx::add_upper_row(odd + 2 * i, twice + i + 1, n - i - 1, a[i]);
    ptx::add_upper_row(even + 2 * i + 2, twice + i + 2, n - i - 2, a[i]);
  }
  ptx::add<2 * n - 1>(even + 1, even + 1, odd);
  ptx::add_squares<n>(even, a);

  limb low[n], high[n] = {};
  ZEN_UNROLL for (int i = 0; i < n; i++) low[i] = even[i];
  ptx::reduce_row<P>(low, high);
  ZEN_UNROLL for (int i = 1; i < n; i++)
    i % 2 ? ptx::shift_reduce_row<P>(high, low) : ptx::shift_reduce_row<P>(low, high);
  ptx::add<n - 1>(low, low, high + 1);
  ptx::add_carry(low[n - 1]);
  ptx::add<n>(low, low, even + n);
  reduce_once<P>(out, low);
}

// Both products in the same rows, and one reduction for both.
template <class P>
ZEN_FN void sum_of_products(limb* out, const limb* a, const limb* b) {
  static_assert(P::modulus[P::words - 1] >> 62 == 0, "rows would not fit");
  constexpr int n = limb_count<P>;
  limb even[n], odd[n];
  ptx::multiply<n>(odd, a + 1, b[0]);
  ptx::multiply<n>(even, a, b[0]);
  ptx::add_row<n>(even, odd, a + n, b[n]);
  ptx::reduce_row<P>(even, odd);
  ZEN_UNROLL for (int i = 1; i < n; i++) {
    limb *const low = i % 2 ? odd : even, *const high = i % 2 ? even : odd;
    ptx::shift_add_row<n>(low, high, a, b[i]);
    ptx::add_row<n>(low, high, a + n, b[n + i]);
    ptx::reduce_row<P>(low, high);
  }
  finish<P>(out, even, odd);
}

// Inlined, a product is some 300 instructions in Fr and 650 in Fp: a kernel of many that is not the one that
// counts defines ZEN_CALL_PRODUCTS, passes operands in registers, and compiles in seconds, not minutes.
#if defined(ZEN_CALL_PRODUCTS)
template <class P, int count>
struct Limbs {
  limb v[count * limb_count<P>];
  static ZEN_FN Limbs from(const limb* words) {
    Limbs r;
    ZEN_UNROLL for (int i = 0; i < count * limb_count<P>; i++) r.v[i] = words[i];
    return r;
  }
  ZEN_FN void to(limb* words) const {
    ZEN_UNROLL for (int i = 0; i < count * limb_count<P>; i++) words[i] = v[i];
  }
};
template <class P>
__noinline__ Limbs<P, 1> called_product(Limbs<P, 1> a, Limbs<P, 1> b) {
  Limbs<P, 1> r;
  product<P>(r.v, a.v, b.v);
  return r;
}
template <class P>
__noinline__ Limbs<P, 1> called_square(Limbs<P, 1> a) {
  Limbs<P, 1> r;
  square<P>(r.v, a.v);
  return r;
}
template <class P>
__noinline__ Limbs<P, 1> called_sum_of_products(Limbs<P, 2> a, Limbs<P, 2> b) {
  Limbs<P, 1> r;
  sum_of_products<P>(r.v, a.v, b.v);
  return r;
}
template <class P>
ZEN_FN void mont_mul(limb* out, const limb* a, const limb* b) {
  called_product<P>(Limbs<P, 1>::from(a), Limbs<P, 1>::from(b)).to(out);
}
template <class P>
ZEN_FN void mont_square(limb* out, const limb* a) {
  called_square<P>(Limbs<P, 1>::from(a)).to(out);
}
template <class P>
ZEN_FN void mont_sum_of_products(limb* out, const limb* a, const limb* b) {
  called_sum_of_products<P>(Limbs<P, 2>::from(a), Limbs<P, 2>::from(b)).to(out);
}
#else
template <class P>
ZEN_FN void mont_mul(limb* out, const limb* a, const limb* b) {
  product<P>(out, a, b);
}
template <class P>
ZEN_FN void mont_square(limb* out, const limb* a) {
  square<P>(out, a);
}
template <class P>
ZEN_FN void mont_sum_of_products(limb* out, const limb* a, const limb* b) {
  sum_of_products<P>(out, a, b);
}
#endif

template <class P>
__noinline__ void invert(limb* out, const limb* a) {
  safegcd::invert<P>(out, a);
}

}  // namespace zen
