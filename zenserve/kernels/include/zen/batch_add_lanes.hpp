// Batched affine additions, as many at once as there are lanes. See batch_add.hpp for what they promise.
//
// Elements of memory reach the lanes divided by 2^extra_bits (lane_field.hpp). Divide y by the root of that, u^-1, and all
// points lie on one curve isomorphic to theirs, (x, y) -> (u^2 x, u^3 y), where affine addition has the same formulas:
// they do not mention b. So the bases of a key are used as they lie in memory, for one short reduction of y each.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "curve.hpp"
#include "lane_fp.hpp"

namespace zen {

template <class F>
struct LaneFieldOf;
template <>
struct LaneFieldOf<Fp> {
  using type = LaneFp;
};
template <>
struct LaneFieldOf<Fp2> {
  using type = LaneFp2;
};
template <class F>
using LaneField = typename LaneFieldOf<F>::type;

inline constexpr int point_lanes = LaneFp::lanes;
using Truth = LaneFp::Truth;

// A point between additions: x and y (c0 before c1) on the isomorphic curve, settled. Infinity is all zero. Eight digits
// of a coordinate fill a vector; others lie in words as in memory.
template <class F>
struct alignas(8 * lane_count) Summand {
  static constexpr int coordinates = 2 * sizeof(F) / sizeof(Fp);
  static constexpr int length = whole_products ? FpParameters::words : LanePrime<FpParameters>::digits;
  u64 word[coordinates][length];

  static Summand infinity() { return {}; }
  bool is_infinity() const {
    u64 any = 0;
    for (const auto& coordinate : word)
      for (u64 w : coordinate) any |= w;
    return any == 0;
  }
  Summand operator-() const;
};

template <class Source>
inline constexpr bool is_summand = false;
template <class F>
inline constexpr bool is_summand<Summand<F>> = true;

// One coordinate of the points.
#if !defined(ZEN_LANES)

#define ZEN_POINT_FN __attribute__((noinline))  // see mixed_fp.hpp

template <class Point>
ZEN_POINT_FN LaneFp gather_coordinate(const Point* const (&from)[point_lanes], int c) {
  const u64* words[point_lanes];
  ZEN_UNROLL for (int i = 0; i < point_lanes; i++) words[i] = reinterpret_cast<const u64*>(from[i]) + FpParameters::words * c;
  return LaneFp::gather(words);
}
ZEN_FN void scatter_words(const LaneFp& values, u64* const (&to)[point_lanes]) { values.scatter(to); }
ZEN_FN void store_words(const LaneFp& values, u64* const (&to)[point_lanes]) { values.scatter(to); }
ZEN_FN LaneFp load_words(const u64* const (&from)[point_lanes]) { return LaneFp::gather(from); }

#else

#define ZEN_POINT_FN ZEN_FN

template <class F>
ZEN_FN LaneFp gather_coordinate(const Summand<F>* const (&from)[point_lanes], int c) {
  LaneFp r;
  ZEN_UNROLL for (int i = 0; i < point_lanes; i++) r.v[i] = load_lanes(from[i]->word[c]);
  transpose(r.v);
  return r;
}
template <class F>
ZEN_FN LaneFp gather_coordinate(const Affine<F>* const (&from)[point_lanes], int c) {
  constexpr int words = FpParameters::words, all = 2 * sizeof(F) / sizeof(u64);
  const int first = words * c + lane_count <= all ? words * c : all - lane_count;  // never read past the point
  Lanes rows[lane_count];
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) rows[i] = load_lanes(reinterpret_cast<const u64*>(from[i]) + first);
  transpose(rows);
  Lanes picked[words];
  ZEN_UNROLL for (int i = 0; i < words; i++) picked[i] = rows[words * c - first + i];
  return LaneFp::from_words(picked);
}

// As summands have them, and as memory has.
ZEN_FN void scatter_words(LaneFp values, u64* const (&to)[point_lanes]) {
  transpose(values.v);
  ZEN_UNROLL for (int i = 0; i < point_lanes; i++) store_lanes(to[i], values.v[i]);
}
inline void store_words(const LaneFp& values, u64* const (&to)[point_lanes]) {
  Lanes columns[FpParameters::words];
  values.to_words(columns);
  for (int lane = 0; lane < point_lanes; lane++)
    for (int i = 0; i < FpParameters::words; i++) to[lane][i] = columns[i][lane];
}
inline LaneFp load_words(const u64* const (&from)[point_lanes]) {
  Lanes columns[FpParameters::words];
  for (int lane = 0; lane < point_lanes; lane++)
    for (int i = 0; i < FpParameters::words; i++) columns[i][lane] = from[lane][i];
  return LaneFp::from_words(columns);
}

