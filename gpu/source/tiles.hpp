// Products of all rows of two matrices on tensor cores, tile by tile. A matrix is a stack of planes, each one digit of its
// numbers: a bit, or a byte. A row is a row of digits, filled up with zeros to whole steps of 128 bytes, and eight rows of
// each plane follow each other: row r of plane s of p is row (r / 8 p + s) 8 + r mod 8 of the stack. Blocks of 64 rows of a
// step follow each other, as tensor cores want them in shared memory: 16 bytes c are where c ^ (row mod 8) would be. A thread
// has all planes of its outputs, the sums of 2^(w (s + u)) times the products of plane s of one and plane u of the other,
// digits of w bits.
#pragma once

#include "tensor.hpp"

namespace zen {

template <Numbers numbers>
inline constexpr int digit_bits = numbers == Numbers::bits ? 1 : 8;

constexpr int block_bytes = 64 * 128;

// Where a byte of a row is, of so many steps.
ZEN_FN long place_of(long row, long byte, long steps) {
  return (row / 64 * steps + byte / 128) * block_bytes + row % 64 * 128 + ((byte / 16 % 8 ^ row % 8) << 4) + byte % 16;
}

// A lane's 16 bytes of a chunk of 64 of eight rows: behind this for the rows, so many times 16 for the chunk.
ZEN_FN const uint4* quads_of(const unsigned char* data, long first_row, long steps, int lane) {
  return reinterpret_cast<const uint4*>(data + place_of(first_row, 0, steps)) + lane / 4 * 8;
}
// The same of planes that follow each other, the i-th eight rows behind the first, which begin a stack's 8 or 16 numbers:
// of a power of two they are in one block.
template <int planes>
ZEN_FN const uint4* quads_of_plane(const unsigned char* data, long first_row, int i, long steps, int lane) {
  if (planes & (planes - 1)) return quads_of(data, first_row + 8 * i, steps, lane);
  return quads_of(data, first_row, steps, lane) + 64 * i;
}
ZEN_FN int quad_of(int chunk, int lane) {
  return chunk / 2 * (block_bytes / 16) + ((chunk % 2 * 4 + lane % 4) ^ lane / 4);
}

// Where 2^shift times a product goes, modulo 2^32 or 2^64: row i and column j to i down + j across, if they are among them; what
// is there already is added where `more` says so, and whoever else adds to it is waited for where it is `shared`. Numbers are what planes say, and an offset: what that adds follows from the sums of
// rows, and `both` is for what it adds to all.
template <class Number>
struct Output {
  Number* to;
  int rows, columns;
  long down, across;
  const Number *left_sums, *right_sums;
  Number left_offset, right_offset, both;
  int shift;
  bool more, shared;

