// Exact products of matrices of few-bit integers (Feng et al. 2021, APNN-TC): a matrix is a stack of planes, one bit of
// each of its numbers, or one byte; sums of 2^(s + u) times the products of plane s of one and plane u of the other.
// A row is a row of bits or of bytes, filled up with zeros to whole 128 bytes, and eight rows of each plane follow each
// other: row r of plane s of p is number (r / 8 p + s) 8 + r mod 8. So a thread has all planes of an output.
#include "tensor.hpp"

using namespace zen;

#if defined(ZEN_LEFT)
constexpr int left_planes = ZEN_LEFT, right_planes = ZEN_RIGHT;
constexpr bool bits = ZEN_BITS;

// Where a product goes: row i and column j to i down + j across, if they are among them. Numbers stand for what they are
// less an offset: what that takes off follows from the sums of rows.
struct Output {
  int* to;
  int rows, columns;
  long down, across;
  const int *left_sums, *right_sums;
  u32 left_offset, right_offset, both;

  // In this column and the next.
  ZEN_FN void put(int row, int column, u32 first, u32 second) const {
    if (row >= rows || column >= columns) return;
    const u32 more = both - (right_offset ? right_offset * u32(left_sums[row]) : 0);
    const bool two = column + 1 < columns;
    first += more, second += more;
    if (left_offset) {
      first -= left_offset * u32(right_sums[column]);
      if (two) second -= left_offset * u32(right_sums[column + 1]);
    }
    int* const at = to + row * down + column * across;
    if (across == 1 && down % 2 == 0) {
      *reinterpret_cast<uint2*>(at) = make_uint2(first, second);
      return;
    }
    at[0] = int(first);
    if (two) at[across] = int(second);
  }
};