#endif

// y is divided by the root of what the lanes divide by.
inline constexpr int twist_bits = extra_bits<FpParameters> / 2;
// A coordinate of y, with a minus in lane i where bit i says so.
template <class Source>
ZEN_POINT_FN LaneFp gather_y(const Source* const (&from)[point_lanes], int c, unsigned negate) {
  LaneFp y = gather_coordinate(from, c);
  if constexpr (!is_summand<Source>) y = y.template divided<twist_bits>();
  return negate ? y.negated_where(LaneFp::truth(negate)) : y;
}
#undef ZEN_POINT_FN

// Points on the isomorphic curve.
template <class F>
struct LanePoint;

template <>
struct LanePoint<Fp> {
  LaneFp x, y;

  template <class Source>
  static ZEN_FN LaneFp gather_x(const Source* const (&from)[point_lanes]) {
    return gather_coordinate(from, 0);
  }
  template <class Source>
  static ZEN_FN LaneFp gather_y(const Source* const (&from)[point_lanes], unsigned negate = 0) {
    return zen::gather_y(from, 1, negate);
  }
  ZEN_FN const LaneFp& coordinate(int c) const { return c ? y : x; }
};

template <>
struct LanePoint<Fp2> {
  LaneFp2 x, y;

  template <class Source>
  static ZEN_FN LaneFp2 gather_x(const Source* const (&from)[point_lanes]) {
    return {gather_coordinate(from, 0), gather_coordinate(from, 1)};
  }
  template <class Source>
  static ZEN_FN LaneFp2 gather_y(const Source* const (&from)[point_lanes], unsigned negate = 0) {
    return {zen::gather_y(from, 2, negate), zen::gather_y(from, 3, negate)};
  }
  ZEN_FN const LaneFp& coordinate(int c) const { return c == 0 ? x.c0 : c == 1 ? x.c1 : c == 2 ? y.c0 : y.c1; }
};

template <class F>
ZEN_FN void scatter(const LanePoint<F>& points, Summand<F>* const (&to)[point_lanes]) {
  ZEN_UNROLL for (int c = 0; c < Summand<F>::coordinates; c++) {
    u64* words[point_lanes];
    ZEN_UNROLL for (int i = 0; i < point_lanes; i++) words[i] = to[i]->word[c];
    scatter_words(points.coordinate(c), words);
  }
}

// Predicates that Fp2 asks of both coordinates.
ZEN_FN Truth is_zero(const LaneFp& a) { return a.is_multiple<0>(); }
ZEN_FN Truth is_zero(const LaneFp2& a) { return is_zero(a.c0) & is_zero(a.c1); }
// -a, where zero stays the digits of zero.
ZEN_FN LaneFp negated(const LaneFp& a) { return select(is_zero(a), a, (LaneFp::zero() - a).settled()); }
ZEN_FN LaneFp2 negated(const LaneFp2& a) { return {negated(a.c0), negated(a.c1)}; }

template <u64... k>
ZEN_FN Truth is_multiple(const LaneFp& a) {
  return (a.is_multiple<k>() | ...);
}
template <u64... k>
ZEN_FN Truth is_multiple(const LaneFp2& a) {
  return is_multiple<k...>(a.c0) & is_multiple<k...>(a.c1);
}
// Lanes that may be k p, told from one digit.
template <u64... k>
ZEN_FN Truth may_be_multiple(const LaneFp& a) {
  return (a.template may_be_multiple<k>() | ...);
}
template <u64... k>
ZEN_FN Truth may_be_multiple(const LaneFp2& a) {
  return may_be_multiple<k...>(a.c0);
}

// Runs work(from, to) over n elements of two arrays, a pointer for each lane at a time; the last ones may repeat.
template <class In, class Out, class Work>
void for_eights(const In* in, Out* out, long n, Work work) {
  for (long first = 0; first < n; first += point_lanes) {
    const In* from[point_lanes];
    Out* to[point_lanes];
    for (int i = 0; i < point_lanes; i++) {
      const long at = first + i < n ? first + i : n - 1;
      from[i] = in + at;
      to[i] = out + at;
    }
    work(from, to);
  }
}