  // In this column and the next.
  ZEN_FN void put(int row, int column, Number first, Number second) const {
    if (row >= rows || column >= columns) return;
    const Number of_row = both + (right_offset ? right_offset * left_sums[row] : 0);
    const bool two = column + 1 < columns;
    first = (first << shift) + of_row, second = (second << shift) + of_row;
    if (left_offset) {
      first += left_offset * right_sums[column];
      if (two) second += left_offset * right_sums[column + 1];
    }
    Number* const at = to + row * down + column * across;
    if (shared) {
      atomicAdd(at, first);
      if (two) atomicAdd(at + across, second);
      return;
    }
    if (more) {
      first += at[0];
      if (two) second += at[across];
    }
    if (across == 1 && down % 2 == 0) {
      struct alignas(2 * sizeof(Number)) Pair {
        Number first, second;
      };
      *reinterpret_cast<Pair*>(at) = {first, second};
      return;
    }
    at[0] = first;
    if (two) at[across] = second;
  }
};

// For few rows: `split` warps make 16 x 8 outputs, each of its share of the depth, of so many chunks of 64 bytes; the depth is
// in another order, the same on both sides. Sums of planes of the same weight share 32 bits.
template <Numbers numbers, int left_planes, int right_planes, class Number>
ZEN_FN void multiply_by_warps(const unsigned char* left, const unsigned char* right, long steps, int chunks, int split,
                              const Output<Number>& output) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4, warp = int(threadIdx.x / 32), part = warp % split;
  const int tile = (int(blockIdx.x) * 4 + warp) / split, across = (output.columns + 7) / 8;
  const int row = tile / across * 16, column = tile % across * 8;
  int d[left_planes + right_planes - 1][4] = {};
  if (row < output.rows) {
    const uint4 *a[left_planes][2], *b[right_planes];
    ZEN_UNROLL for (int u = 0; u < left_planes; u++)
      ZEN_UNROLL for (int h = 0; h < 2; h++)
        a[u][h] = quads_of_plane<left_planes>(left, row * left_planes, h * left_planes + u, steps, lane);
    ZEN_UNROLL for (int s = 0; s < right_planes; s++)
      b[s] = quads_of_plane<right_planes>(right, column * right_planes, s, steps, lane);
#pragma unroll 4
    for (int k = part; k < chunks; k += split) {
      const int at = quad_of(k, lane);
      uint4 x[left_planes][2], w[right_planes];
      ZEN_UNROLL for (int s = 0; s < right_planes; s++) w[s] = b[s][at];
      ZEN_UNROLL for (int u = 0; u < left_planes; u++)
        ZEN_UNROLL for (int h = 0; h < 2; h++) x[u][h] = a[u][h][at];
      ZEN_UNROLL for (int u = 0; u < left_planes; u++)
        ZEN_UNROLL for (int s = 0; s < right_planes; s++) {
          mma<numbers>(d[u + s], x[u][0].x, x[u][1].x, x[u][0].y, x[u][1].y, w[s].x, w[s].y);
          mma<numbers>(d[u + s], x[u][0].z, x[u][1].z, x[u][0].w, x[u][1].w, w[s].z, w[s].w);
        }
    }
  }
  Number sums[4] = {};
  ZEN_UNROLL for (int s = 0; s < left_planes + right_planes - 1; s++)
    ZEN_UNROLL for (int i = 0; i < 4; i++) sums[i] += Number(d[s][i]) << digit_bits<numbers> * s;
  Number* const all = shared_memory<Number>();
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

#if defined(ZEN_WARPGROUPS)
// A tile, by its number: eight of them below each other at a time, so that what they read stays in the second cache.
struct Tile {
  long down, across;

  ZEN_FN Tile(long number, long tiles_down, long tiles_across) {
    const long band = number / (8 * tiles_across), left_over = tiles_down - 8 * band;
    const long height = left_over < 8 ? left_over : 8, within = number - band * 8 * tiles_across;
    down = 8 * band + within % height, across = within / height;
  }
};

// A matrix' blocks from `first` on, of `count`, after which the last comes again; `steps` of each.
struct Blocks {
  const unsigned char* data;
  long first, count, steps;

  ZEN_FN const unsigned char* operator()(long index, long step) const {
    const long block = first + index < count ? first + index : count - 1;
    return data + (block * steps + step) * block_bytes;
  }
};

// So many groups of four warps make products of steps, whose bytes(step) a copy(step, to, barrier) brings some stages before:
// products(step, own) begins a step's, and after(step) comes when all but the last `lag` steps' are made. Meanwhile all threads do
// what `before` has.
template <int groups, int stage_bytes, int stages, int lag, class Bytes, class Copy, class Before, class Products, class After>
ZEN_FN void by_stages(int steps, Bytes bytes, Copy copy, Before before, Products products, After after) {
  unsigned char* const stage = shared_memory<unsigned char>();
  u64* const full = reinterpret_cast<u64*>(stage + stages * stage_bytes);
  u64* const empty = full + stages;
  const auto load_stage = [&](int step) {
    if (step >= steps) return;
    const int at = step % stages;
    if (step >= stages) await_barrier(empty + at, step / stages - 1 & 1);
    expect_bytes(full + at, bytes(step));
    copy(step, stage + at * stage_bytes, full + at);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; i++) begin_barrier(full + i, 1), begin_barrier(empty + i, 4 * groups);
    publish_barriers();
#pragma unroll 1
    for (int step = 0; step < stages; step++) load_stage(step);
  }
  before();
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    await_barrier(full + step % stages, step / stages & 1);
    begin_products();
    products(step, stage + step % stages * stage_bytes);
    close_products();
    await_products<lag>();
    if (step >= lag) {
      if (threadIdx.x % 32 == 0) arrive(empty + (step - lag) % stages);
      if (threadIdx.x == 0) load_stage(step - lag + stages);
      __syncwarp();
    }
    after(step);
  }
  await_products();
}

