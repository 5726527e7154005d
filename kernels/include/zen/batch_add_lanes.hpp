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
#include "lane_field.hpp"

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

// A point between additions: x and y (c0 before c1) on the isomorphic curve, settled. Infinity is all zero. Eight digits
// of a coordinate fill a vector; others lie in words as in memory.
template <class F>
struct alignas(8 * lane_count) Summand {
  static constexpr int coordinates = 2 * sizeof(F) / sizeof(Fp);
  static constexpr int length = whole_products ? FpParameters::words : LaneFp::digits;
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

#if !defined(ZEN_LANES)

// One coordinate of the points, from six words each.
ZEN_FN LaneFp gather_words(const u64* const (&from)[lane_count]) {
  static_assert(lane_count == 4 && FpParameters::words == 6);
  using Pair = u64 __attribute__((vector_size(16), aligned(8)));
  Lanes rows[4], ends[2], words[6];
  ZEN_UNROLL for (int i = 0; i < 4; i++) rows[i] = load_lanes(from[i]);
  transpose(rows);
  const auto end = [&](int i) { return *reinterpret_cast<const Pair*>(from[i] + 4); };
  ends[0] = __builtin_shufflevector(end(0), end(2), 0, 1, 2, 3), ends[1] = __builtin_shufflevector(end(1), end(3), 0, 1, 2, 3);
  ZEN_UNROLL for (int i = 0; i < 4; i++) words[i] = rows[i];
  words[4] = __builtin_shufflevector(ends[0], ends[1], 0, 4, 2, 6), words[5] = __builtin_shufflevector(ends[0], ends[1], 1, 5, 3, 7);
  return LaneFp::from_words(words);
}
template <class Point>
ZEN_FN LaneFp gather_coordinate(const Point* const (&from)[lane_count], int c) {
  const u64* words[lane_count];
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) words[i] = reinterpret_cast<const u64*>(from[i]) + FpParameters::words * c;
  return gather_words(words);
}
ZEN_FN void scatter_words(const LaneFp& values, u64* const (&to)[lane_count]) {
  using Pair = u64 __attribute__((vector_size(16), aligned(8)));
  Lanes words[6], rows[4];
  values.to_words(words);
  ZEN_UNROLL for (int i = 0; i < 4; i++) rows[i] = words[i];
  transpose(rows);
  const Lanes low = __builtin_shufflevector(words[4], words[5], 0, 4, 2, 6), high = __builtin_shufflevector(words[4], words[5], 1, 5, 3, 7);
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    store_lanes(to[i], rows[i]);
    const Lanes& both = i % 2 ? high : low;
    *reinterpret_cast<Pair*>(to[i] + 4) = i < 2 ? __builtin_shufflevector(both, both, 0, 1) : __builtin_shufflevector(both, both, 2, 3);
  }
}

#else

// One coordinate of eight points.
template <class F>
ZEN_FN LaneFp gather_coordinate(const Summand<F>* const (&from)[lane_count], int c) {
  LaneFp r;
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) r.v[i] = load_lanes(from[i]->word[c]);
  transpose(r.v);
  return r;
}
template <class F>
ZEN_FN LaneFp gather_coordinate(const Affine<F>* const (&from)[lane_count], int c) {
  constexpr int words = FpParameters::words, all = 2 * sizeof(F) / sizeof(u64);
  const int first = words * c + lane_count <= all ? words * c : all - lane_count;  // never read past the point
  Lanes rows[lane_count];
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) rows[i] = load_lanes(reinterpret_cast<const u64*>(from[i]) + first);
  transpose(rows);
  Lanes picked[words];
  ZEN_UNROLL for (int i = 0; i < words; i++) picked[i] = rows[words * c - first + i];
  return LaneFp::from_words(picked);
}

ZEN_FN void scatter_words(LaneFp values, u64* const (&to)[lane_count]) {
  transpose(values.v);
  ZEN_UNROLL for (int i = 0; i < lane_count; i++) store_lanes(to[i], values.v[i]);
}

#endif

