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
    int64_t largest = 1;
    for (const int64_t each : small_)
      if (each != large) largest = std::max(largest, std::abs(each));
    most_terms_ = SmallSum::capacity / largest;
  }
  // `large` where it is not small.
  int64_t small(uint32_t coefficient) const { return small_[coefficient]; }
  // So many small products make one sum.
  int64_t most_terms() const { return most_terms_; }

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
  int64_t most_terms_;
};

// So many entries are on their way from memory while one is used.
inline constexpr int entries_ahead = 8;

// What most elements of a witness are: integers of 31 bits and a sign, in an eighth of an element's memory.
inline constexpr int32_t not_short = INT32_MIN;

// out[i] = the integer that z[i] is, or not_short.
inline void shorten(const Fr* z, int32_t* out, long n, int threads) {
  constexpr u64 largest = INT32_MAX;
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    SecretBuffer<Fr> plain(end - begin);
    to_canonical(z + begin, plain.data(), end - begin, 1);
    for (long i = begin; i < end; i++) {
      const u64* const v = plain.data()[i - begin].v;
      const u64* const r = FrParameters::modulus;
      const bool positive = (v[0] <= largest) & !(v[1] | v[2] | v[3]);  // no guesses
      const bool negative = (r[0] - v[0] <= largest) & !((v[1] ^ r[1]) | (v[2] ^ r[2]) | (v[3] ^ r[3]));
      out[i] = positive ? int32_t(v[0]) : negative ? -int32_t(r[0] - v[0]) : not_short;
    }
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
        if (small == Coefficients::large)
          queue.add(*out, m.coefficients[i], z[column]);
        else if (value != not_short)
          short_sum += small * value;
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

// An entry of a matrix whose entries are in another order.
struct SparseEntry {
  uint32_t column, row, coefficient;
};

// out += factor M^T y, out of so many columns; no factor is one. Entries are sorted by windows of columns, whose sums stay in a cache while
// they are made, each by one thread, and by what there is to do.
class TransposedProduct {
 public:
  TransposedProduct(const SparseMatrix& m, const Fr* y, const Fr* factor, Fr* out, long columns, int threads)
      : m_(m), y_(y), factor_(factor), out_(out), threads_(threads), coefficients_(m), kinds_(m.pool_size) {
    for (long i = 0; i < m.pool_size; i++) {
      const int64_t small = coefficients_.small(uint32_t(i));
      kinds_[i] = small == 1 ? plus : small == -1 ? minus : other;
    }
    while (columns >> shift_ >= most_windows) shift_++;
    windows_ = (columns >> shift_) + 1;
  }

  void add() {
    long most_rows = 0;
    int64_t most_entries = 0;
    std::vector<long> ends;
    for (long first = 0, last; first < m_.rows; first = last) {
      last = std::min(first + rows_at_once, row_of(m_.offsets[first] + entries_at_once, first));
      last = std::max(last, first + 1);
      most_rows = std::max(most_rows, last - first);
      most_entries = std::max(most_entries, m_.offsets[last] - m_.offsets[first]);
      ends.push_back(last);
    }
    const Buffer<Fr> scaled(factor_ ? most_rows : 0);
    const Buffer<SparseEntry> sorted(most_entries);
    long first = 0;
    for (const long last : ends) {
      add_rows(first, last, scaled.data(), sorted.data());
      first = last;
    }
  }

 private:
  enum Kind : uint8_t { plus, minus, other, kinds };
  static constexpr int64_t entries_at_once = 1 << 20, few_entries = 1 << 14;
  static constexpr long rows_at_once = 1 << 17, most_windows = 256;
  static constexpr int ahead = 16;

  // The last row, from `first` on, that begins no later than this entry does.
  long row_of(int64_t entry, long first) const {
    return std::upper_bound(m_.offsets + first, m_.offsets + m_.rows + 1, entry) - m_.offsets - 1;
  }
  long list_of(int64_t entry) const { return kinds * (m_.columns[entry] >> shift_) + kinds_[m_.coefficients[entry]]; }

  void add_rows(long first, long last, Fr* scaled, SparseEntry* sorted) {
    const int64_t begin = m_.offsets[first], count = m_.offsets[last] - begin;
    const int shares = count < few_entries ? 1 : threads_;
    if (factor_) multiply_all(y_ + first, *factor_, scaled, last - first, shares);
    const Fr* const y = factor_ ? scaled : y_ + first;
    if (count < few_entries) return add_few(first, last, y);
    std::vector<long> rows(shares + 1, last);
    for (int share = 0; share < shares; share++) rows[share] = share ? row_of(begin + count * share / shares, first) : first;
    std::vector<std::vector<int64_t>> cursors(shares, std::vector<int64_t>(kinds * windows_, 0));
    parallel_for(shares, shares, {}, [&](long share, int) {
      for (int64_t i = m_.offsets[rows[share]]; i < m_.offsets[rows[share + 1]]; i++) cursors[share][list_of(i)]++;
    });
    std::vector<const SparseEntry*> lists(kinds * windows_ + 1);
    int64_t total = 0;
    for (long list = 0; list < kinds * windows_; list++) {
      lists[list] = sorted + total;
      for (auto& cursor : cursors) total += std::exchange(cursor[list], total);
    }
    lists.back() = sorted + total;
    parallel_for(shares, shares, {}, [&](long share, int) {
      for (long row = rows[share]; row < rows[share + 1]; row++)
        for (int64_t i = m_.offsets[row]; i < m_.offsets[row + 1]; i++)
          sorted[cursors[share][list_of(i)]++] = {m_.columns[i], uint32_t(row - first), m_.coefficients[i]};
    });
    parallel_for(windows_, shares, {}, [&](long window, int) { add_window(&lists[kinds * window], y); });
  }

  // To begin threads and to sort takes longer.
  void add_few(long first, long last, const Fr* y) const {
    Coefficients::Queue queue(coefficients_);
    for (long row = first; row < last; row++, y++)
      for (int64_t i = m_.offsets[row]; i < m_.offsets[row + 1]; i++) {
        Fr& sum = out_[m_.columns[i]];
        switch (kinds_[m_.coefficients[i]]) {
          case plus: sum = sum + *y; break;
          case minus: sum = sum - *y; break;
          default: queue.add(sum, m_.coefficients[i], *y);
        }
      }
    queue.flush();
  }

  void add_window(const SparseEntry* const* lists, const Fr* y) const {
    const auto each = [&](Kind kind, auto work) {
      for (const SparseEntry *entry = lists[kind], *end = lists[kind + 1]; entry < end; entry++) {
        const SparseEntry& next = entry[std::min<long>(ahead, end - entry - 1)];
        __builtin_prefetch(&y[next.row]);
        __builtin_prefetch(&out_[next.column]);
        work(out_[entry->column], y[entry->row], entry->coefficient);
      }
    };
    each(plus, [](Fr& sum, const Fr& x, uint32_t) { sum = sum + x; });
    each(minus, [](Fr& sum, const Fr& x, uint32_t) { sum = sum - x; });
    Coefficients::Queue queue(coefficients_);
    each(other, [&](Fr& sum, const Fr& x, uint32_t coefficient) { queue.add(sum, coefficient, x); });
    queue.flush();
  }

  const SparseMatrix& m_;
  const Fr* y_;
  const Fr* factor_;
  Fr* out_;
  int threads_;
  Coefficients coefficients_;
  std::vector<Kind> kinds_;
  int shift_ = 10;
  long windows_;
};

inline void multiply_transposed(const SparseMatrix& m, const Fr* y, const Fr* factor, Fr* out, long columns, int threads) {
  TransposedProduct(m, y, factor, out, columns, threads).add();
}

}  // namespace zen
