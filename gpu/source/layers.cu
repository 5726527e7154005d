// Tensors of a network of integers: samples one after the other, channels last. gpu/layers.py says what each kernel does.
#include "tensor.hpp"

using namespace zen;

// Numbers of a tensor are of one of these kinds.
enum Kind { byte_kind, word_kind, long_kind };

ZEN_FN long read(const void* from, int kind, u32 i) {
  if (kind == byte_kind) return static_cast<const unsigned char*>(from)[i];
  if (kind == word_kind) return static_cast<const int*>(from)[i];
  return static_cast<const long*>(from)[i];
}

// Unsigned, where all that runs over is well defined.
ZEN_FN long add(long a, long b) { return long(u64(a) + u64(b)); }
ZEN_FN long multiply(long a, long b) { return long(u64(a) * u64(b)); }
ZEN_FN long clamped(long x, long low, long high) { return x < low ? low : x > high ? high : x; }
ZEN_FN long floor_divided(long a, long b) {
  const long q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

// What becomes of a sum, as the host packs it; behind it are the multipliers, which repeat, and the table.
struct Ending {
  long kind, multipliers, offset, shift, low, high, entries, first;

  ZEN_FN void put(const Ending* packed, void* out, u32 i, long sum) const {
    const long* const behind = reinterpret_cast<const long*>(packed + 1);
    if (multipliers) {
      const long multiplier = behind[multipliers == 1 ? 0 : i % u32(multipliers)];
      sum = clamped(add(multiply(multiplier, sum), offset) >> shift, low, high);
    }
    if (entries) sum = behind[multipliers + clamped(sum - first, 0, entries - 1)];
    if (kind == byte_kind)
      static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(sum);
    else if (kind == word_kind)
      static_cast<int*>(out)[i] = int(sum);
    else
      static_cast<long*>(out)[i] = sum;
  }
};

// As the host packs it: sizes along three axes; `fill` stands for zero beyond the edges, over which windows hang where
// they are `padded`.
struct Sliding {
  int image[3], kernel[3], positions[3], stride[3], before[3], dilation[3];
  int channels, groups, group_channels, outputs, group_outputs, fill, padded;

  // The first entry that a window reads along each axis, and its sample.
  ZEN_FN u32 begin(u32 position, int (&first)[3]) const {
    for (int axis = 2; axis >= 0; axis--) {
      first[axis] = int(position % u32(positions[axis])) * stride[axis] - before[axis];
      position /= u32(positions[axis]);
    }
    return position;
  }
};

#if defined(ZEN_PIECE)

// Bytes of the depth that lie beside each other and are read at once; blocks of eight outputs of a warp, and where a row of
// them begins behind the one before.
constexpr int piece = ZEN_PIECE, tiles = ZEN_TILES, width = 8 * tiles, stride = width + 8;

// Where a piece of the depth is read, from where a window begins; beyond the depth `offset` is `nothing`.
struct Tap {
  int offset, along[3];
};
constexpr int nothing = -0x7fffffff;

struct Row {
  const unsigned char* from;
  int first[3];
};

ZEN_FN u32 sum_of_bytes(u32 word, u32 sum) {
#if defined(__CUDACC_RTC__)
  asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(0x01010101u));
#else
  for (int i = 0; i < 32; i += 8) sum += word >> i & 255;
#endif
  return sum;
}

// Whether a tap's place is read, or what stands for it beyond the edges and the depth.
struct Found {
  const unsigned char* from;
  u32 other;

  ZEN_FN Found(const Sliding& s, const Tap& tap, const Row& row) : from(nullptr), other(0) {
    if (tap.offset == nothing || !row.from) return;
    other = u32(s.fill) * 0x01010101u;
    if (s.padded)
      for (int axis = 0; axis < 3; axis++)
        if (u32(row.first[axis] + tap.along[axis]) >= u32(s.image[axis])) return;
    from = row.from + tap.offset;
  }
};

