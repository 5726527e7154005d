// Multi-scalar multiplication over resident bases and their multiples, once digits are sorted by bucket (digits.cu):
// the buckets' sums, and the sum of buckets by weight.
#include "zen/curve.hpp"
#include "digits.hpp"
#include "memory.hpp"
#include "segmented.hpp"
#include "xyzz_lanes.hpp"

using namespace zen;

using F = ZEN_F;
using Sum = Xyzz<F>;
using Lanes = XyzzLanes<F>;

constexpr int blocks = sizeof(F) > sizeof(Fp) ? 2 : 3;  // a multiprocessor

struct BucketPoints {
  DigitPoints<F> digits;

  ZEN_FN void add_to(Sum& sum, u32 i) const { sum = sum + (digits.sorted ? digits.get(i) : load(digits.table + i)); }
};

// sums[b] = the sum of bucket b's entries, starts[b] and on, but for what is carried: the points of the table that
// `sorted` names, or points[i] itself where there is no `sorted`.
extern "C" __global__ void __launch_bounds__(128, blocks)
    sum_buckets(const Affine<F>* points, const u32* sorted, const u32* starts, u32 buckets, u32 workers, Sum* sums,
                Sum* carries, u32* carry_segments) {
  sum_shares(BucketPoints{{points, sorted}}, starts, buckets, workers, sums, carries, carry_segments);
}

extern "C" __global__ void __launch_bounds__(128)
    add_carries(const Sum* carries, const u32* segments, long count, Sum* sums, Sum* next, u32* next_segments) {
  sum_carries<Lanes>(carries, segments, count, sums, next, next_segments);
}

// With 2^k buckets of weights b + 1, the weighted sum is 2^k times the sum of all less 2^j times the sum of those
// where bit j of b is clear. in[set][row][2 half]: row j < rows - 1 is on the way to the latter, the last row to the
// former. Each level halves all rows, and what is clear in the lowest bit of the last row becomes another.
template <class Worker>
ZEN_FN void halve_rows(const Sum* in, long sets, long rows, long half, Sum* out) {
  using Part = typename Worker::Part;
  const long worker = thread_index() / Worker::threads, set = worker / ((rows + 1) * half);
  const long row = worker / half % (rows + 1), i = worker % half;
  const bool present = set < sets, is_new = row == rows - 1;
  Part left{}, right{};
  if (present) {
    const Sum* pair = in + (set * rows + (row < rows ? row : rows - 1)) * 2 * half + 2 * i;
    left = Worker::get(pair);
    if (!is_new) right = Worker::get(pair + 1);
  }
  Part sum = Worker::negated(left);
  if (__any_sync(whole_warp, present && !is_new)) sum = select(is_new, sum, Worker::add(left, right));
  if (present) Worker::put(out + (set * (rows + 1) + row) * half + i, sum);
}

extern "C" __global__ void __launch_bounds__(128) halve_many(const Sum* in, long sets, long rows, long half, Sum* out) {
  halve_rows<SingleThread<Sum>>(in, sets, rows, half, out);
}
extern "C" __global__ void __launch_bounds__(128) halve_few(const Sum* in, long sets, long rows, long half, Sum* out) {
  halve_rows<Lanes>(in, sets, rows, half, out);
}

// powers[0] = the sum of 2^e powers[e], e < count, by one block: the upper half, doubled as often as it is above the
// lower one, is added to it, until one is left.
extern "C" __global__ void __launch_bounds__(128) combine(Sum* powers, int count) {
  for (int half = (count + 1) / 2; count > 1; count = half, half = (count + 1) / 2) {
    for (int first = 0; first < count - half; first += int(blockDim.x / Lanes::threads)) {
      const int low = first + int(threadIdx.x / Lanes::threads), high = low + half;
      const bool active = high < count;
      if (!__any_sync(whole_warp, active)) continue;
      F part = active ? Lanes::get(powers + high) : F{};
      for (int i = 0; i < half; i++) part = Lanes::doubled(part);
      part = Lanes::add(active ? Lanes::get(powers + low) : F{}, part);
      if (active) Lanes::put(powers + low, part);
    }
    __syncthreads();
  }
}
