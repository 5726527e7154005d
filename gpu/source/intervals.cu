// What bounds of networks add up: forms' coordinates, and products of matrices of intervals.
#ifndef __CUDACC__
#include <math.h>
#endif

__device__ inline double larger(double a, double b) { return a >= b || a != a ? a : b; }
__device__ inline double lesser(double a, double b) { return a <= b || a != a ? a : b; }

#include "norms.hpp"

// Where functions of balls are known to be, and what they become: arrays of rows, those of `known` null where nothing is.
struct Rows {
  double *offset, *rest, *size;
  const double *known_low, *known_high;
  double *most, *low, *high;
};

// A row of these.
struct Row {
  double offset, rest, size, known_low, known_high;
};

__device__ inline Row read(const Rows& rows, long long row) {
  const bool known = rows.known_low;
  return {rows.offset[row], rows.rest[row], rows.size[row], known ? rows.known_low[row] : 0, known ? rows.known_high[row] : 0};
}

// gamma of zenserve.bounds.arrays.
__device__ inline double rounded(long long terms) {
  constexpr double unit = 1.0 / (1ll << 53);
  return 2 * terms * unit / (1 - terms * unit);
}

// Of a row whose slope delta, of `width` terms, comes to `most`: rest += gamma(terms) size, then what slope delta +
// offset, give or take rest, reaches, and size. Where an interval is known, both at once; and where that is narrower than rest,
// offset is its centre, and the answer is true: slope is to be 0.
__device__ inline bool bound(const Rows& rows, long long row, const Row& is, double most, long long width, long long terms) {
  const double middle = is.offset, start = middle < 0 ? -middle : middle;
  const double all = is.rest + rounded(terms) * is.size, reached = start + all + most;
  const double around = all + most + rounded(2 * width + 8) * reached;
  double least = middle - around, largest = middle + around, centre = middle, apart = all;
  bool constant = false;
  if (rows.known_low) {
    const double one = larger(is.known_low, least), other = lesser(is.known_high, largest);
    least = lesser(one, other), largest = larger(one, other);
    const double between = least / 2 + largest / 2, away = larger(largest - between, between - least);
    constexpr double most_of_all = 1.7976931348623157e308;
    const double up = away == 0 ? 0 : away < most_of_all ? nextafter(away, most_of_all) : away + away;
    constant = up < all;
    if (constant) centre = between, apart = up, most = 0;
  }
  rows.offset[row] = centre, rows.rest[row] = apart, rows.size[row] = reached;
  rows.low[row] = least, rows.high[row] = largest, rows.most[row] = most;
  return constant;
}

// `bound` of rows of slope[rows, width], four by a warp, by the dual norm of delta in balls of `own` coordinates each
// (0: of boxes, 1, 2).
extern "C" __global__ void __launch_bounds__(128)
    reach(double* slope, double* offset, double* rest, double* size, const double* radius, const double* known_low,
          const double* known_high, double* most, double* low, double* high, long long rows, long long rows_of_one, long long width, long long own,
          long long norm, long long terms) {
  const long long first = (blockIdx.x * 128ll + threadIdx.x) / 32 * each;
  const int lane = threadIdx.x % 32;
  if (first >= rows) return;
  // Each of the first lanes has a row, of which it reads what is no slope meanwhile.
  const long long row = first + lane;
  const bool own_row = lane < each && row < rows;
  const Rows all{offset, rest, size, known_low, known_high, most, low, high};
  const Row is = own_row ? read(all, row) : Row{};
  const double* at[each];
#pragma unroll
  for (int i = 0; i < each; i++) at[i] = slope + (first + i < rows ? first + i : first) * width;
  double here = measure(at, width, own, norm);
  bool constant = false;
  if (own_row) {
    if (norm) here *= radius[row / rows_of_one];
    constant = bound(all, row, is, here, width, terms);
  }
  for (unsigned left = __ballot_sync(0xffffffff, constant); left; left &= left - 1) {
    double* line = slope + (first + __ffs(left) - 1) * width;
    for (long long column = lane; column < width; column += 32) line[column] = 0;
  }
}

