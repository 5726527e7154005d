// Transforms over Z_q for products in Z_q[X] / (X^N + 1), N = 2^log_size, after Shivdikar et al., "Accelerating
// polynomial multiplication for homomorphic encryption on GPUs", 2022: words of 32 or 64 bits, primes q of at most 30
// or 62, two passes over many blocks of threads, and the pointwise product fused with its neighbours (algorithms 7, 8).
//
// Block b of layer d, one of 2^d, is a ring modulo X^(N / 2^d) - root that splits at the root's square root: the
// twiddle table[2^d + b], a power of psi, where psi^N = -1 (Longa and Naehrig, ePrint 2016/504). One polynomial does
// not fill the card: what counts is the longest chain of instructions. So a thread makes two layers of four points at a
// time, loads all its twiddles first, and sizes are known when this is compiled.
#include "zen/target.hpp"
#include "memory.hpp"

using namespace zen;

#if ZEN_WORD_BITS == 64
using Word = u64;
ZEN_FN Word high_half(Word a, Word b) { return __umul64hi(a, b); }
#else
using Word = u32;
ZEN_FN Word high_half(Word a, Word b) { return __umulhi(a, b); }
#endif

// quotient = floor(2^ZEN_WORD_BITS value / q)
struct alignas(2 * sizeof(Word)) Twiddle {
  Word value, quotient;
};

ZEN_FN Word reduced_once(Word x, Word bound) { return x >= bound ? x - bound : x; }

// x w mod q or q more, for any x (Shoup's; Harvey, "Faster arithmetic for number-theoretic transforms", 2014).
ZEN_FN Word times(Word x, const Twiddle& w, Word q) { return x * w.value - high_half(x, w.quotient) * q; }

// a b mod q, below q both, by Barrett's reduction with one correction (Dhem and Quisquater; Shivdikar et al., algorithm
// 4). `q` is the modulus, shifted left to all of its n = 30 or 62 bits, and `reciprocal` floor(2^(2n+1) / q): then
// floor(floor(ab / 2^(n-2)) reciprocal / 2^(n+3)) is high halves of words, and at most one too small.
ZEN_FN Word product(Word a, Word b, Word q, Word reciprocal, int shift) {
  b <<= shift;
  const Word low = a * b, top = high_half(a, b) << 4 | low >> (ZEN_WORD_BITS - 4);
  return reduced_once(low - (high_half(top, reciprocal) >> 1) * q, q) >> shift;
}

constexpr int log_size = ZEN_LOG_SIZE, row_layers = 8, column_layers = log_size - row_layers;
constexpr int tile_log = 9, threads = 1 << (tile_log - 2), tiles = 1 << (log_size - tile_log);

// A thread's part of a pass over a tile of 2^tile_log points: rows of 2^layers neighbours, or 2^layers rows of some
// columns. Where the number of layers is odd, the first step makes one for two pairs of points.
template <int depth, int layers>
struct Pass {
  static constexpr int log_stride = log_size - depth - layers, log_columns = log_stride ? tile_log - layers : 0;
  static constexpr int steps = (layers + 1) / 2;
  Word x[4];
  Twiddle twiddles[steps][3], scale;

  static constexpr int size(int step) { return step == 0 && layers % 2 ? 1 : 2; }
  static constexpr int layer(int step) { return step ? 2 * step - layers % 2 : 0; }
  static constexpr int spacing(int step) { return layers - layer(step) - size(step) + log_columns; }

  // Point m < 4 of this thread, as an index into the tile.
  static ZEN_FN int index(int step, int m) {
    const int q = size(step), log_spacing = spacing(step), item = threadIdx.x + (m >> q) * threads;
    const int low = item & ((1 << log_spacing) - 1), middle = m & ((1 << q) - 1);
    return (item >> log_spacing) << (log_spacing + q) | middle << log_spacing | low;
  }
  // The same in memory.
  static ZEN_FN long at(int index) {
    const long polynomial = blockIdx.x / tiles;
    const int tile = blockIdx.x % tiles, row = index >> log_columns, column = index & ((1 << log_columns) - 1);
    const int offset = log_stride ? row << log_stride | tile << log_columns | column : tile << tile_log | index;
    return (polynomial << log_size) + offset;
  }
  // The same in shared memory, spread over the banks.
  static ZEN_FN int position(int index) { return index ^ (index >> 4 & 3) * 5; }

  // Blocks are numbered as in the table, where those of block i are 2 i and 2 i + 1. Entry 0 is the inverse transform's
  // factor 1 / N, which its last layer's twiddle has in it already.
  ZEN_FN void load_twiddles(const Twiddle* table) {
    if (depth == 0) scale = table[0];
    const int first_row = log_stride ? 0 : blockIdx.x % tiles << (tile_log - layers);
    ZEN_UNROLL for (int s = 0; s < steps; s++) {
      const int part = size(s) == 2 ? threadIdx.x >> spacing(s) : 0;
      const int block = (((1 << depth) + first_row) << layer(s)) + part;
      twiddles[s][0] = table[block];
      if (size(s) == 1) continue;
      twiddles[s][1] = table[2 * block];
      twiddles[s][2] = table[2 * block + 1];
    }
  }
  ZEN_FN void load_points(int step, const Word* values) {
    ZEN_UNROLL for (int m = 0; m < 4; m++) x[m] = values[at(index(step, m))];
  }
  ZEN_FN void store_points(int step, Word* values) const {
    ZEN_UNROLL for (int m = 0; m < 4; m++) values[at(index(step, m))] = x[m];
  }
  // From the points of one step to those of another. What a thread reads here it alone writes next.
  ZEN_FN void exchange(int from, int to, Word* shared) {
    ZEN_UNROLL for (int m = 0; m < 4; m++) shared[position(index(from, m))] = x[m];
    __syncthreads();
    ZEN_UNROLL for (int m = 0; m < 4; m++) x[m] = shared[position(index(to, m))];
  }

