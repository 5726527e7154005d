// Number-theoretic transforms over Fr, in place, and the quotient of Groth16 made of them. The layers are made in a
// few passes over memory (ntt_layers.hpp says how): two up to 2^22 elements, three beyond.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "elementwise.hpp"
#include "ntt_layers.hpp"

namespace zen {

enum class Order { natural, to_bit_reversed, from_bit_reversed };

inline long reverse_bits(long value, int bits) {
  long reversed = 0;
  for (int i = 0; i < bits; i++) reversed |= (value >> i & 1) << (bits - 1 - i);
  return reversed;
}

// first * ratio^reverse_bits(i) for i < 2^bits: the upper half of each prefix is its lower half times one power.
inline std::vector<Fr> bit_reversed_powers(const Fr& first, const Fr& ratio, int bits) {
  std::vector<Fr> squares(bits);
  for (int i = 0; i < bits; i++) squares[i] = i ? squares[i - 1].square() : ratio;
  std::vector<Fr> table(1l << bits);
  table[0] = first;
  for (int bit = 0; bit < bits; bit++) {
    const long half = 1l << bit;
    const Fr step = to_factor(squares[bits - 1 - bit]);
    long i = 0;
    for (; i + 8 <= half; i += 8) (Octet::adjacent(&table[i]) * Factor::same(step)).store_adjacent(&table[half + i]);
    for (; i < half; i++) table[half + i] = table[i] * squares[bits - 1 - bit];
  }
  return table;
}

// The subgroup of size 2^log_size of Fr*, its twiddles computed once. 2^log_size * 32 bytes at most.
class Domain {
 public:
  explicit Domain(int log_size) : log_size_(log_size), passes_(passes(log_size)) {
    omega_ = Fr::from_words(root_of_unity);
    for (int i = log_size; i < two_adicity; i++) omega_ = omega_.square();
    forward_ = bit_reversed_powers(to_factor(Fr::one()), omega_, std::max(log_size - 1, 0));
    size_inverse_ = Fr::one();
    for (int i = 0; i < log_size; i++) size_inverse_ = size_inverse_.doubled();
    size_inverse_ = size_inverse_.inverse();
  }

  // Bytes that a transform or a quotient takes at most beside its arrays and the domain: two tiles in each thread, and
  // two tables whose sizes multiply to the domain's.
  static long scratch_bytes(int log_size, int threads) {
    long result = 0;
    for (const Pass& pass : passes(log_size)) {
      const long tile = long(sizeof(Octet)) << pass.layers, tiles = 1l << (log_size - pass.layers - 3);
      const long tables = long(sizeof(Fr)) * ((1l << pass.layers) + (1l << (log_size - pass.layers)));
      result = std::max(result, 2 * tile * std::min<long>(threads, tiles) + tables);
    }
    return result;
  }

  int log_size() const { return log_size_; }
  const Fr& omega() const { return omega_; }
  const Fr& size_inverse() const { return size_inverse_; }
  // The power of 1 / omega that belongs to a block of a scattering layer.
  Fr backward_twiddle(long block) const { return from_factor(backward()[block]); }

  // Coefficients to evaluations at coset * omega^i.
  void forward(Fr* values, const Fr* coset, Order order, int threads, const Progress& progress) const {
    if (order == Order::natural) permute(values, threads);
    if (order == Order::to_bit_reversed) {
      if (coset) scale_by_powers(values, *coset, size(), threads);
      scatter(values, forward_, nullptr, threads, progress);
    } else if (coset) {
      const Powers scale(*this, Fr::one(), *coset);
      gather(values, forward_, &scale, threads, progress);
    } else {
      gather(values, forward_, nullptr, threads, progress);
    }
  }

  // Evaluations at coset * omega^i to coefficients.
  void inverse(Fr* values, const Fr* coset, Order order, int threads, const Progress& progress) const {
    const Fr ratio = coset ? coset->inverse() : Fr::one();
    if (order == Order::from_bit_reversed) {
      const Powers scale(*this, size_inverse_, Fr::one());
      gather(values, backward(), &scale, threads, progress);
      if (coset) scale_by_powers(values, ratio, size(), threads);
    } else {
      const Powers scale(*this, size_inverse_, ratio);
      scatter(values, backward(), &scale, threads, progress);
      if (order == Order::natural) permute(values, threads);
    }
  }

  // Of rows of a quarter as many coefficients the polynomials' values at omega^i, canonical. A row is one thread's, but
  // for the last ones, which are fewer than the threads.
  void encode(const Fr* rows, Fr* values, long count, int threads) const {
    const long alone = count - count % std::max(threads, 1);
    parallel_for(alone, threads, {}, [&](long row, int) { encode_row(rows + row * (size() / 4), values + row * size(), 1); });
    for (long row = alone; row < count; row++) encode_row(rows + row * (size() / 4), values + row * size(), threads);
  }

