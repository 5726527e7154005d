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
      const long tile = long(sizeof(Wide)) << pass.layers, tiles = Tiles(1l << (log_size - pass.layers)).count();
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

  // out[i] += the sum over j < count of weights[j] omega^(places[j] i), for i < outputs: a power of two, a quarter of the
  // size at most and 1/64 at least. With p = places[j] mod 2^8 and i = a + w b, w = size / 2^8, a weight's terms are
  // (weight omega^(places[j] a)) eta^(p b), eta = omega^w: powers for each place, and for each a a transform over p.
  void add_powers(const uint32_t* places, const Fr* weights, long count, Fr* out, long outputs, int threads) const {
    constexpr int layers = 8;
    constexpr long groups = 1l << layers;
    const auto fill = [&](long j, Fr* powers, long n) { fill_powers(weights[j], power(places[j]), powers, n, 1); };
    if (log_size_ < layers + 3) {
      std::vector<Fr> powers(outputs);
      for (long j = 0; j < count; j++) {
        fill(j, powers.data(), outputs);
        zip(out, powers.data(), 1, out, outputs, 1, Add{});
      }
      return;
    }
    const long width = size() / groups;
    std::vector<std::vector<long>> of_group(groups);
    for (long j = 0; j < count; j++) of_group[places[j] % groups].push_back(j);
    const Buffer<Fr> table(size());
    parallel_for(groups, threads, {}, [&](long group, int) {
      Fr* const row = table.data() + reverse_bits(group, layers) * width;
      if (of_group[group].empty()) std::fill_n(row, width, Fr::zero());
      std::vector<Fr> powers(of_group[group].size() > 1 ? width : 0);
      for (const long j : of_group[group]) {
        if (j == of_group[group].front()) {
          fill(j, row, width);
          continue;
        }
        fill(j, powers.data(), width);
        zip(row, powers.data(), 1, row, width, 1, Add{});
      }
    });
    const Pass pass{0, layers};
    each_column_tile(pass, 1, threads, {}, [&](const Place& at, auto* buffer) {
      using Group = std::remove_pointer_t<decltype(buffer)>;
      const auto tile = columns_tile(table.data(), forward_, pass, at, buffer);
      gather_first(tile, buffer, outputs / width, [&](long i) { return tile.load(i); }, [&](long i, const Group& x) {
        Fr* const to = out + i * width + at.first;
        (x + Group::adjacent(to)).store_adjacent(to);
      });
    });
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
      each_column_tile(passes_[k], 3, threads, report(), [&](const Place& at, auto* buffer) {
        scatter_columns(columns_tile(arrays[at.array], backward(), passes_[k], at, buffer), buffer);
      });
    each_row_tile(passes_[columns], 2, threads, report(), [&](const Place& at, auto* buffer) {
      auto* const factors = buffer + (1l << passes_[columns].layers);
      scale.fill(passes_[columns], at.first, factors);
      for (Fr* values : arrays) there_and_back(values, passes_[columns], at, buffer, factors);
    });
    for (int k = columns - 1; k > 0; k--)
      each_column_tile(passes_[k], 3, threads, report(), [&](const Place& at, auto* buffer) {
        gather_columns(columns_tile(arrays[at.array], forward_, passes_[k], at, buffer), buffer);
      });
    each_column_tile(passes_[0], 1, threads, report(), [&](const Place& at, auto* buffer) {
      const auto tile = [&](Fr* values) { return columns_tile(values, forward_, passes_[0], at, buffer); };
      const auto left = tile(a), right = tile(b), less = tile(c);
      gather_columns(right, buffer);
      gather_columns(less, buffer);
      gather_tile(left, buffer, [&](long i) { return left.load(i); },
                  [&](long i, const auto& x) { left.store(i, x.bounded().times(right.load(i)) - less.load(i)); });
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
    // Those of a group of rows, in factor form.
    template <class Group>
    void fill(const Pass& pass, long first, Group* factors) const {
      const Group rows = Group::adjacent(&rows_[first]);
      for (long i = 0; i < 1l << pass.layers; i++) (rows * Group::Factor::same(columns_[i])).copy_to(factors[i]);
    }
    // That of one position, where there are no passes.
    Fr at(long position) const { return from_factor(rows_[position]); }

   private:
    std::vector<Fr> rows_, columns_;
  };

  long size() const { return 1l << log_size_; }
  // omega^i, i < size.
  Fr power(long i) const {
    if (log_size_ == 0) return Fr::one();
    const Fr found = from_factor(forward_[reverse_bits(i % (size() / 2), log_size_ - 1)]);
    return i < size() / 2 ? found : -found;
  }

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

  // Columns `first` .. of block `block` of an array, or rows.
  struct Place {
    long array, block, first;
  };
  // So many columns or rows, a power of two from eight on, as wide groups, and octets behind where some are left; or as octets.
  struct Tiles {
    explicit Tiles(long count) {
      if (!wide_butterflies()) octets = count / 8;
      while ((count - 8 * octets) % Wide::size) octets++;
      wide = (count - 8 * octets) / Wide::size;
    }
    constexpr long count() const { return wide + octets; }
    constexpr long first(long tile) const { return tile < wide ? tile * Wide::size : wide * Wide::size + (tile - wide) * 8; }
    long wide = 0, octets = 0;
  };

  // What the buffer is of tells the tile's width.
  template <class Group>
  Columns<Group> columns_tile(Fr* values, const std::vector<Fr>& table, const Pass& pass, const Place& at, Group*) const {
    const int log_width = log_size_ - pass.depth - pass.layers;
    return {values + (at.block << (log_width + pass.layers)) + at.first, 1l << log_width, table.data(), at.block, pass.layers};
  }
  template <class Group>
  static Rows<Group> rows_tile(Fr* values, const std::vector<Fr>& table, const Pass& pass, const Place& at, Group*) {
    return {values + (at.first << pass.layers), table.data(), at.first, pass.layers};
  }

  template <class Group>
  static void scatter_columns(const Columns<Group>& tile, Group* buffer) {
    scatter_tile(tile, buffer, [&](long i) { return tile.load(i); }, [&](long i, const Group& x) { tile.store(i, x); });
  }
  template <class Group>
  static void gather_columns(const Columns<Group>& tile, Group* buffer) {
    gather_tile(tile, buffer, [&](long i) { return tile.load(i); }, [&](long i, const Group& x) { tile.store(i, x); });
  }
  template <class Group>
  void there_and_back(Fr* values, const Pass& pass, const Place& at, Group* buffer, const Group* factors) const {
    const auto there = rows_tile(values, backward(), pass, at, buffer), back = rows_tile(values, forward_, pass, at, buffer);
    scatter_tile(there, buffer, [&](long i) { return there.load(i); },
                 [&](long i, const Group& x) { (x * typename Group::Factor(factors[i])).copy_to(buffer[i]); });
    gather_tile(back, buffer, Kept<Group>{buffer}, [&](long i, const Group& x) { back.store(i, x); });
  }

  // Run task(place, buffer) for all tiles of a pass, those of `arrays` arrays in turn.
  template <class Task>
  void each_column_tile(const Pass& pass, long arrays, int threads, const Progress& progress, Task task) const {
    each_tile(pass, Tiles(1l << (log_size_ - pass.depth - pass.layers)), 1l << pass.depth, arrays, 1, threads, progress, task);
  }
  template <class Task>
  void each_row_tile(const Pass& pass, long buffers, int threads, const Progress& progress, Task task) const {
    each_tile(pass, Tiles(1l << (log_size_ - pass.layers)), 1, 1, buffers, threads, progress, task);
  }
  // The same of so many blocks; each thread has `buffers` tiles of groups, and wipes them itself.
  template <class Task>
  void each_tile(const Pass& pass, const Tiles& tiles, long blocks, long arrays, long buffers, int threads,
                 const Progress& progress, Task task) const {
    const long count = arrays * blocks * tiles.count(), workers = std::min<long>(threads, count);
    std::atomic<long> next{0};
    parallel_for(workers, int(workers), {}, [&](long, int thread) {
      SecretBuffer<Wide> buffer(buffers << pass.layers);
      try {
        for (long index; (index = next++) < count;) {
          const long each = index / arrays, tile = each % tiles.count();
          const Place at{index % arrays, each / tiles.count(), tiles.first(tile)};
          if (tile < tiles.wide)
            task(at, buffer.data());
          else
            task(at, reinterpret_cast<Octet*>(buffer.data()));
          if (thread == 0 && progress && index + 1 < count) progress(double(index + 1) / double(count));
        }
      } catch (...) {
        next = count;
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
    each_row_tile(first, 1, threads, {}, [&](const Place& at, auto* buffer) {
      using Group = std::remove_pointer_t<decltype(buffer)>;
      const auto tile = rows_tile(values, forward_, first, at, buffer);
      const int bits = log_size_ - first.layers;
      const Fr* from[Group::size];
      for (int row = 0; row < Group::size; row++) from[row] = coefficients + reverse_bits(at.first + row, bits);
      spread_tile(tile, buffer,
                  [&](long i) {
                    const long offset = reverse_bits(i, first.layers - 2) << bits;
                    const Fr* there[Group::size];
                    for (int row = 0; row < Group::size; row++) there[row] = from[row] + offset;
                    return Group::gathered(there).plain();
                  },
                  [&](long i, const Group& x) { tile.store(i, x); });
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
      each_column_tile(passes_[k], 1, threads, part(progress, k, columns + 1), [&](const Place& at, auto* buffer) {
        scatter_columns(columns_tile(values, table, passes_[k], at, buffer), buffer);
      });
    const Pass& last = passes_[columns];
    each_row_tile(last, 2, threads, part(progress, columns, columns + 1), [&](const Place& at, auto* buffer) {
      using Group = std::remove_pointer_t<decltype(buffer)>;
      const auto tile = rows_tile(values, table, last, at, buffer);
      const auto read = [&](long i) { return tile.load(i); };
      if (!scale) return scatter_tile(tile, buffer, read, [&](long i, const Group& x) { tile.store(i, x); });
      Group* const factors = buffer + (1l << last.layers);
      scale->fill(last, at.first, factors);
      scatter_tile(tile, buffer, read, [&](long i, const Group& x) { tile.store(i, x * typename Group::Factor(factors[i])); });
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
    each_row_tile(first, 2, threads, part(progress, 0, columns + 1), [&](const Place& at, auto* buffer) {
      using Group = std::remove_pointer_t<decltype(buffer)>;
      const auto tile = rows_tile(values, table, first, at, buffer);
      const auto write = [&](long i, const Group& x) { tile.store(i, x); };
      if (!scale) return gather_tile(tile, buffer, [&](long i) { return tile.load(i); }, write);
      Group* const factors = buffer + (1l << first.layers);
      scale->fill(first, at.first, factors);
      gather_tile(tile, buffer, [&](long i) { return tile.load(i) * typename Group::Factor(factors[i]); }, write);
    });
    gather_on(values, table, threads, progress);
  }

  // The passes of `gather` after the first.
  void gather_on(Fr* values, const std::vector<Fr>& table, int threads, const Progress& progress) const {
    const int columns = int(passes_.size()) - 1;
    for (int k = columns - 1; k >= 0; k--)
      each_column_tile(passes_[k], 1, threads, part(progress, columns - k, columns + 1), [&](const Place& at, auto* buffer) {
        gather_columns(columns_tile(values, table, passes_[k], at, buffer), buffer);
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
