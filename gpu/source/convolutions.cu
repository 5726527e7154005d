// Exact convolutions of few-bit integers (Feng et al. 2021, APNN-TC, 5.2). Of a pixel the channels' bits follow each other,
// plane by plane. A block's groups of four warps have 8 x 8 outputs each: all pixels that these read lie in shared memory once,
// as cells of 16 bytes, those of eight neighbours behind each other, so that what a place of the kernel multiplies is the
// same cells from another one on. Weights come in stages, for all groups. gpu/convolutions.py says in which order.
#include "tiles.hpp"

using namespace zen;

// Numbers of 32 channels, plane by plane: the larger ones.
template <int planes>
ZEN_FN void become_largest(u32 (&a)[planes], const u32 (&b)[planes]) {
  u32 larger = 0, equal = ~0u;
  ZEN_UNROLL for (int s = planes - 1; s >= 0; s--) larger |= equal & b[s] & ~a[s], equal &= ~(a[s] ^ b[s]);
  ZEN_UNROLL for (int s = 0; s < planes; s++) a[s] = (a[s] & ~larger) | (b[s] & larger);
}

#if defined(ZEN_COLUMNS)
#if defined(ZEN_WARPGROUPS)
constexpr int groups = ZEN_GROUPS, planes = ZEN_PLANES, weight_planes = ZEN_WEIGHT_PLANES, columns = ZEN_COLUMNS;
constexpr int kernel_height = ZEN_HEIGHT, kernel_width = ZEN_WIDTH, stride = ZEN_STRIDE, folded = ZEN_FOLDED;
constexpr int made = ZEN_MADE, kept = made ? made : 1;  // planes of the result, or none: 32 bits
constexpr int field = kept < 3 ? kept : 4;  // bits of a number before they are planes
constexpr Numbers numbers = ZEN_BITS ? Numbers::bits : Numbers::mixed_bytes;

// Outputs of a tile, and of a thread's: it has neighbours, so that their bits are a part of a word, or words.
constexpr int outputs = columns / weight_planes, own_outputs = outputs / 4;
constexpr int words = own_outputs > 32 ? own_outputs / 32 : 1, word_bits = own_outputs / words;

// Groups that share outputs, each with its part of a stage's steps of 32 bytes; what a stage has keeps cores busy while the one
// before is given back.
constexpr int split = ZEN_SPLIT, held = ZEN_HELD, stage_bytes = held * columns * 32, stages = ZEN_STAGES;

// Of a team that shares outputs, the sums of all but the first.
constexpr int own_sums = planes * columns / 2, sums_bytes = (split - 1) * (groups / split) * 128 * own_sums * 4;

// Rows and columns of cells: those whose places differ by multiples of the stride follow each other.
constexpr int row_phases = kernel_height < stride ? kernel_height : stride, phase_rows = 8 + (kernel_height - 1) / stride;
constexpr int column_phases = folded ? 1 : kernel_width < stride ? kernel_width : stride;
constexpr int phase_columns = folded ? 8 : 8 + (kernel_width - 1) / stride;
constexpr int cell_rows = row_phases * phase_rows, cell_columns = column_phases * phase_columns, area = cell_rows * cell_columns;
constexpr int quads_apart = area | 1;  // of a pixel's

ZEN_FN int row_of(int place) { return place % stride * phase_rows + place / stride; }
ZEN_FN int column_of(int place) { return place % stride * phase_columns + place / stride; }

struct Images {
  const unsigned char* data;
  int height, width, top, left;
  int quads;  // of a pixel's plane, or of a row of the kernel
};

// A group's first output, if it has any.
struct Place {
  long image;
  int row, column;
  bool any;

  ZEN_FN Place(u32 index, u32 count, u32 down, u32 across) {
    any = index < count;
    image = index / (down * across);
    const u32 within = index % (down * across);
    row = int(within / across * 8), column = int(within % across * 8);
  }
};