  // a, b, c: values at omega^i. Replaces a by the values of A B - C at g omega^i, where g^2 = omega is the generator of
  // the domain of twice the size; b and c are used up. Each array's rows stay in the cache between the inverse transform
  // and the forward one, and no array is ever put into another order.
  void quotient(Fr* a, Fr* b, Fr* c, int threads, const Progress& progress) const {
    Fr coset = Fr::from_words(root_of_unity);
    for (int i = log_size_ + 1; i < two_adicity; i++) coset = coset.square();
    Fr* const arrays[3] = {b, c, a};
    if (passes_.empty()) {
      for (Fr* values : arrays) {
        inverse(values, nullptr, Order::to_bit_reversed, 1, {});
        forward(values, &coset, Order::from_bit_reversed, 1, {});
      }
      for (long i = 0; i < size(); i++) a[i] = a[i] * b[i] - c[i];
      if (progress) progress(1);
      return;
    }
    const Powers scale(*this, size_inverse_, coset);
    const int columns = int(passes_.size()) - 1, stages = 2 * columns + 1;
    int stage = 0;
    const auto report = [&] { return part(progress, stage++, stages); };
    for (int k = 0; k < columns; k++)
      each_tile(passes_[k], 3, 1, threads, report(), [&](long index, Octet* buffer) {
        scatter_columns(columns_tile(arrays[index % 3], backward(), passes_[k], index / 3), buffer);
      });
    each_tile(passes_[columns], 1, 2, threads, report(), [&](long index, Octet* buffer) {
      Octet* const factors = buffer + (1l << passes_[columns].layers);
      scale.fill(passes_[columns], index, factors);
      for (Fr* values : arrays) there_and_back(values, passes_[columns], index, buffer, factors);
    });
    for (int k = columns - 1; k > 0; k--)
      each_tile(passes_[k], 3, 1, threads, report(), [&](long index, Octet* buffer) {
        gather_columns(columns_tile(arrays[index % 3], forward_, passes_[k], index / 3), buffer);
      });
    each_tile(passes_[0], 1, 1, threads, report(), [&](long index, Octet* buffer) {
      const Columns left = columns_tile(a, forward_, passes_[0], index), right = columns_tile(b, forward_, passes_[0], index),
                    less = columns_tile(c, forward_, passes_[0], index);
      gather_columns(right, buffer);
      gather_columns(less, buffer);
      gather_tile(left, buffer, [&](long i) { return left.load(i); },
                  [&](long i, const Octet& x) { left.store(i, x.bounded().times(right.load(i)) - less.load(i)); });
    });
  }

 private:
  // The layers depth .. depth + layers - 1.
  struct Pass {
    int depth, layers;
  };

  // The constants first * ratio^reverse_bits(position) of all positions, as products of a row's and a column's.
  class Powers {
   public:
    Powers(const Domain& domain, const Fr& first, const Fr& ratio) {
      const int layers = domain.passes_.empty() ? 0 : domain.passes_.back().layers;
      const int bits = domain.log_size_ - layers;
      Fr column_ratio = ratio;
      for (int i = 0; i < bits; i++) column_ratio = column_ratio.square();
      rows_ = bit_reversed_powers(to_factor(first), ratio, bits);
      columns_ = bit_reversed_powers(to_factor(Fr::one()), column_ratio, layers);
    }
    // Those of eight rows, in factor form.
    void fill(const Pass& pass, long tile, Octet* factors) const {
      const Octet rows = Octet::adjacent(&rows_[8 * tile]);
      for (long i = 0; i < 1l << pass.layers; i++) (rows * Factor::same(columns_[i])).copy_to(factors[i]);
    }
    // That of one position, where there are no passes.
    Fr at(long position) const { return from_factor(rows_[position]); }

   private:
    std::vector<Fr> rows_, columns_;
  };

  long size() const { return 1l << log_size_; }

  // Made when it is first asked for: who encodes never does.
  const std::vector<Fr>& backward() const {
    std::call_once(backward_made_, [&] {
      backward_ = bit_reversed_powers(to_factor(Fr::one()), omega_.inverse(), std::max(log_size_ - 1, 0));
    });
    return backward_;
  }

  // Columns first, rows last. At least three layers each, so that eight rows and eight columns exist; as even as they
  // can be, and an even number of them where possible. None for transforms too small to be split.
  static std::vector<Pass> passes(int log_size) {
    constexpr int most = 11, least = 3;
    std::vector<Pass> result;
    if (log_size < 2 * least) return result;
    int count = std::max(2, (log_size + most - 1) / most);
    for (int depth = 0; count; count--) {
      const int left = log_size - depth;
      int layers = (left + count - 1) / count;
      if (layers % 2 && layers < most && left - layers - 1 >= least * (count - 1) && count > 1) layers++;
      result.push_back({depth, layers});
      depth += layers;
    }
    return result;
  }

