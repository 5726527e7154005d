// Dual norms of rows of slopes, four by a warp. `larger` is there before.
using Word = unsigned long long;

__device__ inline double of_lane(double value, int lane) {
  union {
    double number;
    Word word;
  } here{value}, there;
  there.word = __shfl_sync(0xffffffff, here.word, lane);
  return there.number;
}

__device__ inline double swapped(double value, int bits) { return of_lane(value, threadIdx.x % 32 ^ bits); }

template <class T>
__device__ inline double across(double value, T combined) {
  for (int bits = 16; bits; bits /= 2) value = combined(value, swapped(value, bits));
  return value;
}

constexpr int each = 4;

// Of four values of each lane what all lanes' come to: the first to the first eight lanes, the second to the next.
template <class T>
__device__ inline double across(const double (&values)[each], T combined) {
  const bool upper = threadIdx.x & 16, right = threadIdx.x & 8;
  const double one = combined(upper ? values[2] : values[0], swapped(upper ? values[0] : values[2], 16));
  const double other = combined(upper ? values[3] : values[1], swapped(upper ? values[1] : values[3], 16));
  double value = combined(right ? other : one, swapped(right ? one : other, 8));
  for (int bits = 4; bits; bits /= 2) value = combined(value, swapped(value, bits));
  return value;
}

// Of rows at[width], sums over balls of `own` coordinates each of norms (0: 1 for boxes, 1: of the largest, 2): the first's
// to the lanes 0, 4, .. and so on.
__device__ inline double measure(const double* const (&at)[each], long long width, long long own, long long norm) {
  const int lane = threadIdx.x % 32;
  const auto add = [](double a, double b) { return a + b; };
  double sum = 0;
  for (long long ball = 0; ball < width; ball += own) {
    double found[each] = {};
    for (long long column = ball + lane; column < ball + own; column += 128) {
      double steep[4][each];  // on their way at the same time
#pragma unroll
      for (int k = 0; k < 4; k++)
#pragma unroll
        for (int i = 0; i < each; i++) steep[k][i] = column + 32 * k < ball + own ? at[i][column + 32 * k] : 0;
#pragma unroll
      for (int k = 0; k < 4; k++)
#pragma unroll
        for (int i = 0; i < each; i++) {
          const double size = steep[k][i] < 0 ? -steep[k][i] : steep[k][i];
          if (norm == 1) found[i] = larger(found[i], size);
          else found[i] += norm == 2 ? size * size : size;
        }
    }
    const double all = norm == 1 ? across(found, larger) : across(found, add);
    sum += norm == 2 ? sqrt(all) : all;
  }
  return of_lane(sum, lane % each * 8);
}

// out[row] = by x[row] of at most four rows, zeros where by, of each row's lane from the first, is 0.
__device__ inline void scale(const double* x, double* out, double by, int first, long long rows, long long width) {
  double factors[each];
#pragma unroll
  for (int i = 0; i < each; i++) factors[i] = of_lane(by, first + i);
  for (long long column = threadIdx.x % 32; column < width; column += 128) {
    double steep[4][each];  // on their way at the same time
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int i = 0; i < each; i++) steep[k][i] = i < rows && column + 32 * k < width ? x[i * width + column + 32 * k] : 0;
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int i = 0; i < each; i++)
        if (i < rows && column + 32 * k < width)
          out[i * width + column + 32 * k] = factors[i] == 0 ? 0 : factors[i] * steep[k][i];
  }
}
