// Kernels that wait, exchange and share in every way the emulator knows, for test_emulator.py.
#include "zen/target.hpp"
#include "memory.hpp"

using namespace zen;

inline constexpr unsigned full = 0xffffffff;

extern "C" __global__ void add_index(const u32* in, u32* out, long n) {
  const long i = thread_index();
  if (i >= n) return;
  out[i] = in[i] + u32(i);
}

// out[block] = the sum of the block's share of `in`, in a tree in shared memory; the last block is not full.
extern "C" __global__ void __launch_bounds__(1024) tree_sum(const u32* in, u32* out, int n) {
  u32* const sums = shared_memory<u32>();
  const long i = thread_index();
  sums[threadIdx.x] = i < n ? in[i] : 0;
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

// The same without the barrier.
extern "C" __global__ void racy_sum(const u32* in, u32* out) {
  u32* const sums = shared_memory<u32>();
  sums[threadIdx.x] = in[thread_index()];
  for (unsigned half = blockDim.x / 2; half; half /= 2)
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

// Rows of eight results for each thread.
extern "C" __global__ void exchanges(const u32* in, u32* out) {
  const u32 x = in[threadIdx.x];
  u32* const row = out + 8 * threadIdx.x;
  row[0] = __shfl_sync(full, x, 5);
  row[1] = __shfl_up_sync(full, x, 3);
  row[2] = __shfl_down_sync(full, x, 4);
  row[3] = __shfl_xor_sync(full, x, 16);
  row[4] = __shfl_sync(full, x, 1, 8);
  row[5] = __ballot_sync(full, x & 1);
  row[6] = __match_any_sync(full, x % 5);
  row[7] = u32(__any_sync(full, x == 7)) << 1 | u32(__all_sync(full, x < 1000));
}

extern "C" __global__ void wide_exchange(const u64* in, u64* out) {
  out[threadIdx.x] = __shfl_xor_sync(full, in[threadIdx.x], 1);
}

// An inclusive scan of each warp's lanes, many exchanges after each other.
extern "C" __global__ void warp_scan(u32* values) {
  u32 x = values[thread_index()];
  for (unsigned step = 1; step < 32; step *= 2) {
    const u32 before = __shfl_up_sync(full, x, step);
    if (threadIdx.x % 32 >= step) x += before;
  }
  values[thread_index()] = x;
}

// Counts in static shared memory, then in global: only threads below `limit` live to the barrier.
extern "C" __global__ void histogram(const u32* in, u32* counts, unsigned limit) {
  __shared__ u32 local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x >= limit && threadIdx.x >= 16) return;
  if (threadIdx.x < limit) atomicAdd(&local[in[thread_index()] % 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void atomics(u32* narrow, u64* wide) {
  const u32 x = threadIdx.x;
  atomicMin(&narrow[0], x + 3), atomicMax(&narrow[1], x), atomicOr(&narrow[2], 1u << x % 32);
  if (x == 0) narrow[3] = atomicExch(&narrow[4], 9u), narrow[5] = atomicCAS(&narrow[4], 9u, 11u);
  atomicAdd(&wide[0], 1ull << 40);
}

extern "C" __global__ void integers(u64* out) {
  out[0] = __popc(0xf0f0u), out[1] = __popcll(~0ull), out[2] = __ffs(8), out[3] = __clz(1), out[4] = __clzll(0);
  out[5] = __brev(1), out[6] = __umulhi(1u << 31, 6), out[7] = __umul64hi(1ull << 63, 6);
}

extern "C" __global__ void grid_place(u32* out) {
  if (threadIdx.x == 0) out[gridDim.x * blockIdx.y + blockIdx.x] = 100 * blockIdx.y + blockIdx.x;
}

// Half a warp waits for the block, the other half for the warp.
extern "C" __global__ void deadlock() {
  if (threadIdx.x % 32 < 16)
    __syncthreads();
  else
    __syncwarp();
}

extern "C" __global__ void mismatch(u32* out) {
  out[threadIdx.x] = threadIdx.x < 7 ? __shfl_sync(full, 1u, 0) : __ballot_sync(full, 1);
}

extern "C" __global__ void write_at(u32* out, long place) { out[place] = 1; }
extern "C" __global__ void write_shared_at(long place) { shared_memory<u32>()[place] = 1; }
extern "C" __global__ void read_shared(u32* out) { out[threadIdx.x] = shared_memory<u32>()[threadIdx.x]; }

// Deeper on the stack than a fiber has.
__noinline__ unsigned deep(unsigned depth, unsigned* seen) {
  unsigned local[1024];
  local[depth % 1024] = depth;
  return depth == 0 ? local[0] : deep(depth - 1, local) + seen[depth % 1024];
}
extern "C" __global__ void recurse(u32* out, unsigned depth) { out[threadIdx.x] = deep(depth, out); }
