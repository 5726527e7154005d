// Six elements of Fr where there is AVX2: four in the lanes of vectors and two in words, whose products the processor's
// scalar units make, row by row, while its vector units multiply the others. Words are canonical, and what they are
// multiplied by is not in factor form.
#pragma once

#include "lane_fr.hpp"

namespace zen {

// a b / 2^256, in four steps.
class WordProduct {
 public:
  ZEN_FN WordProduct(const Fr& a, const Fr& b) : a_(a), b_(b) {}
  ZEN_FN void step(int row) {
#define ZEN_WORD_ROW(product, constraint)                                                                          \
  asm volatile(product ZEN_REDUCE4                                                                                 \
               : [t0] constraint(t_[0]), [t1] constraint(t_[1]), [t2] constraint(t_[2]), [t3] constraint(t_[3]),   \
                 [hi] "=&r"(hi), [lo] "=&r"(lo), [spare] "=&r"(spare)                                              \
               : [a] "r"(a_.v), [b] "r"(b_.v), [p] "r"(FrParameters::modulus),                                     \
                 [inverse] "i"(FrParameters::negative_inverse), "m"(a_), "m"(b_)                                   \
               : "rdx", "cc")
    limb hi, lo, spare;
    if (row == 0) ZEN_WORD_ROW(ZEN_FIRST4, "=&r");
    if (row == 1) ZEN_WORD_ROW(ZEN_PRODUCT4(8), "+&r");
    if (row == 2) ZEN_WORD_ROW(ZEN_PRODUCT4(16), "+&r");
    if (row == 3) ZEN_WORD_ROW(ZEN_PRODUCT4(24), "+&r");
#undef ZEN_WORD_ROW
  }
  ZEN_FN Fr result() const {
    Fr r;
    reduce_once<FrParameters>(r.v, t_);
    return r;
  }

 private:
  const Fr &a_, &b_;
  limb t_[4];
};

// Two of them beside the nine rows of a product in lanes; take(k, product) has each.
template <class Take>
class WordProducts {
 public:
  ZEN_FN WordProducts(const Fr* a, const Fr* b, Take take) : first_(a[0], b[0]), second_(a[1], b[1]), take_(take) {}
  ZEN_FN void operator()(int row) {
    if (row < 4) first_.step(row);
    if (row == 4) take_(0, first_.result());
    if (row > 4) second_.step(row - 5);
    if (row == 8) take_(1, second_.result());
  }

 private:
  WordProduct first_, second_;
  Take take_;
};

struct MixedFr {
  static constexpr int words = 2, lanes = lane_count + words;
  LaneFr vector;
  Fr word[words];