template <class F>
void to_summands(const Affine<F>* in, Summand<F>* out, long n) {
  for_eights(in, out, n, [](const auto& from, const auto& to) {
    scatter(LanePoint<F>{LanePoint<F>::gather_x(from), LanePoint<F>::gather_y(from)}, to);
  });
}

template <class F>
void to_affine(const Summand<F>* in, Affine<F>* out, long n) {
  constexpr int words = FpParameters::words, coordinates = Summand<F>::coordinates;
  const LaneFp untwist = LaneFp::everywhere(doubled<FpParameters>(FpParameters::one, extra_bits<FpParameters> + twist_bits));
  for_eights(in, out, n, [&](const auto& from, const auto& to) {
    for (int c = 0; c < coordinates; c++) {
      const LaneFp value = gather_coordinate(from, c);
      u64* coordinate[point_lanes];
      for (int lane = 0; lane < point_lanes; lane++) coordinate[lane] = reinterpret_cast<u64*>(to[lane]) + words * c;
      store_words((2 * c < coordinates ? value : value * untwist).canonical(), coordinate);
    }
  });
}

inline LanePoint<Fp> endomorphism(const LanePoint<Fp>& p) {
  return {p.x * LaneFp::everywhere(doubled<FpParameters>(g1_endomorphism_x[0], extra_bits<FpParameters>)), negated(p.y)};
}
inline LanePoint<Fp2> endomorphism(const LanePoint<Fp2>& p) {
  const auto scaled = [](const LaneFp2& a, const u64 (&factor)[2][6]) {
    return LaneFp2{a.c0, negated(a.c1)} *
           LaneFp2{LaneFp::everywhere(doubled<FpParameters>(factor[0], extra_bits<FpParameters>)),
                   LaneFp::everywhere(doubled<FpParameters>(factor[1], extra_bits<FpParameters>))};
  };
  // y is divided by another 2^twist_bits here, which the map, linear in it, does not change.
  return {scaled(p.x, g2_endomorphism_x), scaled(p.y, g2_endomorphism_y)};
}

template <class F>
void endomorphism(const Summand<F>* in, Summand<F>* out, long n) {
  for_eights(in, out, n, [](const auto& from, const auto& to) {
    scatter(endomorphism(LanePoint<F>{LanePoint<F>::gather_x(from), LanePoint<F>::gather_y(from)}), to);
  });
}

template <class F>
Summand<F> Summand<F>::operator-() const {
  Summand r;
  const Summand* from[point_lanes];
  for (auto& p : from) p = this;
  Summand* to[point_lanes];
  for (auto& p : to) p = &r;
  scatter(LanePoint<F>{LanePoint<F>::gather_x(from), negated(LanePoint<F>::gather_y(from))}, to);
  return r;
}

// 1 / a in every lane, by one scalar inversion. No lane is zero.
inline LaneFp inverse(const LaneFp& a) {
  // For the integers that stand for the elements a scalar inverse is R^2 / a, and the lanes want R'^2 / a.
  constexpr auto missing = doubled<FpParameters>(FpParameters::one, 2 * extra_bits<FpParameters>);
  Fp values[point_lanes], scratch[point_lanes];
  u64* words[point_lanes];
  for (int lane = 0; lane < point_lanes; lane++) words[lane] = values[lane].v;
  store_words(a.canonical(), words);
  batch_inverse(values, scratch, point_lanes);
  for (Fp& value : values) value = value * Fp::from_words(missing.data());
  return load_words(words);
}
inline LaneFp2 inverse(const LaneFp2& a) {
  const LaneFp norm = inverse(sum_of_products(&a.c0, a.c0, a.c1));
  return {a.c0 * norm, negated(a.c1 * norm)};
}

template <class F, class Source>
class BatchAdder {
 public:
  // The inversion of a batch costs about 3 % of its products, and its scratch fits a 1 MiB L2 beside the points; where
  // there is no AVX-512, one of 512 KiB.
  static constexpr long group_capacity = (whole_products ? 128 : 256) * sizeof(Fp) / sizeof(F), capacity = group_capacity * point_lanes;

  static constexpr long scratch_bytes() { return group_capacity * long(sizeof(Work) + 2 * sizeof(Group)); }

  BatchAdder(const BatchAdder&) = delete;
  BatchAdder& operator=(const BatchAdder&) = delete;
  BatchAdder() : work_(new Work[group_capacity]) {}

