// Number-theoretic transforms over Fr, in place. Both structures below take one twiddle per block, read in
// bit-reversed order from the front of one table, so that every layer uses the same table's prefix.
//   scatter: natural order in, bit-reversed out (Cooley-Tukey butterflies, blocks halve)
//   gather:  bit-reversed order in, natural out (Gentleman-Sande butterflies, blocks double)
// Recursion by halves keeps the working set in the cache without knowing its size.
#pragma once

#include <algorithm>
#include <vector>

#include "field.hpp"
#include "parallel.hpp"

namespace zen {

enum class Order { natural, to_bit_reversed, from_bit_reversed };

inline long reverse_bits(long value, int bits) {
  long reversed = 0;
  for (int i = 0; i < bits; i++) reversed |= (value >> i & 1) << (bits - 1 - i);
  return reversed;
}

// values[i] *= first * ratio^(i) for i in natural order, or at position reverse_bits(i).
inline void scale_by_powers(Fr* values, int log_size, const Fr& first, const Fr& ratio, bool bit_reversed, int threads) {
  const long n = 1l << log_size;
  if (!bit_reversed) {
    parallel_ranges(n, 1 << 12, threads, {}, [&](long begin, long end) {
      const u64 exponent = u64(begin);
      Fr factor = first * ratio.power(&exponent, 1);
      for (long i = begin; i < end; i++, factor = factor * ratio) values[i] = values[i] * factor;
    });
    return;
  }
  // Position p holds index reverse(p): p's high bits are the index's low bits. Within a run of 2^low
  // positions the factor is a product of two short tables.
  const int low = std::min(log_size, 12), high = log_size - low;
  std::vector<Fr> coarse(1l << low);
  const u64 stride = 1ull << high;
  const Fr coarse_ratio = ratio.power(&stride, 1);
  Fr factor = first;
  for (long i = 0; i < 1l << low; i++, factor = factor * coarse_ratio) coarse[reverse_bits(i, low)] = factor;
  parallel_for(1l << high, threads, {}, [&](long block, int) {
    const u64 exponent = u64(reverse_bits(block, high));
    const Fr fine = ratio.power(&exponent, 1);
    Fr* run = values + (block << low);
    for (long i = 0; i < 1l << low; i++) run[i] = run[i] * (coarse[i] * fine);
  });
}

// The subgroup of size 2^log_size of Fr*, its twiddles computed once. 2^log_size * 32 bytes.
class Domain {
 public:
  explicit Domain(int log_size) : log_size_(log_size) {
    omega_ = Fr::from_words(root_of_unity);
    for (int i = log_size; i < two_adicity; i++) omega_ = omega_.square();
    forward_ = twiddles(omega_);
    backward_ = twiddles(omega_.inverse());
    Fr two = Fr::one().doubled();
    size_inverse_ = Fr::one();
    for (int i = 0; i < log_size; i++) size_inverse_ = size_inverse_ * two;
    size_inverse_ = size_inverse_.inverse();
  }

  int log_size() const { return log_size_; }
  const Fr& omega() const { return omega_; }
  const Fr& size_inverse() const { return size_inverse_; }
  // Powers of 1 / omega: one for each block of a scattering layer.
  const Fr* backward_twiddles() const { return backward_.data(); }

  // Coefficients to evaluations at coset * omega^i.
  void forward(Fr* values, const Fr* coset, Order order, int threads, const Progress& progress) const {
    if (coset) scale_by_powers(values, log_size_, Fr::one(), *coset, order == Order::from_bit_reversed, threads);
    transform(values, forward_, order, threads, progress);
  }

  // Evaluations at coset * omega^i to coefficients.
  void inverse(Fr* values, const Fr* coset, Order order, int threads, const Progress& progress) const {
    transform(values, backward_, order, threads, progress);
    const Fr ratio = coset ? coset->inverse() : Fr::one();
    scale_by_powers(values, log_size_, size_inverse_, ratio, order == Order::to_bit_reversed, threads);
  }

