// Halves of a list of points: pairs are added in affine coordinates, for six products where an XYZZ sum takes ten
// (Montgomery's trick; inversions are few). Buckets are filled up with infinity to whole groups of 2^levels points, of
// which `levels` halves leave one. Lists have the first points of all groups, then the second ones, and so on: partners
// are half a list apart, and threads read and write what lies side by side.
#include "digits.hpp"
#include "patterns.hpp"

using namespace zen;

using F = ZEN_F;
using Point = Affine<F>;

constexpr int blocks = sizeof(F) > sizeof(Fp) ? 2 : 4;  // a multiprocessor: gpu/msm.py knows

// 16 bytes k of point i are quads[k apart + i next].
struct ListedPoints {
  uint4* quads;
  long next, apart;

  ZEN_FN Point get(long i) const { return load_apart<Point>(quads + i * next, apart); }
  ZEN_FN F x(long i) const { return load_apart<F>(quads + i * next, apart); }
  ZEN_FN void put(long i, const Point& point) const { store_apart(quads + i * next, apart, point); }

  // Until point i is known, its place has elements 0 and 1 of Fp.
  ZEN_FN uint4* place(long i, int element) const { return quads + i * next + 3 * element * apart; }
  ZEN_FN Fp kept(long i, int element) const { return load_apart<Fp>(place(i, element), apart); }
  ZEN_FN void keep(long i, int element, const Fp& value) const { store_apart(place(i, element), apart, value); }
};

// In Fp2 only norms are inverted: 1 / a = conjugate(a) / norm(a).
ZEN_FN Fp norm(const Fp& a) { return a; }
ZEN_FN Fp norm(const Fp2& a) { return a.norm(); }
ZEN_FN Fp inverse_by_norm(const Fp&, const Fp& inverse_norm) { return inverse_norm; }
ZEN_FN Fp2 inverse_by_norm(const Fp2& a, const Fp& inverse_norm) { return {a.c0 * inverse_norm, -(a.c1 * inverse_norm)}; }

// Of points i and j; y is read where x does not decide. Points with x = 0 are of order 3, in neither subgroup.
template <class Points>
ZEN_FN F pair_denominator(const Points& points, long i, long j) {
  const F x1 = points.x(i), x2 = points.x(j), difference = x2 - x1;
  if (x1.is_zero() || x2.is_zero() || !difference.is_zero())
    return x1.is_zero() || x2.is_zero() ? F::zero() : difference;
  return slope_denominator(points.get(i), points.get(j));
}

struct Pair {
  long first, second, sum;  // places in the list and the next
};

// out[pair.sum] = points[pair.first] + points[pair.second] for pair_of(i), i < n.
template <class Points, class PairOf>
ZEN_FN void add_pairs(const Points& points, long n, PairOf pair_of, const ListedPoints& out) {
  constexpr bool keeps_norm = sizeof(F) > sizeof(Fp);
  const auto denominator = [=](long i) {
    const Pair pair = pair_of(i);
    const Fp d = norm(pair_denominator(points, pair.first, pair.second));
    if (keeps_norm) out.keep(pair.sum, 1, d);
    return d;
  };
  const auto again = [=](long i) {
    const Pair pair = pair_of(i);
    return keeps_norm ? out.kept(pair.sum, 1) : norm(pair_denominator(points, pair.first, pair.second));
  };
  invert_each<128, Fp>(
      n, denominator, again, [=](long i, const Fp& product) { out.keep(pair_of(i).sum, 0, product); },
      [=](long i) { return out.kept(pair_of(i).sum, 0); },
      [=](long i, const Fp& inverse_norm) {
        const Pair pair = pair_of(i);
        const Point p = points.get(pair.first), q = points.get(pair.second);
        out.put(pair.sum, add_by_slope(p, q, inverse_by_norm(slope_denominator(p, q), inverse_norm)));
      });
}

// Of each group's 2^(shift + 1) digits, side by side in `sorted`, point k is added to point k + 2^shift.
extern "C" __global__ void __launch_bounds__(128, blocks)
    add_digit_pairs(const Point* table, const u32* sorted, const u32* groups, int shift, uint4* out, long next, long apart) {
  const long all = *groups, half = 1l << shift;
  const auto pair_of = [=](long i) {
    const long group = i >> shift, k = i & (half - 1), first = 2 * half * group + k;
    return Pair{first, first + half, k * all + group};
  };
  add_pairs(DigitPoints<F>{table, sorted}, all << shift, pair_of, {out, next, apart});
}

extern "C" __global__ void __launch_bounds__(128, blocks)
    add_point_pairs(uint4* points, long points_apart, const u32* groups, int shift, uint4* out, long next, long apart) {
  const long n = long(*groups) << shift;
  const auto pair_of = [=](long i) { return Pair{i, n + i, i}; };
  add_pairs(ListedPoints{points, 1, points_apart}, n, pair_of, {out, next, apart});
}
