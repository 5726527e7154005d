// Points one by one: doublings, multiples of one base by a table, multiples of each by its scalar. All of them end as
// XYZZ sums, which to_affine divides.
#include "zen/curve.hpp"
#include "zen/signed_scalar.hpp"
#include "memory.hpp"
#include "patterns.hpp"
#include "xyzz_lanes.hpp"

using namespace zen;

using F = ZEN_F;
using Point = Affine<F>;
using Sum = Xyzz<F>;

extern "C" __global__ void __launch_bounds__(128) to_affine(const Sum* sums, long n, Point* out) {
  invert_each<128, F>(
      n, [=](long i) { return load(&sums[i].zzz); }, [=](long i) { return &out[i].x; },
      [=](long i, const F& inverse_zzz) { store(out + i, load(sums + i).to_affine(inverse_zzz)); });
}

// out[i] = 2^times points[i].
extern "C" __global__ void __launch_bounds__(128) double_points(const Point* points, long n, int times, Sum* out) {
  const long i = thread_index();
  if (i >= n) return;
  Sum sum = Sum::from(load(points + i));
  for (int k = 0; k < times; k++) sum = sum.doubled();
  store(out + i, sum);
}

// out[window] = 2^(width window) base, by one warp.
extern "C" __global__ void __launch_bounds__(32) powers_of_two(const Point* base, int width, int windows, Sum* out) {
  using Lanes = XyzzLanes<F>;
  if (threadIdx.x == 0) store(out, Sum::from(load(base)));
  __syncwarp();
  F power = Lanes::get(out);
  for (int window = 1; window < windows; window++) {
    for (int k = 0; k < width; k++) power = Lanes::doubled(power);
    if (threadIdx.x < Lanes::threads) Lanes::put(out + window, power);
  }
}

// out[window][d - 1] = d powers[window], 1 <= d <= 2^(width - 1).
extern "C" __global__ void __launch_bounds__(128)
    digit_multiples(const Point* powers, int width, int windows, Sum* out) {
  const long i = thread_index(), window = i >> (width - 1);
  if (window >= windows) return;
  const int digit = int(i & ((1l << (width - 1)) - 1)) + 1;
  const Point point = load(powers + window);
  Sum sum = Sum::infinity();
  for (int bit = width - 1; bit >= 0; bit--) {
    sum = sum.doubled();
    if (digit >> bit & 1) sum = sum + point;
  }
  store(out + i, sum);
}

// out[i] = scalars[i] base, by the table of digit_multiples.
extern "C" __global__ void __launch_bounds__(128)
    multiply_base(const Point* table, const Fr* scalars, long n, int width, int windows, Sum* out) {
  const long i = thread_index();
  if (i >= n) return;
  const SignedScalar scalar = SignedScalar::from(load(scalars + i));
  Sum sum = Sum::infinity();
  for (int window = 0; window < windows; window++) {
    const SignedScalar::Digit digit = scalar.digit(window, width);
    if (!digit.magnitude) continue;
    const Point point = load(table + (long(window) << (width - 1)) + digit.magnitude - 1);
    sum = sum + (digit.negative ? -point : point);
  }
  store(out + i, sum);
}

constexpr int each_width = 4, each_multiples = 1 << (each_width - 1);

// out[i] = scalars[i] points[i], or scalars[0] points[i] where scalar_stride is 0. `multiples` has n sums for each digit.
extern "C" __global__ void __launch_bounds__(128)
    multiply_each(const Point* points, const Fr* scalars, int scalar_stride, long n, Sum* multiples, Sum* out) {
  const long i = thread_index();
  if (i >= n) return;
  const Point point = load(points + i);
  Sum sum = Sum::from(point);
  store(multiples + i, sum);
  for (int digit = 2; digit <= each_multiples; digit++) {
    sum = sum + point;
    store(multiples + (digit - 1) * n + i, sum);
  }
  const SignedScalar scalar = SignedScalar::from(load(scalars + scalar_stride * i));
  sum = Sum::infinity();
  for (int window = digit_count(longest_scalar, each_width) - 1; window >= 0; window--) {
    for (int k = 0; k < each_width; k++) sum = sum.doubled();
    const SignedScalar::Digit digit = scalar.digit(window, each_width);
    if (!digit.magnitude) continue;
    Sum multiple = load(multiples + (digit.magnitude - 1) * n + i);
    if (digit.negative) multiple.y = -multiple.y;
    sum = sum + multiple;
  }
  store(out + i, sum);
}
