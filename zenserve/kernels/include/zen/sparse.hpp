// Products of a sparse matrix, in compressed rows with pooled coefficients, and a vector over Fr.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "elementwise.hpp"
#include "small_sum.hpp"

namespace zen {

struct SparseMatrix {
  long rows;
  const int64_t* offsets;        // rows + 1
  const uint32_t* columns;
  const uint32_t* coefficients;  // positions in the pool
  const Fr* pool;
  long pool_size;
};

// The coefficients of a pool that are small, as integers, and the others.
class Coefficients {
 public:
  static constexpr int64_t large = INT64_MIN;
  // Of integers that large coefficients are multiplied by as small ones are by elements, the largest absolute value.
  static constexpr int64_t most_factor = 1 << 16;

  explicit Coefficients(const SparseMatrix& matrix) : pool_(matrix.pool), small_(matrix.pool_size), factors_(matrix.pool_size) {
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
    int64_t largest = most_factor;
    for (const int64_t each : small_)
      if (each != large) largest = std::max(largest, std::abs(each));
    most_terms_ = SmallSum::capacity / largest;
    for (long i = 0; i < matrix.pool_size; i++) factors_[i] = to_factor(pool_[i]);
  }
  // `large` where it is not small.
  int64_t small(uint32_t coefficient) const { return small_[coefficient]; }
  // So many small products make one sum.
  int64_t most_terms() const { return most_terms_; }
  const Fr& element(uint32_t coefficient) const { return pool_[coefficient]; }

  // Products with others, eight at a time; `flush` before their sums are read.
  class Queue {
   public:
    explicit Queue(const Coefficients& coefficients) : factors_(coefficients.factors_.data()) {}
    // sum += pool[coefficient] x
    void add(Fr& sum, uint32_t coefficient, const Fr& x) {
      __builtin_prefetch(&x);
      __builtin_prefetch(&sum);
      sums_[count_] = &sum, coefficients_[count_] = factors_ + coefficient, values_[count_] = &x;
      if (++count_ == 8) flush();
    }
    void flush() {
      if (!count_) return;
      for (int i = count_; i < 8; i++) coefficients_[i] = coefficients_[0], values_[i] = values_[0];
      Fr products[8];
      (Octet::gathered(values_) * Factor(Octet::gathered(coefficients_))).store_adjacent(products);
      for (int i = 0; i < count_; i++) *sums_[i] = *sums_[i] + products[i];
      count_ = 0;
    }

   private:
    const Fr* factors_;
    int count_ = 0;
    Fr* sums_[8];
    const Fr* coefficients_[8];
    const Fr* values_[8];
  };

 private:
  const Fr* pool_;
  std::vector<int64_t> small_;
  std::vector<Fr> factors_;  // the pool in factor form
  int64_t most_terms_;
};

// So many entries are on their way from memory while one is used.
inline constexpr int entries_ahead = 8;

// What most elements of a witness are: integers of 31 bits and a sign, in an eighth of an element's memory.
inline constexpr int32_t not_short = INT32_MIN;

// The integer that x is, below 2^31 in absolute value, or not_short; of x in canonical form.
ZEN_FN int32_t short_integer(const Fr& x) {
  constexpr u64 largest = INT32_MAX;
  const u64* const v = x.v;
  const u64* const r = FrParameters::modulus;
  const bool positive = (v[0] <= largest) & !(v[1] | v[2] | v[3]);  // no guesses
  const bool negative = (r[0] - v[0] <= largest) & !((v[1] ^ r[1]) | (v[2] ^ r[2]) | (v[3] ^ r[3]));
  return positive ? int32_t(v[0]) : negative ? -int32_t(r[0] - v[0]) : not_short;
}

// out[i] = the integer that z[i] is, or not_short.
inline void shorten(const Fr* z, int32_t* out, long n, int threads) {
  const SmallIntegers& small = SmallIntegers::all();
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    SecretBuffer<Fr> others(end - begin);
    int32_t at[elements_a_piece];
    long count = 0;
    for (long i = begin; i < end; i++) {
      const int index = small.index(z[i]);
      out[i] = int32_t(SmallIntegers::least) + index;
      if (index < SmallIntegers::count) continue;
      others.data()[count] = z[i], at[count++] = int32_t(i - begin);
    }
    to_canonical(others.data(), others.data(), count, 1);
    for (long k = 0; k < count; k++) out[begin + at[k]] = short_integer(others.data()[k]);
  });
}

