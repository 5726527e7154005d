// Sums of many lists of points at once: every list is halved by one round of batched additions after the other, so
// that one list of a million points takes no longer than a thousand lists of a thousand.
#pragma once

#include <algorithm>
#include <utility>

#include "batch_add.hpp"

namespace zen {

// Bases, signed, on their way to summands: converted together, when they have come from memory.
template <class F>
class Conversions {
 public:
  void push(const Affine<F>* base, bool negate, Summand<F>* out) {
    __builtin_prefetch(base);
    pending_[count_++] = {base, negate, out};
    if (count_ == capacity) flush();
  }
  void flush() {
    for (int i = 0; i < count_; i++) bases_[i] = pending_[i].negate ? -*pending_[i].base : *pending_[i].base;
    to_summands(bases_, summands_, count_);
    for (int i = 0; i < count_; i++) *pending_[i].out = summands_[i];
    count_ = 0;
  }

 private:
  static constexpr int capacity = 32;
  struct Conversion {
    const Affine<F>* base;
    bool negate;
    Summand<F>* out;
  };
  int count_ = 0;
  Conversion pending_[capacity];
  Affine<F> bases_[capacity];
  Summand<F> summands_[capacity];
};

// One round: list k, the places [start[k], start[k + 1]), becomes its pairs' sums, written to `out` one list after the
// other; `start` follows. Calls add(place, out) for the pair of points at place and place + 1, and copy(place, out)
// for the odd one out. Returns the length of the longest list. Nothing is flushed.
template <class F, class Index, class Add, class Copy>
long pair_up(Index* start, long lists, Summand<F>* out, Add add, Copy copy) {
  Index place = start[0], filled = 0, longest = 0;
  for (long list = 0; list < lists; list++) {
    const Index begin = filled, end = start[list + 1];
    start[list] = begin;
    for (; place + 1 < end; place += 2) add(place, out + filled++);
    if (place < end) copy(place++, out + filled++);
    longest = std::max(longest, filled - begin);
  }
  start[lists] = filled;
  return long(longest);
}

// The same with summands that lie in a row.
template <class F, class Index>
long halve_lists(Index* start, long lists, const Summand<F>* points, Summand<F>* out, BatchAdder<F, Summand<F>>& adder) {
  return pair_up(
      start, lists, out, [&](Index i, Summand<F>* sum) { adder.push(points + i, points + i + 1, sum, false, false); },
      [&](Index i, Summand<F>* copy) { *copy = points[i]; });
}

// Halves the lists of `points` until each has one point at most: list k's sum is where start[k] < start[k + 1] says.
// `spare` takes every other round; returns the one of both buffers that holds the sums.
template <class F, class Index>
Summand<F>* sum_lists(Index* start, long lists, long longest, Summand<F>* points, Summand<F>* spare,
                      BatchAdder<F, Summand<F>>& adder) {
  while (longest > 1) {
    longest = halve_lists(start, lists, points, spare, adder);
    adder.flush();
    std::swap(points, spare);
  }
  return points;
}

}  // namespace zen
