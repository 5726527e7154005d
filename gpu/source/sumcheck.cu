// Multilinear polynomials as tables of 2^v values, the first variable the index's highest bit, and the rounds of
// sum-checks over them: each binds the variable of the round before, and sums over what its own leaves.
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

// What a round says of a polynomial in the variable that it binds.
template <int coefficients>
struct Coefficients {
  Fr v[coefficients];
  friend ZEN_FN Coefficients operator+(const Coefficients& a, const Coefficients& b) {
    Coefficients sum;
    ZEN_UNROLL for (int i = 0; i < coefficients; i++) sum.v[i] = a.v[i] + b.v[i];
    return sum;
  }
};

// Tables one after the other, of 2 `half` values each, or of 4 `half` of which the first variable becomes r: then they
// are written to `next`.
struct Tables {
  const Fr* in;
  Fr* next;
  long half;
  Fr r;

  // The values at i and i + half of a table.
  ZEN_FN void get(int table, long i, Fr& low, Fr& high) const {
    if (!next) {
      const Fr* const from = in + table * 2 * half + i;
      low = load(from), high = load(from + half);
      return;
    }
    const Fr* const from = in + table * 4 * half + i;
    low = load(from), high = load(from + half);
    low = low + r * (load(from + 2 * half) - low), high = high + r * (load(from + 3 * half) - high);
    Fr* const to = next + table * 2 * half + i;
    store(to, low), store(to + half, high);
  }
};

ZEN_FN Fr element(u64 r0, u64 r1, u64 r2, u64 r3) {
  const u64 words[4] = {r0, r1, r2, r3};
  return Fr::from_words(words);
}

extern "C" {

// suffixes[2^j .. 2^(j + 1)) = eq(the last j of n coordinates, x) for j <= n, by one block.
__global__ void __launch_bounds__(512) eq_suffixes(const Fr* point, int n, Fr* suffixes) {
  if (threadIdx.x == 0) store(suffixes + 1, Fr::one());
  for (int j = 0; j < n; j++) {
    __syncthreads();
    const Fr r = load(point + n - 1 - j);
    const long size = 1l << j;
    for (long i = threadIdx.x; i < size; i += blockDim.x) {
      const Fr value = load(suffixes + size + i), upper = value * r;
      store(suffixes + 2 * size + i, value - upper), store(suffixes + 3 * size + i, upper);
    }
  }
}

// out[i] = high[i / 2^bits] low[i mod 2^bits]
__global__ void eq_product(const Fr* high, const Fr* low, int bits, long n, Fr* out) {
  const long i = thread_index();
  if (i < n) store(out + i, load(high + (i >> bits)) * load(low + (i & ((1l << bits) - 1))));
}

// The sum over i < half of high[i / 2^bits] low[i mod 2^bits] (a b - c)(X): its value at 0 and its coefficient of X^2.
// The number of threads is a multiple of 2^bits, or at least half: so each has one entry of `low`.
__global__ void __launch_bounds__(256)
    r1cs_round(const Fr* in, Fr* next, long half, u64 r0, u64 r1, u64 r2, u64 r3, const Fr* high, const Fr* low,
               int bits, Coefficients<2>* out) {
  const Tables tables{in, next, half, element(r0, r1, r2, r3)};
  Coefficients<2> sum{};
  for (long i = thread_index(); i < half; i += all_threads()) {
    const Fr weight = load(high + (i >> bits));
    Fr a, da, b, db, c, dc;
    tables.get(0, i, a, da), tables.get(1, i, b, db), tables.get(2, i, c, dc);
    sum.v[0] = sum.v[0] + (a * b - c) * weight;
    sum.v[1] = sum.v[1] + (da - a) * (db - b) * weight;
  }
  if (thread_index() < half) {
    const Fr weight = load(low + (thread_index() & ((1l << bits) - 1)));
    sum.v[0] = sum.v[0] * weight, sum.v[1] = sum.v[1] * weight;
  }
  sum = reduce_block<Sum<Coefficients<2>>>(sum);
  if (threadIdx.x == 0) store(out + blockIdx.x, sum);
}

// The sum over i < half of (a b)(X): its value at 0 and its coefficient of X^2.
__global__ void __launch_bounds__(256)
    product_round(const Fr* in, Fr* next, long half, u64 r0, u64 r1, u64 r2, u64 r3, Coefficients<2>* out) {
  const Tables tables{in, next, half, element(r0, r1, r2, r3)};
  reduce<Sum<Coefficients<2>>>(half, out, [=](Coefficients<2>& sum, long i) {
    Fr a, da, b, db;
    tables.get(0, i, a, da), tables.get(1, i, b, db);
    sum.v[0] = sum.v[0] + a * b;
    sum.v[1] = sum.v[1] + (da - a) * (db - b);
  });
}

// The sum over i < half and over `triples` of (a b c)(X): its values at 0 and -1, and its coefficient of X^3.
__global__ void __launch_bounds__(256)
    cubic_round(const Fr* in, Fr* next, long half, u64 r0, u64 r1, u64 r2, u64 r3, int triples, Coefficients<3>* out) {
  const Tables tables{in, next, half, element(r0, r1, r2, r3)};
  reduce<Sum<Coefficients<3>>>(half, out, [=](Coefficients<3>& sum, long i) {
    for (int triple = 0; triple < triples; triple++) {
      Fr a, da, b, db, c, dc;
      tables.get(3 * triple, i, a, da), tables.get(3 * triple + 1, i, b, db), tables.get(3 * triple + 2, i, c, dc);
      da = da - a, db = db - b, dc = dc - c;
      sum.v[0] = sum.v[0] + a * b * c;
      sum.v[1] = sum.v[1] + (a - da) * (b - db) * (c - dc);
      sum.v[2] = sum.v[2] + da * db * dc;
    }
  });
}

// The sum of values[i] high[i / 2^bits] low[i mod 2^bits], a block's in out[block].
__global__ void __launch_bounds__(256)
    weighted_sum(const Fr* values, const Fr* high, const Fr* low, int bits, long n, Fr* out) {
  reduce<Sum<Fr>>(n, out, [=](Fr& sum, long i) {
    sum = sum + load(values + i) * load(high + (i >> bits)) * load(low + (i & ((1l << bits) - 1)));
  });
}

// out[0] = the sum of n elements' worth of partial sums of `width` elements, column by column; by one block.
__global__ void __launch_bounds__(256) add_partial(const Fr* partial, long n, int width, Fr* out) {
  for (int column = 0; column < width; column++)
    reduce<Sum<Fr>>(threadIdx.x, n, blockDim.x, out + column, [=](Fr& sum, long i) { sum = sum + load(partial + i * width + column); });
}

// Tables of 2 `half` values each, their first variable becomes r.
__global__ void fold(const Fr* in, long half, long n, u64 r0, u64 r1, u64 r2, u64 r3, Fr* out) {
  const long at = thread_index();
  if (at >= n) return;
  const Fr* const from = in + at / half * 2 * half + at % half;
  const Fr low = load(from);
  store(out + at, low + element(r0, r1, r2, r3) * (load(from + half) - low));
}

}