ZEN_FN int min_of(int a, int b) { return a < b ? a : b; }
ZEN_FN unsigned char* max_of(unsigned char* a, unsigned char* b) { return a < b ? b : a; }

// 16 bytes from `at` on, of which those before `begin` and from `end` on are zeros: whole words are read.
ZEN_FN void cut_out(const unsigned char* data, long at, int begin, int end, u32 (&quad)[4]) {
  const int off = int(at & 3);
  const u32* const from = reinterpret_cast<const u32*>(data) + (at - off) / 4;
  u32 words[5];
  ZEN_UNROLL for (int i = 0; i < 5; i++) words[i] = 4 * i - off + 4 > begin && 4 * i - off < min_of(end, 16) ? from[i] : 0;
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    const int before = begin - 4 * i, left_over = end - 4 * i;
    const u32 lower = before <= 0 ? ~0u : before >= 4 ? 0 : ~0u << 8 * before;
    const u32 upper = left_over >= 4 ? ~0u : left_over <= 0 ? 0 : (1u << 8 * left_over) - 1;
    quad[i] = u32((u64(words[i + 1]) << 32 | words[i]) >> 8 * off) & lower & upper;
  }
}

// Cell i of the quad e is behind e quads_apart + i: planes have their quads one after the other.
ZEN_FN void bring(const Images& from, const Place& place, unsigned char* cells) {
  constexpr int threads = 128 * split;
  const int thread = int(threadIdx.x % threads), all = from.quads * planes;
  const int top = place.row * stride - from.top, left = place.column * stride - from.left;
  const unsigned char* const image = from.data + place.image * from.height * from.width * (all * 16L);
  if constexpr (!folded) {
    int log_lanes = 0;
    while (1 << log_lanes < all && (2 << log_lanes) * cell_columns <= threads) log_lanes++;
    const int lane = thread & (1 << log_lanes) - 1, place_of_all = thread >> log_lanes;
    const int rows = (threads >> log_lanes) / cell_columns, c = place_of_all % cell_columns;
    const int x = left + c % phase_columns * stride + c / phase_columns;
    const bool any = place.any && x >= 0 && x < from.width;
    if (place_of_all >= rows * cell_columns) return;
    for (int r = place_of_all / cell_columns; r < cell_rows; r += rows) {
      const int y = top + r % phase_rows * stride + r / phase_rows;
      const bool there = any && y >= 0 && y < from.height;
      const unsigned char* const pixel = there ? image + (y * from.width + x) * all * 16 : from.data;
      for (int e = lane; e < all; e += 1 << log_lanes)
        copy_quad(cells + (e * quads_apart + r * cell_columns + c) * 16, there ? pixel + e * 16 : pixel, there);
    }
  } else {
    constexpr int bytes = folded ? folded : 1, quads = (kernel_width * bytes + 15) / 16;
    const unsigned char* const whole = from.data + place.image * from.height * from.width * (bytes * planes);
    for (int i = thread; i < area * quads * planes; i += threads) {
      const int e = i / area, r = i % area / 8, plane = e / quads, first = e % quads * 16;
      const int y = top + r % phase_rows * stride + r / phase_rows, x = left + i % area % 8 * stride;
      const bool row_there = place.any && y >= 0 && y < from.height;
      const long row = row_there ? long(y) * from.width * (bytes * planes) : 0;
      u32 quad[4] = {};
      if constexpr (bytes % 4 == 0) {
        ZEN_UNROLL for (int b = 0; b < 4; b++) {
          const int at = (first + 4 * b) / bytes, within = (first + 4 * b) % bytes;
          if (row_there && at < kernel_width && x + at >= 0 && x + at < from.width)
            quad[b] = *reinterpret_cast<const u32*>(whole + row + (x + at) * (bytes * planes) + plane * bytes + within);
        }
      } else if (row_there) {
        const int begin = -x * bytes - first, end = min_of((from.width - x) * bytes, kernel_width * bytes) - first;
        cut_out(from.data, whole - from.data + row + x * bytes + first, begin, end, quad);
      }
      *reinterpret_cast<uint4*>(cells + (e * quads_apart + i % area) * 16) = make_uint4(quad[0], quad[1], quad[2], quad[3]);
    }
  }
}

