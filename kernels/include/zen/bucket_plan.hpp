// How a multi-scalar multiplication cuts its scalars into digits, and its buckets into parts.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "signed_scalar.hpp"

namespace zen {

// How many scalars have which bit length.
using BitLengths = std::array<double, longest_scalar + 1>;

inline int bit_length(const SignedScalar& scalar) {
  for (int i = 3; i >= 0; i--)
    if (scalar.doubled[i]) return 64 * i + 63 - __builtin_clzll(scalar.doubled[i]);
  return 0;
}

// An estimate from at most 1024 of the scalars, spread by the golden ratio.
inline BitLengths sample_lengths(const Fr* scalars, long n) {
  const long samples = std::min(n, 1024l);
  BitLengths lengths{};
  for (long k = 0; k < samples; k++) {
    const u64 fraction = u64(k) * 0x9e3779b97f4a7c15 >> 32;
    const long i = n > samples ? long(fraction * u64(n) >> 32) : k;
    lengths[bit_length(SignedScalar::from(scalars[i]))] += double(n) / double(samples);
  }
  return lengths;
}

// Windows of `width` bits have 2^(width - 1) buckets each: a digit d belongs to bucket |d| - 1. They come in parts of
// 2^part_bits buckets.
struct BucketPlan {
  int width, part_bits;

  int windows() const { return digit_count(longest_scalar, width); }
  int parts_a_window_bits() const { return width - 1 - part_bits; }
  long parts() const { return long(windows()) << parts_a_window_bits(); }

  // The fewest additions. A task of `capacity` entries takes two parts or more, so that tasks are nearly full.
  static BucketPlan choose(const BitLengths& lengths, long capacity) {
    BucketPlan best{};
    double least = 1e300;
    for (int width = 2; width <= 20; width++) {
      const double buckets = double(1l << (width - 1));
      double digits = 0, additions = 0, active = 0;
      for (int window = digit_count(longest_scalar, width) - 1, bits = longest_scalar; window >= 0; window--) {
        for (; bits > 0 && bits >= window * width; bits--) active += lengths[bits];
        digits += active;
        additions += active + tree_additions(buckets, active);
      }
      if (additions >= least) continue;
      least = additions;
      best = {width, 0};
      const double entries = std::max(1.0, digits / double(best.windows()) / buckets);  // of a bucket
      while (best.part_bits < width - 1 && entries * double(2l << best.part_bits) < 0.475 * double(capacity))
        best.part_bits++;
    }
    return best;
  }

 private:
  // Two for each bucket with a point, and another half for each level where it finds no neighbour. Looking at a bucket
  // costs a sixteenth of one, say.
  static double tree_additions(double buckets, double points) {
    const double nodes = std::min(buckets, points);
    return buckets / 16 + (nodes > 0 ? nodes * (2 + std::log2(buckets / nodes) / 2) : 0);
  }
};

}  // namespace zen
