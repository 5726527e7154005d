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
      std::vector<SplitScalar<F>> twiddles(end - begin);
      std::vector<Summand<F>> turned(end - begin), kept(end - begin), sums(end - begin);
      const auto lower = [&](long i) { return points + 2 * half * (i / half) + i % half; };
      for (long i = begin; i < end; i++) {
        twiddles[i - begin] = i > begin && i % half ? twiddles[i - begin - 1]
                                                    : SplitScalar<F>::from(domain.backward_twiddle(i / half));
        to_summands(lower(i), &kept[i - begin], 1);
        to_summands(lower(i) + half, &turned[i - begin], 1);
      }
      multiplier.run(turned.data(), twiddles.data(), 1, turned.data(), end - begin);
      for (long i = 0; i < end - begin; i++) adder.push(&kept[i], &turned[i], &sums[i], false, false);
      adder.flush();
      for (long i = 0; i < end - begin; i++) adder.push(&kept[i], &turned[i], &kept[i], false, true);
      adder.flush();
      for (long i = begin; i < end; i++) {
        to_affine(&sums[i - begin], lower(i), 1);
        to_affine(&kept[i - begin], lower(i) + half, 1);
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
