// Target: x86-64 with BMI2 and ADX (Intel since Broadwell, AMD since Zen). MULX leaves the flags alone
// and ADCX / ADOX keep two carry chains apart, which compilers do not generate from C++.
#pragma once

#include "safegcd.hpp"

#define ZEN_FN inline __attribute__((always_inline))
#define ZEN_UNROLL _Pragma("GCC unroll 16")

namespace zen {

using limb = u64;
using safegcd::invert;

// One row of the product: (t, hi) += a * b[i], both carry chains running.
#define ZEN_PRODUCT_STEP(j, offset)  \
  "adcx %[hi], %[t" #j "]\n\t"       \
  "mulx " #offset "(%[a]), %[lo], %[hi]\n\t" \
  "adox %[lo], %[t" #j "]\n\t"
#define ZEN_PRODUCT_START(base)                \
  "xor %k[lo], %k[lo]\n\t"                     \
  "mulx " #base "(%[a]), %[lo], %[hi]\n\t"     \
  "adox %[lo], %[t0]\n\t"
#define ZEN_PRODUCT_END   \
  "mov $0, %k[lo]\n\t"    \
  "adcx %[lo], %[hi]\n\t" \
  "adox %[lo], %[hi]\n\t"

// The first row, where t is still empty.
#define ZEN_FIRST_BEGIN                \
  "mov (%[b]), %%rdx\n\t"              \
  "xor %k[lo], %k[lo]\n\t"             \
  "mulx (%[a]), %[t0], %[t1]\n\t"
#define ZEN_FIRST_STEP(i, j, offset)             \
  "mulx " #offset "(%[a]), %[lo], %[t" #j "]\n\t" \
  "adox %[lo], %[t" #i "]\n\t"
#define ZEN_FIRST_END(i, offset)                \
  "mulx " #offset "(%[a]), %[lo], %[hi]\n\t"    \
  "adox %[lo], %[t" #i "]\n\t"                  \
  "mov $0, %k[lo]\n\t"                          \
  "adox %[lo], %[hi]\n\t"

// t = (t + m modulus) / 2^64 with m = t0 * negative_inverse.
#define ZEN_REDUCE_BEGIN               \
  "mov %[inverse], %%rdx\n\t"          \
  "imul %[t0], %%rdx\n\t"              \
  "xor %k[lo], %k[lo]\n\t"             \
  "mulx (%[p]), %[lo], %[spare]\n\t"   \
  "adcx %[t0], %[lo]\n\t"              \
  "mov %[spare], %[t0]\n\t"
#define ZEN_REDUCE_STEP(i, j, offset)                \
  "adcx %[t" #j "], %[t" #i "]\n\t"                  \
  "mulx " #offset "(%[p]), %[lo], %[t" #j "]\n\t"    \
  "adox %[lo], %[t" #i "]\n\t"
#define ZEN_REDUCE_END(last)      \
  "mov $0, %k[lo]\n\t"            \
  "adcx %[lo], %[t" #last "]\n\t" \
  "adox %[hi], %[t" #last "]\n\t"

// t += m modulus, m in rdx, which does not fit into t; and t / 2^right, word by word.
#define ZEN_MULTIPLE_STEP(i, j, offset)            \
  "mulx " #offset "(%[p]), %[lo], %[hi]\n\t"       \
  "adcx %[lo], %[t" #i "]\n\t"                     \
  "adox %[hi], %[t" #j "]\n\t"
#define ZEN_MULTIPLE_END                                                             \
  "mulx 40(%[p]), %[lo], %[hi]\n\t adcx %[lo], %[t5]\n\t mov $0, %k[lo]\n\t"       \
  "adcx %[lo], %[hi]\n\t adox %[lo], %[hi]\n\t mov %[left], %%edx\n\t"
#define ZEN_SHIFT_STEP(low, high)                  \
  "shlx %%rdx, %[" #high "], %[lo]\n\t"            \
  "shr %[bits], %[" #low "]\n\t"                   \
  "or %[lo], %[" #low "]\n\t"

#define ZEN_DIVIDE6                                                                                          \
  "xor %k[lo], %k[lo]\n\t" ZEN_MULTIPLE_STEP(0, 1, 0) ZEN_MULTIPLE_STEP(1, 2, 8) ZEN_MULTIPLE_STEP(2, 3, 16) \
  ZEN_MULTIPLE_STEP(3, 4, 24) ZEN_MULTIPLE_STEP(4, 5, 32)                                                    \
  ZEN_MULTIPLE_END                                                                                           \
  ZEN_SHIFT_STEP(t0, t1) ZEN_SHIFT_STEP(t1, t2) ZEN_SHIFT_STEP(t2, t3) ZEN_SHIFT_STEP(t3, t4)                \
  ZEN_SHIFT_STEP(t4, t5) ZEN_SHIFT_STEP(t5, hi)

#define ZEN_FIRST4 ZEN_FIRST_BEGIN ZEN_FIRST_STEP(1, 2, 8) ZEN_FIRST_STEP(2, 3, 16) ZEN_FIRST_END(3, 24)
#define ZEN_FIRST6                                                                                    \
  ZEN_FIRST_BEGIN ZEN_FIRST_STEP(1, 2, 8) ZEN_FIRST_STEP(2, 3, 16) ZEN_FIRST_STEP(3, 4, 24)                  \
  ZEN_FIRST_STEP(4, 5, 32) ZEN_FIRST_END(5, 40)
#define ZEN_PRODUCT4(offset)                                                                                 \
  "mov " #offset "(%[b]), %%rdx\n\t" ZEN_PRODUCT_START(0) ZEN_PRODUCT_STEP(1, 8) ZEN_PRODUCT_STEP(2, 16) ZEN_PRODUCT_STEP(3, 24) ZEN_PRODUCT_END
#define ZEN_PRODUCT6(offset, base) "mov " #offset "(%[b]), %%rdx\n\t" ZEN_PRODUCT6_BY_RDX(base)
#define ZEN_PRODUCT6_BY_RDX(base)                                                                            \
  ZEN_PRODUCT_START(base) ZEN_PRODUCT_STEP(1, base + 8) ZEN_PRODUCT_STEP(2, base + 16)               \
  ZEN_PRODUCT_STEP(3, base + 24) ZEN_PRODUCT_STEP(4, base + 32) ZEN_PRODUCT_STEP(5, base + 40) ZEN_PRODUCT_END
#define ZEN_REDUCE4 \
  ZEN_REDUCE_BEGIN ZEN_REDUCE_STEP(0, 1, 8) ZEN_REDUCE_STEP(1, 2, 16) ZEN_REDUCE_STEP(2, 3, 24) ZEN_REDUCE_END(3)
#define ZEN_REDUCE6                                                                                          \
  ZEN_REDUCE_BEGIN ZEN_REDUCE_STEP(0, 1, 8) ZEN_REDUCE_STEP(1, 2, 16) ZEN_REDUCE_STEP(2, 3, 24)              \
  ZEN_REDUCE_STEP(3, 4, 32) ZEN_REDUCE_STEP(4, 5, 40) ZEN_REDUCE_END(5)
// The row of the second of two products, onto that of the first.
#define ZEN_SECOND6(offset) \
  "mov %[hi], %[spare]\n\t" ZEN_PRODUCT6(48 + offset, 48) "add %[spare], %[hi]\n\t"

// out = t - modulus where that is not negative, else t.
template <class P>
ZEN_FN void reduce_once(limb* out, const limb* t) {
  static_assert(P::words == 4 || P::words == 6);
  if constexpr (P::words == 4) {
    limb s0 = t[0], s1 = t[1], s2 = t[2], s3 = t[3];
    asm("sub (%[p]), %[s0]\n\t sbb 8(%[p]), %[s1]\n\t sbb 16(%[p]), %[s2]\n\t sbb 24(%[p]), %[s3]\n\t"
        "cmovc %[t0], %[s0]\n\t cmovc %[t1], %[s1]\n\t cmovc %[t2], %[s2]\n\t cmovc %[t3], %[s3]\n\t"
        : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3)
        : [t0] "rm"(t[0]), [t1] "rm"(t[1]), [t2] "rm"(t[2]), [t3] "rm"(t[3]), [p] "r"(P::modulus)
        : "cc");
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
  } else {
    limb s0 = t[0], s1 = t[1], s2 = t[2], s3 = t[3], s4 = t[4], s5 = t[5];
    asm("sub (%[p]), %[s0]\n\t sbb 8(%[p]), %[s1]\n\t sbb 16(%[p]), %[s2]\n\t"
        "sbb 24(%[p]), %[s3]\n\t sbb 32(%[p]), %[s4]\n\t sbb 40(%[p]), %[s5]\n\t"
        "cmovc %[t0], %[s0]\n\t cmovc %[t1], %[s1]\n\t cmovc %[t2], %[s2]\n\t"
        "cmovc %[t3], %[s3]\n\t cmovc %[t4], %[s4]\n\t cmovc %[t5], %[s5]\n\t"
        : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [s4] "+&r"(s4), [s5] "+&r"(s5)
        : [t0] "rm"(t[0]), [t1] "rm"(t[1]), [t2] "rm"(t[2]), [t3] "rm"(t[3]), [t4] "rm"(t[4]),
          [t5] "rm"(t[5]), [p] "r"(P::modulus)
        : "cc");
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3, out[4] = s4, out[5] = s5;
  }
}

