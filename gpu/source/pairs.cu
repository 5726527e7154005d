// Halves of a list of points: neighbours are added in affine coordinates, for six products where an XYZZ sum takes ten
// (Montgomery's trick; inversions are few). Buckets begin at multiples of 2^levels, filled up with infinity, so that
// after as many halves no point has met one of another bucket.
#include "digits.hpp"
#include "patterns.hpp"

using namespace zen;

using F = ZEN_F;
using Point = Affine<F>;

#if !defined(ZEN_BLOCKS)
#define ZEN_BLOCKS (sizeof(ZEN_F) == 48 ? 4 : 2)
#endif

template <class F>
struct ListedPoints {
  const Affine<F>* points;

  ZEN_FN Affine<F> get(long i) const { return load(points + i); }
  ZEN_FN F x(long i) const { return load(&points[i].x); }
};

// In Fp2 only norms are inverted: 1 / a = conjugate(a) / norm(a).
ZEN_FN Fp norm(const Fp& a) { return a; }
ZEN_FN Fp norm(const Fp2& a) { return a.norm(); }
ZEN_FN Fp inverse_by_norm(const Fp&, const Fp& inverse_norm) { return inverse_norm; }
ZEN_FN Fp2 inverse_by_norm(const Fp2& a, const Fp& inverse_norm) { return {a.c0 * inverse_norm, -(a.c1 * inverse_norm)}; }

// Of points 2 i and 2 i + 1; y is read where x does not decide. Points with x = 0 are of order 3, in neither subgroup.
template <class Points>
ZEN_FN F pair_denominator(const Points& points, long i) {
  const F x1 = points.x(2 * i), x2 = points.x(2 * i + 1), difference = x2 - x1;
  if (x1.is_zero() || x2.is_zero() || !difference.is_zero())
    return x1.is_zero() || x2.is_zero() ? F::zero() : difference;
  return slope_denominator(points.get(2 * i), points.get(2 * i + 1));
}

// out[i] = points[2 i] + points[2 i + 1], i < n. Until then out[i] has what the inversion needs.
template <class Points>
ZEN_FN void add_pairs(const Points& points, long n, Point* out) {
  constexpr bool keeps_norm = sizeof(F) > sizeof(Fp);
  const auto prefix = [=](long i) { return reinterpret_cast<Fp*>(out + i); };
  const auto denominator = [=](long i) {
    const Fp d = norm(pair_denominator(points, i));
    if (keeps_norm) store(prefix(i) + 1, d);
    return d;
  };
  const auto again = [=](long i) { return keeps_norm ? load(prefix(i) + 1) : norm(pair_denominator(points, i)); };
  invert_each<128, Fp>(n, denominator, again, prefix, [=](long i, const Fp& inverse_norm) {
    const Point p = points.get(2 * i), q = points.get(2 * i + 1);
    store(out + i, add_by_slope(p, q, inverse_by_norm(slope_denominator(p, q), inverse_norm)));
  });
}

// The list has *groups << (shift + 1) entries.
extern "C" __global__ void __launch_bounds__(128, ZEN_BLOCKS)
    add_digit_pairs(const Point* table, const u32* sorted, const u32* groups, int shift, Point* out) {
  add_pairs(DigitPoints<F>{table, sorted}, long(*groups) << shift, out);
}

extern "C" __global__ void __launch_bounds__(128, ZEN_BLOCKS)
    add_point_pairs(const Point* points, const u32* groups, int shift, Point* out) {
  add_pairs(ListedPoints<F>{points}, long(*groups) << shift, out);
}