// The same of steps of both matrices' blocks: products(left, right) begins a step's.
template <int groups, int left_blocks, int right_blocks, int stages, int lag, class Products, class After>
ZEN_FN void by_blocks(const Blocks& left, const Blocks& right, int steps, Products products, After after) {
  constexpr int stage_bytes = (left_blocks + right_blocks) * block_bytes;
  by_stages<groups, stage_bytes, stages, lag>(
      steps, [](int) { return stage_bytes; },
      [&](int step, unsigned char* to, u64* barrier) {
        ZEN_UNROLL for (int i = 0; i < left_blocks; i++) copy_behind(to + i * block_bytes, left(i, step), block_bytes, barrier);
        ZEN_UNROLL for (int i = 0; i < right_blocks; i++)
          copy_behind(to + (left_blocks + i) * block_bytes, right(i, step), block_bytes, barrier);
      },
      [] {}, [&](int, const unsigned char* own) { products(own, own + left_blocks * block_bytes); }, [&](int) { after(); });
}

// For many rows: groups of 128 threads make the products of 64 rows of up to two left planes each, and 256 of right ones;
// `split` blocks share the depth of a tile.
template <int groups, Numbers numbers, int left_planes, int right_planes, class Number>
ZEN_FN void multiply_by_groups(Blocks left, Blocks right, int steps, int split, long tiles_down, long tiles_across,
                               Output<Number> output) {
  static_assert(left_planes <= 2);
  const Tile tile(blockIdx.x / split, tiles_down, tiles_across);
  const int part = int(blockIdx.x) % split, first_step = int(long(steps) * part / split);
  left.data += first_step * long(block_bytes), right.data += first_step * long(block_bytes);
  steps = int(long(steps) * (part + 1) / split) - first_step;
  if (part) output.left_offset = output.right_offset = output.both = 0;
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4, group = int(threadIdx.x / 128);
  left.first = tile.down * groups, right.first = tile.across * 4;
  int d[128];
  ZEN_UNROLL for (int i = 0; i < 128; i++) d[i] = 0;
  by_blocks<groups, groups, 4, 4, 1>(
      left, right, steps,
      [&](const unsigned char* own_left, const unsigned char* own_right) {
        const u64 x = rows_of_128(own_left + group * block_bytes), y = rows_of_128(own_right);
        ZEN_UNROLL for (int k = 0; k < 4; k++) wgmma<numbers>(d, x + 2 * k, y + 2 * k);
      },
      [] {});
  settle(d);
  const int first_row = int(left.first + group) * 64 / left_planes + thread / 32 * 16 / left_planes + g;
  const int first_column = int(right.first) * 64 / right_planes + 2 * t;
  ZEN_UNROLL for (int h = 0; h < 2; h += left_planes)
    ZEN_UNROLL for (int j = 0; j < 32; j += right_planes) {
      Number sums[2] = {};
      ZEN_UNROLL for (int u = 0; u < left_planes; u++)
        ZEN_UNROLL for (int s = 0; s < right_planes; s++)
          ZEN_UNROLL for (int c = 0; c < 2; c++)
            sums[c] += Number(d[4 * (j + s) + 2 * (h + u) + c]) << digit_bits<numbers> * (u + s);
      output.put(first_row + 8 * h / left_planes, first_column + 8 * j / right_planes, sums[0], sums[1]);
    }
}
#endif

}  // namespace zen