template <class P>
ZEN_FN void add_mod(limb* out, const limb* a, const limb* b) {
  limb t[P::words];
  unsigned char carry = 0;
  ZEN_UNROLL for (int i = 0; i < P::words; i++) carry = __builtin_ia32_addcarryx_u64(carry, a[i], b[i], &t[i]);
  reduce_once<P>(out, t);
}

// A difference below zero gets the modulus added, any other one zeros: the borrow picks the address. Masks
// would take longer, and GCC's own carry chains three times as long.
template <class P>
inline constexpr limb zeros[P::words] = {};

template <class P>
ZEN_FN void sub_mod(limb* out, const limb* a, const limb* b) {
  static_assert(P::words == 4 || P::words == 6);
  struct words {
    limb v[P::words];
  };
  const words& b_memory = *reinterpret_cast<const words*>(b);
  const limb* addend = zeros<P>;
  if constexpr (P::words == 4) {
    limb t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3];
    asm("sub (%[b]), %[t0]\n\t sbb 8(%[b]), %[t1]\n\t sbb 16(%[b]), %[t2]\n\t sbb 24(%[b]), %[t3]\n\t"
        "cmovc %[p], %[addend]\n\t"
        "add (%[addend]), %[t0]\n\t adc 8(%[addend]), %[t1]\n\t"
        "adc 16(%[addend]), %[t2]\n\t adc 24(%[addend]), %[t3]\n\t"
        : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [addend] "+&r"(addend)
        : [b] "r"(b), [p] "r"(P::modulus), "m"(b_memory)
        : "cc");
    out[0] = t0, out[1] = t1, out[2] = t2, out[3] = t3;
  } else {
    limb t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], t4 = a[4], t5 = a[5];
    asm("sub (%[b]), %[t0]\n\t sbb 8(%[b]), %[t1]\n\t sbb 16(%[b]), %[t2]\n\t"
        "sbb 24(%[b]), %[t3]\n\t sbb 32(%[b]), %[t4]\n\t sbb 40(%[b]), %[t5]\n\t"
        "cmovc %[p], %[addend]\n\t"
        "add (%[addend]), %[t0]\n\t adc 8(%[addend]), %[t1]\n\t adc 16(%[addend]), %[t2]\n\t"
        "adc 24(%[addend]), %[t3]\n\t adc 32(%[addend]), %[t4]\n\t adc 40(%[addend]), %[t5]\n\t"
        : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4), [t5] "+&r"(t5),
          [addend] "+&r"(addend)
        : [b] "r"(b), [p] "r"(P::modulus), "m"(b_memory)
        : "cc");
    out[0] = t0, out[1] = t1, out[2] = t2, out[3] = t3, out[4] = t4, out[5] = t5;
  }
}

