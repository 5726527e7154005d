// Exact products of matrices of wide integers, and of field elements with them, from balanced bytes, and products of floats
// from halves (Feng et al. 2021, EGEMM-TC). A number less its side's offset is the sum of 2^(8 s) times its plane s.
#include "scalars.hpp"
#include "tiles.hpp"

using namespace zen;

inline constexpr Numbers digits = Numbers::signed_bytes;

#if defined(ZEN_LEFT)

extern "C" {

#if ZEN_GROUPS == 0
__global__ void __launch_bounds__(128)
    direct(const unsigned char* left, const unsigned char* right, long all_steps, int steps, int split, u64* out, int rows,
           int columns, const u64* left_sums, const u64* right_sums, u64 left_offset, u64 right_offset, u64 both, int more) {
  const Output<u64> output{out,        rows,        columns,      columns, 1, left_sums,
                           right_sums, left_offset, right_offset, both,    0, bool(more), false};
  multiply_by_warps<digits, ZEN_LEFT, ZEN_RIGHT>(left, right, all_steps, 2 * steps, split, output);
}

#elif defined(ZEN_WARPGROUPS)
__global__ void __launch_bounds__(128 * ZEN_GROUPS)
    large(const unsigned char* left, const unsigned char* right, long all_steps, int steps, int split, u64* out, int rows,
          int columns, const u64* left_sums, const u64* right_sums, u64 left_offset, u64 right_offset, u64 both, int more,
          int shift, long left_blocks, long right_blocks, long tiles_down, long tiles_across, long down, long across) {
  const Output<u64> output{out,        rows,        columns,      down, across, left_sums,
                           right_sums, left_offset, right_offset, both, shift,  bool(more), split > 1};
  multiply_by_groups<ZEN_GROUPS, digits, ZEN_LEFT, ZEN_RIGHT>({left, 0, left_blocks, all_steps},
                                                              {right, 0, right_blocks, all_steps}, steps, split, tiles_down,
                                                              tiles_across, output);
}
#endif

}

#elif defined(ZEN_ELEMENTS)

constexpr int element_planes = 32, sum_planes = element_planes + ZEN_ELEMENTS - 1;

extern "C" {

// Row i of left has an element's planes, row by row: a block of `split` warps makes the products with eight columns.
__global__ void __launch_bounds__(256)
    elements(const unsigned char* left, const unsigned char* right, long all_steps, int steps, Fr* out, int columns, int more) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4, part = int(threadIdx.x / 32), split = int(blockDim.x / 32);
  const int across = (columns + 7) / 8, row = int(blockIdx.x) / across, column = int(blockIdx.x) % across * 8;
  const uint4 *a[4], *b[ZEN_ELEMENTS];
  ZEN_UNROLL for (int u = 0; u < 4; u++) a[u] = quads_of_plane<4>(left, row * element_planes, u, all_steps, lane);
  ZEN_UNROLL for (int s = 0; s < ZEN_ELEMENTS; s++)
    b[s] = quads_of_plane<ZEN_ELEMENTS>(right, column * ZEN_ELEMENTS, s, all_steps, lane);
  int d[ZEN_ELEMENTS][2][4] = {};
#pragma unroll 4
  for (int k = part; k < 2 * steps; k += split) {
    const int at = quad_of(k, lane);
    uint4 x[4], y[ZEN_ELEMENTS];
    ZEN_UNROLL for (int s = 0; s < ZEN_ELEMENTS; s++) y[s] = b[s][at];
    ZEN_UNROLL for (int u = 0; u < 4; u++) x[u] = a[u][at];
    ZEN_UNROLL for (int s = 0; s < ZEN_ELEMENTS; s++)
      ZEN_UNROLL for (int u = 0; u < 2; u++) {
        mma<digits>(d[s][u], x[2 * u].x, x[2 * u + 1].x, x[2 * u].y, x[2 * u + 1].y, y[s].x, y[s].y);
        mma<digits>(d[s][u], x[2 * u].z, x[2 * u + 1].z, x[2 * u].w, x[2 * u + 1].w, y[s].z, y[s].w);
      }
  }
  // Sums of each weight: a warp's, then all warps'.
  long* const all = shared_memory<long>();
  long* const own = all + part * sum_planes * 8;
  for (int i = lane; i < sum_planes * 8; i += 32) own[i] = 0;
  ZEN_UNROLL for (int s = 0; s < ZEN_ELEMENTS; s++) {
    __syncwarp();
    ZEN_UNROLL for (int u = 0; u < 4; u++)
      ZEN_UNROLL for (int c = 0; c < 2; c++) own[(8 * u + g + s) * 8 + 2 * t + c] += d[s][u / 2][u % 2 * 2 + c];
  }
  __syncthreads();
  for (int i = int(threadIdx.x); i < sum_planes * 8; i += int(blockDim.x))
    for (int other = 1; other < split; other++) all[i] += all[other * sum_planes * 8 + i];
  __syncthreads();
  const int to = column + int(threadIdx.x);
  if (threadIdx.x >= 8 || to >= columns) return;
  long carry = 0;
  Fr low = Fr::zero();
  ZEN_UNROLL for (int i = 0; i < element_planes; i++) {
    carry += all[i * 8 + threadIdx.x];
    low.v[i / 4] |= limb(carry & 255) << i % 4 * 8;
    carry >>= 8;
  }
  for (int i = element_planes; i < sum_planes; i++) carry += all[i * 8 + threadIdx.x] << (i - element_planes) * 8;
  // low < 2^256, and radix_squared = 2^512
  const Fr radix_squared = Fr::from_words(FrParameters::radix_squared);
  Fr sum = radix_squared * low + scalar_of(carry) * radix_squared;
  Fr* const place = out + long(row) * columns + to;
  if (more) sum = sum + load(place);
  store(place, sum);
}

}