ZEN_FN uint4 fetched(const Sliding& s, const Tap* taps, const Row& row) {
  if constexpr (piece == 16) {
    const Found found(s, *taps, row);
    return found.from ? *reinterpret_cast<const uint4*>(found.from)
                      : make_uint4(found.other, found.other, found.other, found.other);
  } else {
    u32 words[4];
    ZEN_UNROLL for (int i = 0; i < 4; i++) {
      if constexpr (piece == 4) {
        const Found found(s, taps[i], row);
        words[i] = found.from ? *reinterpret_cast<const u32*>(found.from) : found.other;
      } else {
        words[i] = 0;
#pragma unroll 1
        for (int j = 0; j < 4; j++) {
          const Found found(s, taps[4 * i + j], row);
          words[i] = words[i] >> 8 | (found.from ? u32(*found.from) : found.other) << 24;
        }
      }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
}

extern "C" {

// Of bytes, on tensor cores. A warp makes 32 positions' outputs, `tiles` times eight of them; the depth of a window is in steps
// of 64, of which a lane has 16 bytes, the same ones of both sides. Weights less `offsets`, of each output, are what they stand
// for; `constants` is what is added for the rest.
__global__ void __launch_bounds__(128)
    convolve(const Sliding* sliding, const Tap* taps, const unsigned char* x, const uint4* weights, const u32* constants,
             const u32* offsets, int steps, u32 rows, const Ending* ending, void* out) {
  const Sliding s = *sliding;
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4;
  const int across = (s.group_outputs + 8 * tiles - 1) / (8 * tiles);
  const int group = int(blockIdx.y) / across, first_column = int(blockIdx.y) % across * 8 * tiles;
  const u32 first_row = (blockIdx.x * 4 + threadIdx.x / 32) * 32;
  if (first_row >= rows) return;
  const int size = s.image[0] * s.image[1] * s.image[2];
  Row own[4];
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    const u32 row = first_row + 8 * i + g, sample = s.begin(row, own[i].first);
    const int place = (own[i].first[0] * s.image[1] + own[i].first[1]) * s.image[2] + own[i].first[2];
    own[i].from = row < rows ? x + (long(sample) * size + place) * s.channels + group * s.group_channels : nullptr;
  }
  int d[2][tiles][4] = {};
  u32 sums[4] = {};
  const uint4* w = weights + long(blockIdx.y) * steps * tiles * 32 + lane;
  for (int step = 0; step < steps; step++, w += tiles * 32) {
    uint4 a[4];
    ZEN_UNROLL for (int i = 0; i < 4; i++) a[i] = fetched(s, taps + (4 * step + t) * (16 / piece), own[i]);
    if (offsets)
      ZEN_UNROLL for (int i = 0; i < 4; i++)
        sums[i] = sum_of_bytes(a[i].x, sum_of_bytes(a[i].y, sum_of_bytes(a[i].z, sum_of_bytes(a[i].w, sums[i]))));
    ZEN_UNROLL for (int tile = 0; tile < tiles; tile++) {
      const uint4 b = w[tile * 32];
      ZEN_UNROLL for (int h = 0; h < 2; h++) {
        const uint4 upper = a[2 * h], lower = a[2 * h + 1];
        mma<Numbers::bytes>(d[h][tile], upper.x, lower.x, upper.y, lower.y, b.x, b.y);
        mma<Numbers::bytes>(d[h][tile], upper.z, lower.z, upper.w, lower.w, b.z, b.w);
      }
    }
  }
  if (offsets)
    ZEN_UNROLL for (int i = 0; i < 4; i++)
      for (int delta = 1; delta < 4; delta *= 2) sums[i] += __shfl_xor_sync(whole_warp, sums[i], delta);
  // Through shared memory, sixteen rows at a time, so that neighbours write neighbours.
  u32* const made = shared_memory<u32>() + threadIdx.x / 32 * 16 * stride;
  const Ending end = *ending;
  ZEN_UNROLL for (int h = 0; h < 2; h++) {
    ZEN_UNROLL for (int tile = 0; tile < tiles; tile++)
      ZEN_UNROLL for (int i = 0; i < 4; i++) {
        const int column = 8 * tile + 2 * t + i % 2, output = group * s.group_outputs + first_column + column;
        const u32 offset = offsets && first_column + column < s.group_outputs ? offsets[output] : 0;
        made[(8 * (i / 2) + g) * stride + column] = u32(d[h][tile][i]) - offset * sums[2 * h + i / 2];
      }
    __syncwarp();
#pragma unroll 1
    for (int i = lane; i < 16 * width; i += 32) {
      const u32 row = first_row + 16 * h + i / width;
      const int column = first_column + i % width, output = group * s.group_outputs + column;
      if (row < rows && column < s.group_outputs)
        end.put(ending, out, row * u32(s.outputs) + u32(output), long(int(made[i / width * stride + i % width] + constants[output])));
    }
    __syncwarp();
  }
}

}

#else

// An operand less its zero point, times its factor, both of which repeat: as the host packs it, values behind all of them.
struct Term {
  long kind, factors_at, factors, zeros_at, zeros;

  ZEN_FN long operator()(const long* behind, const void* x, u32 i) const {
    const long zero = behind[zeros_at + (zeros == 1 ? 0 : i % u32(zeros))];
    return multiply(behind[factors_at + (factors == 1 ? 0 : i % u32(factors))], read(x, int(kind), i) - zero);
  }
};

extern "C" {

// Of any numbers, a thread for each output: sums of products, without weights of entries, or the largest entry.
__global__ void slide(const Sliding* sliding, const void* x, int kind, const int* weights, const long* biases, long zero,
                      int largest, u32 count, const Ending* ending, void* out) {
  const u32 i = u32(thread_index());
  if (i >= count) return;
  const Sliding s = *sliding;
  const u32 output = i % u32(s.outputs), group = output / u32(s.group_outputs);
  int first[3];
  const u32 sample = s.begin(i / u32(s.outputs), first);
  const u32 from = sample * u32(s.image[0] * s.image[1] * s.image[2]);
  long found = largest ? -0x7fffffffffffffffl - 1 : biases ? biases[output] : 0;
  const int* w = weights ? weights + long(output) * s.kernel[0] * s.kernel[1] * s.kernel[2] * s.group_channels : nullptr;
  for (int a = 0; a < s.kernel[0]; a++)
    for (int b = 0; b < s.kernel[1]; b++)
      for (int c = 0; c < s.kernel[2]; c++) {
        const int at_a = first[0] + a * s.dilation[0], at_b = first[1] + b * s.dilation[1], at_c = first[2] + c * s.dilation[2];
        const bool inside =
            u32(at_a) < u32(s.image[0]) && u32(at_b) < u32(s.image[1]) && u32(at_c) < u32(s.image[2]);
        const u32 at = (from + u32((at_a * s.image[1] + at_b) * s.image[2] + at_c)) * u32(s.channels) + group * u32(s.group_channels);
        for (int channel = 0; channel < s.group_channels; channel++) {
          const long weight = w ? *w++ : 1;
          if (!inside) continue;
          const long value = read(x, kind, at + u32(channel));
          found = largest ? (value > found ? value : found) : add(found, multiply(weight, value - zero));
        }
      }
  const Ending end = *ending;
  end.put(ending, out, i, found);
}

// The sum of up to four terms, or the product of two.
__global__ void combine(const Term* terms, int many, const void* x0, const void* x1, const void* x2, const void* x3, int product,
                        u32 count, const Ending* ending, void* out) {
  const u32 i = u32(thread_index());
  if (i >= count) return;
  const long* const behind = reinterpret_cast<const long*>(terms + many);
  long made = terms[0](behind, x0, i);
  if (many > 1) {
    const long other = terms[1](behind, x1, i);
    made = product ? multiply(made, other) : add(made, other);
  }
  if (many > 2) made = add(made, terms[2](behind, x2, i));
  if (many > 3) made = add(made, terms[3](behind, x3, i));
  const Ending end = *ending;
  end.put(ending, out, i, made);
}

// Entries of one source, of which a sample has `size`, the first of which is `start` among those of all; without a source what
// comes from none, which is `constant`.
__global__ void move(const u32* places, u32 each, const void* x, int kind, u32 start, u32 size, long constant, u32 count,
                     const Ending* ending, void* out) {
  const u32 i = u32(thread_index());
  if (i >= count) return;
  const u32 place = places[i % each];
  const Ending end = *ending;
  if (!x) {
    if (place == ~0u) end.put(ending, out, i, constant);
  } else if (place != ~0u && place - start < size) {
    end.put(ending, out, i, read(x, kind, i / each * size + place - start));
  }
}

// Products of matrices [down, depth] and [depth, across] of `groups`, which lie side by side.
__global__ void matrices(const void* left, int left_kind, long left_zero, const void* right, int right_kind, long right_zero,
                         u32 groups, u32 down, u32 depth, u32 across, long factor, u32 count, const Ending* ending, void* out) {
  const u32 i = u32(thread_index());
  if (i >= count) return;
  const u32 group = i % groups, column = i / groups % across, row = i / groups / across % down, sample = i / groups / across / down;
  long sum = 0;
  for (u32 k = 0; k < depth; k++) {
    const long a = read(left, left_kind, ((sample * down + row) * depth + k) * groups + group);
    const long b = read(right, right_kind, ((sample * depth + k) * across + column) * groups + group);
    sum = add(sum, multiply(a - left_zero, b - right_zero));
  }
  const Ending end = *ending;
  end.put(ending, out, i, multiply(factor, sum));
}

// floor((2 multiplier value + D) / (2 D)), D = 2^shift times the divisor at the value's place among `divisors` of a sample.
__global__ void quotients(const void* value, int value_kind, const void* divisor, int divisor_kind, const u32* places, u32 each,
                          u32 divisors, long multiplier, int shift, u32 count, const Ending* ending, void* out) {
  const u32 i = u32(thread_index());
  if (i >= count) return;
  const long whole = read(divisor, divisor_kind, i / each * divisors + places[i % each]) << shift;
  const Ending end = *ending;
  end.put(ending, out, i, floor_divided(add(multiply(2 * multiplier, read(value, value_kind, i)), whole), 2 * whole));
}

}

#endif
