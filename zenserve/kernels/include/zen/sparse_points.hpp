// The product of a transposed sparse matrix and a vector of points: every column's combination of points.
#pragma once

#include "list_sums.hpp"
#include "multiply.hpp"
#include "sparse.hpp"

namespace zen {

// An entry of a matrix whose entries are in another order.
struct SparseEntry {
  uint32_t column, row, coefficient;
};

// The matrix's entries sorted by column.
inline std::vector<SparseEntry> by_column(const SparseMatrix& m, long columns) {
  std::vector<long> cursor(columns + 1, 0);
  const int64_t count = m.offsets[m.rows];
  for (int64_t i = 0; i < count; i++) cursor[m.columns[i] + 1]++;
  for (long column = 0; column < columns; column++) cursor[column + 1] += cursor[column];
  std::vector<SparseEntry> sorted(count);
  for (long row = 0; row < m.rows; row++)
    for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++)
      sorted[cursor[m.columns[i]]++] = {m.columns[i], uint32_t(row), m.coefficients[i]};
  return sorted;
}

// products[i] = coefficient * point of entry i. Entries with scalars of one length go together, so that many
// coefficients of one bit do not pay for a long one beside them.
template <class F>
void multiply_entries(const SparseEntry* entries, long n, const SplitScalar<F>* pool, const Affine<F>* points,
                      Summand<F>* products, Multiplier<F>& multiplier) {
  constexpr long capacity = Multiplier<F>::capacity;
  std::vector<std::pair<int, long>> order(n);
  for (long i = 0; i < n; i++) {
    int length = 0;
    for (int part = 0; part < SplitScalar<F>::parts; part++)
      if (const int bits = pool[entries[i].coefficient].bit_length(part)) length = 128 * part + bits;
    order[i] = {length, i};
  }
  std::sort(order.begin(), order.end());
  std::vector<SplitScalar<F>> scalars(capacity);
  std::vector<Affine<F>> gathered(capacity);
  std::vector<Summand<F>> results(capacity);
  for (long first = 0; first < n; first += capacity) {
    const long count = std::min(capacity, n - first);
    for (long i = 0; i < count; i++) {
      const SparseEntry& entry = entries[order[first + i].second];
      scalars[i] = pool[entry.coefficient];
      gathered[i] = points[entry.row];
    }
    to_summands(gathered.data(), results.data(), count);
    multiplier.run(results.data(), scalars.data(), 1, results.data(), count);
    for (long i = 0; i < count; i++) products[order[first + i].second] = results[i];
  }
}

// out[column] += sum over rows of m[row][column] * points[row]; `pool_size` scalars in the pool.
template <class F>
void multiply_transposed(const SparseMatrix& m, long pool_size, const Affine<F>* points, Affine<F>* out, long columns,
                         int threads, const Progress& progress) {
  const std::vector<SparseEntry> entries = by_column(m, columns);
  std::vector<SplitScalar<F>> pool(pool_size);
  for (long i = 0; i < pool_size; i++) pool[i] = SplitScalar<F>::from(m.pool[i]);

  // A piece's first and last column may go on in its neighbours: their sums wait until all threads are done.
  struct Shared {
    uint32_t column;
    Affine<F> sum;
  };
  const long count = long(entries.size()), grain = balanced_grain(count, threads, 1 << 9, 1 << 13);
  std::vector<Shared> shared(2 * ((count + grain - 1) / grain), {0, Affine<F>::infinity()});
  parallel_ranges(count, grain, threads, progress, [&](long begin, long end) {
    const long n = end - begin;
    Multiplier<F> multiplier;
    BatchAdder<F, Summand<F>> adder;
    std::vector<Summand<F>> products(n), spare(n);
    multiply_entries(&entries[begin], n, pool.data(), points, products.data(), multiplier);

    std::vector<long> start;
    for (long i = 0; i < n; i++)
      if (i == 0 || entries[begin + i].column != entries[begin + i - 1].column) start.push_back(i);
    start.push_back(n);
    const long runs = long(start.size()) - 1;
    std::vector<uint32_t> column(runs);
    for (long run = 0; run < runs; run++) column[run] = entries[begin + start[run]].column;
    const Summand<F>* sums = sum_lists(start.data(), runs, n, products.data(), spare.data(), adder);

    std::vector<Affine<F>> totals(runs);
    to_affine(sums, totals.data(), runs);
    shared[2 * (begin / grain)] = {column[0], totals[0]};
    if (runs > 1) shared[2 * (begin / grain) + 1] = {column[runs - 1], totals[runs - 1]};

    for (long run = 1; run + 1 < runs; run++) totals[run] = out[column[run]];
    std::vector<Summand<F>> before(runs);
    to_summands(totals.data(), before.data(), runs);
    for (long run = 1; run + 1 < runs; run++) accumulate(adder, before[run], sums[run], false);
    adder.flush();
    to_affine(before.data(), totals.data(), runs);
    for (long run = 1; run + 1 < runs; run++) out[column[run]] = totals[run];
  });
  for (const Shared& part : shared)
    if (!part.sum.is_infinity()) out[part.column] = (Xyzz<F>::from(out[part.column]) + part.sum).to_affine();
}

}  // namespace zen