  Columns columns_tile(Fr* values, const std::vector<Fr>& table, const Pass& pass, long tile) const {
    const int log_width = log_size_ - pass.depth - pass.layers;
    const long block = tile >> (log_width - 3), column = 8 * tile & ((1l << log_width) - 1);
    return {values + (block << (log_width + pass.layers)) + column, 1l << log_width, table.data(), block, pass.layers};
  }
  static Rows rows_tile(Fr* values, const std::vector<Fr>& table, const Pass& pass, long tile) {
    return {values + (8 * tile << pass.layers), table.data(), 8 * tile, pass.layers};
  }

  static void scatter_columns(const Columns& tile, Octet* buffer) {
    scatter_tile(tile, buffer, [&](long i) { return tile.load(i); }, [&](long i, const Octet& x) { tile.store(i, x); });
  }
  static void gather_columns(const Columns& tile, Octet* buffer) {
    gather_tile(tile, buffer, [&](long i) { return tile.load(i); }, [&](long i, const Octet& x) { tile.store(i, x); });
  }
  void there_and_back(Fr* values, const Pass& pass, long index, Octet* buffer, const Octet* factors) const {
    const Rows there = rows_tile(values, backward(), pass, index), back = rows_tile(values, forward_, pass, index);
    scatter_tile(there, buffer, [&](long i) { return there.load(i); },
                 [&](long i, const Octet& x) { (x * Factor(factors[i])).copy_to(buffer[i]); });
    gather_tile(back, buffer, Kept{buffer}, [&](long i, const Octet& x) { back.store(i, x); });
  }

  // Run task(index, buffer) for all tiles of a pass over `arrays` arrays; each thread has `buffers` tiles of octets, and
  // wipes them itself.
  template <class Task>
  void each_tile(const Pass& pass, long arrays, long buffers, int threads, const Progress& progress, Task task) const {
    const long tiles = arrays << (log_size_ - pass.layers - 3), workers = std::min<long>(threads, tiles);
    std::atomic<long> next{0};
    parallel_for(workers, int(workers), {}, [&](long, int thread) {
      SecretBuffer<Octet> buffer(buffers << pass.layers);
      try {
        for (long index; (index = next++) < tiles;) {
          task(index, buffer.data());
          if (thread == 0 && progress && index + 1 < tiles) progress(double(index + 1) / double(tiles));
        }
      } catch (...) {
        next = tiles;
        throw;
      }
    });
    if (progress) progress(1);
  }

  void encode_row(const Fr* coefficients, Fr* values, int threads) const {
    if (passes_.empty()) {
      for (long i = 0; i < size(); i++) values[i] = i < size() / 4 ? coefficients[i].to_canonical() : Fr::zero();
      return forward(values, nullptr, Order::natural, 1, {});
    }
    const Pass& first = passes_.back();
    each_tile(first, 1, 1, threads, {}, [&](long index, Octet* buffer) {
      const Rows tile = rows_tile(values, forward_, first, index);
      const int bits = log_size_ - first.layers;
      const Fr* from[8];
      for (int row = 0; row < 8; row++) from[row] = coefficients + reverse_bits(8 * index + row, bits);
      spread_tile(tile, buffer,
                  [&](long i) {
                    const long offset = reverse_bits(i, first.layers - 2) << bits;
                    const Fr* const at[8] = {from[0] + offset, from[1] + offset, from[2] + offset, from[3] + offset,
                                             from[4] + offset, from[5] + offset, from[6] + offset, from[7] + offset};
                    return Octet::gathered(at).plain();
                  },
                  [&](long i, const Octet& x) { tile.store(i, x); });
    });
    gather_on(values, forward_, threads, {});
  }

  void scatter(Fr* values, const std::vector<Fr>& table, const Powers* scale, int threads, const Progress& progress) const {
    if (passes_.empty()) {
      for (int depth = 0; depth < log_size_; depth++)
        each_butterfly(values, depth, table, [](Fr& a, Fr& b, const Fr& w) {
          const Fr t = b * w;
          b = a - t, a = a + t;
        });
      scale_directly(values, scale);
      if (progress) progress(1);
      return;
    }
    const int columns = int(passes_.size()) - 1;
    for (int k = 0; k < columns; k++)
      each_tile(passes_[k], 1, 1, threads, part(progress, k, columns + 1), [&](long index, Octet* buffer) {
        scatter_columns(columns_tile(values, table, passes_[k], index), buffer);
      });
    const Pass& last = passes_[columns];
    each_tile(last, 1, 2, threads, part(progress, columns, columns + 1), [&](long index, Octet* buffer) {
      const Rows tile = rows_tile(values, table, last, index);
      const auto read = [&](long i) { return tile.load(i); };
      if (!scale) return scatter_tile(tile, buffer, read, [&](long i, const Octet& x) { tile.store(i, x); });
      Octet* const factors = buffer + (1l << last.layers);
      scale->fill(last, index, factors);
      scatter_tile(tile, buffer, read, [&](long i, const Octet& x) { tile.store(i, x * Factor(factors[i])); });
    });
  }