extern "C" {

// For few rows: `split` warps make 16 x 8 outputs, each of its share of the depth, of so many times 64 bytes; fragments
// come from memory as they are, with the depth in another order, the same on both sides.
__global__ void __launch_bounds__(128)
    direct(const uint4* left, const uint4* right, long chunks, int split, int* out, int rows, int columns,
           const int* left_sums, const int* right_sums, u32 left_offset, u32 right_offset, u32 both) {
  const Output output{out, rows, columns, columns, 1, left_sums, right_sums, left_offset, right_offset, both};
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4, warp = int(threadIdx.x / 32), part = warp % split;
  const int tile = (int(blockIdx.x) * 4 + warp) / split, across = (columns + 7) / 8;
  const int row = tile / across * 16, column = tile % across * 8;
  const long quads = 4 * chunks;
  int d[left_planes + right_planes - 1][4] = {};
  if (row < rows) {
    const uint4* const a = left + (row / 8 * left_planes * 8 + g) * quads + t;
    const uint4* const b = right + (column / 8 * right_planes * 8 + g) * quads + t;
#pragma unroll 4
    for (long k = part; k < chunks; k += split) {
      uint4 x[left_planes][2], w[right_planes];
      ZEN_UNROLL for (int s = 0; s < right_planes; s++) w[s] = b[s * 8 * quads + 4 * k];
      ZEN_UNROLL for (int u = 0; u < left_planes; u++)
        ZEN_UNROLL for (int h = 0; h < 2; h++) x[u][h] = a[(h * left_planes + u) * 8 * quads + 4 * k];
      ZEN_UNROLL for (int u = 0; u < left_planes; u++)
        ZEN_UNROLL for (int s = 0; s < right_planes; s++) {
          mma<bits>(d[u + s], x[u][0].x, x[u][1].x, x[u][0].y, x[u][1].y, w[s].x, w[s].y);
          mma<bits>(d[u + s], x[u][0].z, x[u][1].z, x[u][0].w, x[u][1].w, w[s].z, w[s].w);
        }
    }
  }
  u32 sums[4] = {};
  ZEN_UNROLL for (int s = 0; s < left_planes + right_planes - 1; s++)
    ZEN_UNROLL for (int i = 0; i < 4; i++) sums[i] += u32(d[s][i]) << s;
  u32* const all = shared_memory<u32>();
  if (split > 1) {
    ZEN_UNROLL for (int i = 0; i < 4; i++) all[4 * threadIdx.x + i] = sums[i];
    __syncthreads();
    if (part) return;
    for (int other = 1; other < split; other++)
      ZEN_UNROLL for (int i = 0; i < 4; i++) sums[i] += all[4 * (threadIdx.x + 32 * other) + i];
  }
  output.put(row + g, column + 2 * t, sums[0], sums[1]);
  output.put(row + g + 8, column + 2 * t, sums[2], sums[3]);
}

#if defined(ZEN_WARPGROUPS) && ZEN_LEFT <= 2
constexpr int stages = 4, left_bytes = 128 * 128, stage_bytes = 3 * left_bytes;

// 128 bytes of so many rows, by 256 threads.
__device__ __forceinline__ void bring(const unsigned char* from, long pitch, unsigned char* to, int rows) {
  for (int i = int(threadIdx.x); i < rows * 8; i += 256) {
    const int row = i / 8, c = i % 8;
    copy_behind(to + row * 128 + ((c ^ row % 8) << 4), from + row * pitch + c * 16);
  }
}

// For many rows: 256 threads make the products of 128 rows of left planes and 256 of right ones, of so many bytes each.
__global__ void __launch_bounds__(256)
    large(const unsigned char* left, const unsigned char* right, long bytes, long tiles_down, long tiles_across, int* out,
          int rows, int columns, long down, long across, const int* left_sums, const int* right_sums, u32 left_offset,
          u32 right_offset, u32 both) {
  const Output output{out, rows, columns, down, across, left_sums, right_sums, left_offset, right_offset, both};
  unsigned char* const stage = shared_memory<unsigned char>();
  // Eight tiles below each other at a time: what they read stays in the second cache.
  const long band = blockIdx.x / (8 * tiles_across), left_over = tiles_down - 8 * band, height = left_over < 8 ? left_over : 8;
  const long within = blockIdx.x - band * 8 * tiles_across, tile_row = 8 * band + within % height, tile_column = within / height;
  const unsigned char *a = left + tile_row * 128 * bytes, *b = right + tile_column * 256 * bytes;
  const int steps = int(bytes / 128), group = int(threadIdx.x / 128);
  const auto load_stage = [&](int step) {
    if (step < steps) {
      unsigned char* const own = stage + step % stages * stage_bytes;
      bring(a + step * 128, bytes, own, 128), bring(b + step * 128, bytes, own + left_bytes, 256);
    }
    close_copies();
  };
  int d[128];
  ZEN_UNROLL for (int i = 0; i < 128; i++) d[i] = 0;
  for (int step = 0; step < stages - 1; step++) load_stage(step);
  for (int step = 0; step < steps; step++) {
    await_copies<stages - 2>();
    __syncthreads();  // all have this stage, and none reads the one before any more
    const unsigned char* const own = stage + step % stages * stage_bytes;
    const u64 x = rows_of_128(own + group * 64 * 128), w = rows_of_128(own + left_bytes);
    begin_products();
    ZEN_UNROLL for (int k = 0; k < 4; k++) wgmma<bits>(d, x + 2 * k, w + 2 * k);
    close_products();
    load_stage(step + stages - 1);
    await_products();
  }
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4;
  const int first_row = int(tile_row * 128 + group * 64 + thread / 32 * 16) / left_planes;
  const int first_column = int(tile_column * 256) / right_planes;
  ZEN_UNROLL for (int h = 0; h < 2; h += left_planes)
    ZEN_UNROLL for (int j = 0; j < 32; j += right_planes) {
      u32 sums[2] = {};
      ZEN_UNROLL for (int u = 0; u < left_planes; u++)
        ZEN_UNROLL for (int s = 0; s < right_planes; s++)
          ZEN_UNROLL for (int c = 0; c < 2; c++) sums[c] += u32(d[4 * (j + s) + 2 * (h + u) + c]) << (u + s);
      output.put(first_row + 8 * h / left_planes + g, first_column + 8 * j / right_planes + 2 * t, sums[0], sums[1]);
    }
}
#endif

}

#else

extern "C" {

// A warp makes a word of all planes of 32 values of a row, which is zero beyond `rows` and `depth`.
__global__ void __launch_bounds__(256)
    pack_bits(const unsigned char* values, long rows, long depth, int planes, long words, long count, u32* out) {
  const long i = thread_index() / 32, row = i / words, word = i % words;
  if (i >= count) return;
  const int lane = int(threadIdx.x % 32);
  const long k = 32 * word + lane;
  const u32 value = row < rows && k < depth ? values[row * depth + k] : 0;
  for (int s = 0; s < planes; s++) {
    const u32 own = __ballot_sync(whole_warp, int(value >> s & 1));
    if (lane == s) out[((row / 8 * planes + s) * 8 + row % 8) * words + word] = own;
  }
}

// The same of one plane of bytes.
__global__ void __launch_bounds__(256)
    pack_bytes(const unsigned char* values, long rows, long depth, long bytes, long count, unsigned char* out) {
  const long i = thread_index(), row = i / bytes, k = i % bytes;
  if (i < count) out[i] = row < rows && k < depth ? values[row * depth + k] : 0;
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
