// Field elements side by side, in digits of 52 bits, which AVX-512 IFMA multiplies (Gueron, Krasnov, "Accelerating
// big integer arithmetic using Intel IFMA extensions", ARITH 2016), or of 29, which AVX2 does. Products are Montgomery's
// with R' = 2^(digit_bits digits) instead of R = 2^(64 words). Elements are read from memory and written back without a
// factor in between, so the lanes see every element of memory divided by R'/R = 2^extra_bits: of 52 bits that is 2^4 for
// Fr and 2^32 for Fp, of 29 bits 2^5 and 2^22.
//
// *Carried*: every digit is below 2^digit_bits, and the value is not negative. Operands of products must be carried.
// *Settled*: carried, and below (1 + 2^-12) p. A product is below (1 + a b / (p R')) p: in Fp, where R' has 35 spare
// bits, or 25, it is settled if its operands are below 2^11 p, or 2^6 p; Fr has 5, or 6.
#pragma once

#include <array>

#include "field.hpp"
#include "lanes.hpp"

namespace zen {

// k modulus in digits, k >= 0 small.
template <class P>
struct MultipleOfModulus {
  static constexpr int count = (P::bits + digit_bits - 1) / digit_bits;
  u64 digit[count];

  constexpr explicit MultipleOfModulus(u64 k) : digit{} {
    u64 carry = 0;
    for (int i = 0; i < count; i++) {
      const int word = i * digit_bits / 64, shift = i * digit_bits % 64;
      u64 value = P::modulus[word] >> shift;
      if (shift > 64 - digit_bits && word + 1 < P::words) value |= P::modulus[word + 1] << (64 - shift);
      const unsigned __int128 product = (unsigned __int128)(value & digit_mask) * k + carry;
      digit[i] = u64(product) & digit_mask;
      carry = u64(product >> digit_bits);
    }
    digit[count - 1] |= carry << digit_bits;
  }
};

template <class P, u64 k>
inline constexpr MultipleOfModulus<P> multiple{k};

// a 2^times mod p, for constants: a and the result are canonical.
template <class P>
constexpr std::array<u64, P::words> doubled(const u64 (&a)[P::words], int times) {
  std::array<u64, P::words> r{};
  for (int i = 0; i < P::words; i++) r[i] = a[i];
  for (; times > 0; times--) {
    std::array<u64, P::words> reduced{};
    u64 carry = 0, borrow = 0;
    for (int i = 0; i < P::words; i++) {
      const u64 twice = r[i] << 1 | carry;
      carry = r[i] >> 63;
      r[i] = twice;
      const unsigned __int128 difference = (unsigned __int128)twice - P::modulus[i] - borrow;
      reduced[i] = u64(difference);
      borrow = u64(difference >> 64) & 1;
    }
    if (!borrow) r = reduced;
  }
  return r;
}
// The factor that brings a constant of memory, R a, to what products of lanes take, R' a.
template <class P>
inline constexpr int extra_bits = digit_bits * MultipleOfModulus<P>::count - 64 * P::words;

template <class P>
struct LanePrime {
  using Truth = SignedLanes;
  static constexpr int digits = MultipleOfModulus<P>::count, lanes = lane_count;
  Lanes v[digits];

  LanePrime() = default;
  // Compilers would call the library.
  ZEN_FN LanePrime(const LanePrime& other) {
    ZEN_UNROLL for (int i = 0; i < digits; i++) v[i] = other.v[i];
  }
  ZEN_FN LanePrime& operator=(const LanePrime& other) {
    ZEN_UNROLL for (int i = 0; i < digits; i++) v[i] = other.v[i];
    return *this;
  }

  static ZEN_FN LanePrime zero() { return LanePrime{}; }

  // The bits of a value that stand where the modulus' first 17 do, from its two highest digits.
  template <class Digit>
  static constexpr ZEN_FN Digit leading(Digit highest, Digit next) {
    constexpr int bits = P::bits - digit_bits * (digits - 1) - 17;  // below those of the highest digit
    if constexpr (bits < 0)
      return shift_signed((highest << digit_bits) + next, digit_bits + bits);
    else
      return shift_signed(highest, bits);
  }

