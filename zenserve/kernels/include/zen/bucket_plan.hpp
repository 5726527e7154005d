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

// What is multiplied: scalars, or each one's words, for bases with multiples by 2^64, 2^128 and 2^192.
enum class Pieces { scalars = 0, words = 2 };  // log2 of how many a scalar has

// Calls visit(piece) for each of a scalar's.
template <class Visit>
void for_pieces(const SignedScalar& scalar, Pieces pieces, Visit visit) {
  if (pieces == Pieces::scalars) return visit(scalar);
  for (int i = 0; i < scalar_words; i++) visit(scalar.word(i));
}

// An estimate from at most 1024 of the scalars, spread by the golden ratio.
inline BitLengths sample_lengths(const Fr* scalars, long n, Pieces pieces) {
  const long samples = std::min(n, 1024l);
  BitLengths lengths{};
  for (long k = 0; k < samples; k++) {
    const u64 fraction = u64(k) * 0x9e3779b97f4a7c15 >> 32;
    const long i = n > samples ? long(fraction * u64(n) >> 32) : k;
    for_pieces(SignedScalar::from(scalars[i]), pieces,
               [&](const SignedScalar& piece) { lengths[bit_length(piece)] += double(n) / double(samples); });
  }
  return lengths;
}

// Windows of `width` bits have 2^(width - 1) buckets each: a digit d belongs to bucket |d| - 1. They come in parts of
// 2^part_bits buckets.
struct BucketPlan {
  Pieces pieces;
  int width, part_bits;

  int windows() const { return digit_count(pieces == Pieces::words ? longest_word : longest_scalar, width); }
  int parts_a_window_bits() const { return width - 1 - part_bits; }
  long parts() const { return long(windows()) << parts_a_window_bits(); }

  // The fewest additions. A task of `capacity` entries takes two parts or more, so that tasks are nearly full.
  static BucketPlan choose(const BitLengths& lengths, Pieces pieces, long capacity) {
    BucketPlan best{};
    double least = 1e300;
    for (int width = 2; width <= 20; width++) {
      const BucketPlan plan{pieces, width, 0};
      const double buckets = double(1l << (width - 1));
      double digits = 0, additions = 0, active = 0;
      for (int window = plan.windows() - 1, bits = longest_scalar; window >= 0; window--) {
        for (; bits > 0 && bits >= window * width; bits--) active += lengths[bits];
        digits += active;
        additions += active + beside(buckets, active);
      }
      if (additions >= least) continue;
      least = additions;
      best = plan;
      const double entries = std::max(1.0, digits / double(best.windows()) / buckets);  // of a bucket
      while (best.part_bits < width - 1 && entries * double(2l << best.part_bits) < 0.475 * double(capacity))
        best.part_bits++;
    }
    return best;
  }

 private:
  // What a window takes beside one addition for each point: the first of a bucket is not added, but there are two for each
  // bucket with a point, and another half for each level where it finds no neighbour. These take seven eighths of the
  // time: their points are near. Looking at a bucket costs a sixteenth of an addition, say.
  static double beside(double buckets, double points) {
    const double nodes = std::min(buckets, points);
    return buckets / 16 + (nodes > 0 ? nodes * (7.0 / 8 * (2 + std::log2(buckets / nodes) / 2) - 1) : 0);
  }
};

}  // namespace zen
