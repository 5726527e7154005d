// Sums of fractions as a binary tree over the extension of BabyBear, and the sum-checks that lead from its root to its
// leaves, layer by layer. CPU only.
//
// Node i of a layer has the children i and h + i of the layer below, of 2 h nodes: n = n0 d1 + n1 d0, d = d0 d1. Of a layer
// with the claim n + join d at a point r the rounds show
//   claim = sum_x eq(r, x) (m0 d1 + n1 d0)(x), m0 = n0 + join d0,
// where eq's factors are left out of rounds (Gruen, ePrint 2024/108).
#pragma once

#include "bear5.hpp"
#include "bear_vectors.hpp"
#include "parallel.hpp"
#include "secret.hpp"

namespace zen::bear {

// Vectors over the extension in groups of a vector's lanes: five vectors of coefficients, then the next elements'. Planes whose
// distance is a power of two would share the cache's sets.
struct Groups {
  uint32_t* words;

  static constexpr long size(long n) { return (n + lane_count - 1) / lane_count * lane_count * degree; }  // in words
  ZEN_FN uint32_t* at(long i, int k) const { return words + (i / lane_count * degree + k) * lane_count + i % lane_count; }

  // Elements from i on. Whatever i is, `count` of them are there; a whole vector where i begins a group.
  ZEN_FN Extension load(long i, int count) const {
    Extension out;
    if (i % lane_count == 0) {
      ZEN_UNROLL for (int k = 0; k < degree; k++) out.c[k] = bear::load(at(i, k));
      return out;
    }
    for (int k = 0; k < degree; k++) {
      out.c[k] = Lanes{};
      for (int lane = 0; lane < count; lane++) out.c[k][lane] = *at(i + lane, k);
    }
    return out;
  }
  ZEN_FN void store(long i, const Extension& v) const {  // i begins a group
    ZEN_UNROLL for (int k = 0; k < degree; k++) bear::store(at(i, k), v.c[k]);
  }
};

class FractionTree {
 public:
  // Of 2^log_leaves leaves, two at least: numerators of the base field, which are read until the last layer is gone down to,
  // and denominators in planes.
  FractionTree(const uint32_t* numerators, const uint32_t* denominators, int log_leaves, int threads)
      : log_leaves_(log_leaves), threads_(threads), leaf_numerators_(numerators), nodes_(first(2 * log_leaves + 1)),
        tables_(4 * Groups::size(1l << log_leaves >> 2)) {
    const long leaves = 1l << log_leaves;
    const Groups to = this->denominators(log_leaves);
    parallel_ranges(leaves, grain, threads_, {}, [&](long begin, long end) {
      for_lanes(begin, end, [&](long i, int count) { to.store(i, bear::load(denominators, leaves, i, count)); });
    });
    for (int log = log_leaves - 1; log >= 0; log--) fill(log);
  }

  // The root's numerator and denominator.
  void root(uint32_t* numerator, uint32_t* denominator) const {
    for (int k = 0; k < degree; k++) numerator[k] = *numerators(0).at(0, k), denominator[k] = *denominators(0).at(0, k);
  }

  // Begins to go down to the layer of 2^(variables + 1) nodes.
  void begin(int variables, const uint32_t* join) {
    size_ = 1l << variables;
    log_children_ = variables + 1;
    join_ = broadcast(join);
    state_ = log_children_ == log_leaves_ ? State::leaves : State::nodes;
    children_[1] = denominators(log_children_);
    if (state_ == State::leaves) return;
    children_[0] = numerators(log_children_);
    const Groups n0 = numerators(log_children_), d0 = denominators(log_children_);
    const Factor factor(join_);
    parallel_ranges(size_, grain, threads_, {}, [&](long begin, long end) {
      for_lanes(begin, end, [&](long i, int count) __attribute__((always_inline)) {
        const Extension both = add(n0.load(i, count), mul(d0.load(i, count), factor));
        if (count == lane_count)
          n0.store(i, both);
        else
          for (int k = 0; k < degree; k++)
            for (int lane = 0; lane < count; lane++) *n0.at(i + lane, k) = both.c[k][lane];
      });
    });
  }

