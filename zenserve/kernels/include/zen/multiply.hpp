// Many points, each times a scalar. Scalars are split by the endomorphism into digits of half (G1) or a quarter
// (G2) of their length; then all points of a chunk take the same doublings and table additions in step, so that
// each step is one batch of affine additions.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "batch_add.hpp"
#include "parallel.hpp"
#include "secret.hpp"
#include "signed_scalar.hpp"

namespace zen {

using u128 = unsigned __int128;

// A scalar of absolute value below r / 2 as the sum of digits[i] mu^i, mu the endomorphism's eigenvalue.
template <class F>
struct SplitScalar {
  static constexpr int parts = Endomorphism<F>::parts;
  u128 digits[parts];
  bool negative;

  static SplitScalar from(const Fr& montgomery) {
    const SignedScalar scalar = SignedScalar::from(montgomery);
    u64 words[4] = {scalar.magnitude(0), scalar.magnitude(1), scalar.magnitude(2), scalar.magnitude(3)};
    SplitScalar r{};
    r.negative = scalar.negative;
    for (int i = 0; i < 4; i++) {
      u128 place = u128(remainder(words));  // digit i to the base |z|
      for (int k = 0; k < i % (4 / parts); k++) place *= z_magnitude[0];
      r.digits[i * parts / 4] += place;
    }
    return r;
  }

  int bit_length(int part) const {
    const u64 high = u64(digits[part] >> 64), low = u64(digits[part]);
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
  }

  // Booth digit `window` of width c of a part; see SignedScalar::digit.
  int digit(int part, int window, int c) const {
    const u128 value = digits[part];
    const int bits = int(window ? value >> (window * c - 1) : value << 1) & ((2 << c) - 1);
    const int rounded = (bits + 1) >> 1;
    return bits >> c ? rounded - (1 << c) : rounded;
  }

 private:
  // words = words / |z|; what remains.
  static u64 remainder(u64 (&words)[4]) {
    u128 rest = 0;
    for (int i = 3; i >= 0; i--) {
      const u128 dividend = rest << 64 | words[i];
      words[i] = u64(dividend / z_magnitude[0]);
      rest = dividend % z_magnitude[0];
    }
    return u64(rest);
  }
};

// The working memory of one thread for chunks of points.
template <class F>
class Multiplier {
 public:
  using Scalar = SplitScalar<F>;
  // Few enough that the table of 2 or 4 MiB stays near, enough that the batches' inversions cost little.
  static constexpr long capacity = std::is_same_v<F, Fp> ? 1024 : 512, least = 128;

  Multiplier() : table_(Scalar::parts * entries * capacity) {}

  // out[i] = scalars[stride i] * points[i] for i < n <= capacity; out may be points.
  void run(const Summand<F>* points, const Scalar* scalars, int stride, Summand<F>* out, long n) {
    int lengths[Scalar::parts] = {}, longest = 0;
    for (int part = 0; part < Scalar::parts; part++) {
      for (long i = 0; i < (stride ? n : 1); i++)
        lengths[part] = std::max(lengths[part], scalars[i].bit_length(part));
      longest = std::max(longest, lengths[part]);
    }
    fill_table(points, lengths, longest, n);

    for (long i = 0; i < n; i++) out[i] = Summand<F>::infinity();
    for (int window = longest / width; window >= 0; window--) {
      for (int i = 0; window < longest / width && i < width; i++) {
        for (long k = 0; k < n; k++)
          if (!out[k].is_infinity()) adder_.push(&out[k], &out[k], &out[k], false, false);
        adder_.flush();
      }
      for (int part = 0; part < Scalar::parts; part++) {
        if (lengths[part] == 0 || window > lengths[part] / width) continue;
        for (long i = 0; i < n; i++) {
          const Scalar& scalar = scalars[stride * i];
          const int digit = scalar.digit(part, window, width);
          if (!digit) continue;
          accumulate(adder_, out[i], *entry(part, std::abs(digit), i), (digit < 0) != scalar.negative);
        }
        adder_.flush();
      }
    }
  }

 private:
  static constexpr int width = 4, entries = 1 << (width - 1);

  Summand<F>* entry(int part, int digit, long i) { return &table_[(part * entries + digit - 1) * capacity + i]; }

  // entry(part, d, i) = d mu^part points[i], as far as digits of these lengths may ask for.
  void fill_table(const Summand<F>* points, const int (&lengths)[Scalar::parts], int longest, long n) {
    const int highest = longest < width ? (1 << longest) - 1 : entries;
    for (long i = 0; i < n; i++) *entry(0, 1, i) = points[i];
    for (int digit = 2; digit <= highest; digit++) {
      for (long i = 0; i < n; i++)
        adder_.push(entry(0, digit - 1, i), entry(0, 1, i), entry(0, digit, i), false, false);
      adder_.flush();
    }
    int parts = Scalar::parts;
    while (parts > 1 && !lengths[parts - 1]) parts--;
    for (int part = 1; part < parts; part++)
      for (int digit = 1; digit <= highest; digit++) endomorphism(entry(part - 1, digit, 0), entry(part, digit, 0), n);
  }

  BatchAdder<F, Summand<F>> adder_;
  Buffer<Summand<F>> table_;
};

// So few points are multiplied one by one: a batch would pay an inversion for every step.
constexpr long few_points = 4;

// out[i] = p[i] + q[stride i]: stride 0 adds one point to all.
template <class F>
void add_each(const Affine<F>* p, const Affine<F>* q, int stride, Affine<F>* out, long n, int threads) {
  constexpr long few = 8;
  if (n <= few) {  // less than the inversion of a batch
    for (long i = 0; i < n; i++) out[i] = (Xyzz<F>::from(p[i]) + q[stride * i]).to_affine();
    return;
  }
  constexpr long capacity = BatchAdder<F, Affine<F>>::capacity;
  parallel_ranges(n, capacity, threads, {}, [&](long begin, long end) {
    BatchAdder<F, Affine<F>> adder;
    std::vector<Summand<F>> sums(end - begin);
    for (long i = begin; i < end; i++) adder.push(&p[i], &q[stride * i], &sums[i - begin], false, false);
    adder.flush();
    to_affine(sums.data(), out + begin, end - begin);
  });
}

// out[i] = scalars[stride i] * points[i], scalars in Montgomery form, points in the subgroup. Stride 0 takes one
// scalar for all. `out` may be `points`.
template <class F>
void multiply_each(const Affine<F>* points, const Fr* scalars, int stride, Affine<F>* out, long n, int threads,
                   const Progress& progress) {
  if (n <= few_points) {
    for (long i = 0; i < n; i++) {
      const Fr scalar = scalars[stride * i].to_canonical();
      out[i] = scalar_multiply(points[i], scalar.v, Fr::limbs).to_affine();
    }
    if (progress) progress(1);
    return;
  }
  const long grain = balanced_grain(n, threads, Multiplier<F>::least, Multiplier<F>::capacity);
  parallel_ranges(n, grain, threads, progress, [&](long begin, long end) {
    Multiplier<F> multiplier;
    const long count = end - begin;
    SecretBuffer<SplitScalar<F>> split(stride ? count : 1);
    for (long i = 0; i < (stride ? count : 1); i++) split[i] = SplitScalar<F>::from(scalars[stride * (begin + i)]);
    std::vector<Summand<F>> products(count);
    to_summands(points + begin, products.data(), count);
    multiplier.run(products.data(), split.data(), stride, products.data(), count);
    to_affine(products.data(), out + begin, count);
  });
}

}  // namespace zen
