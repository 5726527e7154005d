// Products of a sparse matrix, in compressed rows with pooled coefficients, and a vector over Fr.
#pragma once

#include <algorithm>
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

// A sum of products with small coefficients, as most are in a network's constraints. Words of 64 bits are multiplied
// each for itself, and carried when the sum ends.
class SmallSum {
 public:
  // Coefficients' absolute values, and the terms of one sum: it stays below 2^53 r.
  static constexpr int64_t largest = 0xFFFFFFFF;
  static constexpr long most_terms = 1 << 21;

  SmallSum() = default;
  explicit ZEN_FN SmallSum(const Fr& start) {
    ZEN_UNROLL for (int i = 0; i < 4; i++) words_[i] = start.v[i];
  }

  // += coefficient x. Signs are not guessed: where it is negative 2^256 - 1 - x is added, and that is counted.
  ZEN_FN void add(int64_t coefficient, const Fr& x) {
    const u64 negative = u64(coefficient >> 63), magnitude = (u64(coefficient) ^ negative) - negative;
    ZEN_UNROLL for (int i = 0; i < 4; i++) words_[i] += Word(x.v[i] ^ negative) * magnitude;
    complements_ += magnitude & negative;
  }

  ZEN_FN Fr total() const {
    u64 sum[5];
    Word carry = 0;
    ZEN_UNROLL for (int i = 0; i < 4; i++) {  // a complement too much is 2^256 - 1
      const Word word = Word(minus_ones[i]) * complements_ + u64(words_[i]) + u64(carry);
      sum[i] = u64(word);
      carry = (carry >> 64) + (words_[i] >> 64) + (word >> 64);
    }
    sum[4] = u64(carry);
    // The quotient by r is estimated from the bits above 2^253: it is right, or one too small.
    constexpr u64 inverse = u64((Word(1) << 125) / (FrParameters::modulus[3] + 1));
    const u64 quotient = u64(Word(sum[4] << 3 | sum[3] >> 61) * inverse >> 64);
    Fr left, reduced;
    Word product = 0;
    u64 borrow = 0;
    ZEN_UNROLL for (int i = 0; i < 4; i++) {
      product += Word(quotient) * FrParameters::modulus[i];
      const Word difference = Word(sum[i]) - u64(product) - borrow;
      left.v[i] = u64(difference), borrow = u64(difference >> 64) & 1;
      product >>= 64;
    }
    borrow = 0;
    ZEN_UNROLL for (int i = 0; i < 4; i++) {
      const Word difference = Word(left.v[i]) - FrParameters::modulus[i] - borrow;
      reduced.v[i] = u64(difference), borrow = u64(difference >> 64) & 1;
    }
    ZEN_UNROLL for (int i = 0; i < 4; i++) reduced.v[i] ^= (left.v[i] ^ reduced.v[i]) & -borrow;
    return reduced;
  }

 private:
  using Word = unsigned __int128;
  // 3 r - (2^256 - 1)
  static constexpr u64 minus_ones[4] = {0xfffffffd00000004, 0xfb38ec08fffb13fc, 0x99ad88181ce5880f, 0x5bc8f5f97cd877d8};
  Word words_[4] = {};
  u64 complements_ = 0;
};

// The coefficients of a pool that are small, as integers, and the others.
class Coefficients {
 public:
  static constexpr int64_t large = INT64_MIN;

  explicit Coefficients(const SparseMatrix& matrix) : pool_(matrix.pool), small_(matrix.pool_size) {
    const auto small = [](const Fr& value) {
      const Fr plain = value.to_canonical();
      return plain.v[0] <= u64(SmallSum::largest) && !(plain.v[1] | plain.v[2] | plain.v[3]) ? int64_t(plain.v[0]) : large;
    };
    for (long i = 0; i < matrix.pool_size; i++) {
      small_[i] = small(pool_[i]);
      if (small_[i] != large) continue;
      const int64_t magnitude = small(-pool_[i]);
      if (magnitude != large) small_[i] = -magnitude;
    }
  }
  // `large` where it is not small.
  int64_t small(uint32_t coefficient) const { return small_[coefficient]; }

  // Products with others, eight at a time; `flush` before their sums are read.
  class Queue {
   public:
    explicit Queue(const Coefficients& coefficients) : pool_(coefficients.pool_) {}
    // sum += pool[coefficient] x
    void add(Fr& sum, uint32_t coefficient, const Fr& x) {
      __builtin_prefetch(&x);
      __builtin_prefetch(&sum);
      sums_[count_] = &sum, coefficients_[count_] = pool_ + coefficient, values_[count_] = &x;
      if (++count_ == 8) flush();
    }
    void flush() {
      if (count_ == 8) {
        Fr products[8];
        Octet::gathered(values_).times(Octet::gathered(coefficients_)).store_adjacent(products);
        for (int i = 0; i < 8; i++) *sums_[i] = *sums_[i] + products[i];
      } else {
        for (int i = 0; i < count_; i++) *sums_[i] = *sums_[i] + *coefficients_[i] * *values_[i];
      }
      count_ = 0;
    }

   private:
    const Fr* pool_;
    int count_ = 0;
    Fr* sums_[8];
    const Fr* coefficients_[8];
    const Fr* values_[8];
  };

 private:
  const Fr* pool_;
  std::vector<int64_t> small_;
};

// So many entries are on their way from memory while one is used.
inline constexpr int entries_ahead = 32;

// out = M z
inline void multiply(const SparseMatrix& m, const Fr* z, Fr* out, int threads) {
  const Coefficients coefficients(m);
  const int64_t entries = m.offsets[m.rows];
  parallel_ranges(m.rows, 1 << 10, threads, {}, [&](long begin, long end) {
    Coefficients::Queue queue(coefficients);
    for (long row = begin; row < end; row++) {
      out[row] = Fr::zero();
      for (int64_t i = m.offsets[row]; i < m.offsets[row + 1];) {
        const int64_t stop = std::min(m.offsets[row + 1], i + SmallSum::most_terms);
        SmallSum sum;
        for (; i < stop; i++) {
          __builtin_prefetch(&z[m.columns[std::min(i + entries_ahead, entries - 1)]]);
          const int64_t small = coefficients.small(m.coefficients[i]);
          if (small != Coefficients::large)
            sum.add(small, z[m.columns[i]]);
          else
            queue.add(out[row], m.coefficients[i], z[m.columns[i]]);
        }
        out[row] = out[row] + sum.total();
      }
    }
    queue.flush();
  });
}

// out += M^T y. Each thread reads all entries and takes those of its own columns, 64 neighbours at a time. Full products
// are faster here than small ones: an element is waited for longer than it is multiplied, and eight are waited for at once.
inline void multiply_transposed(const SparseMatrix& m, const Fr* y, Fr* out, int threads) {
  constexpr int64_t enough = 1 << 13;  // of entries, for another thread
  threads = int(std::min<int64_t>(threads, 1 + m.offsets[m.rows] / enough));
  const Coefficients coefficients(m);
  parallel_for(threads, threads, {}, [&](long share, int) {
    Coefficients::Queue queue(coefficients);
    for (long row = 0; row < m.rows; row++)
      for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) {
        const uint32_t column = m.columns[i];
        if (column / 64 % uint32_t(threads) != share) continue;
        switch (coefficients.small(m.coefficients[i])) {
          case 1: out[column] = out[column] + y[row]; break;
          case -1: out[column] = out[column] - y[row]; break;
          default: queue.add(out[column], m.coefficients[i], y[row]);
        }
      }
    queue.flush();
  });
}

}  // namespace zen