  // Of the polynomial t of a round the value at 1 and the coefficient of X^2, out[2][5]: sums over x of eq of the point's
  // coordinates behind this round's, which is outer[x / width] inner[x % width], in planes. With r the variable before is
  // bound to it.
  void round(const uint32_t* r, const uint32_t* outer, long blocks, const uint32_t* inner, long width, uint32_t* out) {
    if (r) bind(r);
    Buffer<uint32_t> parts(2 * degree * blocks);
    parallel_for(blocks, threads_, {}, [&](long block, int) {
      const Factor factor(broadcast(outer, blocks, block));
      Extension sums[2];
      if (state_ == State::leaves)
        leaf_sums(block * width, inner, width, sums);
      else
        table_sums(block * width, inner, width, sums);
      for (int which = 0; which < 2; which++) {
        const Extension weighted = mul(sums[which], factor);
        for (int k = 0; k < degree; k++) parts[(2 * block + which) * degree + k] = total(weighted.c[k]);
      }
    });
    for (int i = 0; i < 2 * degree; i++) {
      uint64_t sum = 0;
      for (long block = 0; block < blocks; block++) sum += parts[2 * degree * block + i];
      out[i] = uint32_t(sum % modulus);
    }
  }

  // n0, n1, d0 and d1 where the layer's variables are bound, the last one to r if there is any: out[4][5].
  void halves(const uint32_t* r, uint32_t* out) {
    if (r) bind(r);
    for (int which = 0; which < 4; which++) {
      Extension value{};
      if (state_ == State::leaves && which < 2)
        value.c[0] = all_lanes(leaf_numerators_[which]);
      else
        value = table(which, 0, 1);
      if (state_ != State::leaves && which == 0) value = sub(value, mul(table(2, 0, 1), join_));
      for (int k = 0; k < degree; k++) out[which * degree + k] = value.c[k][0];
    }
  }

 private:
  enum class State { leaves, nodes, tables };  // what is read: children as they are, with m0 in place of n0, or bound
  static constexpr long grain = 1 << 12;

  // Numerators of the layers of 1, 2, 4, .. nodes, but not of leaves; then all denominators.
  long first(int layer) const {
    long words = 0;
    for (int i = 0; i < layer; i++) words += Groups::size(1l << (i < log_leaves_ ? i : i - log_leaves_));
    return words;
  }
  Groups numerators(int log) const { return {const_cast<uint32_t*>(nodes_.data()) + first(log)}; }
  Groups denominators(int log) const { return {const_cast<uint32_t*>(nodes_.data()) + first(log_leaves_ + log)}; }

  static uint32_t total(Lanes lanes) {
    uint64_t sum = 0;
    for (int lane = 0; lane < lane_count; lane++) sum += lanes[lane];
    return uint32_t(sum % modulus);
  }

  void fill(int log) {
    const long n = 1l << log;
    const bool leaves = log + 1 == log_leaves_;
    const Groups d = denominators(log + 1), above = leaves ? Groups{} : numerators(log + 1);
    const Groups to_n = numerators(log), to_d = denominators(log);
    parallel_ranges(n, grain, threads_, {}, [&](long begin, long end) {
      for_lanes(begin, end, [&](long i, int count) __attribute__((always_inline)) {
        const Extension d0 = d.load(i, count), d1 = d.load(n + i, count);
        if (leaves) {
          const uint32_t* const from = leaf_numerators_ + i;
          to_n.store(i, add(mul(d1, bear::load(from, count)), mul(d0, bear::load(from + n, count))));
        } else {
          to_n.store(i, two_products(above.load(i, count), d1, above.load(n + i, count), d0));
        }
        to_d.store(i, mul(d0, d1));
      });
    });
  }

