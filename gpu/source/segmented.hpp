// Sums over the segments of a list, balanced whatever their lengths. First every worker adds up an equal share of the
// entries: the sums of segments that end there are done, the rest of the last one is carried. Then carries are added to
// the sums of the segments where they belong, `fan_in` of them a worker, level by level: gpu/segmented.py.
//
// Elements are monoids with + and with T{} (all bytes zero) as the neutral element.
#pragma once

#include "memory.hpp"

namespace zen {

// The last of `count` segments that begins at or before entry i; `segment` is one that does. Near ones are found soon.
template <class Offset>
ZEN_FN u32 find_segment(const Offset* offsets, u32 count, u32 segment, Offset i) {
  u32 step = 1;
  for (; segment + step < count && offsets[segment + step] <= i; step *= 2) segment += step;
  for (; step; step /= 2)
    if (segment + step < count && offsets[segment + step] <= i) segment += step;
  return segment;
}

// Segment s has the entries offsets[s] .. offsets[s + 1] - 1; `entries.add_to(sum, i)` adds entry i. Each of `workers`
// threads writes the sums of segments that end in its share, and one carry with its segment, perhaps T{}. Sums of empty
// segments are not written.
template <class T, class Offset, class Entries>
ZEN_FN void sum_shares(const Entries& entries, const Offset* offsets, u32 segments, u32 workers, T* sums, T* carries,
                       u32* carry_segments) {
  const long worker = thread_index();
  if (worker >= workers || !segments) return;
  const Offset last = offsets[segments];
  const long share = (long(last) - long(offsets[0]) + workers - 1) / workers;  // 32 bits may not hold the sum
  const long from = offsets[0] + worker * share, to = from + share;
  Offset i = from < long(last) ? Offset(from) : last;
  const Offset end = to < long(last) ? Offset(to) : last;

  u32 segment = find_segment(offsets, segments, 0, i);
  Offset segment_end = offsets[segment + 1];
  T sum{};
  for (; i < end; i++) {
    entries.add_to(sum, i);
    if (i + 1 < segment_end) continue;
    store(sums + segment, sum);
    sum = T{};
    if (i + 1 == end) break;
    segment = find_segment(offsets, segments, segment + 1, i + 1);
    segment_end = offsets[segment + 1];
  }
  store(carries + worker, sum);
  carry_segments[worker] = segment;
}

// A worker of one thread: it holds whole elements. Workers of several threads hold a part of an element in each
// (xyzz_lanes.hpp); all threads of a warp call `add`.
template <class T>
struct SingleThread {
  using Element = T;
  using Part = T;
  static constexpr int threads = 1;

  static ZEN_FN T get(const T* from) { return load(from); }
  static ZEN_FN void put(T* to, const T& value) { store(to, value); }
  static ZEN_FN T negated(const T& a) { return -a; }
  static ZEN_FN T add(const T& a, const T& b) { return a + b; }
};

constexpr long fan_in = 8;

// Carries of equal segments lie side by side, in runs. A worker adds those of its block, and those that the block
// before left, to their segments' sums, but for a run that goes on after its block: if it fills the block, their sum is
// carried to the next level, next[worker]; else the next worker finishes it. So short runs end on this level.
template <class Worker>
ZEN_FN void sum_carries(const typename Worker::Element* carries, const u32* segments, long count,
                        typename Worker::Element* sums, typename Worker::Element* next, u32* next_segments) {
  using Part = typename Worker::Part;
  const long worker = thread_index() / Worker::threads, first = worker * fan_in;
  const bool present = first < count;
  const long last = !present ? first : first + fan_in < count ? first + fan_in : count;
  long begin = first, end = last;
  bool carried = false;
  if (present) {
    const u32 head = segments[first], tail = segments[last - 1];
    if (first && segments[first - fan_in] != head)  // the block before has not carried it
      while (segments[begin - 1] == head) begin--;
    if (last < count && segments[last] == tail) {
      carried = head == tail;
      while (!carried && segments[end - 1] == tail) end--;
    }
  }

  Part sum{};
  for (long i = begin; __any_sync(whole_warp, i < end); i++) {
    const bool active = i < end;
    Part term{};
    if (active) {
      if (!carried && (i == begin || segments[i - 1] != segments[i])) sum = Worker::get(sums + segments[i]);
      term = Worker::get(carries + i);
    }
    if (__any_sync(whole_warp, !term.is_zero())) sum = Worker::add(sum, term);
    if (active && !carried && (i + 1 == end || segments[i + 1] != segments[i])) Worker::put(sums + segments[i], sum);
  }
  if (!present || !next) return;
  Worker::put(next + worker, carried ? sum : Part{});
  next_segments[worker] = segments[first];
}

}  // namespace zen
