// Matrices of elements, row by row: values laid out in them, padded for transforms, combined, and columns gathered.
#include "zen/field.hpp"
#include "patterns.hpp"

using namespace zen;

// The element of a word of a stream, its bits beyond the modulus' length cleared; whether it is one.
struct Drawn {
  Fr value;
  bool is_element = false;

  ZEN_FN explicit Drawn(Fr word) : value(word) {
    value.v[Fr::limbs - 1] &= 0x7fffffff;
    ZEN_UNROLL for (int i = 0; i < Fr::limbs; i++) {
      const limb ours = value.v[i], modulus = modulus_limb<FrParameters>(i);
      is_element = ours < modulus || (ours == modulus && is_element);
    }
  }
};

extern "C" {

// rows[i][j], j < width, are the values one after the other, then zeros; rows have `degree` places.
__global__ void lay_out(const Fr* values, long count, long width, long degree, long places, Fr* rows) {
  const long i = thread_index();
  if (i >= places) return;
  const long row = i / degree, column = i % degree, at = row * width + column;
  if (column < width) store(rows + i, at < count ? load(values + at) : Fr::zero());
}

// counts[i] = 1 where word i of a stream is an element, else 0.
__global__ void mark_elements(const Fr* stream, long n, u32* counts) {
  const long i = thread_index();
  if (i < n) counts[i] = Drawn(load(stream + i)).is_element;
}

// The first `wanted` elements of a stream of n words become the last `tail` places of the rows; starts[i] elements come
// before word i.
__global__ void fill_tails(const Fr* stream, const u32* starts, long n, long wanted, long tail, long degree, Fr* rows) {
  const long i = thread_index();
  if (i >= n || starts[i] == starts[i + 1] || starts[i] >= wanted) return;
  const long row = starts[i] / tail, column = degree - tail + starts[i] % tail;
  store(rows + row * degree + column, Drawn(load(stream + i)).value.to_montgomery());
}

// out[i] = rows[i], canonical, and zeros up to 2^log_length places, of `degree` that there are.
__global__ void extend(const Fr* rows, long degree, int log_length, long n, Fr* out) {
  const long i = thread_index();
  if (i >= n) return;
  const long column = i & ((1l << log_length) - 1);
  store(out + i, column < degree ? load(rows + (i >> log_length) * degree + column).to_canonical() : Fr::zero());
}

// An opening: out = salts[k], if there are salts, for `count` places k; for each of these column k of `rows` rows of
// 2^log_columns entries, which stands in the place of k's bits in reverse; and nodes[k] for all other places. n in all.
__global__ void open_columns(const Fr* salts, const Fr* matrix, const Fr* nodes, const u32* places, long count, long rows,
                             int log_columns, long n, Fr* out) {
  const long at = thread_index(), entry = at - (salts ? count : 0), node = entry - count * rows;
  if (at >= n) return;
  if (entry < 0)
    store(out + at, load(salts + places[at]));
  else if (node < 0)
    store(out + at, load(matrix + (entry % rows << log_columns) + reversed_bits(places[entry / rows], log_columns)));
  else
    store(out + at, load(nodes + places[count + node]));
}

// out[j] = in[k], k < n, of 2^log_size entries: j is places[k] with its bits in reverse.
__global__ void scatter_turned(const Fr* in, const u32* places, int log_size, long n, Fr* out) {
  const long k = thread_index();
  if (k < n) store(out + reversed_bits(places[k], log_size), load(in + k));
}

// out[j] += the sum over i of coefficients[i] matrix[i][j], j < columns.
__global__ void __launch_bounds__(128)
    combine_rows(const Fr* matrix, const Fr* coefficients, long rows, long columns, Fr* out) {
  const long j = thread_index();
  if (j >= columns) return;
  Fr sum = load(out + j);
  for (long i = 0; i < rows; i++) sum = sum + load(coefficients + i) * load(matrix + i * columns + j);
  store(out + j, sum);
}

}
