// Sums over the Boolean cube and the rounds of sum-checks (Lund, Fortnow, Karloff, Nisan 1992), over tables of 2^v
// values of multilinear polynomials. The first variable is the index's highest bit; a round binds it, so that halves of
// tables are folded onto each other.
#pragma once

#include <deque>
#include <vector>

#include "elementwise.hpp"

namespace zen {

// Sums of terms below 8 r, unreduced for a while.
template <class Group>
class GroupSum {
 public:
  void add(const Group& term) {
    sum_ += term;
    if (++terms_ % 4 == 0) sum_.bound();  // from below 34 r
  }
  Fr total() const {
    Fr parts[Group::size], sum = Fr::zero();
    sum_.store_adjacent(parts);
    for (const Fr& part : parts) sum = sum + part;
    return sum;
  }

 private:
  static Group zeros() {
    const Fr zero[Group::size] = {};
    return Group::adjacent(zero);
  }
  Group sum_ = zeros();
  unsigned terms_ = 0;
};
class GroupsSum {
 public:
  template <class Group>
  void add(const Group& term) {
    if constexpr (std::is_same_v<Group, Octet>)
      octets_.add(term);
    else
      wide_.add(term);
  }
  Fr total() const { return octets_.total() + wide_.total(); }

 private:
  GroupSum<Octet> octets_;
  GroupSum<Wide> wide_;
};

// out[i], i < 2^v: the product over all variables k of r[k] where bit v - 1 - k of i is set, else of 1 - r[k].
inline void fill_eq(const Fr* r, int variables, Fr* out, int threads) {
  out[0] = Fr::one();
  for (int k = 0; k < variables; k++) {  // from the lowest bit on: the upper half is the product, the lower what is left
    const long half = 1l << k;
    multiply_all(out, r[variables - 1 - k], out + half, half, threads);
    zip(out, out + half, 1, out, half, threads, Subtract{});
  }
}

// out[i] = outer[i / size] inner[i mod size]
inline void fill_products(const Fr* outer, const Fr* inner, long size, Fr* out, long n, int threads) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    for (long i = begin; i < end;) {
      const long within = i % size, count = std::min(size - within, end - i);
      multiply_all(inner + within, outer[i / size], out + i, count, 1);
      i += count;
    }
  });
}

// The sum of a[i] b[i].
inline Fr dot(const Fr* a, const Fr* b, long n, int threads) {
  const long pieces = (n + elements_a_piece - 1) / elements_a_piece;
  std::vector<Fr> sums(pieces, Fr::zero());
  parallel_for(pieces, threads, {}, [&](long piece, int) {
    const long begin = piece * elements_a_piece, end = std::min(begin + elements_a_piece, n);
    GroupsSum sum;
    in_groups(begin, end, [&]<class Group>(long i) { sum.add(Group::adjacent(a + i).rough(Group::adjacent(b + i))); },
              [&](long i) { sums[piece] = sums[piece] + a[i] * b[i]; });
    sums[piece] = sums[piece] + to_factor(sum.total());
  });
  Fr total = Fr::zero();
  for (const Fr& sum : sums) total = total + sum;
  return total;
}

// out[j] += the sum over i of coefficients[i] matrix[i][j], j < columns.
inline void combine_rows(const Fr* matrix, const Fr* coefficients, long rows, long columns, Fr* out, int threads) {
  std::deque<SameFactor> factors;
  for (long i = 0; i < rows; i++) factors.emplace_back(coefficients[i]);
  each_group(columns, threads,
             [&]<class Group>(long j) {
               Group sum = Group::adjacent(out + j);
               for (long i = 0; i < rows; i++) {
                 sum += Group::adjacent(matrix + i * columns + j) * factors[i].of<Group>();
                 if (i % 8 == 7) sum.bound();
               }
               sum.store_adjacent(out + j);
             },
             [&](long j) {
               for (long i = 0; i < rows; i++) out[j] = out[j] + coefficients[i] * matrix[i * columns + j];
             });
}

// table[i] += r (table[i + half] - table[i]) for i < half.
inline void fold(Fr* table, const Fr& r, long half, int threads) {
  const SameFactor by(r);
  each_group(half, threads,
             [&]<class Group>(long i) {
               const Group low = Group::adjacent(table + i), high = Group::adjacent(table + half + i);
               (low + (high - low) * by.of<Group>()).store_adjacent(table + i);
             },
             [&](long i) { table[i] = table[i] + r * (table[half + i] - table[i]); });
}

// What a round says of a polynomial of degree 2 in the variable X that it binds: its value at 0, its leading coefficient.
struct Round {
  Fr constant, leading;

  friend Round operator+(const Round& a, const Round& b) { return {a.constant + b.constant, a.leading + b.leading}; }
};

// A table's values at X = 0 and X = 1, for some of the other variables' values.
template <class T>
struct Ends {
  T at_0, at_1;
};

// A table of 2 half values, from whose halves they are read.
struct Halves {
  const Fr* table;
  long half;

  template <class Group>
  Ends<Group> groups(long i) const {
    return {Group::adjacent(table + i), Group::adjacent(table + half + i)};
  }
  // So many neighbours stand side by side, at least, from each multiple on.
  long run() const { return elements_a_piece; }
  Ends<Fr> ones(long i) const { return {table[i], table[half + i]}; }
};

// A table of 4 quarter values, whose first variable becomes r as they are read: what `fold` does, and then Halves.
struct Folding {
  Fr* table;
  long quarter;
  Fr r;
  SameFactor by{r};

  long run() const { return elements_a_piece; }