template <class P>
ZEN_FN void mont_mul(limb* out, const limb* a, const limb* b) {
  static_assert(P::words == 4 || P::words == 6);
  struct words {
    limb v[P::words];
  };
  const words& a_memory = *reinterpret_cast<const words*>(a);
  const words& b_memory = *reinterpret_cast<const words*>(b);
  limb hi, lo, spare, t[P::words];
  if constexpr (P::words == 4) {
    asm(ZEN_FIRST4 ZEN_REDUCE4 ZEN_PRODUCT4(8) ZEN_REDUCE4 ZEN_PRODUCT4(16) ZEN_REDUCE4 ZEN_PRODUCT4(24) ZEN_REDUCE4
        : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [hi] "=&r"(hi),
          [lo] "=&r"(lo), [spare] "=&r"(spare)
        : [a] "r"(a), [b] "r"(b), [p] "r"(P::modulus), [inverse] "i"(P::negative_inverse), "m"(a_memory),
          "m"(b_memory)
        : "rdx", "cc");
  } else {
    asm(ZEN_FIRST6 ZEN_REDUCE6 ZEN_PRODUCT6(8, 0) ZEN_REDUCE6 ZEN_PRODUCT6(16, 0) ZEN_REDUCE6
            ZEN_PRODUCT6(24, 0) ZEN_REDUCE6 ZEN_PRODUCT6(32, 0) ZEN_REDUCE6 ZEN_PRODUCT6(40, 0) ZEN_REDUCE6
        : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [t4] "=&r"(t[4]),
          [t5] "=&r"(t[5]), [hi] "=&r"(hi), [lo] "=&r"(lo), [spare] "=&r"(spare)
        : [a] "r"(a), [b] "r"(b), [p] "r"(P::modulus), [inverse] "i"(P::negative_inverse), "m"(a_memory),
          "m"(b_memory)
        : "rdx", "cc");
  }
  reduce_once<P>(out, t);
}