  void gather(Fr* values, const std::vector<Fr>& table, const Powers* scale, int threads, const Progress& progress) const {
    if (passes_.empty()) {
      scale_directly(values, scale);
      for (int depth = log_size_ - 1; depth >= 0; depth--)
        each_butterfly(values, depth, table, [](Fr& a, Fr& b, const Fr& w) {
          const Fr t = a - b;
          a = a + b, b = t * w;
        });
      if (progress) progress(1);
      return;
    }
    const int columns = int(passes_.size()) - 1;
    const Pass& first = passes_[columns];
    each_tile(first, 1, 2, threads, part(progress, 0, columns + 1), [&](long index, Octet* buffer) {
      const Rows tile = rows_tile(values, table, first, index);
      const auto write = [&](long i, const Octet& x) { tile.store(i, x); };
      if (!scale) return gather_tile(tile, buffer, [&](long i) { return tile.load(i); }, write);
      Octet* const factors = buffer + (1l << first.layers);
      scale->fill(first, index, factors);
      gather_tile(tile, buffer, [&](long i) { return tile.load(i) * Factor(factors[i]); }, write);
    });
    gather_on(values, table, threads, progress);
  }

  // The passes of `gather` after the first.
  void gather_on(Fr* values, const std::vector<Fr>& table, int threads, const Progress& progress) const {
    const int columns = int(passes_.size()) - 1;
    for (int k = columns - 1; k >= 0; k--)
      each_tile(passes_[k], 1, 1, threads, part(progress, columns - k, columns + 1), [&](long index, Octet* buffer) {
        gather_columns(columns_tile(values, table, passes_[k], index), buffer);
      });
  }

  // Transforms too small for octets.
  template <class Butterfly>
  void each_butterfly(Fr* values, int depth, const std::vector<Fr>& table, Butterfly butterfly) const {
    const long half = 1l << (log_size_ - depth - 1);
    for (long i = 0; i < size() / 2; i++) {
      Fr* base = values + 2 * half * (i / half) + i % half;
      butterfly(base[0], base[half], from_factor(table[i / half]));
    }
  }
  void scale_directly(Fr* values, const Powers* scale) const {
    for (long i = 0; scale && i < size(); i++) values[i] = values[i] * scale->at(i);
  }

  // Swap index and reversed index. Those that share their middle bits form a tile of short runs, which fits the cache.
  void permute(Fr* values, int threads) const {
    const int edge = std::min(4, log_size_ / 2), middle = log_size_ - 2 * edge, top = log_size_ - edge;
    parallel_ranges(1l << middle, 64, threads, {}, [&](long begin, long end) {
      for (long m = begin; m < end; m++) {
        const long turned = reverse_bits(m, middle);
        if (turned < m) continue;
        for (long high = 0; high < 1l << edge; high++)
          for (long low = 0; low < 1l << edge; low++) {
            const long i = high << top | m << edge | low;
            const long j = reverse_bits(low, edge) << top | turned << edge | reverse_bits(high, edge);
            if (m < turned || i < j) std::swap(values[i], values[j]);
          }
      }
    });
  }

  int log_size_;
  std::vector<Pass> passes_;
  Fr omega_, size_inverse_;
  std::vector<Fr> forward_;  // in factor form, and so
  mutable std::vector<Fr> backward_;
  mutable std::once_flag backward_made_;
};

// The first i with a[i] b[i] != c[i], or n.
inline long first_unsatisfied(const Fr* a, const Fr* b, const Fr* c, long n, int threads) {
  std::atomic<long> first{n};
  parallel_ranges(n, 1 << 12, threads, {}, [&](long begin, long end) {
    if (begin >= first) return;
    long i = begin;
    for (; i + 8 <= end; i += 8)
      if (differs(Octet::adjacent(a + i).times(Octet::adjacent(b + i)), Octet::adjacent(c + i))) break;
    while (i < end && a[i] * b[i] == c[i]) i++;
    if (i == end) return;
    for (long known = first; i < known && !first.compare_exchange_weak(known, i);) {
    }
  });
  return first;
}

}  // namespace zen
