// Code words of many rows side by side: eight rows lie in a block, whose entry j has that of each row next to each other, so
// that no butterfly crosses lanes, and a column's entries stand as they are hashed. CPU only.
#pragma once

#include "bear.hpp"
#include "parallel.hpp"
#include "secret.hpp"

namespace zen::bear {

inline constexpr int block_rows = 8;
inline constexpr long vector_entries = lane_count > block_rows ? lane_count / block_rows : 1;
inline constexpr long entry_vectors = lane_count < block_rows ? block_rows / lane_count : 1;

// The 2^log_length-th roots of unity.
class Domain {
 public:
  explicit Domain(int log_length) : log_length_(log_length), twiddles_(length()) {
    for (int log = 1; log <= log_length; log++) {
      const uint32_t root = power(generator, (modulus - 1) >> log);
      uint32_t value = one;
      for (long j = 0; j < 1l << (log - 1); j++, value = times(value, root)) twiddles_[(1l << (log - 1)) + j] = value;
    }
  }
  long length() const { return 1l << log_length_; }

  // out[blocks, length, 8]: the code words of `count` rows of a quarter as many coefficients: `width` values, and a tail. They
  // are polynomials' values at the roots in the order of their exponents. Rows that a block lacks are zero.
  template <class Entry>
  void encode(const Entry* values, long width, const uint32_t* tails, long count, uint32_t* out, int threads,
              const Progress& progress) const {
    const long blocks = (count + block_rows - 1) / block_rows;
    parallel_for(blocks, threads, progress, [&](long block, int) {
      uint32_t* const to = out + block * length() * block_rows;
      const long first = block * block_rows, rows = count - first < block_rows ? count - first : block_rows;
      spread(values + first * width, width, rows, 0, to);
      if (width < length() / 4) {
        const long tail = length() / 4 - width;
        spread(tails + first * tail, tail, rows, width, to);
      }
      layers(to, log_length_);
    });
  }

 private:
  // Where bit-reversal has coefficients from `first` on, four times each: the two layers that see zeros.
  template <class Entry>
  void spread(const Entry* values, long width, long rows, long first, uint32_t* out) const {
    const int log_degree = log_length_ - 2;
    long reversed = 0;
    for (int bit = 0; bit < log_degree; bit++) reversed |= (first >> bit & 1) << (log_degree - 1 - bit);
    for (long i = 0; i < width; i++) {
      uint32_t entry[block_rows] = {};
      for (long r = 0; r < rows; r++) {
        const int64_t value = int64_t(values[r * width + i]);
        entry[r] = uint32_t(value + (value < 0 ? int64_t(modulus) : 0));
      }
      uint32_t* const to = out + reversed * 4 * block_rows;
      for (int copy = 0; copy < 4; copy++) std::memcpy(to + copy * block_rows, entry, sizeof entry);
      long bit = 1l << log_degree >> 1;  // the next number, its bits reversed
      for (; reversed & bit; bit >>= 1) reversed ^= bit;
      reversed |= bit;
    }
  }

  // All layers but two of 2^log entries, whose quarters stay in the cache before they are joined.
  void layers(uint32_t* x, int log) const {
    if (log == 3) return pairs(x, 4);
    if (log <= 2) return;
    const long quarter = 1l << (log - 2);
    for (int part = 0; part < 4; part++) layers(x + part * quarter * block_rows, log - 2);
    fours(x, quarter);
  }

  // w_j for each row of a block; of two entries, where a vector has as many.
  ZEN_FN static Lanes factor(const uint32_t* twiddles, long vector) {
    if constexpr (lane_count <= block_rows)
      return all_lanes(twiddles[vector / entry_vectors]);
    else {
      uint64_t two;
      std::memcpy(&two, twiddles + vector_entries * vector, 8);
      const Lanes both = Lanes(all_wide(two));
      return pair_of(both);
    }
  }
  ZEN_FN static Lanes pair_of(Lanes both) {
#if defined(__AVX512F__)
    return __builtin_shufflevector(both, both, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
#else
    return both;
#endif
  }

  // One layer of butterflies between neighbours of m entries.
  void pairs(uint32_t* x, long m) const {
    for (long v = 0; v < m * block_rows / lane_count; v++) {
      uint32_t *const p = x + v * lane_count, *const q = p + m * block_rows;
      const Lanes a = load(p), b = mul(load(q), factor(&twiddles_[m], v));
      store(p, add(a, b));
      store(q, sub(a, b));
    }
  }

  // Two layers: four neighbours of m entries.
  void fours(uint32_t* x, long m) const {
    const long step = m * block_rows;
    const uint32_t *const inner = &twiddles_[m], *const low = &twiddles_[2 * m], *const high = low + m;
    for (long v = 0; v < step / lane_count; v++) {
      uint32_t* const p = x + v * lane_count;
      const Lanes w = factor(inner, v);
      const Lanes a = load(p), b = mul(load(p + step), w), c = load(p + 2 * step), d = mul(load(p + 3 * step), w);
      const Lanes e = add(a, b), f = sub(a, b), g = mul(add(c, d), factor(low, v)), h = mul(sub(c, d), factor(high, v));
      store(p, add(e, g));
      store(p + step, add(f, h));
      store(p + 2 * step, sub(e, g));
      store(p + 3 * step, sub(f, h));
    }
  }

  int log_length_;
  Buffer<uint32_t> twiddles_;  // from place 2^(k - 1) on those of 2^k entries
};

}  // namespace zen::bear
