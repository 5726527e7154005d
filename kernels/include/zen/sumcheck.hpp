// Sums over the Boolean cube and the rounds of sum-checks (Lund, Fortnow, Karloff, Nisan 1992), over tables of 2^v
// values of multilinear polynomials. The first variable is the index's highest bit; a round binds it, so that halves of
// tables are folded onto each other.
#pragma once

#include <vector>

#include "elementwise.hpp"

namespace zen {

// Sums of products, unreduced for a while. Terms are below 8 r.
class OctetSum {
 public:
  void add(const Octet& term) { sum_ = (sum_ + term).bounded(); }
  Fr total() const {
    Fr parts[8], sum = Fr::zero();
    sum_.store_adjacent(parts);
    for (const Fr& part : parts) sum = sum + part;
    return sum;
  }

 private:
  static Octet zeros() {
    const Fr zero[8] = {};
    return Octet::adjacent(zero);
  }
  Octet sum_ = zeros();
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

// The sum of a[i] b[i].
inline Fr dot(const Fr* a, const Fr* b, long n, int threads) {
  const long pieces = (n + elements_a_piece - 1) / elements_a_piece;
  std::vector<Fr> sums(pieces, Fr::zero());
  parallel_for(pieces, threads, {}, [&](long piece, int) {
    const long begin = piece * elements_a_piece, end = std::min(begin + elements_a_piece, n);
    OctetSum sum;
    long i = begin;
    for (; i + 8 <= end; i += 8) sum.add(Octet::adjacent(a + i).times(Octet::adjacent(b + i)));
    sums[piece] = sum.total();
    for (; i < end; i++) sums[piece] = sums[piece] + a[i] * b[i];
  });
  Fr total = Fr::zero();
  for (const Fr& sum : sums) total = total + sum;
  return total;
}

// out[j] += the sum over i of coefficients[i] matrix[i][j], j < columns.
inline void combine_rows(const Fr* matrix, const Fr* coefficients, long rows, long columns, Fr* out, int threads) {
  std::vector<Fr> held(rows);
  for (long i = 0; i < rows; i++) held[i] = to_factor(coefficients[i]);
  each_octet(columns, threads,
             [&](long j) {
               Octet sum = Octet::adjacent(out + j);
               for (long i = 0; i < rows; i++) {
                 sum = sum + Octet::adjacent(matrix + i * columns + j) * Factor::same(held[i]);
                 if (i % 8 == 7) sum = sum.bounded();
               }
               sum.store_adjacent(out + j);
             },
             [&](long j) {
               for (long i = 0; i < rows; i++) out[j] = out[j] + coefficients[i] * matrix[i * columns + j];
             });
}

// table[i] += r (table[i + half] - table[i]) for i < half.
inline void fold(Fr* table, const Fr& r, long half, int threads) {
  const Fr held = to_factor(r);
  each_octet(half, threads,
             [&](long i) {
               const Octet low = Octet::adjacent(table + i), high = Octet::adjacent(table + half + i);
               (low + (high - low) * Factor::same(held)).store_adjacent(table + i);
             },
             [&](long i) { table[i] = table[i] + r * (table[half + i] - table[i]); });
}

// What a round says of a polynomial of degree 2 in the variable X that it binds: its value at 0, its leading coefficient.
struct Round {
  Fr constant, leading;
};

template <class At>
Round sum_rounds(long count, int threads, At at) {
  const long pieces = (count + elements_a_piece - 1) / elements_a_piece;
  std::vector<Round> sums(pieces);
  parallel_for(pieces, threads, {}, [&](long piece, int) {
    sums[piece] = at(piece * elements_a_piece, std::min((piece + 1) * elements_a_piece, count));
  });
  Round total{Fr::zero(), Fr::zero()};
  for (const Round& sum : sums) total.constant = total.constant + sum.constant, total.leading = total.leading + sum.leading;
  return total;
}

// The sum over i < half of x(X) y(X), tables x and y of 2 half values.
inline Round product_round(const Fr* x, const Fr* y, long half, int threads) {
  return sum_rounds(half, threads, [&](long begin, long end) {
    OctetSum constant, leading;
    long i = begin;
    for (; i + 8 <= end; i += 8) {
      const Octet x0 = Octet::adjacent(x + i), y0 = Octet::adjacent(y + i);
      const Octet dx = Octet::adjacent(x + half + i) - x0, dy = (Octet::adjacent(y + half + i) - y0).bounded();
      constant.add(x0.times(y0));
      leading.add(dx.times(dy));
    }
    Round round{constant.total(), leading.total()};
    for (; i < end; i++) {
      round.constant = round.constant + x[i] * y[i];
      round.leading = round.leading + (x[half + i] - x[i]) * (y[half + i] - y[i]);
    }
    return round;
  });
}

// The sum over i < half of outer[i / inner_size] inner[i mod inner_size] (a(X) b(X) - c(X)), tables of 2 half values;
// the weights are the variables' left to bind (Gruen, ePrint 2024/108, section 3: eq leaves the round's polynomial).
inline Round r1cs_round(const Fr* a, const Fr* b, const Fr* c, const Fr* outer, const Fr* inner, long inner_size,
                        long half, int threads) {
  std::vector<Fr> held(inner_size);
  for (long i = 0; i < inner_size; i++) held[i] = to_factor(inner[i]);
  const long step = std::min(inner_size, elements_a_piece), blocks = half / step;
  std::vector<Round> sums(blocks);
  parallel_for(blocks, threads, {}, [&](long block, int) {
    OctetSum constant, leading;
    Round round{Fr::zero(), Fr::zero()};
    const long begin = block * step, offset = begin % inner_size;
    long i = 0;
    for (; i + 8 <= step; i += 8) {
      const long at = begin + i;
      const Factor weight = Factor::adjacent(held.data() + offset + i);
      const Octet a0 = Octet::adjacent(a + at), b0 = Octet::adjacent(b + at);
      const Octet da = Octet::adjacent(a + half + at) - a0, db = (Octet::adjacent(b + half + at) - b0).bounded();
      constant.add((a0.times(b0) - Octet::adjacent(c + at)) * weight);
      leading.add(da.times(db) * weight);
    }
    round = {constant.total(), leading.total()};
    for (; i < step; i++) {
      const long at = begin + i;
      const Fr weight = inner[offset + i];
      round.constant = round.constant + weight * (a[at] * b[at] - c[at]);
      round.leading = round.leading + weight * ((a[half + at] - a[at]) * (b[half + at] - b[at]));
    }
    const Fr scale = outer[begin / inner_size];
    sums[block] = {scale * round.constant, scale * round.leading};
  });
  Round total{Fr::zero(), Fr::zero()};
  for (const Round& sum : sums) total.constant = total.constant + sum.constant, total.leading = total.leading + sum.leading;
  return total;
}

}  // namespace zen
