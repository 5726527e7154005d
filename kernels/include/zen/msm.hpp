// Multi-scalar multiplication: Pippenger's buckets over signed windows. Each window sorts its points by
// bucket, then halves every bucket's list by batched affine additions until one point is left in each,
// so that a bucket of a million equal digits costs no more than a thousand buckets of a thousand.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "list_sums.hpp"
#include "parallel.hpp"
#include "secret.hpp"

namespace zen {

// A scalar of absolute value at most (r - 1) / 2, canonical, with its sign apart: small negative
// witness values stay small.
struct SignedScalar {
  u64 magnitude[4];

  static constexpr u64 sign_bit = 1ull << 63;  // of magnitude[3]; the magnitude has 254 bits

  static SignedScalar from(const Fr& montgomery) {
    const Fr value = montgomery.to_canonical();
    SignedScalar r;
    if (exceeds_half(value)) {
      const Fr negated = -value;
      std::memcpy(r.magnitude, negated.v, sizeof r.magnitude);
      r.magnitude[3] |= sign_bit;
    } else {
      std::memcpy(r.magnitude, value.v, sizeof r.magnitude);
    }
    return r;
  }

  bool negative() const { return magnitude[3] & sign_bit; }
  u64 word(int i) const { return i < 3 ? magnitude[i] : i == 3 ? magnitude[3] & ~sign_bit : 0; }

  int bit_length() const {
    for (int i = 3; i >= 0; i--)
      if (word(i)) return 64 * i + 64 - __builtin_clzll(word(i));
    return 0;
  }

  // Booth digit `window` of width c: in [-2^(c-1), 2^(c-1)], with sum over windows of digit 2^(c window).
  // It depends on c + 1 bits only, so that no carry runs from window to window. 1 <= c <= 30.
  int32_t digit(int window, int c) const {
    const int low = window * c - 1;
    const u64 mask = (2ull << c) - 1;
    const u64 bits = low < 0 ? word(0) << 1 & mask : extract(low) & mask;
    const int32_t rounded = int32_t((bits + 1) >> 1);
    return bits >> c ? rounded - (1 << c) : rounded;
  }