  template <class Group>
  Ends<Group> groups(long i) const {
    const auto at = [&](long j) {
      const Group low = Group::adjacent(table + j), high = Group::adjacent(table + 2 * quarter + j);
      return (low + (high - low) * by.of<Group>()).stored(table + j);
    };
    return {at(i), at(quarter + i)};
  }
  Ends<Fr> ones(long i) const {
    const auto at = [&](long j) { return table[j] = table[j] + r * (table[2 * quarter + j] - table[j]); };
    return {at(i), at(quarter + i)};
  }
};

// Rows of 2^log_width values, three variables at least, one after the other's like a table.
struct TableRows {
  const Fr* const* rows;
  int log_width;

  const Fr* at(long i) const { return rows[i >> log_width] + (i & ((1l << log_width) - 1)); }
};

// The same as of a table that stands in one place; what is folded is written to `out`, of half as many values.
struct HalvesOfRows {
  TableRows table;
  long half;

  template <class Group>
  Ends<Group> groups(long i) const {
    return {Group::adjacent(table.at(i)), Group::adjacent(table.at(half + i))};
  }
  long run() const { return 1l << table.log_width; }
  Ends<Fr> ones(long i) const { return {*table.at(i), *table.at(half + i)}; }
};
struct FoldingOfRows {
  TableRows table;
  Fr* out;
  long quarter;
  Fr r;
  SameFactor by{r};

  long run() const { return 1l << table.log_width; }

  template <class Group>
  Ends<Group> groups(long i) const {
    const auto at = [&](long j) {
      const Group low = Group::adjacent(table.at(j)), high = Group::adjacent(table.at(2 * quarter + j));
      return (low + (high - low) * by.of<Group>()).stored(out + j);
    };
    return {at(i), at(quarter + i)};
  }
  Ends<Fr> ones(long i) const {
    const auto at = [&](long j) { return out[j] = *table.at(j) + r * (*table.at(2 * quarter + j) - *table.at(j)); };
    return {at(i), at(quarter + i)};
  }
};

// The sum over i < count of x(X) y(X), the tables' values read by `x` and `y`.
template <class X, class Y>
Round product_round(const X& x, const Y& y, long count, int threads) {
  const long size = std::min({elements_a_piece, x.run(), y.run()}), pieces = (count + size - 1) / size;
  std::vector<Round> sums(pieces);
  parallel_for(pieces, threads, {}, [&](long piece, int) {
    const long begin = piece * size, end = std::min(begin + size, count);
    GroupsSum constant, leading;
    Round ones{Fr::zero(), Fr::zero()};
    in_groups(begin, end,
              [&]<class Group>(long i) {
                const Ends<Group> a = x.template groups<Group>(i), b = y.template groups<Group>(i);
                constant.add(a.at_0.rough(b.at_0));
                leading.add((a.at_1 - a.at_0).rough(b.at_1 - b.at_0));
              },
              [&](long i) {
                const Ends<Fr> a = x.ones(i), b = y.ones(i);
                ones = ones + Round{a.at_0 * b.at_0, (a.at_1 - a.at_0) * (b.at_1 - b.at_0)};
              });
    sums[piece] = ones + Round{to_factor(constant.total()), to_factor(leading.total())};
  });
  Round total{Fr::zero(), Fr::zero()};
  for (const Round& sum : sums) total = total + sum;
  return total;
}

// A table c = a b: all a b - c are zero.
struct ProductOfBoth {};

// The sum over i < count of outer[i / inner_size] inner[i mod inner_size] (a(X) b(X) - c(X)); the weights are the
// variables' left to bind (Gruen, ePrint 2024/108, section 3: eq leaves the round's polynomial).
template <class Table, class Last>
Round r1cs_round(const Table& a, const Table& b, const Last& c, const Fr* outer, const Fr* inner, long inner_size,
                 long count, int threads) {
  constexpr bool vanishes = std::is_same_v<Last, ProductOfBoth>;
  std::vector<Fr> held(inner_size);
  for (long i = 0; i < inner_size; i++) held[i] = to_factor(inner[i]);
  const long step = std::min(inner_size, elements_a_piece), blocks = count / step;
  std::vector<Round> sums(blocks);
  // To begin threads takes longer than a piece.
  parallel_for(blocks, count > elements_a_piece ? threads : 1, {}, [&](long block, int) {
    GroupsSum constant, leading;
    Round round{Fr::zero(), Fr::zero()};
    const long begin = block * step, offset = begin % inner_size;
    in_groups(0, step,
              [&]<class Group>(long i) {
                const auto weight = Group::Factor::adjacent(held.data() + offset + i);
                const Ends<Group> x = a.template groups<Group>(begin + i), y = b.template groups<Group>(begin + i);
                if constexpr (!vanishes) {
                  const Ends<Group> z = c.template groups<Group>(begin + i);
                  constant.add((x.at_0.times(y.at_0) - z.at_0) * weight);
                }
                leading.add((x.at_1 - x.at_0).rough(y.at_1 - y.at_0) * weight);
              },
              [&](long i) {
                const Fr weight = inner[offset + i];
                const Ends<Fr> x = a.ones(begin + i), y = b.ones(begin + i);
                if constexpr (!vanishes) {
                  const Ends<Fr> z = c.ones(begin + i);
                  round.constant = round.constant + weight * (x.at_0 * y.at_0 - z.at_0);
                }
                round.leading = round.leading + weight * ((x.at_1 - x.at_0) * (y.at_1 - y.at_0));
              });
    round = round + Round{constant.total(), to_factor(leading.total())};
    const Fr scale = outer[begin / inner_size];
    sums[block] = {scale * round.constant, scale * round.leading};
  });
  Round total{Fr::zero(), Fr::zero()};
  for (const Round& sum : sums) total = total + sum;
  return total;
}

}  // namespace zen
