// Sparse matrices between two vectors: what a verifier evaluates of a constraint system, whose matrices
// stay; and their transposes, which a prover sums.
#pragma once

#include "sparse.hpp"
#include "sumcheck.hpp"

namespace zen {

class SparseForms {
 public:
  // Its first row is row `first` of the vector on the left.
  void add(const SparseMatrix& matrix, long first) {
    matrices_.push_back({matrix, Coefficients(matrix), first});
    for (long begin = 0, end; begin < matrix.rows; begin = end) {
      for (end = begin + 1; end < matrix.rows && end < begin + most_rows; end++)
        if (matrix.offsets[end + 1] - matrix.offsets[begin] > most_entries) break;
      pieces_.push_back({long(matrices_.size()) - 1, begin, end});
    }
  }

  // out += the sum over k of M_k^T y times a factor, which matrices take in turn; out of so many columns.
  void add_transposed(const Fr* y, const Fr* factors, long factor_count, Fr* out, long columns, int threads) const {
    TransposedProducts(y, factors, factor_count, out, columns, threads).add(matrices_.data(), matrices_.data() + matrices_.size());
  }

  // out[k] = y M_k z. The vector on the left is y[i] = outer[i / inner_size] inner[i mod inner_size].
  void at(const Fr* outer, const Fr* inner, long inner_size, const Fr* z, Fr* out, int threads) const {
    std::vector<Fr> sums(pieces_.size());
    parallel_for(long(pieces_.size()), threads, {}, [&](long index, int) {
      const Piece& piece = pieces_[index];
      const PlacedMatrix& placed = matrices_[piece.matrix];
      Fr products[most_rows], sum = Fr::zero();
      multiply_rows(placed.matrix, placed.coefficients, piece.begin, piece.end, z, nullptr, products);
      for (long row = placed.first + piece.begin, end = placed.first + piece.end; row < end;) {
        const long within = row % inner_size, count = std::min(inner_size - within, end - row);
        const Fr* const here = products + (row - placed.first - piece.begin);
        sum = sum + outer[row / inner_size] * dot(here, inner + within, count, 1);
        row += count;
      }
      sums[index] = sum;
    });
    for (size_t k = 0; k < matrices_.size(); k++) out[k] = Fr::zero();
    for (size_t i = 0; i < pieces_.size(); i++) out[pieces_[i].matrix] = out[pieces_[i].matrix] + sums[i];
  }

 private:
  // Of a piece, which is one thread's: as many rows as fit beside the vectors into the cache, and not much work.
  static constexpr long most_rows = 1 << 9;
  static constexpr int64_t most_entries = 1 << 13;

  struct Piece {
    long matrix, begin, end;
  };

  std::vector<PlacedMatrix> matrices_;
  std::vector<Piece> pieces_;
};

}  // namespace zen
