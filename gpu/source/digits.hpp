// What is known of a digit once it is sorted: the point of the table that it stands for, and its sign.
#pragma once

#include "zen/curve.hpp"
#include "memory.hpp"

namespace zen {

constexpr u32 negative_digit = 1u << 31;  // beside the point's place in the table
constexpr u32 no_digit = ~0u;             // fills up a bucket: infinity

// Sorted digits as the points that are to be added up.
template <class F>
struct DigitPoints {
  const Affine<F>* table;
  const u32* sorted;

  ZEN_FN Affine<F> get(long i) const {
    const u32 digit = sorted[i];
    if (digit == no_digit) return Affine<F>::infinity();
    const Affine<F> point = load(table + (digit & ~negative_digit));
    return digit & negative_digit ? -point : point;
  }
  ZEN_FN F x(long i) const {
    const u32 digit = sorted[i];
    return digit == no_digit ? F::zero() : load(&table[digit & ~negative_digit].x);
  }
};

}  // namespace zen