ZEN_FN int ones_of(const unsigned char* cells, int quads, int cell) {
  int sum = 0;
  ZEN_UNROLL for (int s = 0; s < planes; s++)
    for (int e = 0; e < quads; e++) {
      const uint4 quad = *reinterpret_cast<const uint4*>(cells + ((s * quads + e) * quads_apart + cell) * 16);
      sum += (__popc(quad.x) + __popc(quad.y) + __popc(quad.z) + __popc(quad.w)) << s;
    }
  return sum;
}

// The sum of all numbers that a thread's two outputs read; `sums`: of each cell, of all its numbers. All threads wait.
ZEN_FN void sum_up(const unsigned char* cells, int quads, int* sums, int (&read)[2]) {
  const int thread = int(threadIdx.x % 128), x = thread % 32 / 4, y = thread / 32 * 2;
  for (int i = int(threadIdx.x % (128 * split)); i < area; i += 128 * split) sums[i] = ones_of(cells, quads, i);
  __syncthreads();
  ZEN_UNROLL for (int h = 0; h < 2; h++) {
    read[h] = 0;
    for (int ky = 0; ky < kernel_height; ky++)
      for (int kx = 0; kx < (folded ? 1 : kernel_width); kx++)
        read[h] += sums[(row_of(ky) + y + h) * cell_columns + column_of(kx) + x];
  }
}

// Bytes of a word of so many bits.
ZEN_FN u32 word_at(const unsigned char* at) {
  if constexpr (word_bits == 8) return *at;
  if constexpr (word_bits == 16) return *reinterpret_cast<const unsigned short*>(at);
  return *reinterpret_cast<const u32*>(at);
}
ZEN_FN void put_word(unsigned char* at, u32 word) {
  if constexpr (word_bits == 8)
    *at = static_cast<unsigned char>(word);
  else if constexpr (word_bits == 16)
    *reinterpret_cast<unsigned short*>(at) = static_cast<unsigned short>(word);
  else
    *reinterpret_cast<u32*>(at) = word;
}

