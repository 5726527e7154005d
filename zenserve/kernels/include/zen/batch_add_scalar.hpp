// Batches of affine additions, one after the other: 5 products, 1 square and a share of one inversion each, against
// 10 for XYZZ. The interface is explained in batch_add.hpp.
#pragma once

#include <algorithm>
#include <memory>

#include "curve.hpp"

namespace zen {

template <class F>
using Summand = Affine<F>;

template <class F>
void to_summands(const Affine<F>* in, Summand<F>* out, long n) {
  std::copy(in, in + n, out);
}

template <class F>
void to_affine(const Summand<F>* in, Affine<F>* out, long n) {
  std::copy(in, in + n, out);
}

template <class F>
void endomorphism(const Summand<F>* in, Summand<F>* out, long n) {
  for (long i = 0; i < n; i++) out[i] = Endomorphism<F>::of(in[i]);
}

template <class F, class Source>
class BatchAdder {
 public:
  // At 1024 the inversion of a batch costs about 2 % of its products; the scratch fits a 512 KiB L2.
  static constexpr long capacity = 1024;

  static constexpr long scratch_bytes() { return capacity * long(sizeof(Addition) + 2 * sizeof(F)); }

  BatchAdder() : pending_(new Addition[capacity]), denominators_(new F[capacity]), products_(new F[capacity]) {}

  ZEN_FN void push(const Source* left, const Source* right, Summand<F>* out, bool negate_left, bool negate_right) {
    pending_[count_++] = {left, right, out, negate_left, negate_right};
    if (count_ == capacity) flush();
  }

  // Montgomery's trick: one inversion, of the product of all denominators. products_[i] is that of those before i.
  void flush() {
    F product = F::one();
    for (long i = 0; i < count_; i++) {
      if (i + prefetch_distance < count_) pending_[i + prefetch_distance].prefetch();
      denominators_[i] = pending_[i].denominator();
      products_[i] = product;
      if (!denominators_[i].is_zero()) product = product * denominators_[i];
    }
    F inverse = product.inverse();
    for (long i = count_ - 1; i >= 0; i--) {
      const bool slope = !denominators_[i].is_zero();
      const F own = slope ? inverse * products_[i] : F::zero();
      if (slope) inverse = inverse * denominators_[i];
      *pending_[i].out = pending_[i].sum(own);
    }
    count_ = 0;
  }

 private:
  struct Addition {
    const Source *left, *right;
    Summand<F>* out;
    bool negate_left, negate_right;

    ZEN_FN void prefetch() const {
      for (const Source* point : {left, right})
        for (size_t byte = 0; byte < sizeof(Source); byte += 64)
          __builtin_prefetch(reinterpret_cast<const char*>(point) + byte);
    }
    ZEN_FN F denominator() const { return slope_denominator(*left, *right, negate_left, negate_right); }
    ZEN_FN Summand<F> sum(const F& inverse) const {
      return add_by_slope(*left, *right, inverse, negate_left, negate_right);
    }
  };

  static constexpr long prefetch_distance = 8;  // some 300 ns: memory's latency

  long count_ = 0;
  std::unique_ptr<Addition[]> pending_;
  std::unique_ptr<F[]> denominators_, products_;
};

}  // namespace zen