  // In memory: words of 64 bits, one vector for each. Carried, and as large as they were.
  static ZEN_FN LanePrime from_words(const Lanes (&words)[P::words]) {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) {
      const int word = i * digit_bits / 64, shift = i * digit_bits % 64;
      Lanes value = words[word] >> shift;
      if (shift > 64 - digit_bits && word + 1 < P::words) value |= words[word + 1] << (64 - shift);
      r.v[i] = value & digit_mask;
    }
    return r;
  }
  // Of a carried element.
  ZEN_FN void to_words(Lanes (&words)[P::words]) const {
    ZEN_UNROLL for (int i = 0; i < P::words; i++) {
      const int first = i * 64 / digit_bits, shift = i * 64 % digit_bits;
      words[i] = v[first] >> shift;
      ZEN_UNROLL for (int k = 1; digit_bits * k - shift < 64; k++)
        if (first + k < digits) words[i] |= v[first + k] << (digit_bits * k - shift);
    }
  }

  // Digits are signed and of any size that leaves 64 bits room, the value is not negative: the same value, carried.
  ZEN_FN LanePrime carried() const {
    return carried_digits([&](int i) __attribute__((always_inline)) { return v[i]; });
  }
  template <class Digit>
  static ZEN_FN LanePrime carried_digits(Digit digit_at) {
    LanePrime r;
    Lanes carry{};
    // Where signs cannot be shifted each digit is raised, at the next one's cost, so that none is negative.
    constexpr u64 raise = whole_products ? 1ull << 40 : 0, paid = raise >> digit_bits;
    ZEN_UNROLL for (int i = 0; i < digits - 1; i++) {
      const Lanes digit = digit_at(i) + (raise - (i ? paid : 0)) + carry;
      r.v[i] = digit & digit_mask;
      carry = whole_products ? digit >> digit_bits : shift_signed(digit, digit_bits);
    }
    r.v[digits - 1] = digit_at(digits - 1) - paid + carry;
    return r;
  }