  // Of m0, n1, d0, d1, but for numerators of leaves.
  ZEN_FN Extension table(int which, long i, int count) const {
    if (state_ == State::tables) return bound_[which].load(i, count);
    const Groups& from = which < 2 ? children_[0] : children_[1];
    return from.load(which % 2 * size_ + i, count);
  }

  void table_sums(long begin, const uint32_t* inner, long width, Extension (&out)[2]) const {
    ProductSum sums[2];
    for_lanes(0, width, [&](long i, int count) __attribute__((always_inline)) {
      Extension one[4], step[4];
      ZEN_UNROLL for (int which = 0; which < 4; which++) {
        one[which] = table(which, size_ / 2 + begin + i, count);
        step[which] = sub(one[which], table(which, begin + i, count));
      }
      const Factor weight(bear::load(inner, width, i, count));
      sums[0].add(two_products(one[0], one[3], one[1], one[2]), weight);
      sums[1].add(two_products(step[0], step[3], step[1], step[2]), weight);
    });
    out[0] = sums[0].total(), out[1] = sums[1].total();
  }

  // n0 d1 + n1 d0 and join d0 d1 apart, as numerators are of the base field.
  void leaf_sums(long begin, const uint32_t* inner, long width, Extension (&out)[2]) const {
    ProductSum sums[2], products[2];
    for_lanes(0, width, [&](long i, int count) __attribute__((always_inline)) {
      const long low = begin + i, high = size_ / 2 + low;
      const Extension d0 = table(2, high, count), d1 = table(3, high, count);
      const Extension e0 = sub(d0, table(2, low, count)), e1 = sub(d1, table(3, low, count));
      const Lanes n0 = bear::load(leaf_numerators_ + high, count), n1 = bear::load(leaf_numerators_ + size_ + high, count);
      const Lanes s0 = sub(n0, bear::load(leaf_numerators_ + low, count));
      const Lanes s1 = sub(n1, bear::load(leaf_numerators_ + size_ + low, count));
      const Factor weight(bear::load(inner, width, i, count));
      sums[0].add(add(mul(d1, n0), mul(d0, n1)), weight);
      sums[1].add(add(mul(e1, s0), mul(e0, s1)), weight);
      products[0].add(mul(d0, d1), weight);
      products[1].add(mul(e0, e1), weight);
    });
    for (int which = 0; which < 2; which++) out[which] = add(sums[which].total(), mul(products[which].total(), join_));
  }

  // The first variable becomes r.
  void bind(const uint32_t* r) {
    const long half = size_ / 2;
    if (state_ != State::tables)
      for (int which = 0; which < 4; which++) bound_[which] = {tables_.data() + which * Groups::size(half)};
    const Extension at = broadcast(r);
    const Factor factor(at), join(join_);
    parallel_ranges(half, grain, threads_, {}, [&](long begin, long end) {
      for_lanes(begin, end, [&](long i, int count) __attribute__((always_inline)) {
        const bool leaves = state_ == State::leaves;
        Extension bound[4];
        for (int which = leaves ? 2 : 0; which < 4; which++) {
          const Extension low = table(which, i, count);
          bound[which] = add(low, mul(sub(table(which, half + i, count), low), factor));
        }
        for (int which = 0; leaves && which < 2; which++) {
          const uint32_t* const from = leaf_numerators_ + which * size_ + i;
          const Lanes low = bear::load(from, count);
          bound[which] = mul(at, sub(bear::load(from + half, count), low));
          bound[which].c[0] = add(bound[which].c[0], low);
        }
        if (leaves) bound[0] = add(bound[0], mul(bound[2], join));
        for (int which = 0; which < 4; which++) bound_[which].store(i, bound[which]);
      });
    });
    state_ = State::tables;
    size_ = half;
  }

  int log_leaves_, threads_, log_children_ = 0;
  const uint32_t* leaf_numerators_;
  Groups children_[2]{}, bound_[4]{};  // numerators and denominators
  SecretBuffer<uint32_t> nodes_, tables_;
  Extension join_{};
  State state_ = State::nodes;
  long size_ = 0;
};

}  // namespace zen::bear