// Sums of products of coefficients and short elements, of some rows.
class ShortSums {
 public:
  void add(Fr& row, __int128 sum) {
    if (sum == 0) return;
    const unsigned __int128 magnitude = sum < 0 ? -(unsigned __int128)sum : (unsigned __int128)sum;
    Fr plain = Fr::zero();
    plain.v[0] = u64(magnitude), plain.v[1] = u64(magnitude >> 64);
    rows_[count_] = &row, sums_[count_] = sum < 0 ? -plain : plain;
    if (++count_ == most) flush();
  }
  // Before the rows are read.
  void flush() {
    to_montgomery(sums_, sums_, count_, 1);
    for (int i = 0; i < count_; i++) *rows_[i] = *rows_[i] + sums_[i];
    count_ = 0;
  }

 private:
  static constexpr int most = 64;
  int count_ = 0;
  Fr* rows_[most];
  Fr sums_[most];
};

// out[i] = the product of row begin + i and z, for the rows up to end. `shorts` has what is short of z, or is null.
inline void multiply_rows(const SparseMatrix& m, const Coefficients& coefficients, long begin, long end, const Fr* z,
                          const int32_t* shorts, Fr* out) {
  const int64_t entries = m.offsets[m.rows];
  const auto column_of = [&](int64_t i) { return m.columns[std::min(i, entries - 1)]; };
  Coefficients::Queue queue(coefficients);
  ShortSums short_sums;
  for (long row = begin; row < end; row++, out++) {
    const int64_t first = m.offsets[row];
    if (m.offsets[row + 1] == first + 1 && coefficients.small(m.coefficients[first]) == 1) {
      *out = z[m.columns[first]];
      continue;
    }
    *out = Fr::zero();
    __int128 short_sum = 0;
    for (int64_t i = first; i < m.offsets[row + 1];) {
      const int64_t stop = std::min(m.offsets[row + 1], i + coefficients.most_terms());
      SmallSum sum;
      bool any = false;
      for (; i < stop; i++) {
        const uint32_t column = m.columns[i], next = column_of(i + entries_ahead), after = column_of(i + 2 * entries_ahead);
        __builtin_prefetch(shorts ? static_cast<const void*>(shorts + after) : z + after);
        if (shorts && shorts[next] == not_short) __builtin_prefetch(z + next);
        const int64_t small = coefficients.small(m.coefficients[i]);
        const int32_t value = shorts ? shorts[column] : not_short;
        if (small == Coefficients::large && std::abs(int64_t(value)) <= Coefficients::most_factor)
          sum.add(value, coefficients.element(m.coefficients[i])), any = true;
        else if (small == Coefficients::large)
          queue.add(*out, m.coefficients[i], z[column]);
        else if (value != not_short)
          short_sum += small * value;
        else if (small == 1)  // most rows have one or two of them: nothing is gained by adding them up unreduced
          *out = *out + z[column];
        else if (small == -1)
          *out = *out - z[column];
        else
          sum.add(small, z[column]), any = true;
      }
      if (any) *out = *out + sum.total();
    }
    short_sums.add(*out, short_sum);
  }
  queue.flush();
  short_sums.flush();
}

// out = M z; `shorts` as above.
inline void multiply(const SparseMatrix& m, const Fr* z, const int32_t* shorts, Fr* out, int threads) {
  const Coefficients coefficients(m);
  parallel_ranges(m.rows, 1 << 10, threads, {}, [&](long begin, long end) {
    multiply_rows(m, coefficients, begin, end, z, shorts, out + begin);
  });
}

// A matrix whose first row is row `first` of a vector on its left.
struct PlacedMatrix {
  SparseMatrix matrix;
  Coefficients coefficients;
  long first;
};

// out += the sum over matrices of factor M^T y, out of so many columns. They take the factors in turn, or one. Columns are
// shared out: who has some reads the entries of all rows that reach there and adds those that lie there, in the order in
// which they stand, as what follows each other in a row is near to each other in `out`, too.
class TransposedProducts {
 public:
  TransposedProducts(const Fr* y, const Fr* factors, long factor_count, Fr* out, long columns, int threads)
      : y_(y), factors_(factors), factor_count_(factor_count), out_(out), threads_(threads), scaled_(factors ? rows_at_once : 0) {
    while (columns >> shift_ >= windows) shift_++;
  }

  // Matrices from `first` to `end`, of which the first has the first factor.
  void add(const PlacedMatrix* first, const PlacedMatrix* end) {
    long taken = 0;
    for (const PlacedMatrix* placed = first; placed < end; placed++)
      for (long row = 0, last; row < placed->matrix.rows; row = last) {
        if (taken == rows_at_once) add_runs(), taken = 0;
        last = std::min({placed->matrix.rows, row + elements_a_piece, row + rows_at_once - taken});
        const Fr* const y = y_ + placed->first + row;
        runs_.push_back({placed, row, last, y, factors_ ? scaled_.data() + taken : y, (placed - first) % factor_count_, 0, 0});
        taken += last - row;
      }
    add_runs();
  }