  // The same for a value between -4 p and 4 p: the equal one modulo p that is settled. Which multiple of p to take off
  // is read from the first 17 bits of the modulus' length. Digits below 2^(digit_bits + 2) in absolute value.
  ZEN_FN LanePrime settled() const {
    constexpr u64 top = leading(multiple<P, 1>.digit[digits - 1], multiple<P, 1>.digit[digits - 2]);
    constexpr u64 slack = 6;  // what carries may take away below
    const Lanes estimate = leading(v[digits - 1], v[digits - 2]) + (4 * top - slack);
    const Lanes quotient = rough_quotient(estimate, top + 1);
#if !defined(ZEN_LANES)
    const Lanes times = quotient - 4;
    return carried_digits([&](int i) __attribute__((always_inline)) {
      return v[i] - signed_product(times, all_lanes(multiple<P, 1>.digit[i]));
    });
#else
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) {
      const Lanes table = {-multiple<P, 4>.digit[i], -multiple<P, 3>.digit[i],
                           -multiple<P, 2>.digit[i], -multiple<P, 1>.digit[i],
                           0, multiple<P, 1>.digit[i],
                           multiple<P, 2>.digit[i], multiple<P, 3>.digit[i]};
      r.v[i] = v[i] - look_up(table, quotient);
    }
    return r.carried();
#endif
  }

  // Digit by digit: neither carried nor reduced.
  friend ZEN_FN LanePrime operator+(const LanePrime& a, const LanePrime& b) {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = a.v[i] + b.v[i];
    return r;
  }
  friend ZEN_FN LanePrime operator-(const LanePrime& a, const LanePrime& b) {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = a.v[i] - b.v[i];
    return r;
  }
  ZEN_FN LanePrime doubled() const { return *this + *this; }
  // + k p, so that a difference is not negative.
  template <u64 k>
  ZEN_FN LanePrime plus_modulus() const {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = v[i] + multiple<P, k>.digit[i];
    return r;
  }
  // a - b + k p, carried; and a - b, settled.
  template <u64 k>
  static ZEN_FN LanePrime carried_difference(const LanePrime& a, const LanePrime& b) {
    return carried_digits([&](int i) __attribute__((always_inline)) { return a.v[i] - b.v[i] + multiple<P, k>.digit[i]; });
  }
  static ZEN_FN LanePrime settled_difference(const LanePrime& a, const LanePrime& b) { return (a - b).settled(); }
  // a - 2 b - c + 2 p, settled.
  static ZEN_FN LanePrime settled_third(const LanePrime& a, const LanePrime& b, const LanePrime& c) {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = a.v[i] - (b.v[i] + b.v[i] + c.v[i] - multiple<P, 2>.digit[i]);
    return r.settled();
  }
  // -this where truth.
  ZEN_FN LanePrime negated_where(SignedLanes truth) const {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = (v[i] ^ Lanes(truth)) - Lanes(truth);
    return r;
  }
  friend ZEN_FN LanePrime select(SignedLanes truth, const LanePrime& a, const LanePrime& b) {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = truth ? a.v[i] : b.v[i];
    return r;
  }

  // Carried and below 2 p: below p.
  ZEN_FN LanePrime canonical() const {
    const LanePrime reduced = (*this - constant(multiple<P, 1>.digit)).carried();
    return select(SignedLanes(reduced.v[digits - 1]) < 0, *this, reduced);
  }
  // Whether the digits are those of k p; of 0 or p, if settled.
  template <u64 k>
  ZEN_FN SignedLanes is_multiple() const {
    Lanes difference{};
    ZEN_UNROLL for (int i = 0; i < digits; i++) difference |= v[i] ^ multiple<P, k>.digit[i];
    return difference == 0;
  }

  // / 2^bits: Montgomery's reduction by as many bits.
  template <int bits>
  ZEN_FN LanePrime divided() const {
    const Lanes m = low_digit(v[0], all_lanes(P::negative_inverse & digit_mask)) & ((1u << bits) - 1);
    LanePrime sum = *this;
    Lanes beyond{};  // nothing: the sum fits
    ZEN_UNROLL for (int i = 0; i < digits; i++)
      add_uncarried(sum.v[i], i + 1 < digits ? sum.v[i + 1] : beyond, m, all_lanes(multiple<P, 1>.digit[i]));
    sum = sum.carried();
    ZEN_UNROLL for (int i = 0; i < digits; i++) {
      sum.v[i] = sum.v[i] >> bits;
      if (i + 1 < digits) sum.v[i] |= sum.v[i + 1] << (digit_bits - bits) & digit_mask;
    }
    return sum;
  }

  static ZEN_FN Truth truth(unsigned bits) { return truth_of(bits); }
  // Whether it may be k p, if settled: told from one digit.
  template <u64 k>
  ZEN_FN SignedLanes may_be_multiple() const {
    return v[0] == multiple<P, k>.digit[0];
  }

  // The same words in every lane.
  static ZEN_FN LanePrime everywhere(const std::array<u64, P::words>& words) {
    Lanes all[P::words];
    ZEN_UNROLL for (int i = 0; i < P::words; i++) all[i] = all_lanes(words[i]);
    return from_words(all);
  }
  static ZEN_FN LanePrime constant(const u64* digit) {
    LanePrime r;
    ZEN_UNROLL for (int i = 0; i < digits; i++) r.v[i] = all_lanes(digit[i]);
    return r;
  }
};

template <class P>
struct LaneFactors {
  const LanePrime<P>&a, &b;
};

#if defined(ZEN_LANES)

