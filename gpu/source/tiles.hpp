// Products of all rows of two matrices on tensor cores, tile by tile. A matrix is a stack of planes, each one digit of its
// numbers: a bit, or a byte. A row is a row of digits, filled up with zeros to whole 128 bytes, and eight rows of each plane
// follow each other: row r of plane s of p is number (r / 8 p + s) 8 + r mod 8. A thread has all planes of its outputs, the
// sums of 2^(w (s + u)) times the products of plane s of one and plane u of the other, digits of w bits.
#pragma once

#include "tensor.hpp"

namespace zen {

template <Numbers numbers>
inline constexpr int digit_bits = numbers == Numbers::bits ? 1 : 8;

// Where a product goes, modulo 2^32 or 2^64: row i and column j to i down + j across, if they are among them; what is there
// already is added where `more` says so. Numbers are what planes say, and an offset: what that adds follows from the sums of
// rows, and `both` is for what it adds to all.
template <class Number>
struct Output {
  Number* to;
  int rows, columns;
  long down, across;
  const Number *left_sums, *right_sums;
  Number left_offset, right_offset, both;
  bool more;

  // In this column and the next.
  ZEN_FN void put(int row, int column, Number first, Number second) const {
    if (row >= rows || column >= columns) return;
    const Number of_row = both + (right_offset ? right_offset * left_sums[row] : 0);
    const bool two = column + 1 < columns;
    first += of_row, second += of_row;
    if (left_offset) {
      first += left_offset * right_sums[column];
      if (two) second += left_offset * right_sums[column + 1];
    }
    Number* const at = to + row * down + column * across;
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

// For few rows: `split` warps make 16 x 8 outputs, each of its share of the depth, of so many times 64 bytes of rows of
// `quads` times 16; fragments come from memory as they are, with the depth in another order, the same on both sides. Sums of
// planes of the same weight share 32 bits.
template <Numbers numbers, int left_planes, int right_planes, class Number>
ZEN_FN void multiply_by_warps(const uint4* left, const uint4* right, long quads, long chunks, int split,
                              const Output<Number>& output) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4, warp = int(threadIdx.x / 32), part = warp % split;
  const int tile = (int(blockIdx.x) * 4 + warp) / split, across = (output.columns + 7) / 8;
  const int row = tile / across * 16, column = tile % across * 8;
  int d[left_planes + right_planes - 1][4] = {};
  if (row < output.rows) {
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
// The tile of this block of 256 threads: eight of them below each other at a time, so that what they read stays in the
// second cache.
struct Tile {
  long down, across;

  ZEN_FN Tile(long tiles_down, long tiles_across) {
    const long band = blockIdx.x / (8 * tiles_across), left_over = tiles_down - 8 * band;
    const long height = left_over < 8 ? left_over : 8, within = blockIdx.x - band * 8 * tiles_across;
    down = 8 * band + within % height, across = within / height;
  }
};

// 128 bytes of so many rows, by 256 threads, to where place(row) says.
template <class Place>
ZEN_FN void bring(const unsigned char* from, long pitch, unsigned char* to, int rows, Place place) {
  for (int i = int(threadIdx.x); i < rows * 8; i += 256) {
    const int row = place(i / 8), c = i % 8;
    copy_behind(to + row * 128 + ((c ^ row % 8) << 4), from + i / 8 * pitch + c * 16);
  }
}

// 128 bytes of rows at a time, in shared memory, for begin(left, right), which begins products of them, and end(), which
// waits for these.
template <int left_rows, int right_rows, int stages, class Place, class Begin, class End>
ZEN_FN void by_stages(const unsigned char* left, const unsigned char* right, long pitch, int steps, Place place, Begin begin,
                      End end) {
  constexpr int left_bytes = left_rows * 128, stage_bytes = left_bytes + right_rows * 128;
  unsigned char* const stage = shared_memory<unsigned char>();
  const auto load_stage = [&](int step) {
    if (step < steps) {
      unsigned char* const own = stage + step % stages * stage_bytes;
      bring(left + step * 128, pitch, own, left_rows, place);
      bring(right + step * 128, pitch, own + left_bytes, right_rows, [](int row) { return row; });
    }
    close_copies();
  };
  for (int step = 0; step < stages - 1; step++) load_stage(step);
  for (int step = 0; step < steps; step++) {
    await_copies<stages - 2>();
    __syncthreads();  // all have this stage, and none reads the one before any more
    const unsigned char* const own = stage + step % stages * stage_bytes;
    begin(own, own + left_bytes);
    load_stage(step + stages - 1);
    end();
  }
}

// For many rows: 256 threads make the products of 128 rows of left planes and 256 of right ones, of so many times 128 bytes.
// A thread has rows of two left planes: of four, the other half of the threads has the upper two.
template <Numbers numbers, int left_planes, int right_planes, class Number>
ZEN_FN void multiply_by_groups(const unsigned char* left, const unsigned char* right, long pitch, int steps, Tile tile,
                               const Output<Number>& output) {
  constexpr int own_planes = left_planes < 2 ? left_planes : 2, w = digit_bits<numbers>;
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4, group = int(threadIdx.x / 128);
  int d[128];
  ZEN_UNROLL for (int i = 0; i < 128; i++) d[i] = 0;
  by_stages<128, 256, 4>(
      left + tile.down * 128 * pitch, right + tile.across * 256 * pitch, pitch, steps,
      [](int row) { return left_planes < 4 ? row : (row & 16) << 2 | (row & 96) >> 1 | (row & 15); },
      [&](const unsigned char* own_left, const unsigned char* own_right) {
        const u64 x = rows_of_128(own_left + group * 64 * 128), y = rows_of_128(own_right);
        begin_products();
        ZEN_UNROLL for (int k = 0; k < 4; k++) wgmma<numbers>(d, x + 2 * k, y + 2 * k);
        close_products();
      },
      [] { await_products(); });
  const int rows_before = int(tile.down * 128) / left_planes + (left_planes < 4 ? group * 64 / own_planes : 0);
  const int first_row = rows_before + thread / 32 * 16 / own_planes + g;
  const int first_column = int(tile.across * 256) / right_planes + 2 * t;
  const auto each = [&](auto take) {
    ZEN_UNROLL for (int h = 0; h < 2; h += own_planes)
      ZEN_UNROLL for (int j = 0; j < 32; j += right_planes) {
        Number sums[2] = {};
        ZEN_UNROLL for (int u = 0; u < own_planes; u++)
          ZEN_UNROLL for (int s = 0; s < right_planes; s++)
            ZEN_UNROLL for (int c = 0; c < 2; c++) sums[c] += Number(d[4 * (j + s) + 2 * (h + u) + c]) << w * (u + s);
        take(h, j, sums);
      }
  };
  if constexpr (left_planes == 4) {
    Number* const upper = shared_memory<Number>() + thread;
    __syncthreads();  // stages are read
    if (group) each([&](int, int j, const Number(&sums)[2]) {
      ZEN_UNROLL for (int c = 0; c < 2; c++) upper[(2 * j / right_planes + c) * 128] = sums[c] << 2 * w;
    });
    __syncthreads();
    if (!group) each([&](int, int j, const Number(&sums)[2]) {
      const Number* const others = upper + 2 * j / right_planes * 128;
      output.put(first_row, first_column + 8 * j / right_planes, sums[0] + others[0], sums[1] + others[128]);
    });
  } else {
    each([&](int h, int j, const Number(&sums)[2]) {
      output.put(first_row + 8 * h / own_planes, first_column + 8 * j / right_planes, sums[0], sums[1]);
    });
  }
}
#endif

}  // namespace zen
