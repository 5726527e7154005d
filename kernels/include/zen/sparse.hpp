// Products of a sparse matrix, in compressed rows with pooled coefficients, and a vector over Fr.
#pragma once

#include <cstdint>

#include "field.hpp"
#include "parallel.hpp"

namespace zen {

struct SparseMatrix {
  long rows;
  const int64_t* offsets;        // rows + 1
  const uint32_t* columns;
  const uint32_t* coefficients;  // positions in the pool
  const Fr* pool;
};

// out = M z
inline void multiply(const SparseMatrix& m, const Fr* z, Fr* out, int threads) {
  parallel_ranges(m.rows, 1 << 10, threads, {}, [&](long begin, long end) {
    for (long row = begin; row < end; row++) {
      Fr sum = Fr::zero();
      for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) sum = sum + z[m.columns[i]] * m.pool[m.coefficients[i]];
      out[row] = sum;
    }
  });
}

// out += M^T y
inline void multiply_transposed(const SparseMatrix& m, const Fr* y, Fr* out) {
  for (long row = 0; row < m.rows; row++)
    for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) {
      Fr& target = out[m.columns[i]];
      target = target + y[row] * m.pool[m.coefficients[i]];
    }
}

}  // namespace zen