// t / R' modulo p, t of twice as many digits, to which add_row(row) adds those of one row. One digit of it after the other
// becomes a multiple of 2^52 by adding a multiple m p. That and the rows take turns: m waits for its digit, and the next
// digit for m, so that either alone would leave the processor idle.
template <class P, class AddRow>
ZEN_FN LanePrime<P> montgomery_rows(Lanes (&t)[2 * LanePrime<P>::digits], AddRow add_row) {
  constexpr int digits = LanePrime<P>::digits;
  constexpr const u64* modulus = multiple<P, 1>.digit;
  const Lanes inverse = all_lanes(P::negative_inverse & digit_mask);
  ZEN_UNROLL for (int row = 0; row <= digits; row++) {
    const int below = row - 1;  // the digit that no further row adds to
    const Lanes m = row > 0 ? add_low(Lanes{}, t[below], inverse) : Lanes{};
    if (row < digits) add_row(row);
    if (row == 0) continue;
    // The lowest digit and m's product with the modulus' add up to 0 or, if they are not 0 themselves, to 2^52.
    t[row] += (t[below] + digit_mask) >> digit_bits;
    ZEN_UNROLL for (int j = 0; j < digits; j++) t[row + j] = add_high(t[row + j], m, all_lanes(modulus[j]));
    ZEN_UNROLL for (int j = 1; j < digits; j++) t[below + j] = add_low(t[below + j], m, all_lanes(modulus[j]));
  }
  LanePrime<P> r;
  Lanes carry{};
  ZEN_UNROLL for (int i = 0; i < digits; i++) {
    const Lanes digit = t[digits + i] + carry;
    r.v[i] = i < digits - 1 ? digit & digit_mask : digit;
    carry = digit >> digit_bits;
  }
  return r;
}

// The sum of a b over the terms, / R' modulo p.
template <class P, int terms>
ZEN_FN LanePrime<P> montgomery_sum(const LaneFactors<P> (&term)[terms]) {
  Lanes t[2 * LanePrime<P>::digits] = {};
  return montgomery_rows<P>(t, [&](int row) __attribute__((always_inline)) {
    constexpr int digits = LanePrime<P>::digits;
    ZEN_UNROLL for (int k = 0; k < terms; k++) {
      ZEN_UNROLL for (int j = 0; j < digits; j++) t[row + j] = add_low(t[row + j], term[k].a.v[j], term[k].b.v[row]);
      ZEN_UNROLL for (int j = 0; j < digits; j++) t[row + j + 1] = add_high(t[row + j + 1], term[k].a.v[j], term[k].b.v[row]);
    }
  });
}

#endif

using LaneFr = LanePrime<FrParameters>;

#if defined(ZEN_LANES)

// Short enough to stand wherever it is used.
ZEN_LANE_FN LaneFr operator*(const LaneFr& a, const LaneFr& b) { return montgomery_sum<FrParameters, 1>({{a, b}}); }

// x / 2^256 modulo r.
ZEN_LANE_FN LaneFr reduced(const LaneFr& x) {
  Lanes t[2 * LaneFr::digits] = {};
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) t[i] = x.v[i] << extra_bits<FrParameters>;
  return montgomery_rows<FrParameters>(t, [](int) {});
}

// What sums and differences have made, carried.
ZEN_FN LaneFr operand(const LaneFr& x) { return x.carried(); }
ZEN_FN LaneFr carried(const LaneFr& x) { return x.carried(); }
// a - b + k r
template <u64 k>
ZEN_FN LaneFr difference(const LaneFr& a, const LaneFr& b) {
  return (a - b).plus_modulus<k>();
}

ZEN_FN void scatter(LaneFr& a, LaneFr& b, const LaneFr& w) {
  const LaneFr product = operand(b) * w;
  b = difference<2>(a, product);
  a = a + product;
}
ZEN_FN void gather(LaneFr& a, LaneFr& b, const LaneFr& w) {
  const LaneFr less = difference<8>(a, b);
  a = a + b;
  b = operand(less) * w;
}

ZEN_FN void gather_sums(LaneFr& a, LaneFr& b, const LaneFr& w) { gather(a, b, w); }

