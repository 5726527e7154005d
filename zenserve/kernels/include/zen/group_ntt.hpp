// The inverse transform over points instead of field elements: powers of tau become Lagrange polynomials at tau.
#pragma once

#include "multiply.hpp"
#include "ntt.hpp"

namespace zen {

// points[i] = 1/n sum over j of omega^(-i j) points[j], n = 2^log_size, in place, natural order in and out.
// Radix 2 with one product of a point and a twiddle per butterfly.
template <class F>
void inverse_transform(const Domain& domain, Affine<F>* points, int threads, const Progress& progress) {
  const int layers = domain.log_size();
  const long n = 1l << layers;
  const long grain = balanced_grain(n / 2, threads, Multiplier<F>::least, Multiplier<F>::capacity);
  for (int layer = 0; layer < layers; layer++) {
    const long half = n >> (layer + 1);
    const Progress report = progress ? Progress([&, layer](double f) { progress((layer + f) / (layers + 1)); }) : progress;
    parallel_ranges(n / 2, grain, threads, report, [&](long begin, long end) {
      Multiplier<F> multiplier;
      BatchAdder<F, Summand<F>> adder;
      const long count = end - begin;
      const auto lower = [&](long i) { return points + 2 * half * ((begin + i) / half) + (begin + i) % half; };
      std::vector<SplitScalar<F>> twiddles(count);
      std::vector<Affine<F>> left(count), right(count);
      for (long i = 0; i < count; i++) {
        const long twiddle = (begin + i) / half;
        twiddles[i] = i > 0 && (begin + i) % half ? twiddles[i - 1] : SplitScalar<F>::from(domain.backward_twiddle(twiddle));
        left[i] = lower(i)[0];
        right[i] = lower(i)[half];
      }
      std::vector<Summand<F>> kept(count), turned(count), sums(count);
      to_summands(left.data(), kept.data(), count);
      to_summands(right.data(), turned.data(), count);
      multiplier.run(turned.data(), twiddles.data(), 1, turned.data(), count);
      for (long i = 0; i < count; i++) adder.push(&kept[i], &turned[i], &sums[i], false, false);
      adder.flush();
      for (long i = 0; i < count; i++) adder.push(&kept[i], &turned[i], &kept[i], false, true);
      adder.flush();
      to_affine(sums.data(), left.data(), count);
      to_affine(kept.data(), right.data(), count);
      for (long i = 0; i < count; i++) {
        lower(i)[0] = left[i];
        lower(i)[half] = right[i];
      }
    });
  }
  for (long i = 0; i < n; i++) {
    const long j = reverse_bits(i, layers);
    if (i < j) std::swap(points[i], points[j]);
  }
  const Progress report = progress ? Progress([&](double f) { progress((layers + f) / (layers + 1)); }) : progress;
  multiply_each(points, &domain.size_inverse(), 0, points, n, threads, report);
}

}  // namespace zen