// `bound` of rows, one by a thread, whose slope delta is known to come to `most`.
extern "C" __global__ void __launch_bounds__(128)
    reach_known(double* slope, double* offset, double* rest, double* size, const double* known_low,
                const double* known_high, double* most, double* low, double* high, long long rows,
                long long width, long long terms) {
  const long long row = blockIdx.x * 128ll + threadIdx.x;
  const int lane = threadIdx.x % 32;
  const Rows all{offset, rest, size, known_low, known_high, most, low, high};
  const bool constant = row < rows && bound(all, row, read(all, row), most[row], width, terms);
  for (unsigned left = __ballot_sync(0xffffffff, constant); left; left &= left - 1) {
    double* line = slope + (row - lane + __ffs(left) - 1) * width;
    for (long long column = lane; column < width; column += 32) line[column] = 0;
  }
}

// Lines of rows, and x[., size], which `rows_of_one` each are times, or 1 where it is null; none has size 0.
struct Pair {
  const double *lines, *x;
  long long size, rows_of_one, absolute;
};

#define ZEN_PAIR(i) \
  const double *lines##i, const double *x##i, long long size##i, long long rows##i, long long absolute##i
#define ZEN_SAME(i) {lines##i, x##i, size##i, rows##i, absolute##i}

// Of each row, by `blocks` of it: sums[row, block] of all pairs' lines, or absolute values, times x.
extern "C" __global__ void __launch_bounds__(512)
    weigh(ZEN_PAIR(0), ZEN_PAIR(1), ZEN_PAIR(2), ZEN_PAIR(3), ZEN_PAIR(4), double* made, long long blocks) {
  __shared__ double sums[16];
  const auto add = [](double a, double b) { return a + b; };
  const Pair pairs[] = {ZEN_SAME(0), ZEN_SAME(1), ZEN_SAME(2), ZEN_SAME(3), ZEN_SAME(4)};
  long long longest = 0;
  for (const Pair& pair : pairs) longest = pair.size > longest ? pair.size : longest;
  const long long row = blockIdx.x / blocks, block = blockIdx.x % blocks;
  double sum = 0;
  for (long long first = 4 * 512 * block + threadIdx.x; first < longest; first += 4 * 512 * blocks) {
    double here[5][4], by[5][4];  // on their way at the same time
#pragma unroll
    for (int pair = 0; pair < 5; pair++) {
      const auto [lines, x, size, rows_of_one, absolute] = pairs[pair];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const long long place = first + 512 * i;
        here[pair][i] = place < size ? lines[row * size + place] : 0;
        by[pair][i] = x && place < size ? x[row / rows_of_one * size + place] : 1;
      }
    }
#pragma unroll
    for (int pair = 0; pair < 5; pair++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const double value = here[pair][i];
        sum += (pairs[pair].absolute && value < 0 ? -value : value) * by[pair][i];
      }
  }
  sum = across(sum, add);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = across(threadIdx.x < 16 ? sums[threadIdx.x] : 0, add);
  if (!threadIdx.x) made[blockIdx.x] = sum;
}

// onto[rows] += the sums of made[rows, blocks], each of a thread.
extern "C" __global__ void __launch_bounds__(128) gather(const double* made, double* onto, long long rows, long long blocks) {
  const long long row = blockIdx.x * 128ll + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
#pragma unroll 8
  for (long long block = 0; block < blocks; block++) sum += made[row * blocks + block];
  onto[row] += sum;
}

// out[row] = x[places[row]] of rows of `width`, zeros where that is negative: `count` rows for each of a batch, of `from`.
extern "C" __global__ void __launch_bounds__(128) move(const double* x, const long long* places, double* out, long long rows,
                                                       long long count, long long from, long long width) {
  const int lane = threadIdx.x % 32;
  const long long first = (blockIdx.x * 128ll + threadIdx.x) / 32 * each;
  long long at[each];
#pragma unroll
  for (int i = 0; i < each; i++) {
    const long long row = first + i, place = row < rows ? places[row % count] : -1;
    at[i] = place < 0 ? -1 : (row / count * from + place) * width;
  }
  for (long long column = lane; column < width; column += 128) {
    double here[4][each];  // on their way at the same time
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int i = 0; i < each; i++) here[k][i] = at[i] >= 0 && column + 32 * k < width ? x[at[i] + column + 32 * k] : 0;
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int i = 0; i < each; i++)
        if (first + i < rows && column + 32 * k < width) out[(first + i) * width + column + 32 * k] = here[k][i];
  }
}

