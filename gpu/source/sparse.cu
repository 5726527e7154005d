// Sparse matrices over Fr in compressed rows with pooled coefficients: products with vectors, and whether the
// products satisfy their constraints.
#include "zen/field.hpp"
#include "patterns.hpp"
#include "segmented.hpp"

using namespace zen;

// Integers that `times` takes.
constexpr u32 small_end = 1u << 28;

// x w, w < 2^28, without a product of elements (Barrett): w x less q r, where q is x w / r, rounded down, or one less.
ZEN_FN Fr times(const Fr& x, u32 w) {
  constexpr u32 top = modulus_limb<FrParameters>(Fr::limbs - 1);
  constexpr u64 inverse = (1ull << 62) / (top + 1);  // of the modulus' highest bits
  Fr t;
  u64 sum = 0;
  ZEN_UNROLL for (int i = 0; i < Fr::limbs; i++) {
    sum += u64(x.v[i]) * w;
    t.v[i] = limb(sum);
    sum >>= 32;
  }
  const u64 q = ((sum << 32 | t.v[Fr::limbs - 1]) >> 28) * inverse >> 34;
  u64 less = 0, borrow = 0;
  ZEN_UNROLL for (int i = 0; i < Fr::limbs; i++) {
    less += q * modulus_limb<FrParameters>(i);
    const u64 left = u64(t.v[i]) - u32(less) - borrow;
    t.v[i] = limb(left);
    less >>= 32, borrow = left >> 63;
  }
  return t + Fr::zero();  // takes off r once, if need be
}

// Most coefficients are 1 and -1, which a whole warp often has, or small integers; `small` has 0 for all others.
struct Products {
  const u32 *columns, *coefficients;
  const Fr* pool;
  const int* small;
  const Fr* z;
  ZEN_FN void add_to(Fr& sum, u32 i) const {
    const Fr x = load(z + columns[i]);
    const int coefficient = small[coefficients[i]];
    if (coefficient == 1)
      sum = sum + x;
    else if (coefficient == -1)
      sum = sum - x;
    else if (coefficient > 0)
      sum = sum + times(x, u32(coefficient));
    else if (coefficient < 0)
      sum = sum - times(x, u32(-coefficient));
    else
      sum = sum + load(pool + coefficients[i]) * x;
  }
};

extern "C" {

__global__ void __launch_bounds__(128)
    multiply_shares(const u32* offsets, const u32* columns, const u32* coefficients, const Fr* pool, const int* small,
                    const Fr* z, u32 rows, u32 workers, Fr* sums, Fr* carries, u32* carry_rows) {
  sum_shares(Products{columns, coefficients, pool, small, z}, offsets, rows, workers, sums, carries, carry_rows);
}

// small[k] = the integer that pool[k] is, where that is less than 2^28 from zero, or 0.
__global__ void small_integers(const Fr* pool, long n, int* small) {
  const long k = thread_index();
  if (k >= n) return;
  const auto integer = [](const Fr& x) {
    const Fr plain = x.to_canonical();
    limb above = plain.v[0] / small_end;
    ZEN_UNROLL for (int i = 1; i < Fr::limbs; i++) above |= plain.v[i];
    return above ? 0 : int(plain.v[0]);
  };
  const Fr x = load(pool + k);
  const int positive = integer(x);
  small[k] = positive ? positive : -integer(-x);
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

// The entries by column: starts[places[column]] is where those of a column begin.
__global__ void place_entries(const u32* offsets, u32 rows, const u32* columns, const u32* coefficients,
                              const u32* places, const u32* starts, const u32* ranks, long n, u32* out_rows,
                              u32* out_coefficients) {
  const long i = thread_index();
  if (i >= n) return;
  const u32 at = starts[places[columns[i]]] + ranks[i];
  out_rows[at] = find_segment(offsets, rows, 0u, u32(i));
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
