// Map, zip, reduce and scan over device memory, as a hierarchy: a thread's registers, the shuffles of a warp, the shared
// memory of a block, and one value a block for the next launch (ZERA, chapter 4). What is read is given by a functor,
// so that a reduction takes up the maps and zips before it. Operations and monoids are those of zen/operations.hpp.
#pragma once

#include "zen/field.hpp"
#include "memory.hpp"

namespace zen {

ZEN_FN long all_threads() { return long(gridDim.x) * blockDim.x; }

template <class In, class Out, class Operation>
ZEN_FN void map(const In* in, Out* out, long n, Operation operation) {
  const long i = thread_index();
  if (i < n) store(out + i, operation(load(in + i)));
}

// out[i] = operation(a[i], b[stride i]); stride 0: one b for all.
template <class In, class Out, class Operation>
ZEN_FN void zip(const In* a, const In* b, long stride, Out* out, long n, Operation operation) {
  const long i = thread_index();
  if (i < n) store(out + i, operation(load(a + i), load(b + stride * i)));
}

// An element through a shuffle of 32-bit words.
template <class T, class Shuffle>
ZEN_FN T shuffled(const T& x, Shuffle shuffle) {
  T r;
  const u32* from = reinterpret_cast<const u32*>(&x);
  u32* to = reinterpret_cast<u32*>(&r);
  ZEN_UNROLL for (int i = 0; i < int(sizeof(T) / sizeof(u32)); i++) to[i] = shuffle(from[i]);
  return r;
}

// Lane 0 gets the combination of the warp.
template <class Monoid, class T>
ZEN_FN T reduce_warp(T x) {
#pragma unroll 1  // else elements of 384 bytes take half a minute to compile
  for (unsigned delta = 16; delta; delta /= 2)
    x = Monoid::combine(x, shuffled(x, [=](u32 word) { return __shfl_down_sync(whole_warp, word, delta); }));
  return x;
}

// Thread 0 gets the combination of the block.
template <class Monoid, class T>
ZEN_FN T reduce_block(T x) {
  __shared__ T warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = reduce_warp<Monoid>(x);
  if (lane == 0) warps[warp] = x;
  __syncthreads();
  if (warp == 0) x = reduce_warp<Monoid>(lane < blockDim.x / 32 ? warps[lane] : Monoid::identity());
  __syncthreads();
  return x;
}

// out[block] = the combination of what fold(x, i) adds to x for all i of [begin, end) that fall to the block's threads:
// i = begin + first, begin + first + step, ..
template <class Monoid, class T, class Fold>
ZEN_FN void reduce(long begin, long end, long step, T* out, Fold fold) {
  T x = Monoid::identity();
  for (long i = begin; i < end; i += step) fold(x, i);
  x = reduce_block<Monoid>(x);
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

// All of [0, n), by all blocks.
template <class Monoid, class T, class Fold>
ZEN_FN void reduce(long n, T* out, Fold fold) {
  reduce<Monoid>(thread_index(), n, all_threads(), out, fold);
}

template <class Monoid, class T>
ZEN_FN T scan_warp(T x) {
  for (unsigned delta = 1; delta < 32; delta *= 2) {
    const T before = shuffled(x, [=](u32 word) { return __shfl_up_sync(whole_warp, word, delta); });
    if (threadIdx.x % 32 >= delta) x = Monoid::combine(before, x);
  }
  return x;
}

// The combination of x of the threads before this one, and of all in the block.
template <class Monoid, class T>
ZEN_FN T scan_block(const T& x, T& all) {
  __shared__ T warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto from = [](const T& value, unsigned source) {
    return shuffled(value, [=](u32 word) { return __shfl_sync(whole_warp, word, int(source)); });
  };
  const T inclusive = scan_warp<Monoid>(x);
  if (lane == 31) warps[warp] = inclusive;
  __syncthreads();
  const T totals = scan_warp<Monoid>(lane < blockDim.x / 32 ? warps[lane] : Monoid::identity());
  __syncthreads();
  all = from(totals, 31);
  const T before_warp = from(totals, warp ? warp - 1 : 0), before_lane = from(inclusive, lane ? lane - 1 : 0);
  if (lane == 0) return warp ? before_warp : Monoid::identity();
  return warp ? Monoid::combine(before_warp, before_lane) : before_lane;
}

// A scan takes two launches. Every block has a share of neighbours. In the first launch it reduces its share:
template <class Monoid, class T, class Fold>
ZEN_FN void scan_totals(long n, long share, T* totals, Fold fold) {
  const long begin = blockIdx.x * share, end = begin + share < n ? begin + share : n;
  reduce<Monoid>(begin + threadIdx.x, end, blockDim.x, totals, fold);
}

// In the second it combines the totals of the blocks before it, and scans its share tile by tile, `run` neighbours a
// thread: get(i, end, items) reads those from i on that lie before the end, put(i, end, before, items) has what to
// write: items combined up to each, and the combination before them, which is still to be combined with each.
template <class Monoid, int run, class T, class Get, class Put>
ZEN_FN void scan(long n, long share, const T* totals, Get get, Put put) {
  const long begin = blockIdx.x * share, end = begin + share < n ? begin + share : n;
  T before = Monoid::identity();
  for (unsigned block = threadIdx.x; block < blockIdx.x; block += blockDim.x)
    before = Monoid::combine(before, totals[block]);
  if (blockIdx.x) scan_block<Monoid>(T(before), before);
  for (long tile = begin; tile < end; tile += run * blockDim.x) {
    const long first = tile + run * threadIdx.x;
    T items[run], all;
    ZEN_UNROLL for (int k = 0; k < run; k++) items[k] = Monoid::identity();
    get(first, end, items);
    ZEN_UNROLL for (int k = 1; k < run; k++) items[k] = Monoid::combine(items[k - 1], items[k]);
    put(first, end, Monoid::combine(before, scan_block<Monoid>(items[run - 1], all)), items);
    before = Monoid::combine(before, all);
  }
}

// 1 / a for every thread of a block, which call together; zero for zero. One warp inverts, each lane for several threads:
// an inversion has the instructions of some 30 products, which the other warps do without.
template <int threads, class F>
F inverse_in_block(const F& a) {
  constexpr int share = threads / 32;
  __shared__ F values[threads];
  values[threadIdx.x] = a;
  __syncthreads();
  if (threadIdx.x < 32) {
    F own[share], scratch[share];
    for (int k = 0; k < share; k++) own[k] = values[threadIdx.x + 32 * k];
    batch_inverse(own, scratch, share);
    for (int k = 0; k < share; k++) values[threadIdx.x + 32 * k] = own[k];
  }
  __syncthreads();
  return values[threadIdx.x];
}

// Montgomery's trick for the elements that fall to the threads of a block, one inversion for all: finish(i, 1 /
// denominator(i)), which is zero where the denominator is. Until then keep(i, product) has stored what kept(i) reads.
// On the way back again(i) gives the denominator, perhaps from what denominator(i) left somewhere.
template <int threads, class F, class Denominator, class Again, class Keep, class Kept, class Finish>
ZEN_FN void invert_each(long n, Denominator denominator, Again again, Keep keep, Kept kept, Finish finish) {
  const long first = thread_index(), step = all_threads();
  F product = F::one();
  for (long i = first; i < n; i += step) {
    const F d = denominator(i);
    keep(i, product);
    if (!d.is_zero()) product = product * d;
  }
  F inverse = inverse_in_block<threads>(product);
  if (first >= n) return;
  for (long i = first + (n - 1 - first) / step * step; i >= 0; i -= step) {
    const F d = again(i);
    const bool regular = !d.is_zero();
    const F own = regular ? inverse * kept(i) : F::zero();
    if (regular) inverse = inverse * d;
    finish(i, own);
  }
}

// The same with prefix(i), a place for an element, which `finish` may overwrite.
template <int threads, class F, class Denominator, class Prefix, class Finish>
ZEN_FN void invert_each(long n, Denominator denominator, Prefix prefix, Finish finish) {
  invert_each<threads, F>(
      n, denominator, denominator, [=](long i, const F& product) { store(prefix(i), product); },
      [=](long i) { return load(prefix(i)); }, finish);
}

}  // namespace zen