// out[rows, width] = the sums of x[rows, count, width] over the axis between.
extern "C" __global__ void __launch_bounds__(128)
    add_up(const double* x, double* out, long long rows, long long count, long long width) {
  const long long row = blockIdx.x / ((width + 127) / 128), column = blockIdx.x % ((width + 127) / 128) * 128 + threadIdx.x;
  if (row >= rows || column >= width) return;
  const double* at = x + row * count * width + column;
  double sum = 0;
#pragma unroll 8
  for (long long i = 0; i < count; i++) sum += at[i * width];
  out[row * width + column] = sum;
}

// low, high, size[groups, m, n]: sums over k of the least and the largest of left[groups, m, k] right[groups, k, n], and
// of the larger of their absolute values.
extern "C" __global__ void __launch_bounds__(128)
    product(const double* left_low, const double* left_high, const double* right_low, const double* right_high,
            double* low, double* high, double* size, long long entries, long long m, long long k, long long n) {
  const long long entry = blockIdx.x * 128ll + threadIdx.x;
  if (entry >= entries) return;
  const long long column = entry % n, row = entry / n, group = row / m;
  double least = 0, most = 0, sum = 0;
#pragma unroll 4
  for (long long i = 0; i < k; i++) {
    const double a = left_low[row * k + i], b = left_high[row * k + i];
    const long long place = (group * k + i) * n + column;
    const double c = right_low[place], d = right_high[place];
    const double l = lesser(lesser(a * c, a * d), lesser(b * c, b * d));
    const double u = larger(larger(a * c, a * d), larger(b * c, b * d));
    least += l, most += u, sum += larger(l < 0 ? -l : l, u < 0 ? -u : u);
  }
  low[entry] = least, high[entry] = most, size[entry] = sum;
}

// Of a product of forms, times a factor, whose bits are given: offset, rest and size[groups, m, n] of the same, centres
// and radii of left[groups, m, k] and right[groups, k, n].
extern "C" __global__ void __launch_bounds__(128)
    constants(const double* left_offset, const double* left_rest, const double* left_size, const double* left_centre,
              const double* left_radius, const double* right_offset, const double* right_rest, const double* right_size,
              const double* right_centre, const double* right_radius, double* offset, double* rest, double* size,
              long long entries, long long m, long long k, long long n, long long factor_bits) {
  const long long entry = blockIdx.x * 128ll + threadIdx.x;
  if (entry >= entries) return;
  union {
    long long bits;
    double number;
  } factor{factor_bits};
  const long long column = entry % n, row = entry / n, group = row / m;
  double middle = 0, apart = 0, remainder = 0, sum = 0;
#pragma unroll 4
  for (long long i = 0; i < k; i++) {
    const long long here = row * k + i, there = (group * k + i) * n + column;
    const double centre = right_centre[there], by_right = centre * factor.number;
    const double by_left = left_centre[here] * factor.number;
    const double around_right = by_right < 0 ? -by_right : by_right, around_left = by_left < 0 ? -by_left : by_left;
    middle += left_offset[here] * by_right + by_left * right_offset[there] - by_left * centre;
    apart += left_rest[here] * around_right + around_left * right_rest[there];
    remainder += left_radius[here] * right_radius[there];
    sum += left_size[here] * around_right + around_left * (right_size[there] + (centre < 0 ? -centre : centre));
  }
  constexpr double unit = 1.0 / (1ll << 53);
  remainder *= (factor.number < 0 ? -factor.number : factor.number) * (1 + 8 * unit);
  offset[entry] = middle, rest[entry] = apart + remainder, size[entry] = sum + remainder;
}