#elif defined(ZEN_HALVES)

// 2^e v, where e may be beyond a float's exponents.
ZEN_FN float scaled(float v, int e) {
  const auto power = [](int e) {
    const u32 bits = u32((e < -126 ? -126 : e) + 127) << 23;
    float x;
    memcpy(&x, &bits, 4);
    return x;
  };
  return v * power(e / 2) * power(e - e / 2);
}

extern "C" {

// A group makes 64 x 128 outputs. The cores' sums are cut, not rounded: those of 64 products go to others, and their smaller
// parts come first. Lower halves' products with each other are left out.
__global__ void __launch_bounds__(128 * ZEN_GROUPS)
    halves(const unsigned char* left, const unsigned char* right, long left_blocks, long right_blocks, long steps,
           long tiles_down, long tiles_across, float* out, int rows, int columns, const int* left_exponents,
           const int* right_exponents) {
  const Tile tile(blockIdx.x, tiles_down, tiles_across);
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4, group = int(threadIdx.x / 128);
  float own[64], sums[64];
  ZEN_UNROLL for (int i = 0; i < 64; i++) sums[i] = 0;
  by_blocks<ZEN_GROUPS, 2 * ZEN_GROUPS, 4, ZEN_GROUPS == 3 ? 2 : 3, 0>(
      {left, tile.down * 2 * ZEN_GROUPS, left_blocks, steps}, {right, tile.across * 4, right_blocks, steps}, int(steps),
      [&](const unsigned char* own_left, const unsigned char* own_right) {
        const u64 x = rows_of_128(own_left + group * 2 * block_bytes, 2048), y = rows_of_128(own_right, 2048);
        const u64 x_lower = x + 1024 / 16, y_lower = y + 1024 / 16;
        ZEN_UNROLL for (int k = 0; k < 4; k++) {
          wgmma_halves(own, x + 2 * k, y_lower + 2 * k, k > 0);
          wgmma_halves(own, x_lower + 2 * k, y + 2 * k, true);
        }
        ZEN_UNROLL for (int k = 0; k < 4; k++) wgmma_halves(own, x + 2 * k, y + 2 * k, true);
      },
      [&] {
        settle(own);
        ZEN_UNROLL for (int i = 0; i < 64; i++) sums[i] += own[i];
      });
  const int row = (int(tile.down) * ZEN_GROUPS + group) * 64 + thread / 32 * 16 + g, column = int(tile.across * 128) + 2 * t;
  ZEN_UNROLL for (int h = 0; h < 2; h++) {
    const int to_row = row + 8 * h;
    if (to_row >= rows) return;
    ZEN_UNROLL for (int j = 0; j < 16; j++)
      ZEN_UNROLL for (int c = 0; c < 2; c++) {
        const int to = column + 8 * j + c;
        if (to < columns)
          out[long(to_row) * columns + to] = scaled(sums[4 * j + 2 * h + c], left_exponents[to_row] + right_exponents[to]);
      }
  }
}

}

#else

// `count` neighbours from place k of a row on; zeros behind its end.
template <int count, class T>
ZEN_FN void read_row(const T* values, long depth, long k, T (&out)[count]) {
  if (depth % (16 / sizeof(T)) == 0 && k + count <= depth) {
    ZEN_UNROLL for (int i = 0; i < int(count * sizeof(T) / 16); i++) {
      const uint4 quad = reinterpret_cast<const uint4*>(values + k)[i];
      memcpy(out + i * (16 / sizeof(T)), &quad, 16);
    }
    return;
  }
  ZEN_UNROLL for (int i = 0; i < count; i++) out[i] = k + i < depth ? values[k + i] : T(0);
}