extern "C" __global__ void __launch_bounds__(128 * groups)
    convolve(const unsigned char* images, const unsigned char* weights, const u32* table, const int* added, unsigned char* out,
             const unsigned char* residual, u32 places, int height, int width, int out_height, int out_width, int top, int left,
             int quads, int steps, int channels, int room, int multiplier, int for_each, int shift, int bits, int residual_planes,
             int pool) {
  unsigned char* const shared = shared_memory<unsigned char>();
  u32* const offsets = reinterpret_cast<u32*>(shared + stages * stage_bytes + 16 * stages);
  const int team = int(threadIdx.x) / (128 * split), part = int(threadIdx.x) / 128 % split;
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4;
  const int cells_bytes = quads_apart * quads * planes * 16, team_bytes = cells_bytes + (area + 3) / 4 * 16;
  unsigned char* const all_cells = reinterpret_cast<unsigned char*>(offsets + (steps + 3) / 4 * 4);
  unsigned char* const own_cells = all_cells + team * team_bytes;
  int* const own_added = reinterpret_cast<int*>(max_of(all_cells + groups / split * team_bytes, shared + sums_bytes));
  const Place place(blockIdx.x * (groups / split) + team, places, u32(out_height + 7) / 8, u32(out_width + 7) / 8);
  const unsigned char* const own_weights = weights + long(blockIdx.y) * steps * (columns * 32);
  const auto bytes_of = [=](int stage) { return min_of(held, steps - stage * held) * (columns * 32); };

  int d[planes][columns / 2], read[2] = {};
  ZEN_UNROLL for (int s = 0; s < planes; s++)
    ZEN_UNROLL for (int i = 0; i < columns / 2; i++) d[s][i] = 0;
  const u64 first = cells(own_cells, 0, cell_columns * 16);
  u32 at[held / split];  // of the next stage, which are there before it is
  const auto look_up = [&](int stage) {
    ZEN_UNROLL for (int k = 0; k < held / split; k++)
      at[k] = u32(first) + offsets[min_of(stage * held + k * split, steps - split) + part];
  };
  by_stages<groups, stage_bytes, stages, 1>(
      (steps + held - 1) / held, bytes_of,
      [&](int stage, unsigned char* to, u64* barrier) {
        copy_behind(to, own_weights + long(stage) * stage_bytes, bytes_of(stage), barrier);
      },
      [&] {
        for (int i = int(threadIdx.x); i < (steps + 3) / 4; i += 128 * groups) copy_quad(offsets + 4 * i, table + 4 * i, true);
        for (int i = int(threadIdx.x); i < outputs / 4; i += 128 * groups)
          copy_quad(own_added + 4 * i, added + int(blockIdx.y) * outputs + 4 * i, true);
        bring({images, height, width, top, left, quads}, place, own_cells);
        await_quads();
      },
      [&](int stage, const unsigned char* own) {
        const u64 y = cells(own, columns * 16, 128);
        if (stage == 0) look_up(0);
        const auto multiply = [&](int k) {
          const u64 x = (first >> 32 << 32 | at[k]), own_y = y + u64((k * split + part) * columns * 2);
          ZEN_UNROLL for (int s = 0; s < planes; s++) wgmma<numbers>(d[s], x + u64(s * quads * quads_apart), own_y);
        };
        if ((stage + 1) * held <= steps) {
          ZEN_UNROLL for (int k = 0; k < held / split; k++) multiply(k);
        } else {
          ZEN_UNROLL for (int k = 0; k < held / split; k++)
            if (stage * held + k * split < steps) multiply(k);
        }
      },
      [&](int stage) {
        look_up(stage + 1);
        if (for_each && stage == 0) sum_up(own_cells, quads, reinterpret_cast<int*>(own_cells + cells_bytes), read);
      });
  ZEN_UNROLL for (int s = 0; s < planes; s++) settle(d[s]);
  if constexpr (split > 1) {
    int* const all = reinterpret_cast<int*>(shared) + team * (split - 1) * (own_sums * 128) + thread;
    __syncthreads();
    ZEN_UNROLL for (int s = 0; s < planes; s++)
      ZEN_UNROLL for (int i = 0; i < columns / 2; i++)
        if (part) all[((part - 1) * own_sums + s * columns / 2 + i) * 128] = d[s][i];
    __syncthreads();
    if (part) return;
    ZEN_UNROLL for (int other = 0; other < split - 1; other++)
      ZEN_UNROLL for (int s = 0; s < planes; s++)
        ZEN_UNROLL for (int i = 0; i < columns / 2; i++) d[s][i] += all[(other * own_sums + s * columns / 2 + i) * 128];
  }

  const int first_channel = int(blockIdx.y) * outputs + t * own_outputs;
  const int column = place.column + g, row = place.row + thread / 32 * 2;
  const auto sum_of = [&](int h, int i) {
    const int j = i / 2 * weight_planes, c = i % 2;
    u32 sum = 0;
    ZEN_UNROLL for (int s = 0; s < planes; s++)
      ZEN_UNROLL for (int u = 0; u < weight_planes; u++) sum += u32(d[s][4 * (j + u) + 2 * h + c]) << (s + u);
    return int(sum * u32(multiplier) + u32(own_added[t * own_outputs + i]) - u32(for_each) * u32(read[h]));
  };
  if constexpr (!made) {
    ZEN_UNROLL for (int h = 0; h < 2; h++) {
      if (!place.any || row + h >= out_height || column >= out_width) continue;
      const long pixel = (place.image * out_height + row + h) * out_width + column;
      int* const to = reinterpret_cast<int*>(out) + pixel * channels + first_channel;
      ZEN_UNROLL for (int i = 0; i < own_outputs; i += 4) {
        const int sums[4] = {sum_of(h, i), sum_of(h, i + 1), sum_of(h, i + 2), sum_of(h, i + 3)};
        if (channels % 4 == 0 && first_channel + i < channels)
          *reinterpret_cast<uint4*>(to + i) = make_uint4(u32(sums[0]), u32(sums[1]), u32(sums[2]), u32(sums[3]));
        else
          for (int c = 0; c < 4; c++)
            if (first_channel + i + c < channels) to[i + c] = sums[c];
      }
    }
  } else {
    const int byte = first_channel / 8, most = (1 << bits) - 1;
    ZEN_UNROLL for (int w = 0; w < words; w++) {
      u32 own[2][kept] = {};
      ZEN_UNROLL for (int h = 0; h < 2; h++) {
        u32 packed[field] = {};
        ZEN_UNROLL for (int i = 0; i < word_bits; i++)
          packed[i % field] += u32(clipped(sum_of(h, word_bits * w + i) >> shift, most)) << i / field * field;
        ZEN_UNROLL for (int s = 0; s < kept; s++)
          ZEN_UNROLL for (int i = 0; i < field; i++) own[h][s] |= (packed[i] >> s & ~0u / ((1 << field) - 1)) << i;
        const int left_over = channels - first_channel - word_bits * w;
        const u32 mask = left_over >= 32 ? ~0u : left_over <= 0 ? 0 : (1u << left_over) - 1;
        ZEN_UNROLL for (int s = 0; s < kept; s++) own[h][s] &= mask;
      }
      const int at = byte + w * 4;
      const bool stored = place.any && at < room;
      if (pool) {
        become_largest(own[0], own[1]);
        u32 other[kept];
        ZEN_UNROLL for (int s = 0; s < kept; s++) other[s] = __shfl_xor_sync(whole_warp, own[0][s], 4);
        become_largest(own[0], other);
        const int pooled_height = out_height / 2, pooled_width = out_width / 2;
        if (!stored || g % 2 || row / 2 >= pooled_height || column / 2 >= pooled_width) continue;
        unsigned char* const to = out + ((place.image * pooled_height + row / 2) * pooled_width + column / 2) * kept * room + at;
        ZEN_UNROLL for (int s = 0; s < kept; s++)
          put_word(to + s * room, own[0][s]);
        continue;
      }
      ZEN_UNROLL for (int h = 0; h < 2; h++) {
        if (!stored || row + h >= out_height || column >= out_width) continue;
        const long pixel = (place.image * out_height + row + h) * out_width + column;
        if (residual_planes) {
          u32 carry = 0;
          ZEN_UNROLL for (int s = 0; s < kept; s++) {
            const u32 other = s < residual_planes ? word_at(residual + (pixel * residual_planes + s) * room + at) : 0;
            const u32 either = own[h][s] ^ other, both = own[h][s] & other;
            own[h][s] = either ^ carry, carry = both | (either & carry);
          }
        }
        ZEN_UNROLL for (int s = 0; s < kept; s++)
          put_word(out + (pixel * kept + s) * room + at, own[h][s]);
      }
    }
  }
}
#endif

