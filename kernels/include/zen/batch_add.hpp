// Many independent affine additions at the price of one inversion: 5 products, 1 square and a share of
// the inversion each, against 10 for XYZZ. The building block of msm.hpp and fixed_base.hpp.
#pragma once

#include <vector>

#include "curve.hpp"

namespace zen {

template <class F>
struct Addition {
  const Affine<F>* left;
  const Affine<F>* right;  // null: just copy `left`
  Affine<F>* out;
  bool negate_left, negate_right;
};

// Runs additions in batches of `capacity`, in the order they were pushed. `out` may be an operand of its
// own or of an earlier addition, never of a later one unless flush() stands between.
template <class F>
class BatchAdder {
 public:
  // At 1024 the inversion of a batch costs about 2 % of its products; the scratch fits a 512 KiB L2.
  static constexpr int capacity = 1024;

  BatchAdder() : denominators_(capacity), prefix_(capacity) { pending_.reserve(capacity); }

  ZEN_FN void push(const Addition<F>& addition) {
    __builtin_prefetch(addition.left);
    __builtin_prefetch(addition.right);
    pending_.push_back(addition);
    if (pending_.size() == capacity) flush();
  }

  void flush() {
    const long n = long(pending_.size());
    for (long i = 0; i < n; i++) denominators_[i] = denominator(pending_[i]);
    batch_inverse(denominators_.data(), prefix_.data(), n);
    for (long i = 0; i < n; i++) *pending_[i].out = sum(pending_[i], denominators_[i]);
    pending_.clear();
  }

 private:
  static ZEN_FN F left_y(const Addition<F>& a) { return a.negate_left ? -a.left->y : a.left->y; }
  static ZEN_FN F right_y(const Addition<F>& a) { return a.negate_right ? -a.right->y : a.right->y; }

  // What the slope is divided by; zero where the result needs no slope.
  static ZEN_FN F denominator(const Addition<F>& a) {
    if (!a.right || a.left->is_infinity() || a.right->is_infinity()) return F::zero();
    const F difference = a.right->x - a.left->x;
    if (!difference.is_zero()) return difference;
    const F y = left_y(a);
    return y == right_y(a) ? y.doubled() : F::zero();
  }

  static ZEN_FN F tangent(const F& x) {
    const F squared = x.square();
    return squared.doubled() + squared;
  }

  static ZEN_FN Affine<F> sum(const Addition<F>& a, const F& inverse) {
    const F& x1 = a.left->x;
    const F y1 = left_y(a);
    if (inverse.is_zero()) {
      if (!a.right || a.right->is_infinity()) return {x1, y1};
      if (a.left->is_infinity()) return {a.right->x, right_y(a)};
      return Affine<F>::infinity();  // opposite points
    }
    const F& x2 = a.right->x;
    const F slope = (x1 == x2 ? tangent(x1) : right_y(a) - y1) * inverse;
    const F x3 = slope.square() - x1 - x2;
    return {x3, slope * (x1 - x3) - y1};
  }

  std::vector<Addition<F>> pending_;
  std::vector<F> denominators_, prefix_;
};

}  // namespace zen