// y / 2^twist_bits: Montgomery's reduction by as many bits.
inline constexpr int twist_bits = extra_bits<FpParameters> / 2;
ZEN_FN LaneFp twisted(const LaneFp& y) {
  constexpr int bits = twist_bits;
  const Lanes m = low_digit(y.v[0], all_lanes(FpParameters::negative_inverse & digit_mask)) & ((1u << bits) - 1);
  LaneFp sum = y;
  Lanes beyond{};  // nothing: the sum fits
  ZEN_UNROLL for (int i = 0; i < LaneFp::digits; i++)
    add_uncarried(sum.v[i], i + 1 < LaneFp::digits ? sum.v[i + 1] : beyond, m, all_lanes(multiple<FpParameters, 1>.digit[i]));
  sum = sum.carried();
  ZEN_UNROLL for (int i = 0; i < LaneFp::digits; i++) {
    sum.v[i] = sum.v[i] >> bits;
    if (i + 1 < LaneFp::digits) sum.v[i] |= sum.v[i + 1] << (digit_bits - bits) & digit_mask;
  }
  return sum;
}
template <class F>
ZEN_FN LaneFp gather_y(const Summand<F>* const (&from)[lane_count], int c) {
  return gather_coordinate(from, c);
}
template <class F>
ZEN_FN LaneFp gather_y(const Affine<F>* const (&from)[lane_count], int c) {
  return twisted(gather_coordinate(from, c));
}

// Points on the isomorphic curve.
template <class F>
struct LanePoint;

template <>
struct LanePoint<Fp> {
  LaneFp x, y;

  template <class Source>
  static ZEN_FN LaneFp gather_x(const Source* const (&from)[lane_count]) {
    return gather_coordinate(from, 0);
  }
  template <class Source>
  static ZEN_FN LaneFp gather_y(const Source* const (&from)[lane_count]) {
    return zen::gather_y(from, 1);
  }
  ZEN_FN LaneFp coordinate(int c) const { return c ? y : x; }
};

template <>
struct LanePoint<Fp2> {
  LaneFp2 x, y;

  template <class Source>
  static ZEN_FN LaneFp2 gather_x(const Source* const (&from)[lane_count]) {
    return {gather_coordinate(from, 0), gather_coordinate(from, 1)};
  }
  template <class Source>
  static ZEN_FN LaneFp2 gather_y(const Source* const (&from)[lane_count]) {
    return {zen::gather_y(from, 2), zen::gather_y(from, 3)};
  }
  ZEN_FN LaneFp coordinate(int c) const { return c == 0 ? x.c0 : c == 1 ? x.c1 : c == 2 ? y.c0 : y.c1; }
};

template <class F>
ZEN_FN void scatter(const LanePoint<F>& points, Summand<F>* const (&to)[lane_count]) {
  ZEN_UNROLL for (int c = 0; c < Summand<F>::coordinates; c++) {
    u64* words[lane_count];
    ZEN_UNROLL for (int i = 0; i < lane_count; i++) words[i] = to[i]->word[c];
    scatter_words(points.coordinate(c), words);
  }
}

// Predicates that Fp2 asks of both coordinates.
ZEN_FN SignedLanes is_zero(const LaneFp& a) { return a.is_multiple<0>(); }
ZEN_FN SignedLanes is_zero(const LaneFp2& a) { return is_zero(a.c0) & is_zero(a.c1); }
// -a, where zero stays the digits of zero.
ZEN_FN LaneFp negated(const LaneFp& a) { return select(is_zero(a), a, (LaneFp::zero() - a).settled()); }
ZEN_FN LaneFp2 negated(const LaneFp2& a) { return {negated(a.c0), negated(a.c1)}; }

template <u64... k>
ZEN_FN SignedLanes is_multiple(const LaneFp& a) {
  return (a.is_multiple<k>() | ...);
}
template <u64... k>
ZEN_FN SignedLanes is_multiple(const LaneFp2& a) {
  return is_multiple<k...>(a.c0) & is_multiple<k...>(a.c1);
}
// Lanes that may be k p, told from one digit.
template <u64... k>
ZEN_FN SignedLanes may_be_multiple(const LaneFp& a) {
  return ((a.v[0] == multiple<FpParameters, k>.digit[0]) | ...);
}
template <u64... k>
ZEN_FN SignedLanes may_be_multiple(const LaneFp2& a) {
  return may_be_multiple<k...>(a.c0);
}

