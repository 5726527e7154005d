// Sparse matrices over Fr in compressed rows with pooled coefficients: products with vectors, and whether the
// products satisfy their constraints.
#include "zen/field.hpp"
#include "patterns.hpp"
#include "segmented.hpp"

using namespace zen;

// Most coefficients are 1 and -1, which a whole warp often has.
struct Products {
  const u32 *columns, *coefficients;
  const Fr *pool, *z;
  ZEN_FN void add_to(Fr& sum, u32 i) const {
    const Fr x = load(z + columns[i]), coefficient = load(pool + coefficients[i]);
    if (coefficient == Fr::one())
      sum = sum + x;
    else if (coefficient == -Fr::one())
      sum = sum - x;
    else
      sum = sum + coefficient * x;
  }
};

extern "C" {

__global__ void __launch_bounds__(128)
    multiply_shares(const u32* offsets, const u32* columns, const u32* coefficients, const Fr* pool, const Fr* z, u32 rows,
                    u32 workers, Fr* sums, Fr* carries, u32* carry_rows) {
  sum_shares(Products{columns, coefficients, pool, z}, offsets, rows, workers, sums, carries, carry_rows);
}

__global__ void __launch_bounds__(128)
    add_carries(const Fr* carries, const u32* rows, long count, Fr* sums, Fr* next, u32* next_rows) {
  sum_carries<SingleThread<Fr>>(carries, rows, count, sums, next, next_rows);
}

// counts[c] += the entries of column places[c'], for all c' with that place; ranks[i] = how many came before entry i.
__global__ void count_columns(const u32* columns, const u32* places, long n, u32* counts, u32* ranks) {
  const long i = thread_index();
  if (i < n) ranks[i] = atomicAdd(counts + places[columns[i]], 1u);
}

// The entries by column: starts[places[column]] is where those of a column begin. Rows are counted modulo `height`.
__global__ void place_entries(const u32* offsets, u32 rows, u32 height, const u32* columns, const u32* coefficients,
                              const u32* places, const u32* starts, const u32* ranks, long n, u32* out_rows,
                              u32* out_coefficients) {
  const long i = thread_index();
  if (i >= n) return;
  const u32 at = starts[places[columns[i]]] + ranks[i];
  out_rows[at] = find_segment(offsets, rows, 0u, u32(i)) % height;
  out_coefficients[at] = coefficients[i];
}

// *row = the lowest i with a[i] b[i] != c[i], if it is below *row.
__global__ void __launch_bounds__(256) first_unsatisfied(const Fr* a, const Fr* b, const Fr* c, long n, u64* row) {
  const long step = all_threads();
  for (long i = thread_index(); i < n; i += step)
    if (!(load(a + i) * load(b + i) == load(c + i))) {
      atomicMin(row, u64(i));
      return;
    }
}

}