// Elements of memory. Each of the four vectors holds two elements.
ZEN_FN LaneFr from_pairs(Lanes a, Lanes b, Lanes c, Lanes d) {
  const Lanes ab02 = __builtin_shufflevector(a, b, 0, 4, 8, 12, 2, 6, 10, 14), ab13 = __builtin_shufflevector(a, b, 1, 5, 9, 13, 3, 7, 11, 15);
  const Lanes cd02 = __builtin_shufflevector(c, d, 0, 4, 8, 12, 2, 6, 10, 14), cd13 = __builtin_shufflevector(c, d, 1, 5, 9, 13, 3, 7, 11, 15);
  return LaneFr::from_words({__builtin_shufflevector(ab02, cd02, 0, 1, 2, 3, 8, 9, 10, 11),
                             __builtin_shufflevector(ab13, cd13, 0, 1, 2, 3, 8, 9, 10, 11),
                             __builtin_shufflevector(ab02, cd02, 4, 5, 6, 7, 12, 13, 14, 15),
                             __builtin_shufflevector(ab13, cd13, 4, 5, 6, 7, 12, 13, 14, 15)});
}
// Of carried elements below 2^256.
ZEN_FN void to_pairs(const LaneFr& values, Lanes (&pairs)[4]) {
  Lanes w[4];
  values.to_words(w);
  const Lanes low01 = __builtin_shufflevector(w[0], w[1], 0, 8, 1, 9, 2, 10, 3, 11), low23 = __builtin_shufflevector(w[2], w[3], 0, 8, 1, 9, 2, 10, 3, 11);
  const Lanes high01 = __builtin_shufflevector(w[0], w[1], 4, 12, 5, 13, 6, 14, 7, 15), high23 = __builtin_shufflevector(w[2], w[3], 4, 12, 5, 13, 6, 14, 7, 15);
  pairs[0] = __builtin_shufflevector(low01, low23, 0, 1, 8, 9, 2, 3, 10, 11);
  pairs[1] = __builtin_shufflevector(low01, low23, 4, 5, 12, 13, 6, 7, 14, 15);
  pairs[2] = __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 2, 3, 10, 11);
  pairs[3] = __builtin_shufflevector(high01, high23, 4, 5, 12, 13, 6, 7, 14, 15);
}
// Eight neighbours.
ZEN_FN LaneFr load(const Fr* p) {
  const u64* words = p->v;
  return from_pairs(load_lanes(words), load_lanes(words + 8), load_lanes(words + 16), load_lanes(words + 24));
}
ZEN_FN void store(Fr* p, const LaneFr& values) {
  Lanes pairs[4];
  to_pairs(values, pairs);
  ZEN_UNROLL for (int i = 0; i < 4; i++) store_lanes(p[2 * i].v, pairs[i]);
}
using FourWords = u64 __attribute__((vector_size(32)));
using UnalignedFourWords = u64 __attribute__((vector_size(32), aligned(8)));
ZEN_FN Lanes load_pair(const Fr* a, const Fr* b) {
  const FourWords low = *reinterpret_cast<const UnalignedFourWords*>(a->v), high = *reinterpret_cast<const UnalignedFourWords*>(b->v);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
ZEN_FN void store_pair(Fr* a, Fr* b, Lanes pair) {
  *reinterpret_cast<UnalignedFourWords*>(a->v) = __builtin_shufflevector(pair, pair, 0, 1, 2, 3);
  *reinterpret_cast<UnalignedFourWords*>(b->v) = __builtin_shufflevector(pair, pair, 4, 5, 6, 7);
}
// From anywhere, and to anywhere.
ZEN_FN LaneFr gather(const Fr* const (&from)[lane_count]) {
  return from_pairs(load_pair(from[0], from[1]), load_pair(from[2], from[3]), load_pair(from[4], from[5]),
                    load_pair(from[6], from[7]));
}
ZEN_FN void store(Fr* const (&to)[lane_count], const LaneFr& values) {
  Lanes pairs[4];
  to_pairs(values, pairs);
  ZEN_UNROLL for (int i = 0; i < 4; i++) store_pair(to[2 * i], to[2 * i + 1], pairs[i]);
}

#else

// Constants of sums in columns of digits, which nothing makes negative: a digit is as much larger as makes the next less.
template <int columns>
struct Raised {
  Lanes v[columns];

  // To the value of the digits from column `first` on, `bits` more than one digit in each but the last.
  Raised(int first, const u64* digit, int bits) {
    for (int k = 0; k < columns; k++)
      v[k] = all_lanes((k < columns - 1 ? 1ull << bits : 0) - (k ? 1ull << (bits - digit_bits) : 0) + (k < first ? 0 : digit[k - first]));
  }
};

// What sums and differences have made, below 2^56 in each digit and not negative but in the highest: almost carried, and
// no digit waits for the one before.
ZEN_FN LaneFr operand(const LaneFr& x) {
  LaneFr result;
  Lanes carry{};
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) {
    result.v[i] = (i < LaneFr::digits - 1 ? x.v[i] & digit_mask : x.v[i]) + carry;
    carry = x.v[i] >> digit_bits;
  }
  return result;
}
// The same, carried.
ZEN_FN LaneFr carried(const LaneFr& x) {
  LaneFr result;
  Lanes carry{};
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) {
    const Lanes digit = x.v[i] + carry;
    result.v[i] = i < LaneFr::digits - 1 ? digit & digit_mask : digit;
    carry = digit >> digit_bits;
  }
  return result;
}

