// Runs every kernel once on one thread and once on several, for `make sanitize`. Prints how many results differ.
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "zen/bear_fractions.hpp"
#include "zen/bear_ntt.hpp"
#include "zen/bear_rows.hpp"
#include "zen/elementwise.hpp"
#include "zen/encoding.hpp"
#include "zen/fixed_base.hpp"
#include "zen/group_ntt.hpp"
#include "zen/merkle.hpp"
#include "zen/msm.hpp"
#include "zen/ntt.hpp"
#include "zen/pairing.hpp"
#include "zen/sparse_forms.hpp"
#include "zen/sparse_points.hpp"
#include "zen/sumcheck.hpp"

using namespace zen;

std::mt19937_64 draw(1);
int differences = 0;

// The words that run(threads, out) writes, for one thread and for several.
template <class T, class Run>
std::vector<T> compare(long n, Run run) {
  std::vector<T> once(n), again(n);
  run(1, once.data());
  for (int threads : {2, 5}) {
    run(threads, again.data());
    differences += std::memcmp(static_cast<void*>(once.data()), static_cast<void*>(again.data()), n * sizeof(T)) != 0;
  }
  return once;
}

std::vector<Fr> scalars(long n) {
  std::vector<Fr> r(n);
  for (Fr& x : r) {
    x = Fr::zero();
    const u64 kind = draw() % 4;  // zero, a bit, a byte, anything
    if (kind == 1 || kind == 2) x.v[0] = draw() % (kind == 1 ? 2 : 256);
    if (kind == 3)
      for (u64& word : x.v) word = draw() >> 2;
    x = x.to_montgomery();
  }
  return r;
}

void fields() {
  constexpr long n = 9001;
  const std::vector<Fr> a = scalars(n), b = scalars(n);
  compare<Fr>(n, [&](int threads, Fr* out) { multiply(a.data(), b.data(), 1, out, n, threads); });
  compare<Fr>(n, [&](int threads, Fr* out) { fill_powers(a[3], b[3], out, n, threads); });
  compare<Fr>(n, [&](int threads, Fr* out) {
    std::copy(a.begin(), a.end(), out);
    invert_all(out, n, threads);
  });
  for (int log_size : {3, 7, 12, 13}) {
    const Domain domain(log_size);
    for (Order order : {Order::natural, Order::to_bit_reversed, Order::from_bit_reversed})
      compare<Fr>(1l << log_size, [&](int threads, Fr* out) {
        std::copy(a.begin(), a.begin() + (1l << log_size), out);
        domain.forward(out, &b[3], order, threads, {});
        domain.inverse(out, nullptr, order, threads, {});
      });
    compare<Fr>(1l << log_size, [&](int threads, Fr* out) {
      std::vector<Fr> left(a), right(b);
      std::copy(a.begin(), a.begin() + (1l << log_size), out);
      domain.quotient(out, left.data(), right.data(), threads, {});
    });
    compare<Fr>(1l << log_size, [&](int threads, Fr* out) { domain.encode(a.data(), out, 1, threads); });
    const uint32_t last = (1u << log_size) - 1, places[] = {0, 5, (5 + (1u << (log_size - 1))) & last, last};
    compare<Fr>(1l << (log_size - 2), [&](int threads, Fr* out) {
      std::copy_n(a.begin(), 1l << (log_size - 2), out);
      domain.add_powers(places, b.data(), 4, out, 1l << (log_size - 2), threads);
    });
  }
}

struct Entries {
  std::vector<int64_t> offsets;
  std::vector<uint32_t> columns, coefficients;
  std::vector<Fr> pool = scalars(16);

  Entries(long rows, long variables) : offsets{0} {
    pool[0] = Fr::one(), pool[1] = -Fr::one();
    for (long row = 0; row < rows; row++) {
      for (u64 i = draw() % 7; i > 0; i--) {
        columns.push_back(uint32_t(draw() % u64(variables)));
        coefficients.push_back(uint32_t(draw() % pool.size()));
      }
      offsets.push_back(int64_t(columns.size()));
    }
  }
  SparseMatrix matrix() const {
    return {long(offsets.size()) - 1, offsets.data(), columns.data(), coefficients.data(), pool.data(), long(pool.size())};
  }
};

