// Many multiples of one point, as setup needs them: a table of digit * 2^(c window) * base, then one batched
// affine addition per window and scalar.
#pragma once

#include <vector>

#include "batch_add.hpp"
#include "parallel.hpp"
#include "secret.hpp"
#include "signed_scalar.hpp"

namespace zen {

// Width that minimises table entries plus additions for n scalars.
inline int choose_fixed_window(long n) {
  int best = 2;
  double best_cost = 1e300;
  for (int c = 2; c <= 16; c++) {
    const double cost = double(digit_count(longest_scalar, c)) * (double(n) + double(1l << (c - 1)));
    if (cost < best_cost) best_cost = cost, best = c;
  }
  return best;
}

// table[window][d - 1] = d * 2^(c window) * base for 1 <= d <= 2^(c-1).
template <class F>
Buffer<Summand<F>> fixed_base_table(const Affine<F>& base, int c, int windows, int threads) {
  const long half = 1l << (c - 1);
  Buffer<Summand<F>> table(half * windows);
  Xyzz<F> power = Xyzz<F>::from(base);
  for (int window = 0; window < windows; window++) {
    const Affine<F> first = power.to_affine();
    to_summands(&first, &table[half * window], 1);
    for (int i = 0; i < c; i++) power = power.doubled();
  }
  // Entries (filled, 2 filled] are entry `filled` plus the first `filled` ones.
  parallel_for(windows, threads, {}, [&](long window, int) {
    BatchAdder<F, Summand<F>> adder;
    Summand<F>* row = &table[half * window];
    for (long filled = 1; filled < half; filled *= 2) {
      for (long i = 0; i < filled; i++) adder.push(&row[filled - 1], &row[i], &row[filled + i], false, false);
      adder.flush();
    }
  });
  return table;
}

// out[i] = scalars[i] * base, scalars in Montgomery form. The table takes at most 16 * 2^15 affine points.
template <class F>
void fixed_base_multiply(const Affine<F>& base, const Fr* scalars, Affine<F>* out, long n, int threads,
                         const Progress& progress) {
  const int c = choose_fixed_window(n), windows = digit_count(longest_scalar, c);
  const long half = 1l << (c - 1);
  const Buffer<Summand<F>> table = fixed_base_table(base, c, windows, threads);

  const long grain = balanced_grain(n, threads, 128, BatchAdder<F, Summand<F>>::capacity);
  parallel_ranges(n, grain, threads, progress, [&](long begin, long end) {
    SecretBuffer<SignedScalar> recoded(end - begin);
    std::vector<Summand<F>> sums(end - begin, Summand<F>::infinity());
    for (long i = begin; i < end; i++) recoded[i - begin] = SignedScalar::from(scalars[i]);
    BatchAdder<F, Summand<F>> adder;
    for (int window = 0; window < windows; window++) {
      for (long i = 0; i < end - begin; i++) {
        const SignedScalar::Digit digit = recoded[i].digit(window, c);
        if (digit.magnitude) accumulate(adder, sums[i], table[half * window + digit.magnitude - 1], digit.negative);
      }
      adder.flush();
    }
    to_affine(sums.data(), out + begin, end - begin);
  });
}

}  // namespace zen