  ZEN_FN void push(const Source* left, const Source* right, Summand<F>* out, bool negate_left, bool negate_right) {
    Group& group = filling_->groups[filling_->full];
    const int lane = filling_->lanes;
    group.left[lane] = left;
    group.right[lane] = right;
    group.out[lane] = out;
    group.negate_left = (lane ? group.negate_left : 0) | unsigned(negate_left) << lane;
    group.negate_right = (lane ? group.negate_right : 0) | unsigned(negate_right) << lane;
    if (++filling_->lanes < point_lanes) return;
    filling_->lanes = 0;
    if (++filling_->full == group_capacity) turn();
  }

  void flush() {
    turn();
    turn();
  }

 private:
  using Element = LaneField<F>;
  // Products that wait for each other are made in two chains, so that one fills the other's pauses.
  static constexpr int chains = 2;

  struct Group {
    const Source* left[point_lanes];
    const Source* right[point_lanes];
    Summand<F>* out[point_lanes];
    unsigned negate_left, negate_right;
  };
  struct Work {
    Element left_x, denominator, product;  // product: of this denominator and those before it in its chain
    long careful;                          // position in careful_, or -1
  };
  // What is to be done where the slope is not that of a chord.
  struct Careful {
    Truth doubling, take_left, take_right, infinite;
  };

  // Additions wait for one batch, so that their operands come from memory while the batch before is computed.
  struct Queue {
    std::vector<Group> groups = std::vector<Group>(group_capacity);
    long full = 0;
    int lanes = 0;  // of the group after the full ones

    long group_count() const { return full + (lanes > 0); }
  };

  void turn() {
    fill_last_group(*filling_);
    const long count = waiting_->group_count();
    if (count) compute(waiting_->groups.data(), count);
    waiting_->full = 0, waiting_->lanes = 0;
    careful_.clear();
    std::swap(filling_, waiting_);
  }

  void compute(const Group* groups, long count) {
    differences(groups, count);
    invert(count);
    for (long first = (count - 1) / chains * chains; first >= 0; first -= chains) {
      if (first + chains <= count)
        sums<chains>(groups, first);
      else
        sums<1>(groups, first);
    }
  }

  // A quarter of the operands of the next batch's groups first and first + 1: a little between the products at a time,
  // since few loads can be on their way at once.
  template <int quarter>
  ZEN_FN void prefetch(long first) const {
    const long g = first + quarter / 2;
    if (g >= filling_->group_count()) return;
    const Group& group = filling_->groups[g];
    for (const Source* point : quarter % 2 ? group.right : group.left) prefetch(point);
  }
  static ZEN_FN void prefetch(const Source* point) {
    constexpr size_t line = 64;
    const char* bytes = reinterpret_cast<const char*>(point);
    for (size_t i = 0; i < sizeof(Source); i += line) __builtin_prefetch(bytes + i, 0, 2);
    if (alignof(Source) < line) __builtin_prefetch(bytes + sizeof(Source) - 1, 0, 2);
  }

  void fill_last_group(Queue& queue) {
    if (!queue.lanes) return;
    Group& group = queue.groups[queue.full];
    for (int lane = queue.lanes; lane < point_lanes; lane++) {
      group.left[lane] = group.left[0];
      group.right[lane] = group.right[0];
      group.out[lane] = &sink_;
    }
  }

  void differences(const Group* groups, long count) {
    for (long g = 0; g < count; g++) {
      const Group& group = groups[g];
      Work& work = work_[g];
      work.left_x = LanePoint<F>::gather_x(group.left);
      const Element right_x = LanePoint<F>::gather_x(group.right);
      work.denominator = Element::template carried_difference<2>(right_x, work.left_x);
      work.careful = -1;
      if (bits_of(may_be_multiple<1, 2, 3>(work.denominator) | may_be_multiple<0>(work.left_x) | may_be_multiple<0>(right_x)))
        be_careful(group, right_x, work);
      work.product = g < chains ? work.denominator : work_[g - chains].product * work.denominator;
    }
  }