// Runs work(from, to) over n elements of two arrays, a pointer for each lane at a time; the last ones may repeat.
template <class In, class Out, class Work>
void for_eights(const In* in, Out* out, long n, Work work) {
  for (long first = 0; first < n; first += lane_count) {
    const In* from[lane_count];
    Out* to[lane_count];
    for (int i = 0; i < lane_count; i++) {
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
      Lanes columns[words];
      (2 * c < coordinates ? value : value * untwist).canonical().to_words(columns);
      for (int lane = 0; lane < lane_count; lane++) {
        u64* coordinate = reinterpret_cast<u64*>(to[lane]) + words * c;
        for (int i = 0; i < words; i++) coordinate[i] = columns[i][lane];
      }
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
  const Summand* from[lane_count];
  for (auto& p : from) p = this;
  Summand* to[lane_count];
  for (auto& p : to) p = &r;
  scatter(LanePoint<F>{LanePoint<F>::gather_x(from), negated(LanePoint<F>::gather_y(from))}, to);
  return r;
}

// 1 / a in every lane, by one scalar inversion. No lane is zero.
inline LaneFp inverse(const LaneFp& a) {
  // For the integers that stand for the elements a scalar inverse is R^2 / a, and the lanes want R'^2 / a.
  constexpr auto missing = doubled<FpParameters>(FpParameters::one, 2 * extra_bits<FpParameters>);
  Lanes words[FpParameters::words];
  a.canonical().to_words(words);
  Fp values[lane_count], scratch[lane_count];
  for (int lane = 0; lane < lane_count; lane++)
    for (int i = 0; i < FpParameters::words; i++) values[lane].v[i] = words[i][lane];
  batch_inverse(values, scratch, lane_count);
  for (int lane = 0; lane < lane_count; lane++) {
    const Fp value = values[lane] * Fp::from_words(missing.data());
    for (int i = 0; i < FpParameters::words; i++) words[i][lane] = value.v[i];
  }
  return LaneFp::from_words(words);
}
inline LaneFp2 inverse(const LaneFp2& a) {
  const LaneFp norm = inverse(sum_of_products(a.c0, a.c0, a.c1, a.c1));
  return {a.c0 * norm, negated(a.c1 * norm)};
}

template <class F, class Source>
class BatchAdder {
 public:
  // The inversion of a batch costs about 3 % of its products, and its scratch fits a 1 MiB L2 beside the points; where
  // there is no AVX-512, one of 512 KiB.
  static constexpr long capacity = (lane_count == 8 ? 2048 : 512) * sizeof(Fp) / sizeof(F);

  static constexpr long scratch_bytes() { return capacity / lane_count * long(sizeof(Work) + 2 * sizeof(Group)); }

  BatchAdder(const BatchAdder&) = delete;
  BatchAdder& operator=(const BatchAdder&) = delete;
  BatchAdder() : work_(new Work[capacity / lane_count]) {}

  ZEN_FN void push(const Source* left, const Source* right, Summand<F>* out, bool negate_left, bool negate_right) {
    Group& group = filling_->groups[filling_->pushed / lane_count];
    const long lane = filling_->pushed % lane_count;
    group.left[lane] = left;
    group.right[lane] = right;
    group.out[lane] = out;
    group.negate_left = (lane ? group.negate_left : 0) | unsigned(negate_left) << lane;
    group.negate_right = (lane ? group.negate_right : 0) | unsigned(negate_right) << lane;
    if (++filling_->pushed == capacity) turn();
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
    const Source* left[lane_count];
    const Source* right[lane_count];
    Summand<F>* out[lane_count];
    unsigned negate_left, negate_right;
  };
  struct Work {
    Element left_x, denominator, product;  // product: of this denominator and those before it in its chain
    long careful;                          // position in careful_, or -1
  };
  // What is to be done where the slope is not that of a chord.
  struct Careful {
    SignedLanes doubling, take_left, take_right, infinite;
  };

  // Additions wait for one batch, so that their operands come from memory while the batch before is computed.
  struct Queue {
    std::vector<Group> groups = std::vector<Group>(capacity / lane_count);
    long pushed = 0;

    long group_count() const { return (pushed + lane_count - 1) / lane_count; }
  };

  void turn() {
    fill_last_group(*filling_);
    const long count = waiting_->group_count();
    if (count) compute(waiting_->groups.data(), count);
    waiting_->pushed = 0;
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
    const long used = queue.pushed % lane_count;
    if (!used) return;
    Group& group = queue.groups[queue.pushed / lane_count];
    for (long lane = used; lane < lane_count; lane++) {
      group.left[lane] = group.left[0];
      group.right[lane] = group.right[0];
      group.out[lane] = &sink_;
    }
  }

  static ZEN_FN Element signed_y(const Source* const (&from)[lane_count], unsigned negate) {
    const Element y = LanePoint<F>::gather_y(from);
    return negate ? y.negated_where(truth_of(negate)) : y;
  }

  void differences(const Group* groups, long count) {
    for (long g = 0; g < count; g++) {
      const Group& group = groups[g];
      Work& work = work_[g];
      work.left_x = LanePoint<F>::gather_x(group.left);
      const Element right_x = LanePoint<F>::gather_x(group.right);
      work.denominator = (right_x - work.left_x).template plus_modulus<2>().carried();
      work.careful = -1;
      if (bits_of(may_be_multiple<1, 2, 3>(work.denominator) | may_be_multiple<0>(work.left_x) | may_be_multiple<0>(right_x)))
        be_careful(group, right_x, work);
      work.product = g < chains ? work.denominator : work_[g - chains].product * work.denominator;
    }
  }

  __attribute__((noinline)) void be_careful(const Group& group, const Element& right_x, Work& work) {
    const Element left_y = signed_y(group.left, group.negate_left), right_y = signed_y(group.right, group.negate_right);
    const SignedLanes no_left = is_zero(work.left_x) & is_zero(left_y), no_right = is_zero(right_x) & is_zero(right_y);
    const SignedLanes same_x = is_multiple<1, 2, 3>(work.denominator) & ~(no_left | no_right);
    const Element twice = left_y.doubled().template plus_modulus<4>().carried();
    const SignedLanes same_y = is_multiple<1, 2, 3, 4, 5, 6, 7>((right_y - left_y).template plus_modulus<4>().carried());
    const SignedLanes no_slope = is_multiple<1, 2, 3, 4, 5, 6, 7>(twice);
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
    reinterpret_cast<LaneFp&>(r).v[0] = all_lanes(1);
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
      left_y[k] = signed_y(group.left, group.negate_left);
      Element rise = (signed_y(group.right, group.negate_right) - left_y[k]).template plus_modulus<4>().carried();
      if (work_[first + k].careful >= 0) rise = tangent_where_doubling(work_[first + k], rise);
      slope[k] = rise * inverse[k];
    }
    prefetch<2>(first);
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      // right_x = denominator - 2 p + left_x, digit by digit
      const Work& work = work_[first + k];
      Element both_x = (work.left_x + work.left_x + work.denominator) - Element{}.template plus_modulus<2>();
      if (work.careful >= 0) both_x = select(careful_[work.careful].doubling, work.left_x + work.left_x, both_x);
      sum[k].x = (square(slope[k]) - both_x).settled();
    }
    prefetch<3>(first);
    ZEN_UNROLL for (int k = 0; k < width; k++) {
      const Work& work = work_[first + k];
      const Element down = (work.left_x - sum[k].x).template plus_modulus<2>().carried();
      sum[k].y = (slope[k] * down - left_y[k]).settled();
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
    const Element right_x = LanePoint<F>::gather_x(group.right), right_y = signed_y(group.right, group.negate_right);
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
