// Dual norms of rows of slopes, four by a warp. `larger` is there before.
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

constexpr int each = 4;

// Of rows at[width], sums over balls of `own` coordinates each of norms (0: 1 for boxes, 1: of the largest, 2), to all lanes.
__device__ inline void measure(const double* const (&at)[each], long long width, long long own, long long norm,
                               double (&sums)[each]) {
  const int lane = threadIdx.x % 32;
  const auto add = [](double a, double b) { return a + b; };
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
#pragma unroll
    for (int i = 0; i < each; i++) {
      found[i] = norm == 1 ? across(found[i], larger) : across(found[i], add);
      sums[i] += norm == 2 ? sqrt(found[i]) : found[i];
    }
  }
}

// sums[lane], of the first lanes.
__device__ inline double of_lane(const double (&sums)[each]) {
  double here = sums[0];
#pragma unroll
  for (int i = 1; i < each; i++) here = threadIdx.x % 32 == i ? sums[i] : here;
  return here;
}

// out[row] = by x[row] of `rows` rows from the first, zeros where by, of each row's lane, is 0.
__device__ inline void scale(const double* x, double* out, double by, int rows, long long width) {
  double factors[each];
  union {
    double number;
    Word word;
  } own{by}, here;
#pragma unroll
  for (int i = 0; i < each; i++) here.word = __shfl_sync(0xffffffff, own.word, i), factors[i] = here.number;
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