  __attribute__((noinline)) void be_careful(const Group& group, const Element& right_x, Work& work) {
    const Element left_y = LanePoint<F>::gather_y(group.left, group.negate_left), right_y = LanePoint<F>::gather_y(group.right, group.negate_right);
    const Truth no_left = is_zero(work.left_x) & is_zero(left_y), no_right = is_zero(right_x) & is_zero(right_y);
    const Truth same_x = is_multiple<1, 2, 3>(work.denominator) & ~(no_left | no_right);
    const Element twice = left_y.doubled().settled();
    const Truth same_y = is_multiple<1, 2, 3, 4, 5, 6, 7>((right_y - left_y).template plus_modulus<4>().carried());
    const Truth no_slope = is_multiple<0, 1>(twice);
    Careful careful;
    careful.doubling = same_x & same_y & ~no_slope;
    careful.take_left = no_right & ~no_left;
    careful.take_right = no_left & ~no_right;
    careful.infinite = (no_left & no_right) | (same_x & ~careful.doubling);
    work.denominator = select(careful.doubling, twice, work.denominator);
    work.denominator = select(careful.take_left | careful.take_right | careful.infinite, any_unit(), work.denominator);
    work.careful = long(careful_.size());
    careful_.push_back(careful);
  }
  static Element any_unit() {
    Element r{};
    reinterpret_cast<LaneFp&>(r) = LaneFp::everywhere({1});
    return r;
  }

  // inverse_[k] = 1 / the last product of chain k.
  void invert(long count) {
    if (count == 1) {
      inverse_[0] = inverse(work_[0].product);
      return;
    }
    const Element &last = work_[count - 1].product, &other = work_[count - 2].product;
    const Element both = inverse(last * other);
    inverse_[(count - 1) % chains] = both * other;
    inverse_[count % chains] = both * last;
  }

  // The sums of groups first to first + width - 1, the last ones that have not been made.
  template <int width>
  void sums(const Group* groups, long first) {
    Element inverse[width], slope[width], left_y[width];
    LanePoint<F> sum[width];
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      const long g = first + k;
      inverse[k] = g < chains ? inverse_[k] : inverse_[k] * work_[g - chains].product;
    }
    prefetch<0>(first);
    ZEN_UNROLL for (int k = 0; k < width; k++) inverse_[k] = inverse_[k] * work_[first + k].denominator;
    prefetch<1>(first);
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      const Group& group = groups[first + k];
      left_y[k] = LanePoint<F>::gather_y(group.left, group.negate_left);
      Element rise = Element::template carried_difference<4>(LanePoint<F>::gather_y(group.right, group.negate_right), left_y[k]);
      if (work_[first + k].careful >= 0) rise = tangent_where_doubling(work_[first + k], rise);
      slope[k] = inverse[k] * rise;
    }
    prefetch<2>(first);
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      // right_x = left_x + denominator - 2 p
      const Work& work = work_[first + k];
      const Element squared = square(slope[k]);
      if (work.careful < 0) {
        sum[k].x = Element::settled_third(squared, work.left_x, work.denominator);
      } else {
        const Element same = Element{}.template plus_modulus<2>();
        sum[k].x = Element::settled_third(squared, work.left_x, select(careful_[work.careful].doubling, same, work.denominator));
      }
    }
    prefetch<3>(first);
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      const Work& work = work_[first + k];
      const Element down = Element::template carried_difference<2>(work.left_x, sum[k].x);
      sum[k].y = Element::settled_difference(slope[k] * down, left_y[k]);
    }
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      const Work& work = work_[first + k];
      if (work.careful >= 0) settle_exceptions(groups[first + k], work, left_y[k], sum[k]);
      scatter(sum[k], groups[first + k].out);
    }
  }

  __attribute__((noinline)) Element tangent_where_doubling(const Work& work, const Element& rise) const {
    const Element squared = square(work.left_x);
    return select(careful_[work.careful].doubling, (squared + squared + squared).carried(), rise);
  }
  __attribute__((noinline)) void settle_exceptions(const Group& group, const Work& work, const Element& left_y, LanePoint<F>& sum) const {
    const Careful& careful = careful_[work.careful];
    const Element right_x = LanePoint<F>::gather_x(group.right), right_y = LanePoint<F>::gather_y(group.right, group.negate_right);
    sum.x = select(careful.take_left, work.left_x, select(careful.take_right, right_x, sum.x));
    sum.y = select(careful.take_left, left_y.settled(), select(careful.take_right, right_y.settled(), sum.y));
    sum.x = select(careful.infinite, Element{}, sum.x);
    sum.y = select(careful.infinite, Element{}, sum.y);
  }

  Queue queues_[2];
  Queue *filling_ = &queues_[0], *waiting_ = &queues_[1];
  std::unique_ptr<Work[]> work_;
  std::vector<Careful> careful_;
  Element inverse_[chains];
  Summand<F> sink_;
};

}  // namespace zen
