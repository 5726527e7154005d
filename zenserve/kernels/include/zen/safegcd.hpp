// Modular inversion by division steps, variable-time: Bernstein and Yang, "Fast constant-time gcd computation and
// modular inversion" (TCHES 2019), almost a word of steps at a time on the lowest words as in Pornin's "Optimized
// binary GCD" (ePrint 2020/972). About 8 times faster than Fermat for Fp.
//
// State: f odd, g, with gcd(f, g) = 1; d x = f and e x = g modulo p throughout. A batch of `width` steps is a
// matrix (u v; q r) of integers of as many bits with 2^width (f, g)' = (u f + v g, q f + r g); the same goes for
// (d, e) once a multiple of p makes the sums divisible. When g = 0, f = +-1 and d = +-1/x.
#pragma once

#include "constants.hpp"

namespace zen::safegcd {

// What a machine with limbs of this type computes with: words for `width` bits and a sign, and sums of their products.
template <class Limb>
struct Machine;

template <>
struct Machine<unsigned> {
  using Word = int;
  using Wide = long long;
  static constexpr int width = 30;
#if defined(__CUDACC_RTC__)
  static int trailing_zeros(unsigned x) { return __ffs(int(x)) - 1; }
#else
  static int trailing_zeros(unsigned x) { return __builtin_ctz(x); }
#endif
};

#if !defined(__CUDACC_RTC__)
template <>
struct Machine<u64> {
  using Word = long long;
  using Wide = __int128;
  static constexpr int width = 62;
  static int trailing_zeros(u64 x) { return __builtin_ctzll(x); }
};
#endif

// The integers modulo P::modulus on such a machine.
template <class P, class Limb>
struct Inversion {
  using M = Machine<Limb>;
  using Word = typename M::Word;
  using Wide = typename M::Wide;

  static constexpr int bits = 8 * int(sizeof(Limb)), count = 64 * P::words / bits, width = M::width;
  static constexpr int n = (64 * P::words + width - 1) / width;
  static constexpr Limb mask = ~Limb(0) >> (bits - width);

  // words[i] 2^(width i), all but the last in [0, 2^width); the last carries the sign.
  struct Number {
    Word words[n];

    bool is_zero() const {
      Word any = 0;
      for (Word word : words) any |= word;
      return any == 0;
    }
    bool is_negative() const { return words[n - 1] < 0; }

    static Number from_limbs(const Limb* limbs) {
      Number r{};
      for (int i = 0; i < n; i++) {
        const int bit = width * i, limb = bit / bits, shift = bit % bits;
        Limb value = limb < count ? limbs[limb] >> shift : 0;
        if (shift && limb + 1 < count) value |= limbs[limb + 1] << (bits - shift);
        r.words[i] = Word(value & mask);
      }
      return r;
    }
    void to_limbs(Limb* limbs) const {
      for (int i = 0; i < count; i++) limbs[i] = 0;
      for (int i = 0; i < n; i++) {
        const int bit = width * i, limb = bit / bits, shift = bit % bits;
        if (limb < count) limbs[limb] |= Limb(words[i]) << shift;
        if (shift > bits - width && limb + 1 < count) limbs[limb + 1] |= Limb(words[i]) >> (bits - shift);
      }
    }
    // this += factor * b, |factor| <= 1
    void add(const Number& b, Word factor) {
      Word carry = 0;
      for (int i = 0; i < n; i++) {
        carry += words[i] + factor * b.words[i];
        words[i] = i + 1 < n ? Word(Limb(carry) & mask) : carry;
        carry >>= width;
      }
    }
    void negate() {
      Number zero{};
      zero.add(*this, -1);
      *this = zero;
    }
  };

  static Number modulus() {
    Limb limbs[count];
    for (int i = 0; i < count; i++) limbs[i] = Limb(P::modulus[i * bits / 64] >> (i * bits % 64));
    return Number::from_limbs(limbs);
  }

  struct Matrix {
    Word u, v, q, r;
  };

