// Sums of many lists of points at once: every list is halved by one round of batched additions after the other, so
// that one list of a million points takes no longer than a thousand lists of a thousand.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "batch_add.hpp"

namespace zen {

template <class Source>
struct Operand {
  const Source* point;
  bool negated;
};

// One round: list k, the operands [start[k], start[k + 1]), becomes its pairs' sums, written to `out` one list after
// the other; `start` follows. operand(i) gives an Operand<Source>. Returns the length of
// the longest list. The caller flushes the adder.
template <class F, class Source, class Index, class OperandAt>
long halve_lists(Index* start, long lists, Summand<F>* out, BatchAdder<F, Source>& adder, OperandAt operand) {
  Index first = start[0], filled = 0;
  long longest = 0;
  for (long list = 0; list < lists; list++) {
    const Index last = start[list + 1];
    start[list] = filled;
    for (; first + 1 < last; first += 2) {
      const Operand<Source> left = operand(first), right = operand(first + 1);
      adder.push(left.point, right.point, &out[filled++], left.negated, right.negated);
    }
    if (first < last) {
      const Operand<Source> left = operand(first++);
      Summand<F>& copy = out[filled++];
      if constexpr (std::is_same_v<Source, Summand<F>>)
        copy = *left.point;
      else
        to_summands(left.point, &copy, 1);
      if (left.negated) copy = -copy;
    }
    longest = std::max(longest, long(filled - start[list]));
  }
  start[lists] = filled;
  return longest;
}

// Halves the lists of `points` until each has one point at most: list k's sum is where start[k] < start[k + 1] says.
// `spare` takes every other round; returns the one of both buffers that holds the sums.
template <class F, class Index>
Summand<F>* sum_lists(Index* start, long lists, long longest, Summand<F>* points, Summand<F>* spare,
                      BatchAdder<F, Summand<F>>& adder) {
  while (longest > 1) {
    longest = halve_lists(start, lists, spare, adder, [&](Index i) { return Operand<Summand<F>>{&points[i], false}; });
    adder.flush();
    std::swap(points, spare);
  }
  return points;
}

}  // namespace zen