void sparse() {
  constexpr long rows = 3000, variables = 1000;
  const Entries entries(rows, variables);
  const std::vector<Fr> z = scalars(variables), y = scalars(rows);
  std::vector<int32_t> shorts(variables);
  shorten(z.data(), shorts.data(), variables, 1);
  for (const int32_t* each : {static_cast<const int32_t*>(nullptr), static_cast<const int32_t*>(shorts.data())})
    compare<Fr>(rows, [&](int threads, Fr* out) { multiply(entries.matrix(), z.data(), each, out, threads); });
  compare<Fr>(variables, [&](int threads, Fr* out) {
    std::fill(out, out + variables, Fr::zero());
    multiply_transposed(entries.matrix(), y.data(), &z[0], out, variables, threads);
  });
  SparseForms forms;
  for (const long first : {0l, 13l}) forms.add(entries.matrix(), first);
  compare<Fr>(2, [&](int threads, Fr* out) { forms.at(y.data(), y.data() + 100, 70, z.data(), out, threads); });
  const std::vector<Fr> longer = scalars(rows + 13);
  compare<Fr>(variables, [&](int threads, Fr* out) {
    std::fill(out, out + variables, Fr::zero());
    forms.add_transposed(longer.data(), z.data(), 2, out, variables, threads);
  });
}

template <class F>
void group(const Affine<F>& generator) {
  constexpr long n = 1 << 10;
  std::vector<Fr> factors = scalars(n);
  const std::vector<Affine<F>> points = compare<Affine<F>>(n, [&](int threads, Affine<F>* out) {
    fixed_base_multiply(generator, factors.data(), out, n, threads, {});
  });
  const std::vector<Affine<F>> equal(n, points[n - 1]), more(3 * n, points[0]);
  for (const auto& bases : {points, equal})
    for (const Affine<F>* multiples : {static_cast<const Affine<F>*>(nullptr), more.data()})
      compare<Affine<F>>(1, [&](int threads, Affine<F>* out) {
        *out = msm(bases.data(), multiples, factors.data(), n, threads, {}).to_affine();
      });
  compare<Affine<F>>(n, [&](int threads, Affine<F>* out) {
    multiply_each(points.data(), factors.data(), 1, out, n, threads, {});
  });
  compare<Affine<F>>(n, [&](int threads, Affine<F>* out) { add_each(points.data(), equal.data(), 1, out, n, threads); });
  const Domain domain(6);
  compare<Affine<F>>(64, [&](int threads, Affine<F>* out) {
    std::copy(points.begin(), points.begin() + 64, out);
    inverse_transform(domain, out, threads, {});
  });
  const Entries entries(n, 100);
  compare<Affine<F>>(100, [&](int threads, Affine<F>* out) {
    std::fill(out, out + 100, Affine<F>::infinity());
    multiply_transposed(entries.matrix(), long(entries.pool.size()), points.data(), out, 100, threads, {});
  });
  unsigned char bytes[encoded_bytes<F>];
  compress(points[n - 1], bytes);
  Affine<F> back;
  differences += decompress(bytes, back) != Decoded::ok || !(back == points[n - 1]);
}

void hashes() {
  const long rows = 35, n = 1l << 13;
  const std::vector<Fr> matrix = scalars(rows * n), salts = scalars(n);
  const auto bytes = [](const std::vector<Fr>& v) { return reinterpret_cast<const uint8_t*>(v.data()); };
  const Slab slab{bytes(matrix), bytes(salts), n, 0, rows, rows + 1};
  const std::vector<uint8_t> chains = compare<uint8_t>(slab.chunks() * hash_bytes * n, [&](int threads, uint8_t* out) {
    hash_chunks(slab, bytes(salts), out, threads, {});
  });
  const std::vector<uint8_t> leaves = compare<uint8_t>(hash_bytes * n, [&](int threads, uint8_t* out) {
    join_chunks(chains.data(), slab.chunks(), n, bytes(salts), out, threads);
  });
  compare<uint8_t>(2 * hash_bytes * n, [&](int threads, uint8_t* out) {
    std::memset(out, 0, hash_bytes * n);
    std::memcpy(out + hash_bytes * n, leaves.data(), hash_bytes * n);
    fill_tree(out, n, bytes(salts), threads);
  });
}