template <class P>
ZEN_FN void mont_square(limb* out, const limb* a) {
  mont_mul<P>(out, a, a);
}

template <class P>
ZEN_FN void mont_sum_of_products(limb* out, const limb* a, const limb* b) {
  static_assert(P::words == 6);
  struct words {
    limb v[2 * P::words];
  };
  const words& a_memory = *reinterpret_cast<const words*>(a);
  const words& b_memory = *reinterpret_cast<const words*>(b);
  limb hi, lo, spare, t[P::words];
  asm(ZEN_FIRST6 ZEN_SECOND6(0) ZEN_REDUCE6 ZEN_PRODUCT6(8, 0) ZEN_SECOND6(8) ZEN_REDUCE6
          ZEN_PRODUCT6(16, 0) ZEN_SECOND6(16) ZEN_REDUCE6 ZEN_PRODUCT6(24, 0) ZEN_SECOND6(24) ZEN_REDUCE6
          ZEN_PRODUCT6(32, 0) ZEN_SECOND6(32) ZEN_REDUCE6 ZEN_PRODUCT6(40, 0) ZEN_SECOND6(40) ZEN_REDUCE6
      : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [t4] "=&r"(t[4]),
        [t5] "=&r"(t[5]), [hi] "=&r"(hi), [lo] "=&r"(lo), [spare] "=&r"(spare)
      : [a] "r"(a), [b] "r"(b), [p] "r"(P::modulus), [inverse] "i"(P::negative_inverse), "m"(a_memory),
        "m"(b_memory)
      : "rdx", "cc");
  reduce_once<P>(out, t);
}

// t = (t + m modulus) / 2^bits with t < 2^384: (1 + 10 / 2^bits) times the modulus at most.
template <class P, int bits>
ZEN_FN void divide_words(limb (&t)[6]) {
  limb hi, lo, m = t[0] * P::negative_inverse & ((1ull << bits) - 1);
  asm(ZEN_DIVIDE6
      : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]), [t5] "+&r"(t[5]),
        [hi] "=&r"(hi), [lo] "=&r"(lo), "+&d"(m)
      : [p] "r"(P::modulus), [bits] "i"(bits), [left] "i"(64 - bits)
      : "cc");
}

// a + b and a - b modulo 2^384.
ZEN_FN void add_words(limb (&a)[6], const limb (&b)[6]) {
  asm("add (%[b]), %[a0]\n\t adc 8(%[b]), %[a1]\n\t adc 16(%[b]), %[a2]\n\t"
      "adc 24(%[b]), %[a3]\n\t adc 32(%[b]), %[a4]\n\t adc 40(%[b]), %[a5]\n\t"
      : [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [a4] "+&r"(a[4]), [a5] "+&r"(a[5])
      : [b] "r"(b), "m"(b)
      : "cc");
}
ZEN_FN void subtract_words(limb (&a)[6], const limb (&b)[6]) {
  asm("sub (%[b]), %[a0]\n\t sbb 8(%[b]), %[a1]\n\t sbb 16(%[b]), %[a2]\n\t"
      "sbb 24(%[b]), %[a3]\n\t sbb 32(%[b]), %[a4]\n\t sbb 40(%[b]), %[a5]\n\t"
      : [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [a4] "+&r"(a[4]), [a5] "+&r"(a[5])
      : [b] "r"(b), "m"(b)
      : "cc");
}

}  // namespace zen
