// Transforms over Fr in a few passes over memory. The layers are those of zenserve/kernels/include/zen/ntt_layers.hpp: in layer
// d there are 2^d blocks with one twiddle each, read in bit-reversed order from the front of one table.
//   scatter: natural order in, bit-reversed out (Cooley-Tukey butterflies, blocks halve)
//   gather:  bit-reversed order in, natural out (Gentleman-Sande butterflies, blocks double)
// A pass makes `layers` of them, from `depth` on, on tiles that fit shared memory: 2^layers points `stride` apart,
// 2^log_columns of them side by side, so that memory is touched in runs of 128 bytes or more. The last layers' points
// are neighbours: a row.
#include "zen/field.hpp"
#include "memory.hpp"

using namespace zen;

// gpu/ntt.py says how large tiles and steps are. A thread keeps 2^radix_log points in registers for radix_log layers;
// the registers bound how many blocks share a multiprocessor, and those hide each other's waits.
constexpr int radix_log = ZEN_RADIX_LOG, tile_log = ZEN_TILE_LOG, threads = 1 << (tile_log - radix_log);

// Which part of the arrays a block of threads works on. Rows of a batch follow each other.
struct Tile {
  int layers, log_columns, log_stride;
  int block;    // of the first layer
  long offset;  // of the first point

  ZEN_FN Tile(int log_size, int depth, int layers, int log_columns)
      : layers(layers), log_columns(log_columns), log_stride(log_size - depth - layers) {
    const int log_tiles = log_stride - log_columns;  // of a block
    const long tile = blockIdx.x, counted = tile >> log_tiles;
    block = int(counted) & ((1 << depth) - 1);
    offset = (counted << (log_size - depth)) + ((tile & ((1 << log_tiles) - 1)) << log_columns);
  }
  ZEN_FN int points() const { return 1 << (layers + log_columns); }
  ZEN_FN bool is_row() const { return log_stride == 0; }
  ZEN_FN long at(int index) const {
    const int column = index & ((1 << log_columns) - 1);
    return offset + (long(index >> log_columns) << log_stride) + column;
  }
};

// A tile's points in shared memory, as two planes of 16 bytes a point. Eight threads are served at a time; the order
// within each run of eight puts theirs into different banks, whatever the spacing of a step.
struct Shared {
  uint4* quads;

  static ZEN_FN int position(int index) {
    const int run = index >> 3;
    return index ^ ((run ^ run << 1) & 7);
  }
  ZEN_FN Fr get(int index) const {
    const uint4 low = quads[position(index)], high = quads[(1 << tile_log) + position(index)];
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  }
  ZEN_FN void put(int index, const Fr& x) const {
    quads[position(index)] = make_uint4(x.v[0], x.v[1], x.v[2], x.v[3]);
    quads[(1 << tile_log) + position(index)] = make_uint4(x.v[4], x.v[5], x.v[6], x.v[7]);
  }
};

// q layers from `layer` on, by way of registers. Block 0 of each layer has the twiddle 1.
template <int q, bool forward>
ZEN_FN void step(const Tile& tile, const Shared& shared, Fr* values, const Fr* twiddles, int layer, bool from_memory,
                 bool to_memory) {
  const int log_spacing = tile.layers - layer - q + tile.log_columns;  // between a thread's points
  for (int item = threadIdx.x; item < tile.points() >> q; item += threads) {
    const int part = item >> log_spacing, first = (part << (log_spacing + q)) | (item & ((1 << log_spacing) - 1));
    const int block = (tile.block << layer) + part;
    Fr x[1 << q];
    ZEN_UNROLL for (int m = 0; m < 1 << q; m++) {
      const int index = first + (m << log_spacing);
      x[m] = from_memory ? load(values + tile.at(index)) : shared.get(index);
    }
    ZEN_UNROLL for (int i = 0; i < q; i++) {
      const int t = forward ? i : q - 1 - i, half = 1 << (q - 1 - t);
      ZEN_UNROLL for (int k = 0; k < 1 << t; k++) {
        Fr* const left = x + 2 * half * k;
        const bool trivial = k == 0 && block == 0;
        const Fr twiddle = load(twiddles + (block << t) + k);
        ZEN_UNROLL for (int j = 0; j < half; j++) {
          Fr &a = left[j], &b = left[j + half];
          if constexpr (forward) {
            const Fr product = trivial ? b : b * twiddle;
            b = a - product;
            a = a + product;
          } else {
            const Fr difference = a - b;
            a = a + b;
            b = trivial ? difference : difference * twiddle;
          }
        }
      }
    }
    ZEN_UNROLL for (int m = 0; m < 1 << q; m++) {
      const int index = first + (m << log_spacing);
      if (to_memory)
        store(values + tile.at(index), x[m]);
      else
        shared.put(index, x[m]);
    }
  }
}

template <int q, bool forward>
ZEN_FN void step_of(int size, const Tile& tile, const Shared& shared, Fr* values, const Fr* twiddles, int layer,
                    bool from_memory, bool to_memory) {
  if (size == q)
    step<q, forward>(tile, shared, values, twiddles, layer, from_memory, to_memory);
  else if constexpr (q > 0)
    step_of<q - 1, forward>(size, tile, shared, values, twiddles, layer, from_memory, to_memory);
}