 private:
  // root^reverse_bits(i) for i < size / 2: the upper half of each prefix is its lower half times one power.
  std::vector<Fr> twiddles(const Fr& root) const {
    const int bits = std::max(log_size_ - 1, 0);
    std::vector<Fr> squares(bits);
    for (int i = 0; i < bits; i++) squares[i] = i ? squares[i - 1].square() : root;
    std::vector<Fr> table(1l << bits);
    table[0] = Fr::one();
    for (int bit = 0; bit < bits; bit++)
      for (long i = 0, half = 1l << bit; i < half; i++) table[half + i] = table[i] * squares[bits - 1 - bit];
    return table;
  }

  void transform(Fr* values, const std::vector<Fr>& table, Order order, int threads, const Progress& progress) const {
    if (order == Order::from_bit_reversed) {
      gather(values, table, threads, progress);
    } else {
      scatter(values, table, threads, progress);
      if (order == Order::natural) permute(values, threads);
    }
  }

  static ZEN_FN void scatter_butterfly(Fr& a, Fr& b, const Fr& twiddle) {
    const Fr t = b * twiddle;
    b = a - t;
    a = a + t;
  }
  static ZEN_FN void gather_butterfly(Fr& a, Fr& b, const Fr& twiddle) {
    const Fr t = a - b;
    a = a + b;
    b = t * twiddle;
  }

  static void scatter_block(Fr* values, long size, long block, const Fr* table) {
    if (size == 1) return;
    const long half = size / 2;
    const Fr twiddle = table[block];
    for (long i = 0; i < half; i++) scatter_butterfly(values[i], values[i + half], twiddle);
    scatter_block(values, half, 2 * block, table);
    scatter_block(values + half, half, 2 * block + 1, table);
  }
  static void gather_block(Fr* values, long size, long block, const Fr* table) {
    if (size == 1) return;
    const long half = size / 2;
    gather_block(values, half, 2 * block, table);
    gather_block(values + half, half, 2 * block + 1, table);
    const Fr twiddle = table[block];
    for (long i = 0; i < half; i++) gather_butterfly(values[i], values[i + half], twiddle);
  }

  // The first layers are split across each block's width, so that all threads share one block; below
  // `split` layers the blocks themselves are the tasks.
  int split_layers(int threads) const {
    int layers = 0;
    while (layers < log_size_ && threads > 1 && (1l << layers) < 4l * threads) layers++;
    return layers;
  }
  template <class Butterfly>
  void layer(Fr* values, int depth, const Fr* table, int threads, Butterfly butterfly) const {
    const long half = 1l << (log_size_ - depth - 1);
    parallel_ranges(1l << (log_size_ - 1), 1 << 12, threads, {}, [&](long begin, long end) {
      for (long i = begin; i < end; i++) {
        const long block = i / half, offset = i % half;
        Fr* base = values + 2 * half * block + offset;
        butterfly(base[0], base[half], table[block]);
      }
    });
  }
  void scatter(Fr* values, const std::vector<Fr>& table, int threads, const Progress& progress) const {
    const int split = split_layers(threads);
    for (int depth = 0; depth < split; depth++) layer(values, depth, table.data(), threads, scatter_butterfly);
    const long size = 1l << (log_size_ - split);
    parallel_for(1l << split, threads, progress,
                 [&](long block, int) { scatter_block(values + size * block, size, block, table.data()); });
  }
  void gather(Fr* values, const std::vector<Fr>& table, int threads, const Progress& progress) const {
    const int split = split_layers(threads);
    const long size = 1l << (log_size_ - split);
    parallel_for(1l << split, threads, progress,
                 [&](long block, int) { gather_block(values + size * block, size, block, table.data()); });
    for (int depth = split - 1; depth >= 0; depth--) layer(values, depth, table.data(), threads, gather_butterfly);
  }
  void permute(Fr* values, int threads) const {
    parallel_ranges(1l << log_size_, 1 << 12, threads, {}, [&](long begin, long end) {
      for (long i = begin; i < end; i++) {
        const long j = reverse_bits(i, log_size_);
        if (i < j) std::swap(values[i], values[j]);
      }
    });
  }

  int log_size_;
  Fr omega_, size_inverse_;
  std::vector<Fr> forward_, backward_;
};

}  // namespace zen
