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

// Of each row of slope[rows, width], by a warp: rest += gamma(terms) size, then what slope delta + offset, give or take
// rest, reaches where delta is in balls of `own` coordinates each, by the dual norm (0: of boxes, 1, 2), and size. Where
// an interval is known, both at once; and where that is narrower than rest, slope is 0 and offset its centre.
extern "C" __global__ void __launch_bounds__(128)
    reach(double* slope, double* offset, double* rest, double* size, const double* radius, const double* known_low,
          const double* known_high, double* low, double* high, long long rows, long long rows_of_one, long long width,
          long long own, long long norm, long long terms) {
  const long long row = (blockIdx.x * 128ll + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  double* at = slope + row * width;
  constexpr double unit = 1.0 / (1ll << 53);
  const auto add = [](double a, double b) { return a + b; };
  // On their way while the slopes are.
  const double middle = offset[row], before = rest[row], sized = size[row];
  const double least_known = known_low ? known_low[row] : 0, most_known = known_low ? known_high[row] : 0;
  double most = 0;
  for (long long ball = 0; ball < width; ball += own) {
    double found = 0;
    for (long long first = ball + lane; first < ball + own; first += 128) {
      double steep[4];  // on their way at the same time
#pragma unroll
      for (int i = 0; i < 4; i++) steep[i] = first + 32 * i < ball + own ? at[first + 32 * i] : 0;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const double size = steep[i] < 0 ? -steep[i] : steep[i];
        if (norm == 1) found = larger(found, size);
        else found += norm == 2 ? size * size : size;
      }
    }
    found = norm == 1 ? across(found, larger) : across(found, add);
    most += norm == 2 ? sqrt(found) : found;
  }
  if (norm) most *= radius[row / rows_of_one];
  const double start = middle < 0 ? -middle : middle;
  const double slack = 2 * terms * unit / (1 - terms * unit), all = before + slack * sized;
  const long long sums = 2 * width + 8;
  const double error = 2 * sums * unit / (1 - sums * unit), reached = start + all + most;
  const double around = all + most + error * reached;
  double least = middle - around, largest = middle + around, centre = middle, apart = all;
  if (known_low) {
    const double one = larger(least_known, least), other = lesser(most_known, largest);
    least = lesser(one, other), largest = larger(one, other);
    centre = least / 2 + largest / 2;
    const double away = larger(largest - centre, centre - least);
    constexpr double most_of_all = 1.7976931348623157e308;
    apart = away == 0 ? 0 : away < most_of_all ? nextafter(away, most_of_all) : away + away;
    if (apart < all)
      for (long long i = lane; i < width; i += 32) at[i] = 0;
    else centre = middle, apart = all;
  }
  __syncwarp();  // all lanes have read before one writes
  if (lane) return;
  offset[row] = centre, rest[row] = apart, size[row] = reached, low[row] = least, high[row] = largest;
}

// Onto each row's sum, of a block: its line[rows, size], or absolute values, times x[., size] of its sample, or 1.
extern "C" __global__ void __launch_bounds__(512)
    weigh(const double* line, const double* x, double* onto, long long size, long long rows_of_one, long long absolute) {
  const double* at = line + blockIdx.x * size;
  const double* by = x ? x + blockIdx.x / rows_of_one * size : nullptr;
  __shared__ double sums[16];
  const auto add = [](double a, double b) { return a + b; };
  double sum = 0;
  for (long long first = threadIdx.x; first < size; first += 4 * 512) {
    double value[4];  // on their way at the same time
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const long long place = first + 512 * i;
      const double here = place < size ? at[place] : 0;
      value[i] = (absolute && here < 0 ? -here : here) * (by && place < size ? by[place] : 1);
    }
    sum += (value[0] + value[1]) + (value[2] + value[3]);
  }
  sum = across(sum, add);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = across(threadIdx.x < 16 ? sums[threadIdx.x] : 0, add);
  if (!threadIdx.x) onto[blockIdx.x] += sum;
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