 private:
  // Rows, and what they are multiplied by, times a factor.
  struct Run {
    const PlacedMatrix* placed;
    long begin, end;
    const Fr *y, *scaled;
    long factor;
    uint32_t least, most;  // columns of its entries

    int64_t entries_from() const { return placed->matrix.offsets[begin]; }
    int64_t entries_to() const { return placed->matrix.offsets[end]; }
  };
  static constexpr long rows_at_once = 1 << 17, windows = 1 << 12;
  static constexpr int64_t few_entries = 1 << 14, sampled = 1 << 14;
  static constexpr int64_t a_product = 4;  // sums
  static constexpr int ahead = 16, shares_a_thread = 3;  // which do not take equally long

  void add_runs() {
    int64_t entries = 0;
    for (const Run& run : runs_) entries += run.entries_to() - run.entries_from();
    const int threads = entries < few_entries ? 1 : threads_;  // to begin them takes longer
    const int shares = threads == 1 ? 1 : shares_a_thread * threads;
    parallel_for(long(runs_.size()), threads, {}, [&](long i, int) {
      Run& run = runs_[i];
      if (factors_)
        multiply_all(run.y, factors_[run.factor], const_cast<Fr*>(run.scaled), run.end - run.begin, 1);
      uint32_t least = UINT32_MAX, most = 0;
      for (int64_t entry = run.entries_from(); entry < run.entries_to(); entry++) {
        const uint32_t column = run.placed->matrix.columns[entry];
        least = std::min(least, column), most = std::max(most, column);
      }
      run.least = least, run.most = most;
    });
    const std::vector<uint32_t> ends = ends_of_shares(entries, shares);
    parallel_for(shares, threads, {}, [&](long share, int) {
      const uint32_t from = share ? ends[share - 1] : 0;
      for (const Run& run : runs_)
        if (run.most >= from && run.least < ends[share]) add_run(run, from, ends[share]);
    });
    runs_.clear();
  }

  // Columns that as much work lies between, about, seen by some of the entries.
  std::vector<uint32_t> ends_of_shares(int64_t entries, int shares) const {
    std::vector<uint32_t> ends(shares, UINT32_MAX);
    if (shares == 1) return ends;
    const int64_t step = entries / sampled + 1;
    std::vector<int64_t> seen(windows, 0);
    int64_t total = 0, skipped = 0;
    for (const Run& run : runs_) {
      const SparseMatrix& m = run.placed->matrix;
      int64_t i = run.entries_from() + skipped;
      for (; i < run.entries_to(); i += step) {
        const int64_t small = run.placed->coefficients.small(m.coefficients[i]), work = small == 1 || small == -1 ? 1 : a_product;
        seen[m.columns[i] >> shift_] += work, total += work;
      }
      skipped = i - run.entries_to();
    }
    int64_t before = 0;
    long window = 0;
    for (int share = 0; share < shares - 1; share++) {
      while (window < windows && before < total * (share + 1) / shares) before += seen[window++];
      ends[share] = uint32_t(std::min<long>(window << shift_, UINT32_MAX));
    }
    return ends;
  }

  // The entries in columns from `from` up to `to`.
  void add_run(const Run& run, uint32_t from, uint32_t to) const {
    const SparseMatrix& m = run.placed->matrix;
    const Coefficients& coefficients = run.placed->coefficients;
    const uint32_t width = to - from;
    const int64_t last = run.entries_to() - 1;
    Coefficients::Queue queue(coefficients);
    const Fr* y = run.scaled;
    for (long row = run.begin; row < run.end; row++, y++)
      for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) {
        const uint32_t column = m.columns[i], next = m.columns[std::min(i + ahead, last)];
        if (next - from < width) __builtin_prefetch(&out_[next]);
        if (column - from >= width) continue;
        Fr& sum = out_[column];
        const int64_t small = coefficients.small(m.coefficients[i]);
        if (small == 1)
          sum = sum + *y;
        else if (small == -1)
          sum = sum - *y;
        else
          queue.add(sum, m.coefficients[i], *y);
      }
    queue.flush();
  }

  const Fr *y_, *factors_;
  long factor_count_;
  Fr* out_;
  int threads_, shift_ = 0;
  Buffer<Fr> scaled_;
  std::vector<Run> runs_;
};

// out += factor M^T y; no factor is one.
inline void multiply_transposed(const SparseMatrix& m, const Fr* y, const Fr* factor, Fr* out, long columns, int threads) {
  const PlacedMatrix placed{m, Coefficients(m), 0};
  TransposedProducts(y, factor, 1, out, columns, threads).add(&placed, &placed + 1);
}

}  // namespace zen
