// Products of a sparse matrix, in compressed rows with pooled coefficients, and a vector over Fr.
#pragma once

#include <cstdint>
#include <vector>

#include "octet.hpp"
#include "parallel.hpp"

namespace zen {

struct SparseMatrix {
  long rows;
  const int64_t* offsets;        // rows + 1
  const uint32_t* columns;
  const uint32_t* coefficients;  // positions in the pool
  const Fr* pool;
  long pool_size;
};

// Sums of products with coefficients. Those with 1 and -1 need none, the others are made eight at a time.
class ProductSums {
 public:
  explicit ProductSums(const SparseMatrix& matrix) : pool_(matrix.pool), kinds_(matrix.pool_size, Kind::any) {
    const Fr one = Fr::one(), minus_one = -one;
    for (long i = 0; i < matrix.pool_size; i++) {
      if (pool_[i] == one) kinds_[i] = Kind::one;
      if (pool_[i] == minus_one) kinds_[i] = Kind::minus_one;
    }
  }

  // Eight products waiting for each other; `flush` before their sums are read.
  class Queue {
   public:
    explicit Queue(const ProductSums& sums) : sums_(sums) {}
    // sum += pool[coefficient] x
    void add(Fr& sum, uint32_t coefficient, const Fr& x) {
      switch (sums_.kinds_[coefficient]) {
        case Kind::one: sum = sum + x; return;
        case Kind::minus_one: sum = sum - x; return;
        case Kind::any: break;
      }
      __builtin_prefetch(&x);
      __builtin_prefetch(&sum);
      sums_at_[count_] = &sum, coefficients_[count_] = sums_.pool_ + coefficient, values_[count_] = &x;
      if (++count_ == 8) flush();
    }
    void flush() {
      if (count_ == 8) {
        Fr products[8];
        Octet::gathered(values_).times(Octet::gathered(coefficients_)).store_adjacent(products);
        for (int i = 0; i < 8; i++) *sums_at_[i] = *sums_at_[i] + products[i];
      } else {
        for (int i = 0; i < count_; i++) *sums_at_[i] = *sums_at_[i] + *coefficients_[i] * *values_[i];
      }
      count_ = 0;
    }

   private:
    const ProductSums& sums_;
    int count_ = 0;
    Fr* sums_at_[8];
    const Fr* coefficients_[8];
    const Fr* values_[8];
  };

 private:
  enum class Kind : uint8_t { any, one, minus_one };
  const Fr* pool_;
  std::vector<Kind> kinds_;
};

// out = M z
inline void multiply(const SparseMatrix& m, const Fr* z, Fr* out, int threads) {
  const ProductSums sums(m);
  parallel_ranges(m.rows, 1 << 10, threads, {}, [&](long begin, long end) {
    ProductSums::Queue queue(sums);
    for (long row = begin; row < end; row++) {
      out[row] = Fr::zero();
      for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) queue.add(out[row], m.coefficients[i], z[m.columns[i]]);
    }
    queue.flush();
  });
}

// out += M^T y. Each thread reads all entries and takes those of its own columns, 64 neighbours at a time.
inline void multiply_transposed(const SparseMatrix& m, const Fr* y, Fr* out, int threads) {
  const ProductSums sums(m);
  parallel_for(threads, threads, {}, [&](long share, int) {
    ProductSums::Queue queue(sums);
    for (long row = 0; row < m.rows; row++)
      for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) {
        const uint32_t column = m.columns[i];
        if (column / 64 % uint32_t(threads) == share) queue.add(out[column], m.coefficients[i], y[row]);
      }
    queue.flush();
  });
}

}  // namespace zen