  // `width` division steps on the lowest words of f and g. `delta` decides when f and g change places.
  static Matrix divide_steps(Word& delta, Limb f, Limb g) {
    Limb u = 1, v = 0, q = 0, r = 1;
    for (int left = width;;) {
      const int zeros = M::trailing_zeros(g | ~Limb(0) << left);
      g >>= zeros, u <<= zeros, v <<= zeros;
      delta += zeros, left -= zeros;
      if (!left) return {Word(u), Word(v), Word(q), Word(r)};
      if (delta > 0) {
        delta = -delta;
        const Limb old_f = f, old_u = u, old_v = v;
        f = g, u = q, v = r;
        g = -old_f, q = -old_u, r = -old_v;
      }
      g += f, q += u, r += v;
    }
  }

  static void update_fg(Number& f, Number& g, const Matrix& t) {
    Wide low = Wide(t.u) * f.words[0] + Wide(t.v) * g.words[0];
    Wide high = Wide(t.q) * f.words[0] + Wide(t.r) * g.words[0];
    low >>= width, high >>= width;
    for (int i = 1; i < n; i++) {
      low += Wide(t.u) * f.words[i] + Wide(t.v) * g.words[i];
      high += Wide(t.q) * f.words[i] + Wide(t.r) * g.words[i];
      f.words[i - 1] = Word(Limb(low) & mask), g.words[i - 1] = Word(Limb(high) & mask);
      low >>= width, high >>= width;
    }
    f.words[n - 1] = Word(low), g.words[n - 1] = Word(high);
  }

  // d and e stay in (-2p, p): a negative one has its multiple of p added before the division by 2^width.
  static void update_de(Number& d, Number& e, const Matrix& t, const Number& p) {
    const Limb p_inverse = -Limb(P::negative_inverse) & mask;
    const Word d_sign = d.words[n - 1] >> (bits - 1), e_sign = e.words[n - 1] >> (bits - 1);
    Word low_multiple = (t.u & d_sign) + (t.v & e_sign), high_multiple = (t.q & d_sign) + (t.r & e_sign);
    Wide low = Wide(t.u) * d.words[0] + Wide(t.v) * e.words[0];
    Wide high = Wide(t.q) * d.words[0] + Wide(t.r) * e.words[0];
    low_multiple -= Word((p_inverse * Limb(low) + Limb(low_multiple)) & mask);
    high_multiple -= Word((p_inverse * Limb(high) + Limb(high_multiple)) & mask);
    low = (low + Wide(p.words[0]) * low_multiple) >> width;
    high = (high + Wide(p.words[0]) * high_multiple) >> width;
    for (int i = 1; i < n; i++) {
      low += Wide(t.u) * d.words[i] + Wide(t.v) * e.words[i] + Wide(p.words[i]) * low_multiple;
      high += Wide(t.q) * d.words[i] + Wide(t.r) * e.words[i] + Wide(p.words[i]) * high_multiple;
      d.words[i - 1] = Word(Limb(low) & mask), e.words[i - 1] = Word(Limb(high) & mask);
      low >>= width, high >>= width;
    }
    d.words[n - 1] = Word(low), e.words[n - 1] = Word(high);
  }
};

// out = 1 / x modulo P::modulus for plain integers, x < modulus; zero goes to zero.
template <class P, class Limb>
void invert(Limb* out, const Limb* x) {
  using I = Inversion<P, Limb>;
  using Number = typename I::Number;
  const Number p = I::modulus();
  Number f = p, g = Number::from_limbs(x), d{}, e{};
  e.words[0] = 1;
  // The step swaps when delta > 0 and g is odd; f and g start with delta = 1.
  for (typename I::Word delta = 1; !g.is_zero();) {
    const auto t = I::divide_steps(delta, Limb(f.words[0]), Limb(g.words[0]));
    I::update_de(d, e, t, p);
    I::update_fg(f, g, t);
  }
  if (f.is_negative()) d.negate();
  while (d.is_negative()) d.add(p, 1);
  for (Number less = d; less.add(p, -1), !less.is_negative();) d = less;
  d.to_limbs(out);
}

}  // namespace zen::safegcd
