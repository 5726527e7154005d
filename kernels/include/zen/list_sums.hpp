// Sums of many lists of points at once: every list is halved by one round of batched additions after the other, so
// that one list of a million points takes no longer than a thousand lists of a thousand.
#pragma once

#include <algorithm>

#include "batch_add.hpp"

namespace zen {

// One round: list k, the operands [start[k], start[k + 1]), becomes its pairs' sums, written to `out` one list after
// the other; `start` follows. operand(i) gives a pointer to a Source and whether to negate it. Returns the length of
// the longest list. The adder is flushed.
template <class F, class Source, class Index, class Operand>
long halve_lists(Index* start, long lists, Summand<F>* out, BatchAdder<F, Source>& adder, Operand operand) {
  Index first = start[0], filled = 0;
  long longest = 0;
  for (long list = 0; list < lists; list++) {
    const Index last = start[list + 1];
    start[list] = filled;
    for (; first + 1 < last; first += 2) {
      const auto [left, negate_left] = operand(first);
      const auto [right, negate_right] = operand(first + 1);
      adder.push(left, right, &out[filled++], negate_left, negate_right);
    }
    if (first < last) {
      const auto [left, negate] = operand(first++);
      Summand<F>& copy = out[filled++];
      if constexpr (std::is_same_v<Source, Summand<F>>)
        copy = *left;
      else
        to_summands(left, &copy, 1);
      if (negate) copy = -copy;
    }
    longest = std::max(longest, long(filled - start[list]));
  }
  start[lists] = filled;
  adder.flush();
  return longest;
}

// Halves the lists of `points` until each has one point at most: list k's sum is where start[k] < start[k + 1] says.
// `spare` takes every other round; returns the one of both buffers that holds the sums.
template <class F, class Index>
Summand<F>* sum_lists(Index* start, long lists, long longest, Summand<F>* points, Summand<F>* spare,
                      BatchAdder<F, Summand<F>>& adder) {
  while (longest > 1) {
    longest = halve_lists(start, lists, spare, adder,
                          [&](Index i) { return std::pair<const Summand<F>*, bool>(&points[i], false); });
    std::swap(points, spare);
  }
  return points;
}

}  // namespace zen