// A thread splits 16 numbers of a row of so many steps, less the offset; of `all_rows` rows those beyond `rows` are zero. A
// stack has so many of the planes, the next one those above.
template <class T>
ZEN_FN void pack(const T* values, long rows, long depth, int planes, int stack, u64 offset, long steps, long all_rows,
                 unsigned char* out) {
  const long i = thread_index(), row = i / (8 * steps), k = i % (8 * steps) * 16;
  if (row >= all_rows) return;
  T given[16] = {};
  if (row < rows) read_row(values + row * depth, depth, k, given);
  constexpr u64 balance = 0x8080808080808080;
  for (int s = 0; s < planes; s++) {
    u32 words[4] = {};
    ZEN_UNROLL for (int j = 0; j < 16; j++) {
      // digits of x + 128 (1 + 256 + ..), 128 less
      const u64 x = row < rows && k + j < depth ? u64(long(given[j])) - offset : 0;
      words[j / 4] |= ((u32((x + balance) >> 8 * s) & 255) ^ 128) << j % 4 * 8;
    }
    const long to = s / stack * stack * all_rows + (row / 8 * stack + s % stack) * 8 + row % 8;
    *reinterpret_cast<uint4*>(out + place_of(to, k, steps)) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// A warp adds up a row.
template <class T>
ZEN_FN void add_up(const T* values, long rows, long depth, u64* sums) {
  const long row = thread_index() / 32;
  if (row >= rows) return;
  u64 sum = 0;
  for (long k = threadIdx.x % 32; k < depth; k += 32) sum += u64(long(values[row * depth + k]));
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(whole_warp, sum, step);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

extern "C" {

#define ZEN_PACK(T, bits)                                                                                              \
  __global__ void __launch_bounds__(256) pack_##bits(const T* values, long rows, long depth, int planes, int stack,    \
                                                     u64 offset, long steps, long all_rows, unsigned char* out) {      \
    pack(values, rows, depth, planes, stack, offset, steps, all_rows, out);                                            \
  }                                                                                                                    \
  __global__ void __launch_bounds__(256) sums_##bits(const T* values, long rows, long depth, u64* sums) {              \
    add_up(values, rows, depth, sums);                                                                                 \
  }
ZEN_PACK(signed char, 8)
ZEN_PACK(short, 16)
ZEN_PACK(int, 32)
ZEN_PACK(long, 64)

// A thread splits an element: plane s of row r is row 32 r + s.
__global__ void __launch_bounds__(256)
    pack_elements(const Fr* values, long depth, long steps, long count, unsigned char* out) {
  const long i = thread_index(), row = i / (128 * steps), k = i % (128 * steps);
  if (i >= count) return;
  Fr x = Fr::zero();
  if (k < depth) x = load(values + row * depth + k).to_canonical();
  u32 carry = 0;
  ZEN_UNROLL for (int s = 0; s < 32; s++) {
    const u32 digit = (x.v[s / 4] >> s % 4 * 8 & 255) + carry;
    carry = digit >= 128;
    out[place_of(row * 32 + s, k, steps)] = static_cast<unsigned char>(digit);
  }
}

// A warp finds the exponent by which a row's largest number is below 2^15, and not below 2^14.
__global__ void __launch_bounds__(256) exponents(const u32* values, long rows, long depth, int* out) {
  const long row = thread_index() / 32;
  if (row >= rows) return;
  u32 largest = 0;
  for (long k = threadIdx.x % 32; k < depth; k += 32) {
    const u32 exponent = values[row * depth + k] >> 23 & 255;
    if (exponent > largest) largest = exponent;
  }
  for (int step = 16; step; step /= 2) {
    const u32 other = __shfl_xor_sync(whole_warp, largest, step);
    if (other > largest) largest = other;
  }
  if (threadIdx.x % 32 == 0) out[row] = int(largest < 15 ? 15 : largest) - 141;
}

// A thread splits 8 floats of a row, scaled, into halves and those of what these leave; rows beyond `rows` are zero.
__global__ void __launch_bounds__(256)
    pack_floats(const float* values, long rows, long depth, const int* exponents, long steps, long count, unsigned char* out) {
  const long i = thread_index(), row = i / (8 * steps), k = i % (8 * steps) * 8;
  if (i >= count) return;
  float given[8] = {};
  u32 scale_bits = 0;
  if (row < rows) {
    read_row(values + row * depth, depth, k, given);
    scale_bits = u32(127 - exponents[row]) << 23;
  }
  float scale;
  memcpy(&scale, &scale_bits, 4);
  u32 words[2][4] = {};
  ZEN_UNROLL for (int j = 0; j < 8; j++) {
    const float x = given[j] * scale;
    const unsigned short upper = half_of(x), lower = half_of(x - float_of(upper));
    words[0][j / 2] |= u32(upper) << j % 2 * 16, words[1][j / 2] |= u32(lower) << j % 2 * 16;
  }
  ZEN_UNROLL for (int s = 0; s < 2; s++) {
    const long at = place_of((row / 8 * 2 + s) * 8 + row % 8, 2 * k, steps);
    *reinterpret_cast<uint4*>(out + at) = make_uint4(words[s][0], words[s][1], words[s][2], words[s][3]);
  }
}

}

#endif