 private:
  static bool exceeds_half(const Fr& value) {
    for (int i = 3; i >= 0; i--)
      if (value.v[i] != FrParameters::half[i]) return value.v[i] > FrParameters::half[i];
    return false;
  }
  u64 extract(int low) const {
    const int i = low / 64, shift = low % 64;
    return shift ? word(i) >> shift | word(i + 1) << (64 - shift) : word(i);
  }
};

// How many scalars have which bit length: tells the cost of every window width before any is chosen.
using BitLengths = std::array<long, 256>;

inline int window_count(const BitLengths& lengths, int c) {
  int longest = 255;
  while (longest > 0 && !lengths[longest]) longest--;
  return longest / c + 1;
}

// The number of scalars that may have a nonzero digit in this window.
inline long active_scalars(const BitLengths& lengths, int window, int c) {
  long active = 0;
  for (int bits = std::max(1, window * c); bits < 256; bits++) active += lengths[bits];
  return active;
}

// So few points are faster added straight to the running sum, at 10 products each, than in batches, at 6 and an
// inversion for every halving.
constexpr long few_points = 128;

inline int choose_window(const BitLengths& lengths) {
  constexpr double bucket = 24;  // products per bucket in the running sum
  int best = 2;
  double best_cost = 1e300;
  for (int c = 2; c <= 18; c++) {
    double cost = 0;
    for (int window = 0; window < window_count(lengths, c); window++) {
      const long active = active_scalars(lengths, window, c);
      cost += (active > few_points ? 6 : 10) * double(active) + bucket * double(1l << (c - 1));
    }
    if (cost < best_cost) best_cost = cost, best = c;
  }
  return best;
}

// The sum over [begin, end) of digit(window) * base.
template <class F>
Xyzz<F> window_sum(const Affine<F>* bases, const SignedScalar* scalars, long begin, long end, int window, int c) {
  const long n = end - begin;
  const int32_t buckets = 1 << (c - 1);
  constexpr uint32_t negative = 1u << 31;

  // Counting sort by bucket. `start[b]` is where bucket b's list begins; bucket 0 is left out.
  SecretBuffer<int32_t> digits(n);
  std::vector<long> start(buckets + 2, 0);
  for (long i = 0; i < n; i++) {
    int32_t digit = scalars[begin + i].digit(window, c);
    if (scalars[begin + i].negative()) digit = -digit;
    digits[i] = digit;
    if (digit) start[std::abs(digit) + 1]++;
  }
  for (int32_t b = 1; b <= buckets; b++) start[b + 1] += start[b];
  const long active = start[buckets + 1];
  if (!active) return Xyzz<F>::infinity();

  SecretBuffer<uint32_t> sorted(active);
  {
    std::vector<long> cursor(start.begin(), start.end() - 1);
    for (long i = 0; i < n; i++)
      if (digits[i]) sorted[cursor[std::abs(digits[i])]++] = uint32_t(i) | (digits[i] < 0 ? negative : 0);
  }

  // sum of b * bucket_b as a running sum of running sums.
  Xyzz<F> running = Xyzz<F>::infinity(), total = Xyzz<F>::infinity();
  if (active <= few_points) {
    for (int32_t b = buckets; b >= 1; b--) {
      for (long i = start[b]; i < start[b + 1]; i++) {
        const Affine<F>& base = bases[begin + (sorted[i] & ~negative)];
        running = running + (sorted[i] & negative ? -base : base);
      }
      total = total + running;
    }
    return total;
  }

  BatchAdder<F, Affine<F>> gather;
  BatchAdder<F, Summand<F>> adder;
  std::unique_ptr<Summand<F>[]> points(new Summand<F>[(active + buckets) / 2 + 1]);
  std::unique_ptr<Summand<F>[]> spare(new Summand<F>[(active + 3 * buckets) / 4 + 1]);
  const long longest = halve_lists(&start[1], buckets, points.get(), gather, [&](long i) {
    return std::pair(&bases[begin + (sorted[i] & ~negative)], bool(sorted[i] & negative));
  });
  const Summand<F>* sums = sum_lists(&start[1], buckets, longest, points.get(), spare.get(), adder);

  for (int32_t b = buckets; b >= 1; b--) {
    if (start[b] < start[b + 1]) {
      Affine<F> sum;
      to_affine(&sums[start[b]], &sum, 1);
      running = running + sum;
    }
    total = total + running;
  }
  return total;
}

// sum of scalars[i] * bases[i]. Scalars in Montgomery form. Peak scratch: 32 n bytes, and for each thread
// 8 n + n / 2 affine points.
template <class F>
Xyzz<F> msm(const Affine<F>* bases, const Fr* scalars, long n, int threads, const Progress& progress) {
  SecretBuffer<SignedScalar> recoded(n);
  parallel_ranges(n, 1 << 12, threads, {}, [&](long begin, long end) {
    for (long i = begin; i < end; i++) recoded[i] = SignedScalar::from(scalars[i]);
  });
  BitLengths lengths{};
  for (long i = 0; i < n; i++) lengths[recoded[i].bit_length()]++;

  const int c = choose_window(lengths), windows = window_count(lengths, c);
  long work = 0;
  for (int window = 0; window < windows; window++) work += active_scalars(lengths, window, c);

  // A window that holds more than one thread's share (the lowest, when most scalars are small) is split.
  struct Piece {
    int window;
    long begin, end;
    Xyzz<F> sum;
  };
  std::vector<Piece> pieces;
  for (int window = 0; window < windows; window++) {
    const long active = active_scalars(lengths, window, c);
    const long parts = active ? std::max(1l, active * threads / work) : 0;
    for (long part = 0; part < parts; part++)
      pieces.push_back({window, n * part / parts, n * (part + 1) / parts, Xyzz<F>::infinity()});
  }
  parallel_for(long(pieces.size()), threads, progress, [&](long i, int) {
    Piece& piece = pieces[i];
    piece.sum = window_sum(bases, recoded.data(), piece.begin, piece.end, piece.window, c);
  });

  Xyzz<F> result = Xyzz<F>::infinity();
  for (int window = windows - 1, piece = int(pieces.size()) - 1; window >= 0; window--) {
    for (int i = 0; i < c; i++) result = result.doubled();
    for (; piece >= 0 && pieces[piece].window == window; piece--) result = result + pieces[piece].sum;
  }
  return result;
}

}  // namespace zen