#else
constexpr int most_planes = 4;

// Of a pixel's plane, whichever has most: 4, 8 or 16 n bytes of its channels' bits.
ZEN_FN u32 word_of(const unsigned char* data, long pixel, int planes, int plane, int room, int at) {
  return *reinterpret_cast<const u32*>(data + (pixel * planes + plane) * room + at);
}
ZEN_FN void put_word(unsigned char* data, long pixel, int planes, int plane, int room, int at, u32 word) {
  *reinterpret_cast<u32*>(data + (pixel * planes + plane) * room + at) = word;
}

extern "C" {

// A thread makes a word of each plane, of 32 channels of a pixel, of which there are bytes.
__global__ void __launch_bounds__(256)
    pack(const unsigned char* values, long count, int channels, int planes, int room, unsigned char* out) {
  const int words = room / 4;
  const long i = thread_index(), pixel = i / words;
  if (i >= count) return;
  const int first = int(i % words) * 32;
  u32 own[most_planes] = {};
  for (int c = 0; c < 32 && first + c < channels; c++) {
    const u32 value = values[pixel * channels + first + c];
    ZEN_UNROLL for (int s = 0; s < most_planes; s++) own[s] |= (value >> s & 1) << c;
  }
  ZEN_UNROLL for (int s = 0; s < most_planes; s++)
    if (s < planes) put_word(out, pixel, planes, s, room, first / 8, own[s]);
}

__global__ void __launch_bounds__(256)
    unpack(const unsigned char* data, long count, int channels, int planes, int room, unsigned char* out) {
  const long i = thread_index(), pixel = i / channels;
  if (i >= count) return;
  const int channel = int(i % channels);
  u32 value = 0;
  for (int s = 0; s < planes; s++) value |= u32(data[(pixel * planes + s) * room + channel / 8] >> channel % 8 & 1) << s;
  out[i] = static_cast<unsigned char>(value);
}

// A thread has 32 channels of an output: beyond the edges there are zeros.
__global__ void __launch_bounds__(256)
    pool(const unsigned char* data, long count, int height, int width, int out_height, int out_width, int kernel, int step,
         int padding, int planes, int room, unsigned char* out) {
  const int words = room / 4;
  const long i = thread_index(), place = i / words, image = place / (out_height * out_width);
  if (i >= count) return;
  const int at = int(i % words) * 4, y = int(place / out_width % out_height) * step - padding;
  const int x = int(place % out_width) * step - padding;
  u32 most[most_planes] = {};
  for (int ky = y < 0 ? -y : 0; ky < kernel && y + ky < height; ky++)
    for (int kx = x < 0 ? -x : 0; kx < kernel && x + kx < width; kx++) {
      u32 own[most_planes];
      const long pixel = (image * height + y + ky) * width + x + kx;
      ZEN_UNROLL for (int s = 0; s < most_planes; s++) own[s] = s < planes ? word_of(data, pixel, planes, s, room, at) : 0;
      become_largest(most, own);
    }
  ZEN_UNROLL for (int s = 0; s < most_planes; s++)
    if (s < planes) put_word(out, place, planes, s, room, at, most[s]);
}

// Eight warps add up 32 channels of an image: a lane has a channel.
__global__ void __launch_bounds__(256)
    sum_planes(const unsigned char* data, int plane_pixels, int channels, int planes, int room, int* out) {
  const int words = room / 4, lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), word = int(blockIdx.x) % words;
  const long image = blockIdx.x / words;
  int sum = 0;
#pragma unroll 4
  for (int pixel = warp; pixel < plane_pixels; pixel += 8)
    for (int s = 0; s < planes; s++)
      sum += int(word_of(data, image * plane_pixels + pixel, planes, s, room, 4 * word) >> lane & 1) << s;
  int* const sums = shared_memory<int>();
  sums[threadIdx.x] = sum;
  __syncthreads();
  const int channel = 32 * word + lane;
  if (warp || channel >= channels) return;
  for (int other = 1; other < 8; other++) sum += sums[32 * other + lane];
  out[image * channels + channel] = sum;
}

// What a convolution of sums leaves to do: they become numbers of a byte.
__global__ void __launch_bounds__(256)
    rescale(const int* sums, long count, const int* added, int channels, int multiplier, int shift, int bits,
            unsigned char* out) {
  const long i = thread_index();
  if (i >= count) return;
  const int value = (sums[i] * multiplier + added[i % channels]) >> shift, most = (1 << bits) - 1;
  out[i] = static_cast<unsigned char>(value < 0 ? 0 : value > most ? most : value);
}

}
#endif
