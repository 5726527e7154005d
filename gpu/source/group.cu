// Arrays of points over ZEN_FIELD: Fp for G1, Fp2 for G2.
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

using F = ZEN_FIELD;
using Point = Affine<F>;
using PointSum = Xyzz<F>;

// Additions are called: inlined wherever a pattern combines, they take a minute to compile and more registers than
// there are.
__noinline__ PointSum total(PointSum a, PointSum b) { return a + b; }

struct Total {
  static ZEN_FN PointSum identity() { return PointSum::infinity(); }
  static ZEN_FN PointSum combine(const PointSum& a, const PointSum& b) { return total(a, b); }
};

extern "C" {

__global__ void neg(const Point* p, Point* out, long n) { map(p, out, n, Negate{}); }

__global__ void __launch_bounds__(128) on_curve(const Point* p, unsigned char* out, long n) {
  const long i = thread_index();
  if (i < n) out[i] = is_on_curve(load(p + i));
}
__global__ void __launch_bounds__(128) subgroup(const Point* p, unsigned char* out, long n) {
  const long i = thread_index();
  if (i < n) out[i] = in_subgroup(load(p + i));
}

// out[i] = p[i] + q[stride i]; `out` must be neither p nor q. Until the slopes are known, it holds the prefix products.
__global__ void __launch_bounds__(128) add(const Point* p, const Point* q, long stride, Point* out, long n) {
  invert_each<128, F>(
      n, [=](long i) { return slope_denominator(load(p + i), load(q + stride * i)); }, [=](long i) { return &out[i].x; },
      [=](long i, const F& inverse) { store(out + i, add_by_slope(load(p + i), load(q + stride * i), inverse)); });
}

__global__ void __launch_bounds__(128) sum(const Point* p, PointSum* out, long n) {
  reduce<Total>(n, out, [=](PointSum& sum, long i) { sum = total(sum, PointSum::from(load(p + i))); });
}
__global__ void __launch_bounds__(128) sum_of_sums(const PointSum* sums, PointSum* out, long n) {
  reduce<Total>(n, out, [=](PointSum& sum, long i) { sum = total(sum, load(sums + i)); });
}

}