void sums() {
  const int variables = 15;
  const long n = 1l << variables;
  const std::vector<Fr> a = scalars(n), b = scalars(n), c = scalars(n), point = scalars(variables);
  const std::vector<Fr> inner = scalars(1l << 6), outer = scalars(1l << (variables - 7));
  compare<Fr>(n, [&](int threads, Fr* out) { fill_eq(point.data(), variables, out, threads); });
  compare<Fr>(n / 2, [&](int threads, Fr* out) { fill_products(outer.data(), inner.data(), 1l << 6, out, n / 2, threads); });
  compare<Fr>(1, [&](int threads, Fr* out) { *out = dot(a.data(), b.data(), n - 3, threads); });
  compare<Fr>(1 << 7, [&](int threads, Fr* out) {
    std::copy_n(b.data(), 1 << 7, out);
    combine_rows(a.data(), c.data(), 1 << 7, 1 << 7, out, threads);
  });
  compare<Fr>(n, [&](int threads, Fr* out) {
    std::copy(a.begin(), a.end(), out);
    fold(out, point[0], n / 2, threads);
  });
  compare<Round>(5, [&](int threads, Round* out) {
    std::vector<Fr> x = a, y = b, z = c;
    const auto halves = [&](const std::vector<Fr>& table) { return Halves{table.data(), n / 2}; };
    out[0] = product_round(halves(a), halves(b), n / 2, threads);
    out[1] = r1cs_round(halves(a), halves(b), halves(c), outer.data(), inner.data(), 1l << 6, n / 2, threads);
    const auto folding = [&](std::vector<Fr>& table) { return Folding{table.data(), n / 4, point[0]}; };
    out[2] = r1cs_round(folding(x), folding(y), folding(z), outer.data(), inner.data(), 1l << 6, n / 4, threads);
    out[3] = product_round(folding(x), folding(y), n / 4, threads);
    out[4] = r1cs_round(halves(a), halves(b), ProductOfBoth{}, outer.data(), inner.data(), 1l << 6, n / 2, threads);
  });
}

// BabyBear: counts that are no multiple of a vector's lanes, and rows that no block has whole.
void bears() {
  const long n = (1l << 15) + 5, rows = 19;
  const auto words = [](long count) {
    std::vector<uint32_t> found(count);
    for (uint32_t& word : found) word = uint32_t(draw() % bear::modulus);
    return found;
  };
  const std::vector<uint32_t> a = words(bear::degree * n), b = words(bear::degree * n);
  std::vector<int8_t> small(rows * 1001);
  for (int8_t& entry : small) entry = int8_t(draw());
  compare<uint32_t>(n, [&](int threads, uint32_t* out) {
    bear::zip(a.data(), b.data(), 1, out, n, threads, [](bear::Lanes x, bear::Lanes y) { return bear::mul(x, y); });
  });
  compare<uint32_t>(bear::degree * n, [&](int threads, uint32_t* out) { bear::multiply(a.data(), b.data(), false, out, n, threads); });
  compare<uint32_t>(bear::degree * n, [&](int threads, uint32_t* out) { bear::scale(a.data(), b.data(), out, n, threads); });
  compare<uint32_t>(bear::degree, [&](int, uint32_t* out) { bear::dot(a.data(), b.data(), n, out); });
  compare<uint32_t>(bear::degree << 9, [&](int, uint32_t* out) { bear::fill_eq(a.data(), 9, out); });
  compare<uint32_t>(bear::degree * 1001, [&](int threads, uint32_t* out) {
    bear::combine_rows(small.data(), rows, 1001, 1001, a.data(), out, threads);
  });
  compare<uint32_t>(bear::degree * rows, [&](int threads, uint32_t* out) {
    bear::row_products(small.data(), rows, 1001, 1001, a.data(), out, threads);
  });
  const bear::Domain domain(12);
  compare<uint32_t>(3 * domain.length() * bear::block_rows, [&](int threads, uint32_t* out) {
    domain.encode(small.data(), 1000, a.data(), rows, out, threads, {});
  });
  compare<uint32_t>(2 * bear::degree, [&](int threads, uint32_t* out) {
    bear::FractionTree tree(a.data(), b.data(), 14, threads);
    std::vector<uint32_t> told(4 * bear::degree);
    for (int variables = 0; variables < 14; variables++) {
      tree.begin(variables, a.data());
      for (int left = variables - 1; left >= 0; left--) {
        const int split = left / 2;
        const uint32_t* const r = left == variables - 1 ? nullptr : b.data();
        tree.round(r, a.data(), 1l << (left - split), b.data(), 1l << split, out);
      }
      tree.halves(variables ? b.data() : nullptr, told.data());
    }
    std::copy_n(told.data(), 2 * bear::degree, out);
  });
}

int main() {
  bears();
  fields();
  hashes();
  sums();
  sparse();
  group<Fp>(g1_generator());
  group<Fp2>(g2_generator());
  const Affine<Fp> left[2] = {g1_generator(), -g1_generator()};
  const Affine<Fp2> right[2] = {g2_generator(), g2_generator()};
  differences += !pairing_product_is_one(left, right, 2);
  std::printf("%d\n", differences);
  return differences != 0;
}