  friend ZEN_FN MixedFr operator+(const MixedFr& a, const MixedFr& b) {
    return {a.vector + b.vector, {a.word[0] + b.word[0], a.word[1] + b.word[1]}};
  }
};

template <u64 k>
ZEN_FN MixedFr difference(const MixedFr& a, const MixedFr& b) {
  return {difference<k>(a.vector, b.vector), {a.word[0] - b.word[0], a.word[1] - b.word[1]}};
}
ZEN_FN void copy(const MixedFr& from, MixedFr& to) {
  copy(from.vector, to.vector);
  ZEN_UNROLL for (int k = 0; k < MixedFr::words; k++)
    ZEN_UNROLL for (int i = 0; i < Fr::limbs; i++) to.word[k].v[i] = from.word[k].v[i];
}
ZEN_FN void add(MixedFr& to, const MixedFr& x) {
  add(to.vector, x.vector);
  ZEN_UNROLL for (int k = 0; k < MixedFr::words; k++) to.word[k] = to.word[k] + x.word[k];
}
ZEN_FN MixedFr bounded(const MixedFr& x) { return {bounded(x.vector), {x.word[0], x.word[1]}}; }
ZEN_FN MixedFr canonical(const MixedFr& x) { return {canonical(x.vector), {x.word[0], x.word[1]}}; }

// Of operands in lanes, and words.
__attribute__((noinline)) inline MixedFr multiply(const LaneFr& a, const Fr* words, const MixedFr& b) {
  MixedFr r;
  multiply(a, b.vector, [&](int i, Lanes digit) __attribute__((always_inline)) { r.vector.v[i] = digit; },
           WordProducts(words, b.word, [&](int k, const Fr& x) __attribute__((always_inline)) { r.word[k] = x; }));
  return r;
}
ZEN_FN MixedFr product(const MixedFr& x, const MixedFr& factor) { return multiply(operand(x.vector), x.word, factor); }
ZEN_FN MixedFr rough_product(const MixedFr& x, const MixedFr& y) {
  MixedFr r = multiply(operand(x.vector), x.word, {operand(y.vector), {y.word[0], y.word[1]}});
  ZEN_UNROLL for (int k = 0; k < MixedFr::words; k++) r.word[k] = from_factor(r.word[k]);
  return r;
}
ZEN_FN MixedFr plain_product(const MixedFr& x, const MixedFr& y) {
  return multiply(operand(x.vector), x.word, {operand(scaled(y.vector)), {y.word[0], y.word[1]}});
}
ZEN_FN MixedFr factor_of(const MixedFr& x) { return {x.vector, {from_factor(x.word[0]), from_factor(x.word[1])}}; }

__attribute__((noinline)) inline MixedFr reduced(const MixedFr& x) {
  static constexpr Fr one[] = {{{1}}, {{1}}};
  MixedFr r;
  reduce(x.vector, [&](int i, Lanes digit) __attribute__((always_inline)) { r.vector.v[i] = digit; },
         WordProducts(x.word, one, [&](int k, const Fr& word) __attribute__((always_inline)) { r.word[k] = word; }));
  return r;
}

__attribute__((noinline)) inline void scatter(MixedFr& a, MixedFr& b, const MixedFr& w) {
  const LaneFr factor = operand(b.vector);
  multiply(factor, w.vector, [&](int i, Lanes digit) __attribute__((always_inline)) {
    const Lanes x = a.vector.v[i];
    a.vector.v[i] = x + digit, b.vector.v[i] = x - digit + raised<2>.v[i];
  }, WordProducts(b.word, w.word, [&](int k, const Fr& product) __attribute__((always_inline)) {
    const Fr x = a.word[k];
    a.word[k] = x + product, b.word[k] = x - product;
  }));
}
// The same of words.
ZEN_FN void sums_and_differences(Fr* a, const Fr* b, Fr* less) {
  ZEN_UNROLL for (int k = 0; k < MixedFr::words; k++) {
    const Fr x = a[k];
    a[k] = x + b[k], less[k] = x - b[k];
  }
}
__attribute__((noinline)) inline void gather(MixedFr& a, MixedFr& b, const MixedFr& w) {
  const LaneFr factor = sum_and_difference(a.vector, b.vector);
  Fr less[MixedFr::words];
  sums_and_differences(a.word, b.word, less);
  multiply(factor, w.vector, [&](int i, Lanes digit) __attribute__((always_inline)) { b.vector.v[i] = digit; },
           WordProducts(less, w.word, [&](int k, const Fr& product) __attribute__((always_inline)) { b.word[k] = product; }));
}
__attribute__((noinline)) inline void gather_sums(MixedFr& a, MixedFr& b, const MixedFr& w) {
  const LaneFr factor = operand(difference<8>(a.vector, b.vector));
  a.vector = a.vector + b.vector;
  Fr less[MixedFr::words];
  sums_and_differences(a.word, b.word, less);
  multiply(factor, w.vector, [&](int i, Lanes digit) __attribute__((always_inline)) { b.vector.v[i] = digit; },
           WordProducts(less, w.word, [&](int k, const Fr& product) __attribute__((always_inline)) { b.word[k] = product; }));
}

template <>
ZEN_FN MixedFr everywhere<MixedFr>(const Fr& value) {
  return {everywhere<LaneFr>(value), {value, value}};
}
template <>
ZEN_FN MixedFr loaded<MixedFr>(const Fr* p) {
  return {load(p), {p[lane_count], p[lane_count + 1]}};
}
template <>
ZEN_FN MixedFr loaded<MixedFr>(const Fr* const (&from)[MixedFr::lanes]) {
  return {gather({from[0], from[1], from[2], from[3]}), {*from[lane_count], *from[lane_count + 1]}};
}
ZEN_FN void store(Fr* p, const MixedFr& x) {
  store(p, x.vector);
  ZEN_UNROLL for (int k = 0; k < MixedFr::words; k++) p[lane_count + k] = x.word[k];
}
ZEN_FN void store(Fr* const (&to)[MixedFr::lanes], const MixedFr& x) {
  store({to[0], to[1], to[2], to[3]}, x.vector);
  ZEN_UNROLL for (int k = 0; k < MixedFr::words; k++) *to[lane_count + k] = x.word[k];
}

}  // namespace zen
