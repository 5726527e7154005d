// Exact products of matrices of few-bit integers (Feng et al. 2021, APNN-TC): planes are bits, or one of bytes.
#include "tiles.hpp"

using namespace zen;

#if defined(ZEN_LEFT)
constexpr Numbers numbers = ZEN_BITS ? Numbers::bits : Numbers::bytes;

extern "C" {

#if ZEN_GROUPS == 0
__global__ void __launch_bounds__(128)
    direct(const unsigned char* left, const unsigned char* right, long steps, int split, u32* out, int rows, int columns,
           const u32* left_sums, const u32* right_sums, u32 left_offset, u32 right_offset, u32 both) {
  const Output<u32> output{out, rows, columns, columns, 1, left_sums, right_sums, left_offset, right_offset, both, 0, false, false};
  multiply_by_warps<numbers, ZEN_LEFT, ZEN_RIGHT>(left, right, steps, int(2 * steps), split, output);
}

#elif defined(ZEN_WARPGROUPS)
__global__ void __launch_bounds__(128 * ZEN_GROUPS)
    large(const unsigned char* left, const unsigned char* right, long left_blocks, long right_blocks, long steps, int split,
          long tiles_down, long tiles_across, u32* out, int rows, int columns, long down, long across, const u32* left_sums,
          const u32* right_sums, u32 left_offset, u32 right_offset, u32 both) {
  const Output<u32> output{out,        rows,        columns,      down, across, left_sums,
                           right_sums, left_offset, right_offset, both, 0,      false, split > 1};
  multiply_by_groups<ZEN_GROUPS, numbers, ZEN_LEFT, ZEN_RIGHT>({left, 0, left_blocks, steps}, {right, 0, right_blocks, steps},
                                                               int(steps), split, tiles_down, tiles_across, output);
}
#endif

}

#else

extern "C" {

// A warp makes a word of all planes of 32 values of a row of so many steps, which is zero beyond `rows` and `depth`.
__global__ void __launch_bounds__(256)
    pack_bits(const unsigned char* values, long rows, long depth, int planes, long steps, long count, unsigned char* out) {
  const long words = steps * 32, i = thread_index() / 32, row = i / words, word = i % words;
  if (i >= count) return;
  const int lane = int(threadIdx.x % 32);
  const long k = 32 * word + lane;
  const u32 value = row < rows && k < depth ? values[row * depth + k] : 0;
  for (int s = 0; s < planes; s++) {
    const u32 own = __ballot_sync(whole_warp, int(value >> s & 1));
    const long at = place_of((row / 8 * planes + s) * 8 + row % 8, 4 * word, steps);
    if (lane == s) *reinterpret_cast<u32*>(out + at) = own;
  }
}

// The same of one plane of bytes.
__global__ void __launch_bounds__(256)
    pack_bytes(const unsigned char* values, long rows, long depth, long steps, long count, unsigned char* out) {
  const long i = thread_index(), row = i / (steps * 128), k = i % (steps * 128);
  if (i < count) out[place_of(row, k, steps)] = row < rows && k < depth ? values[row * depth + k] : 0;
}

// A warp adds up a row.
__global__ void __launch_bounds__(256) row_sums(const unsigned char* values, long rows, long depth, int* sums) {
  const long row = thread_index() / 32;
  if (row >= rows) return;
  int sum = 0;
  for (long k = threadIdx.x % 32; k < depth; k += 32) sum += values[row * depth + k];
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(whole_warp, sum, step);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

}

#endif
