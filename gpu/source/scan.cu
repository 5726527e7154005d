// Sums of what comes before, of 32-bit counts.
#include "zen/target.hpp"
#include "memory.hpp"
#include "segmented.hpp"

using namespace zen;

constexpr int threads = 256, items = 16;  // a block's tile is threads * items

// The sum of this thread's and lower threads' values, and of all the block's.
struct Prefix {
  u32 inclusive, all;
};
ZEN_FN Prefix block_prefix(u32 value) {
  __shared__ u32 of_warp[threads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    const u32 below = __shfl_up_sync(whole_warp, value, distance);
    if (lane >= distance) value += below;
  }
  __syncthreads();
  if (lane == 31) of_warp[warp] = value;
  __syncthreads();
  u32 before = 0, all = 0;
  for (int i = 0; i < threads / 32; i++) {
    if (i < warp) before += of_warp[i];
    all += of_warp[i];
  }
  return {before + value, all};
}

ZEN_FN u32 read_items(const u32* counts, long n, u32 (&values)[items]) {
  const long first = thread_index() * items;
  u32 sum = 0;
  ZEN_UNROLL for (int i = 0; i < items; i++) sum += values[i] = first + i < n ? counts[first + i] : 0;
  return sum;
}

extern "C" __global__ void __launch_bounds__(threads) sum_tiles(const u32* counts, long n, u32* tiles) {
  u32 values[items];
  const Prefix prefix = block_prefix(read_items(counts, n, values));
  if (threadIdx.x == 0) tiles[blockIdx.x] = prefix.all;
}

// starts[i] = counts[0] + .. + counts[i - 1], i <= n.
extern "C" __global__ void __launch_bounds__(threads) scan_tiles(const u32* counts, long n, const u32* tiles, u32* starts) {
  u32 before = 0;
  for (u32 tile = threadIdx.x; tile < blockIdx.x; tile += threads) before += tiles[tile];
  before = block_prefix(before).all;
  u32 values[items];
  const u32 own = read_items(counts, n, values);
  before += block_prefix(own).inclusive - own;
  const long first = thread_index() * items;
  ZEN_UNROLL for (int i = 0; i < items; i++) {
    if (first + i <= n) starts[first + i] = before;
    before += values[i];
  }
}