// All layers of a tile, in steps as large as they can be but for the shallowest. No layers at all are a copy.
template <bool forward>
ZEN_FN void all_steps(const Tile& tile, const Shared& shared, Fr* values, const Fr* twiddles, bool from_memory,
                      bool to_memory) {
  const int deeper = tile.layers ? (tile.layers - 1) / radix_log : 0, shallowest = tile.layers - deeper * radix_log;
  for (int i = 0; i <= deeper; i++) {
    const int s = forward ? i : deeper - i;
    if (i) __syncthreads();
    step_of<radix_log, forward>(s ? radix_log : shallowest, tile, shared, values, twiddles,
                                s ? shallowest + (s - 1) * radix_log : 0, from_memory && i == 0,
                                to_memory && i == deeper);
  }
}

// x / 2^halvings, at most 31 of them: add the multiple of the modulus that ends in so many zeros.
ZEN_FN Fr halved(const Fr& x, int halvings) {
  const limb multiple = x.v[0] * limb(FrParameters::negative_inverse) & ((1u << halvings) - 1);
  limb sum[Fr::limbs + 1];
  u64 carry = 0;
  ZEN_UNROLL for (int i = 0; i < Fr::limbs; i++) {
    carry += u64(multiple) * modulus_limb<FrParameters>(i) + x.v[i];
    sum[i] = limb(carry);
    carry >>= 32;
  }
  sum[Fr::limbs] = limb(carry);
  Fr r;
  ZEN_UNROLL for (int i = 0; i < Fr::limbs; i++) r.v[i] = limb((u64(sum[i + 1]) << 32 | sum[i]) >> halvings);
  return r;
}

// From shared memory to memory: values / 2^halvings, or, unless `right` is null, values right - less.
ZEN_FN void finish(const Tile& tile, const Shared& shared, Fr* values, int halvings, const Fr* right, const Fr* less) {
  __syncthreads();
  for (int i = threadIdx.x; i < tile.points(); i += threads) {
    const long at = tile.at(i);
    Fr x = shared.get(i);
    if (halvings) x = halved(x, halvings);
    if (right) x = x * load(right + at) - load(less + at);
    store(values + at, x);
  }
}

// Lines of memory are whole where a thread's neighbour has the neighbouring point: in rows it does in shallow steps,
// and the deepest one goes by way of shared memory.
extern "C" __global__ void __launch_bounds__(threads, ZEN_BLOCKS)
    scatter(Fr* values, int log_size, int depth, int layers, int log_columns, const Fr* twiddles, int halvings) {
  const Shared shared{shared_memory<uint4>()};
  const Tile tile(log_size, depth, layers, log_columns);
  all_steps<true>(tile, shared, values, twiddles, true, !tile.is_row());
  if (tile.is_row()) finish(tile, shared, values, halvings, nullptr, nullptr);
}

extern "C" __global__ void __launch_bounds__(threads, ZEN_BLOCKS)
    gather(Fr* values, int log_size, int depth, int layers, int log_columns, const Fr* twiddles, int halvings,
           const Fr* right, const Fr* less) {
  const Shared shared{shared_memory<uint4>()};
  const Tile tile(log_size, depth, layers, log_columns);
  if (tile.is_row()) {
    for (int i = threadIdx.x; i < tile.points(); i += threads) shared.put(i, load(values + tile.at(i)));
    __syncthreads();
  }
  const bool finishing = halvings || right;
  all_steps<false>(tile, shared, values, twiddles, !tile.is_row(), !finishing);
  if (finishing) finish(tile, shared, values, halvings, right, less);
}

// The last pass of a scatter, factors, and the first of a gather, on rows.
extern "C" __global__ void __launch_bounds__(threads, ZEN_BLOCKS)
    there_and_back(Fr* values, int log_size, int depth, int layers, int log_columns, const Fr* there, const Fr* back,
                   const Fr* factors, const Fr* right, const Fr* less) {
  const Shared shared{shared_memory<uint4>()};
  const Tile tile(log_size, depth, layers, log_columns);
  all_steps<true>(tile, shared, values, there, true, false);
  __syncthreads();
  const Fr* const own = factors + (long(tile.block) << layers);
  for (int i = threadIdx.x; i < tile.points(); i += threads) shared.put(i, shared.get(i) * load(own + i));
  __syncthreads();
  all_steps<false>(tile, shared, values, back, false, !right);
  if (right) finish(tile, shared, values, 0, right, less);
}

// table[size + i] = table[i] * factor for i < size.
extern "C" __global__ void extend_powers(Fr* table, const Fr* factor, long size) {
  const long i = thread_index();
  if (i < size) store(table + size + i, load(table + i) * load(factor));
}

// values[i] *= factors[i mod 2^log_size] for i < n.
extern "C" __global__ void multiply(Fr* values, const Fr* factors, int log_size, long n) {
  const long i = thread_index();
  if (i < n) store(values + i, load(values + i) * load(factors + (i & ((1l << log_size) - 1))));
}

// Index and reversed index change places in each row of 2^log_size of n.
extern "C" __global__ void reverse_bits(Fr* values, int log_size, long n) {
  const long i = thread_index(), mask = (1l << log_size) - 1;
  const long turned = reversed_bits(i & mask, log_size);
  if (i >= n || (i & mask) >= turned) return;
  Fr *const a = values + i, *const b = values + (i & ~mask) + turned;
  const Fr x = load(a);
  store(a, load(b));
  store(b, x);
}