  // Harvey's butterflies: values below 4 q here, ..
  ZEN_FN void split(int left, int right, const Twiddle& twiddle, Word q) {
    const Word a = reduced_once(x[left], 2 * q), b = times(x[right], twiddle, q);
    x[left] = a + b;
    x[right] = a - b + 2 * q;
  }
  // .. and below 2 q here.
  ZEN_FN void join(int left, int right, const Twiddle& twiddle, bool last, Word q) {
    const Word sum = x[left] + x[right], difference = x[left] - x[right] + 2 * q;
    x[left] = last ? times(sum, scale, q) : reduced_once(sum, 2 * q);
    x[right] = times(difference, twiddle, q);
  }

  ZEN_FN void forward(Word* shared, Word q) {
    ZEN_UNROLL for (int s = 0; s < steps; s++) {
      const Twiddle* const w = twiddles[s];
      if (s) exchange(s - 1, s, shared);
      const bool two = size(s) == 2;
      if (two) split(0, 2, w[0], q), split(1, 3, w[0], q);
      split(0, 1, w[two ? 1 : 0], q), split(2, 3, w[two ? 2 : 0], q);
    }
  }
  ZEN_FN void inverse(Word* shared, Word q) {
    ZEN_UNROLL for (int s = steps - 1; s >= 0; s--) {
      const Twiddle* const w = twiddles[s];
      const bool two = size(s) == 2, last = depth == 0 && s == 0;
      join(0, 1, w[two ? 1 : 0], last && !two, q), join(2, 3, w[two ? 2 : 0], last && !two, q);
      if (two) join(0, 2, w[0], last, q), join(1, 3, w[0], last, q);
      if (s) exchange(s, s - 1, shared);
    }
  }
  ZEN_FN void reduce(Word q) {
    ZEN_UNROLL for (int m = 0; m < 4; m++) x[m] = reduced_once(reduced_once(x[m], 2 * q), q);
  }
};

using Columns = Pass<0, column_layers>;
using Rows = Pass<column_layers, row_layers>;

// What is read with the second index of blocks 0 comes from `left` and goes to `left_out`, with 1 from and to right.
extern "C" __global__ void __launch_bounds__(threads)
    forward_columns(const Word* left, const Word* right, Word* left_out, Word* right_out, const Twiddle* table, u64 q) {
  Columns pass;
  pass.load_points(0, blockIdx.y ? right : left);
  pass.load_twiddles(table);
  pass.forward(shared_memory<Word>(), Word(q));
  pass.store_points(Columns::steps - 1, blockIdx.y ? right_out : left_out);
}

extern "C" __global__ void __launch_bounds__(threads) forward_rows(Word* values, const Twiddle* table, u64 q) {
  Rows pass;
  pass.load_points(0, values);
  pass.load_twiddles(table);
  pass.forward(shared_memory<Word>(), Word(q));
  pass.reduce(Word(q));
  pass.store_points(Rows::steps - 1, values);
}

extern "C" __global__ void __launch_bounds__(threads) inverse_rows(Word* values, const Twiddle* table, u64 q) {
  Rows pass;
  pass.load_points(Rows::steps - 1, values);
  pass.load_twiddles(table);
  pass.inverse(shared_memory<Word>(), Word(q));
  pass.store_points(0, values);
}

extern "C" __global__ void __launch_bounds__(threads) inverse_columns(Word* values, const Twiddle* table, u64 q) {
  Columns pass;
  pass.load_points(Columns::steps - 1, values);
  pass.load_twiddles(table);
  pass.inverse(shared_memory<Word>(), Word(q));
  pass.reduce(Word(q));
  pass.store_points(0, values);
}

// Both forward transforms' last pass, the products, and the inverse transform's first. `left` takes the result.
extern "C" __global__ void __launch_bounds__(threads)
    multiply_rows(Word* left, const Word* right, const Twiddle* forward, const Twiddle* inverse, u64 q, u64 reciprocal,
                  int shift) {
  Word* const shared = shared_memory<Word>();
  Rows a, b;
  a.load_points(0, left);
  b.load_points(0, right);
  a.load_twiddles(forward);
  ZEN_UNROLL for (int s = 0; s < Rows::steps; s++)
    ZEN_UNROLL for (int k = 0; k < 3; k++) b.twiddles[s][k] = a.twiddles[s][k];
  a.forward(shared, Word(q));
  a.load_twiddles(inverse);
  b.forward(shared + (1 << tile_log), Word(q));
  a.reduce(Word(q));
  b.reduce(Word(q));
  ZEN_UNROLL for (int m = 0; m < 4; m++) a.x[m] = product(a.x[m], b.x[m], Word(q) << shift, Word(reciprocal), shift);
  a.inverse(shared, Word(q));
  a.store_points(0, left);
}