// The digits of a sum / R', from the lowest on, to take(i, digit). add_row(t, row) adds what it has from digit `row` on, to
// t[j] what stands for 2^(29 (row + j)). beside(row) is whatever other units may do meanwhile.
//
// r is 1 - 2^32 modulo 2^58: the lowest digit of a sum is the multiple of r to take away itself, and of the lowest two
// digits' products one is that digit, the other a shift by 3. In place of r's multiples being added they are taken away,
// and r is added in the end.
template <class AddRow, class Take, class Beside>
ZEN_FN void reduce_rows(AddRow add_row, Take take, Beside beside) {
  constexpr int digits = LaneFr::digits;
  constexpr const u64* r = multiple<FrParameters, 1>.digit;
  static_assert(r[0] == 1 && r[1] == (1 << digit_bits) - 8);
  static const Raised<2 * digits> first(digits, r, 61);
  static const LaneFr modulus = LaneFr::constant(r);
  Lanes t[digits + 1];
  ZEN_UNROLL for (int j = 0; j < digits; j++) t[j] = first.v[j];
  ZEN_UNROLL for (int row = 0; row < digits; row++) {
    t[digits] = first.v[digits + row];
    add_row(t, row);
    beside(row);
    const Lanes m = t[0] & digit_mask;
    t[1] += (t[0] >> digit_bits) + (m << 3);
    t[2] -= m;
    ZEN_UNROLL for (int j = 2; j < digits; j++) subtract_product(t[j], modulus.v[j], m);
    ZEN_UNROLL for (int j = 0; j < digits; j++) t[j] = t[j + 1];
  }
  Lanes carry{};
  ZEN_UNROLL for (int i = 0; i < digits; i++) {
    const Lanes digit = t[i] + carry;
    take(i, i < digits - 1 ? digit & digit_mask : digit);
    carry = digit >> digit_bits;
  }
}
ZEN_FN void nothing(int) {}
// Those of a b.
template <class Take, class Beside = decltype(&nothing)>
ZEN_FN void multiply(const LaneFr& a, const LaneFr& b, Take take, Beside beside = nothing) {
  constexpr int digits = LaneFr::digits;
  reduce_rows([&](Lanes* t, int row) __attribute__((always_inline)) {
    if (row == 0) add_product(t[0], a.v[0], b.v[0]);
    ZEN_UNROLL for (int j = 1; j < digits; j++) add_product(t[j], a.v[j], b.v[row]);
    if (row < digits - 1) add_product(t[1], a.v[0], b.v[row + 1]);  // in time
  }, take, beside);
}
// Those of x / 2^256.
template <class Take, class Beside = decltype(&nothing)>
ZEN_FN void reduce(const LaneFr& x, Take take, Beside beside = nothing) {
  reduce_rows([&](Lanes* t, int row) __attribute__((always_inline)) {
    if (row == 0)
      ZEN_UNROLL for (int j = 0; j < LaneFr::digits; j++) t[j] += x.v[j] << extra_bits<FrParameters>;
  }, take, beside);
}
// x / 2^256 modulo r.
__attribute__((noinline)) inline LaneFr reduced(const LaneFr& x) {
  LaneFr result;
  reduce(x, [&](int i, Lanes digit) __attribute__((always_inline)) { result.v[i] = digit; });
  return result;
}

