// What bounds of networks add up: forms' coordinates, and products of matrices of intervals.
#ifndef __CUDACC__
#include <math.h>
#endif

using Word = unsigned long long;

template <class T>
__device__ inline double across(double value, T combined) {
  for (int bits = 16; bits; bits /= 2) {
    union {
      double number;
      Word word;
    } here{value}, there;
    there.word = __shfl_xor_sync(0xffffffff, here.word, bits);
    value = combined(value, there.number);
  }
  return value;
}

__device__ inline double larger(double a, double b) { return a >= b || a != a ? a : b; }
__device__ inline double lesser(double a, double b) { return a <= b || a != a ? a : b; }

// Of each row of middle[rows, width + 2], around[rows, width + 2], by a warp: rest += gamma(terms) size, then what the
// two functions reach where delta is in balls of `own` coordinates each, by the dual norm (0: of boxes, 1, 2), and size.
extern "C" __global__ void __launch_bounds__(128)
    reach(const double* middle, double* around, const double* radius, double* low, double* high, long long rows,
          long long rows_of_one, long long width, long long own, long long norm, long long terms) {
  const long long row = (blockIdx.x * 128ll + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const double* at = middle + row * (width + 2);
  double* wide = around + row * (width + 2);
  constexpr double unit = 1.0 / (1ll << 53);
  const auto add = [](double a, double b) { return a + b; };
  double below = 0, above = 0;
  for (long long ball = 0; ball < width; ball += own) {
    double least = 0, most = 0;
    for (long long i = ball + lane; i < ball + own; i += 32) {
      const double l = at[i] - wide[i], u = at[i] + wide[i];
      const double steep = l < 0 ? -l : l, steeper = u < 0 ? -u : u;
      if (norm == 1) least = larger(least, steep), most = larger(most, steeper);
      else if (norm == 2) least += steep * steep, most += steeper * steeper;
      else least += steep, most += steeper;
    }
    if (norm == 1) least = across(least, larger), most = across(most, larger);
    else least = across(least, add), most = across(most, add);
    below += norm == 2 ? sqrt(least) : least, above += norm == 2 ? sqrt(most) : most;
  }
  if (lane) return;
  if (norm) below *= radius[row / rows_of_one], above *= radius[row / rows_of_one];
  const double slack = 2 * terms * unit / (1 - terms * unit), offset = at[width], size = wide[width + 1];
  const double rest = wide[width] + slack * size, start = offset < 0 ? -offset : offset;
  const long long sums = 2 * width + 8;
  const double error = 2 * sums * unit / (1 - sums * unit);
  const double size_below = start + rest + below, size_above = start + rest + above;
  low[row] = offset - (rest + below + error * size_below), high[row] = offset + (rest + above + error * size_above);
  wide[width] = rest, wide[width + 1] = size_below + size_above;
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