__attribute__((noinline)) inline LaneFr operator*(const LaneFr& a, const LaneFr& b) {
  LaneFr product;
  multiply(a, b, [&](int i, Lanes digit) __attribute__((always_inline)) { product.v[i] = digit; });
  return product;
}

// k r, for differences of digits below 2^40.
template <u64 k>
inline const Raised<LaneFr::digits> raised(0, multiple<FrParameters, k>.digit, 41);
// 8 r, for differences of digits below 2^30 and of elements below 4 r: digits are below 2.5 2^30 and not negative then,
// and such can be multiplied.
inline const Raised<LaneFr::digits> just_raised(0, multiple<FrParameters, 8>.digit, 30);

// a - b + k r
template <u64 k>
ZEN_FN LaneFr difference(const LaneFr& a, const LaneFr& b) {
  LaneFr result;
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) result.v[i] = a.v[i] - b.v[i] + raised<k>.v[i];
  return result;
}

__attribute__((noinline)) inline void scatter(LaneFr& a, LaneFr& b, const LaneFr& w) {
  const LaneFr factor = operand(b);
  multiply(factor, w, [&](int i, Lanes digit) __attribute__((always_inline)) {
    const Lanes x = a.v[i];
    a.v[i] = x + digit, b.v[i] = x - digit + raised<2>.v[i];
  });
}
// a - b, to be multiplied, and a becomes a + b. Of digits below 2^30: nine products of their differences with carried ones
// leave a column room.
ZEN_FN LaneFr sum_and_difference(LaneFr& a, const LaneFr& b) {
  LaneFr less;
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) {
    const Lanes x = a.v[i], y = b.v[i];
    a.v[i] = x + y;
    less.v[i] = x - y + just_raised.v[i];
  }
  return less;
}
__attribute__((noinline)) inline void gather(LaneFr& a, LaneFr& b, const LaneFr& w) {
  const LaneFr factor = sum_and_difference(a, b);
  multiply(factor, w, [&](int i, Lanes digit) __attribute__((always_inline)) { b.v[i] = digit; });
}
__attribute__((noinline)) inline void gather_sums(LaneFr& a, LaneFr& b, const LaneFr& w) {
  const LaneFr factor = operand(difference<8>(a, b));
  a = a + b;
  multiply(factor, w, [&](int i, Lanes digit) __attribute__((always_inline)) { b.v[i] = digit; });
}

// Elements of memory, from anywhere and to anywhere.
ZEN_FN LaneFr gather(const Fr* const (&from)[lane_count]) {
  Lanes words[4];
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) words[i] = load_lanes(from[i]->v);
  transpose(words);
  return LaneFr::from_words(words);
}
ZEN_FN void store(Fr* const (&to)[lane_count], const LaneFr& values) {
  Lanes words[4];
  values.to_words(words);
  transpose(words);
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) store_lanes(to[i]->v, words[i]);
}
// Four neighbours.
ZEN_FN LaneFr load(const Fr* p) { return gather({p, p + 1, p + 2, p + 3}); }
ZEN_FN void store(Fr* p, const LaneFr& values) { store({p, p + 1, p + 2, p + 3}, values); }

#endif

}  // namespace zen
